"""Contract of every `SubgraphSelector`; a new one is added to `SELECTORS`."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, Subgraph, TextualGraph
from clew.inference.subgraph_network import PRODUCT
from clew.nn.query_gnn import export_arrays
from clew.retrievers.subgraph.encoding import SubgraphSelector
from clew.retrievers.subgraph.gcn import GCNSelector, TrainedScorer
from clew.retrievers.subgraph.gcn_features import TEXT
from clew.retrievers.subgraph.settings import ScorerSettings
from clew_lab.nn.subgraph_policy import build_scorer
from clew_lab.retrievers.selectors import EgoGraph, RandomNodes, SteinerSelector, TopNodes, WholeGraph

WIDTH = 8


def gcn(settings: ScorerSettings, gain: float) -> GCNSelector:
    """Return a GCN selector with random weights; with a gain of 0, with the initial ones."""
    model = build_scorer(settings, WIDTH, 0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.gcn.parameters() if gain else ():
            parameter.copy_(gain * torch.randn(parameter.shape, generator=generator))
    return GCNSelector(TrainedScorer(settings.network(export_arrays(model)), settings, "none", WIDTH))


SELECTORS: dict[str, Callable[[], SubgraphSelector]] = {
    "ego": EgoGraph,
    "gcn": lambda: gcn(ScorerSettings(), 1.0),
    "gcn ending early": lambda: gcn(ScorerSettings(width=4, stops=True), 3.0),
    "gcn of the source": lambda: gcn(ScorerSettings(TEXT, PRODUCT), 1.0),
    "gcn untrained": lambda: gcn(ScorerSettings(), 0.0),
    "random": RandomNodes,
    "steiner": SteinerSelector,
    "steiner filled": lambda: SteinerSelector(fill=True),
    "top nodes": TopNodes,
    "whole": WholeGraph,
}
UNBOUNDED, TREES = {"whole"}, {"steiner", "steiner filled"}

pytestmark = pytest.mark.parametrize("name", SELECTORS)


def make_question_graph(size: int, edges: list[tuple[int, int]], topics: list[int], seed: int = 0) -> GraphQuery:
    """Return a question on a graph with random vectors, some of them equal."""
    generator = np.random.default_rng(seed)

    def units(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        rows = generator.standard_normal((count, WIDTH)).astype(np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    nodes, relations, question = units(size), units(4), units(1)[0]
    nodes[1::3] = nodes[:1]
    relation_of = generator.integers(0, 4, len(edges)).astype(np.int32)
    ends = np.array(edges, dtype=np.int32).reshape(-1, 2)
    graph = TextualGraph([f"node {i}" for i in range(size)], ends, [f"relation {i}" for i in relation_of])
    return GraphQuery(EncodedGraph(graph, nodes, relations, relation_of), question, np.array(topics, dtype=np.int32))


ODD_GRAPHS = {
    "empty": make_question_graph(0, [], []),
    "one node": make_question_graph(1, [], [0]),
    "one node with a loop": make_question_graph(1, [(0, 0), (0, 0)], [0]),
    "no edges": make_question_graph(6, [], [2, 3]),
    "parallel edges": make_question_graph(2, [(0, 1), (1, 0), (0, 1)], [1]),
    "two components": make_question_graph(6, [(0, 1), (1, 2), (3, 4), (4, 5)], [0, 5]),
    "no topic": make_question_graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)], []),
    "a hub": make_question_graph(40, [(0, i) for i in range(1, 40)], [7]),
    "a chain": make_question_graph(30, [(i, i + 1) for i in range(29)], [0]),
}


def select_one(name: str, query: GraphQuery, budget: int) -> Subgraph:
    (part,) = SELECTORS[name]().select([query], budget)
    return part


def check(name: str, query: GraphQuery, part: Subgraph, budget: int) -> None:
    graph = query.graph.graph
    nodes, edges = part.nodes.tolist(), part.edges.tolist()
    assert nodes == sorted(set(nodes))
    assert edges == sorted(set(edges))
    assert part.nodes.dtype == part.edges.dtype == np.int32
    assert all(0 <= node < len(graph.nodes) for node in nodes)
    assert len(nodes) <= budget or name in UNBOUNDED
    assert nodes or not len(graph.nodes)
    among = [edge for edge, ends in enumerate(graph.edges.tolist()) if set(ends) <= set(nodes)]
    assert set(edges) <= set(among) if name in TREES else edges == among


def as_lists(part: Subgraph) -> tuple[list[int], list[int]]:
    return part.nodes.tolist(), part.edges.tolist()


@pytest.mark.parametrize("budget", [1, 2, 5, 1000])
@pytest.mark.parametrize("kind", ODD_GRAPHS)
def test_odd_graphs(name: str, kind: str, budget: int) -> None:
    check(name, ODD_GRAPHS[kind], select_one(name, ODD_GRAPHS[kind], budget), budget)


@st.composite
def queries(draw: st.DrawFn) -> GraphQuery:
    size = draw(st.integers(1, 12))
    node = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=20))
    return make_question_graph(size, edges, draw(st.lists(node, max_size=3, unique=True)), draw(st.integers(0, 50)))


@settings(max_examples=60, deadline=None)
@given(query=queries(), budget=st.integers(1, 14))
def test_any_graph(name: str, query: GraphQuery, budget: int) -> None:
    check(name, query, select_one(name, query, budget), budget)


def test_a_batch_equals_its_graphs_one_by_one_in_any_order(name: str) -> None:
    batch = [
        *ODD_GRAPHS.values(),
        *(make_question_graph(20, [(i, (7 * i + s) % 20) for i in range(20)], [s], s) for s in range(4)),
    ]
    singles = [as_lists(select_one(name, each, 4)) for each in batch]
    assert [as_lists(part) for part in SELECTORS[name]().select(batch, 4)] == singles
    assert [as_lists(part) for part in SELECTORS[name]().select(batch[::-1], 4)] == singles[::-1]
    assert SELECTORS[name]().select([], 4) == []


def test_a_selector_has_a_name(name: str) -> None:
    label = getattr(SELECTORS[name](), "name", "")
    assert isinstance(label, str)
    assert label


@pytest.mark.parametrize("budget", [0, -3])
def test_a_budget_below_one_is_refused(name: str, budget: int) -> None:
    for batch in ([], [ODD_GRAPHS["a chain"]]):
        with pytest.raises(InputError, match=f"{budget} nodes: ask for at least 1"):
            SELECTORS[name]().select(batch, budget)
