"""Local PageRank: push within its error bound, and the exact walk."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.ppr.local_ppr import best_positions, push_ppr, random_walk_with_restart
from clew.graph.subgraphs.k_hop import LocalGraph, local_graph
from clew.graph.subgraphs.textual_graph import fact_graph
from tests.graph.fact_graphs import FactSet, fact_sets, rows
from tests.oracles.pagerank import exact_pagerank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import LongArray


@dataclass(frozen=True)
class PPRProblem:
    """A graph and where the walk starts."""

    local: LocalGraph
    starts: "LongArray"
    weights: "NDArray[np.float64]"
    damping: float

    def exact_scores(self) -> "NDArray[np.float64]":
        count = len(self.local.nodes)
        matrix, start = np.zeros((count, count)), np.zeros(count)
        for node, row in enumerate(rows(self.local)):
            for other, _ in row:
                matrix[node, other] += 1
        for position, weight in zip(self.starts, self.weights / self.weights.sum(), strict=True):
            start[position] += weight
        return exact_pagerank(matrix, start, np.ones(count), np.zeros(count, dtype=np.bool_), self.damping)


@st.composite
def ppr_problems(draw: st.DrawFn) -> PPRProblem:
    """Draw a graph with loops, parallel and self-edges and isolated nodes, some starts, one of them perhaps twice."""
    fact_set: FactSet = draw(fact_sets(min_entities=1))
    local = local_graph(
        fact_set.graph,
        np.array(draw(st.permutations(range(fact_set.entity_count))), dtype=np.int32),
        fact_set.blocked_mask,
    )
    starts = draw(st.lists(st.integers(0, fact_set.entity_count - 1), min_size=1, max_size=4))
    weights = [draw(st.integers(1, 20)) / 4 for _ in starts]
    damping = draw(st.sampled_from([0.0, 0.5, 0.8, 0.95]))
    return PPRProblem(local, np.array(starts), np.array(weights), damping)


@settings(deadline=None, max_examples=200)
@given(ppr_problems(), st.sampled_from([1e-1, 1e-2, 1e-3, 1e-5]))
def test_push_is_below_the_exact_value_by_at_most_epsilon_per_degree(a: PPRProblem, epsilon: float) -> None:
    lacking = a.exact_scores() - push_ppr(a.local, a.starts, a.weights, a.damping, epsilon)
    assert (lacking >= -1e-12).all()
    assert (lacking <= epsilon * a.local.degrees() + 1e-12).all()


@settings(deadline=None, max_examples=100)
@given(ppr_problems(), st.sampled_from([1e-2, 1e-5, 1e-10]))
def test_the_walk_with_restart_is_exact_within_its_tolerance(a: PPRProblem, tolerance: float) -> None:
    found = random_walk_with_restart(a.local, a.starts, a.weights, a.damping, tolerance=tolerance)
    assert np.abs(found - a.exact_scores()).sum() <= tolerance * a.damping / (1 - a.damping) + 1e-11
    assert found.sum() == pytest.approx(1.0)


@settings(deadline=None, max_examples=100)
@given(ppr_problems())
def test_the_walk_with_restart_equals_networkx_where_every_start_has_edges(a: PPRProblem) -> None:
    if not a.local.degrees()[a.starts].all():
        return
    graph: nx.MultiDiGraph = nx.MultiDiGraph()
    graph.add_nodes_from(range(len(a.local.nodes)))
    graph.add_edges_from((node, other) for node, row in enumerate(rows(a.local)) for other, _ in row)
    personal = {int(position): float(a.weights[a.starts == position].sum()) for position in a.starts}
    wanted = nx.pagerank(nx.DiGraph(_count_parallel_edges(graph)), a.damping, personal, tol=1e-13, max_iter=5000)
    found = random_walk_with_restart(a.local, a.starts, a.weights, a.damping, tolerance=1e-13)
    np.testing.assert_allclose(found, [wanted[node] for node in range(len(found))], atol=1e-9)


def _count_parallel_edges(graph: "nx.MultiDiGraph") -> "nx.DiGraph":
    simple: nx.DiGraph = nx.DiGraph()
    simple.add_nodes_from(graph)
    for one, other in graph.edges():
        known = simple.get_edge_data(one, other, {"weight": 0})["weight"]
        simple.add_edge(one, other, weight=known + 1)
    return simple


def test_only_a_hub_that_is_a_start_is_expanded() -> None:
    star = [(0, 0, other) for other in range(1, 1000)]
    local = local_graph(fact_graph(np.array(star, dtype=np.int32), 1000), np.arange(1000, dtype=np.int32))
    assert (push_ppr(local, np.array([0]), np.ones(1), epsilon=0.1) > 0).all()
    assert np.flatnonzero(push_ppr(local, np.array([1]), np.ones(1), epsilon=0.1)).tolist() == [0, 1]


def test_scores_are_zero_without_starts() -> None:
    local = local_graph(fact_graph(np.array([(0, 0, 1)], dtype=np.int32), 2), np.arange(2, dtype=np.int32))
    empty = local_graph(fact_graph(np.zeros((0, 3), dtype=np.int32), 0), np.zeros(0, dtype=np.int32))
    none = np.zeros(0, dtype=np.int64)
    for graph in (local, empty):
        assert not push_ppr(graph, none, np.zeros(0)).any()
        assert not random_walk_with_restart(graph, none, np.zeros(0)).any()
    assert not push_ppr(local, np.array([0]), np.zeros(1)).any()


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), max_size=12), st.integers(1, 12))
def test_best_positions_are_ordered_by_score_with_ties_by_position(scores: list[float], max_count: int) -> None:
    wanted = sorted((i for i, score in enumerate(scores) if score > 0), key=lambda i: (-scores[i], i))
    assert best_positions(np.array(scores), max_count).tolist() == wanted[:max_count]
