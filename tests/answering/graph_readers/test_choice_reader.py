"""Reading the relations of a part for a few choices, against the sums taken edge by edge."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from clew.answering.graph_readers.choice_reader import ChoiceGraphReader, ChoiceWeights
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import GraphContext
from tests.answering.graph_readers.graph_contexts import CONTEXTS, QUESTIONS, WIDTH, make_context

CHOICES = ("support", "counter", "neither")
HIDDEN = 3


def weights(seed: int = 0, scale: float = 1.0) -> ChoiceWeights:
    chance = np.random.default_rng(seed)
    shapes = ((HIDDEN, WIDTH), (HIDDEN,), (len(CHOICES), HIDDEN), (len(CHOICES),))
    return ChoiceWeights(CHOICES, *(scale * chance.normal(size=shape).astype(np.float32) for shape in shapes))


def likelihoods(told: ChoiceWeights, one: GraphContext) -> list[float]:
    """Return the likelihood of each choice, a number at a time."""
    graph = one.query.graph
    sums = [0.0] * HIDDEN
    for edge in one.subgraph.edges.tolist():
        vector = graph.relation_vectors[int(graph.edge_relations[edge])].tolist()
        for place in range(HIDDEN):
            inner = sum(a * b for a, b in zip(told.edge[place].tolist(), vector, strict=True))
            sums[place] += math.tanh(inner + float(told.edge_bias[place]))
    scores = [
        sum(a * b for a, b in zip(told.choice[place].tolist(), sums, strict=True)) + float(told.choice_bias[place])
        for place in range(len(CHOICES))
    ]
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


def losses(told: ChoiceWeights, some: Sequence[GraphContext], answer: str) -> list[float]:
    found: list[float] = ChoiceGraphReader(told).loss([""] * len(some), some, [answer] * len(some)).tolist()
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_choice_costs_what_the_sums_over_edges_say(seed: int) -> None:
    told = weights(seed)
    for place, choice in enumerate(CHOICES):
        expected = [-math.log(likelihoods(told, one)[place]) for one in CONTEXTS]
        assert losses(told, CONTEXTS, choice) == pytest.approx(expected, rel=1e-4)
    best = [CHOICES[int(np.argmax(likelihoods(told, one)))] for one in CONTEXTS]
    assert ChoiceGraphReader(told).generate(QUESTIONS, CONTEXTS) == best


def test_an_edge_outside_of_the_part_says_nothing_and_a_second_one_says_it_again() -> None:
    told, edge = weights(), (0, "loves", 1)
    names = ("boy", "dog", "cat")
    once = make_context(names, (edge,))
    assert losses(told, [make_context(names, (edge, (1, "hates", 2)), (0, 1))], "counter") == losses(
        told, [once], "counter"
    )
    assert losses(told, [make_context(names, (edge, edge))], "counter") != losses(told, [once], "counter")


def test_without_an_edge_the_bias_speaks() -> None:
    told = weights()
    bias = told.choice_bias.astype(np.float64)
    expected = np.log(np.exp(bias).sum()) - bias
    nothing = make_context(("boy",), ())
    assert [losses(told, [nothing], choice)[0] for choice in CHOICES] == pytest.approx(expected.tolist(), rel=1e-5)


def test_scores_far_apart_stay_finite() -> None:
    found = [losses(weights(scale=1e3), CONTEXTS, choice) for choice in CHOICES]
    assert np.isfinite(found).all()
    assert (np.array(found) >= 0).all()


def test_of_equal_choices_the_first_is_said() -> None:
    assert ChoiceGraphReader(weights(scale=0.0)).generate(QUESTIONS, CONTEXTS) == ["support"] * len(CONTEXTS)


def test_an_answer_that_is_no_choice_is_refused() -> None:
    with pytest.raises(InputError, match="'maybe' is none of support, counter, neither"):
        ChoiceGraphReader(weights()).loss([""] * 2, CONTEXTS[:2], ["support", "maybe"])
