"""Training of the choice reader on a task where the answer is whether one relation exists."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, TextualGraph, induced_subgraph
from clew.models.encoders.hashing import HashingEncoder
from clew_lab.graph.graph_encoder import GraphEncoder
from clew_lab.graph.reader_context import GraphContext, build_context, full_subgraph
from clew_lab.graph_readers.choice_reader import ChoiceGraphReader
from clew_lab.training.fitting.choice_reader import ChoiceReaderRecipe, train_choice_reader

CHOICES = ("support", "counter")
RELATIONS = ("is a", "used for", "part of", "causes", "at location", "opposes")
AGAINST = RELATIONS.index("opposes")
ENCODER = HashingEncoder(32)
NOTHING = np.zeros(0, dtype=np.int32)


def random_graphs(count: int, seed: int) -> tuple[list[EncodedGraph], list[str]]:
    """Return graphs, and for each whether it has the opposing relation."""
    chance, encoder = np.random.default_rng(seed), GraphEncoder(ENCODER.encode, ENCODER.encode)
    graphs, answers = [], []
    for number in range(count):
        size = int(chance.integers(3, 7))
        relations = chance.integers(0, len(RELATIONS) - 1, size)
        if number % 2:
            relations[chance.integers(0, size)] = AGAINST
        ends = np.column_stack([np.zeros(size), np.arange(1, size + 1)]).astype(np.int32)
        names = [f"thing {i}" for i in range(size + 1)]
        graphs.append(encoder.encode_graph(TextualGraph(names, ends, [RELATIONS[i] for i in relations])))
        answers.append(CHOICES[number % 2])
    return graphs, answers


def make_context(graph: EncodedGraph, nodes: list[int] | None = None) -> GraphContext:
    query = GraphQuery(graph, np.zeros(32, dtype=np.float32), NOTHING)
    return build_context(query, full_subgraph(graph.graph) if nodes is None else induced_subgraph(graph.graph, nodes))


RECIPE = ChoiceReaderRecipe(epochs=30, batch=32, rate=0.02, decay=0.0)


@pytest.fixture(scope="module")
def trained_reader() -> ChoiceGraphReader:
    """A reader trained on graphs half of which have the relation."""
    return ChoiceGraphReader(train_choice_reader(*random_graphs(120, 1), CHOICES, RECIPE))


@pytest.mark.slow
def test_the_reader_generalises_to_other_graphs(trained_reader: ChoiceGraphReader) -> None:
    graphs, answers = random_graphs(60, 2)
    contexts = [make_context(graph) for graph in graphs]
    right = [
        predicted == answer
        for predicted, answer in zip(trained_reader.generate([""] * 60, contexts), answers, strict=True)
    ]
    assert np.mean(right) > 0.9


def test_a_subgraph_with_the_relation_has_a_lower_loss(trained_reader: ChoiceGraphReader) -> None:
    graphs, _ = random_graphs(40, 3)
    for graph in graphs[1::2]:
        edge = graph.graph.relations.index("opposes")
        end = int(graph.graph.edges[edge, 1])
        others = [node for node in range(len(graph.graph.nodes)) if node != end]
        with_relation, without = trained_reader.loss(
            ["", ""], [make_context(graph, [0, end]), make_context(graph, others)], ["counter"] * 2
        )
        assert with_relation < without


@pytest.mark.slow
def test_training_on_subgraphs_makes_the_reader_less_sure_of_subgraphs(trained_reader: ChoiceGraphReader) -> None:
    of_wholes = ChoiceGraphReader(
        train_choice_reader(*random_graphs(120, 1), CHOICES, replace(RECIPE, random_subgraphs=0))
    )
    graphs, _ = random_graphs(40, 3)
    parts = []
    for graph in graphs[1::2]:
        end = int(graph.graph.edges[graph.graph.relations.index("opposes"), 1])
        parts.append(make_context(graph, [node for node in range(len(graph.graph.nodes)) if node != end]))
    unsure, sure = (reader.loss([""] * 20, parts, ["counter"] * 20).mean() for reader in (trained_reader, of_wholes))
    assert unsure < sure - 0.5


def test_training_is_deterministic_and_depends_on_the_seed() -> None:
    graphs, answers = random_graphs(12, 1)
    recipe = replace(RECIPE, epochs=2)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = train_choice_reader(graphs, answers, CHOICES, recipe)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    same, other = (train_choice_reader(graphs, answers, CHOICES, replace(recipe, seed=seed)) for seed in (0, 1))
    for name in ("edge", "edge_bias", "choice", "choice_bias"):
        assert getattr(one, name).tobytes() == getattr(same, name).tobytes()
        assert getattr(one, name).dtype == np.float32
    assert one.edge.tobytes() != other.edge.tobytes()
    assert (one.edge.shape, one.edge_bias.shape) == ((8, 32), (8,))
    assert (one.choice.shape, one.choice_bias.shape) == ((2, 8), (2,))


def test_the_order_of_choices_is_kept() -> None:
    graphs, answers = random_graphs(12, 1)
    for choices in (CHOICES, CHOICES[::-1], (*CHOICES, "neither")):
        assert train_choice_reader(graphs, answers, choices, replace(RECIPE, epochs=1)).choices == choices


def test_graphs_without_edges_or_nodes_are_trained_on() -> None:
    encoder = GraphEncoder(ENCODER.encode, ENCODER.encode)
    graphs = [encoder.encode_graph(TextualGraph(names, np.zeros((0, 2), dtype=np.int32), ())) for names in ((), ("a",))]
    reader = ChoiceGraphReader(train_choice_reader(graphs * 4, ["counter"] * 8, CHOICES, RECIPE))
    assert reader.generate(["", ""], [make_context(graph) for graph in graphs]) == ["counter", "counter"]


def test_answers_outside_the_choices_are_refused() -> None:
    graphs, answers = random_graphs(4, 1)
    with pytest.raises(InputError, match="where 'perhaps' is not a choice"):
        train_choice_reader(graphs, [*answers[:3], "perhaps"], CHOICES, RECIPE)
    with pytest.raises(InputError, match="0 graphs, 0 answers, 2 choices"):
        train_choice_reader([], [], CHOICES, RECIPE)
    with pytest.raises(InputError, match="4 graphs, 3 answers"):
        train_choice_reader(graphs, answers[:3], CHOICES, RECIPE)
    with pytest.raises(InputError, match="4 graphs, 4 answers, 1 choices: give"):
        train_choice_reader(graphs, ["support"] * 4, CHOICES[:1], RECIPE)


@pytest.mark.parametrize("wrong", [{"width": 0}, {"epochs": 0}, {"batch": 0}, {"rate": 0.0}, {"random_subgraphs": -1}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"wanted (at least|above) [01]"):
        ChoiceReaderRecipe(**wrong)
