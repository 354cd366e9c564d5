"""The choice reader, against sums computed edge by edge."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from clew.errors import InputError
from clew_lab.graph.reader_context import GraphContext
from clew_lab.graph_readers.choice_reader import ChoiceGraphReader, ChoiceWeights
from tests.answering.graph_readers.graph_contexts import CONTEXTS, QUESTIONS, WIDTH, make_context

CHOICES = ("support", "counter", "neither")
HIDDEN = 3


def weights(seed: int = 0, scale: float = 1.0) -> ChoiceWeights:
    generator = np.random.default_rng(seed)
    shapes = ((HIDDEN, WIDTH), (HIDDEN,), (len(CHOICES), HIDDEN), (len(CHOICES),))
    return ChoiceWeights(CHOICES, *(scale * generator.normal(size=shape).astype(np.float32) for shape in shapes))


def likelihoods(trained: ChoiceWeights, context: GraphContext) -> list[float]:
    """Return the likelihood of each choice, by plain loops."""
    graph = context.query.graph
    sums = [0.0] * HIDDEN
    for edge in context.subgraph.edges.tolist():
        vector = graph.relation_vectors[int(graph.edge_relations[edge])].tolist()
        for place in range(HIDDEN):
            inner = sum(a * b for a, b in zip(trained.edge[place].tolist(), vector, strict=True))
            sums[place] += math.tanh(inner + float(trained.edge_bias[place]))
    scores = [
        sum(a * b for a, b in zip(trained.choice[place].tolist(), sums, strict=True))
        + float(trained.choice_bias[place])
        for place in range(len(CHOICES))
    ]
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


def losses(trained: ChoiceWeights, contexts: Sequence[GraphContext], answer: str) -> list[float]:
    values: list[float] = (
        ChoiceGraphReader(trained).loss([""] * len(contexts), contexts, [answer] * len(contexts)).tolist()
    )
    return values


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_follows_the_sums_over_edges(seed: int) -> None:
    trained = weights(seed)
    for place, choice in enumerate(CHOICES):
        expected = [-math.log(likelihoods(trained, context)[place]) for context in CONTEXTS]
        assert losses(trained, CONTEXTS, choice) == pytest.approx(expected, rel=1e-4)
    best = [CHOICES[int(np.argmax(likelihoods(trained, context)))] for context in CONTEXTS]
    assert ChoiceGraphReader(trained).generate(QUESTIONS, CONTEXTS) == best


def test_an_edge_outside_the_subgraph_is_ignored_and_a_parallel_edge_counts_again() -> None:
    trained, edge = weights(), (0, "loves", 1)
    names = ("boy", "dog", "cat")
    once = make_context(names, (edge,))
    assert losses(trained, [make_context(names, (edge, (1, "hates", 2)), (0, 1))], "counter") == losses(
        trained, [once], "counter"
    )
    assert losses(trained, [make_context(names, (edge, edge))], "counter") != losses(trained, [once], "counter")


def test_scores_far_apart_stay_finite() -> None:
    values = [losses(weights(scale=1e3), CONTEXTS, choice) for choice in CHOICES]
    assert np.isfinite(values).all()
    assert (np.array(values) >= 0).all()


def test_ties_go_to_the_first_choice() -> None:
    assert ChoiceGraphReader(weights(scale=0.0)).generate(QUESTIONS, CONTEXTS) == ["support"] * len(CONTEXTS)


def test_an_answer_that_is_no_choice_is_refused() -> None:
    with pytest.raises(InputError, match="'maybe' is none of support, counter, neither"):
        ChoiceGraphReader(weights()).loss([""] * 2, CONTEXTS[:2], ["support", "maybe"])
