"""Forward push against the exact walk, and power iteration against networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.node_table import node_position
from clew.graph.ppr.forward_push import NodeAttraction, PushResult, push_pagerank
from clew.text.bm25 import BM25Index
from clew_lab.graph.power_iteration import power_iteration, summed_adjacency
from tests.graph.symmetric_graphs import PushProblem, push_problems, symmetric_graph
from tests.oracles.pagerank import dense_matrix, exact_pagerank


def push_problem(a: PushProblem, epsilon: float) -> PushResult:
    return push_pagerank(a.graph, a.restart, NodeAttraction(given=a.attraction), ~a.blocked, a.damping, epsilon)


def exact_values(a: PushProblem) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    matrix = dense_matrix(a.graph, a.graph.row_count)
    found = exact_pagerank(matrix, a.restart_row, a.attraction.astype(np.float64), a.blocked, a.damping)
    return found.reshape(a.graph.row_count)


def dense_values(walk: PushResult, count: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    values = np.zeros(count)
    values[walk.nodes] = walk.values
    return values


@settings(deadline=None, max_examples=150)
@given(push_problems(), st.sampled_from([1e-1, 1e-2, 1e-3, 1e-5]))
def test_the_error_of_push_is_at_most_its_residual(a: PushProblem, epsilon: float) -> None:
    walk = push_problem(a, epsilon)
    found, wanted = dense_values(walk, a.graph.row_count), exact_values(a)
    assert np.abs(found - wanted).sum() <= walk.residual + 1e-6
    assert (found <= wanted + 1e-6).all()
    assert walk.residual <= epsilon * np.maximum(a.graph.degrees(), 1)[walk.nodes].sum() + 1e-12
    assert list(walk.nodes) == sorted(set(walk.nodes.tolist()))


@settings(deadline=None, max_examples=60)
@given(push_problems())
def test_blocked_nodes_are_not_touched(a: PushProblem) -> None:
    assert not a.blocked[push_problem(a, 1e-6).nodes].any()


def test_a_hub_with_more_neighbours_than_the_initial_buffers() -> None:
    count = 5000
    graph = symmetric_graph({(0, other): 1.0 for other in range(1, count)}, count)
    restart = np.array([0], dtype=np.int32), np.array([1.0], dtype=np.float32)
    walk = push_pagerank(graph, restart, NodeAttraction(), np.zeros(0, dtype=bool), 0.5, 1e-9)
    # x0 = 1/2 + x0/4 and each leaf ends x0/2 of what the hub sends on, shared.
    assert walk.values[0] == pytest.approx(2 / 3, abs=1e-4)
    assert len(walk.nodes) == count
    assert walk.values[1:].sum() == pytest.approx(1 / 3, abs=1e-4)


@settings(deadline=None, max_examples=60)
@given(push_problems())
def test_each_touched_node_has_its_attraction_and_its_slot(a: PushProblem) -> None:
    walk = push_problem(a, 1e-6)
    np.testing.assert_array_equal(walk.attraction, a.attraction[walk.nodes])
    positions = [node_position(walk.slots, node) for node in range(a.graph.row_count)]
    touched = walk.nodes.tolist()
    assert positions == [touched.index(node) if node in touched else -1 for node in range(a.graph.row_count)]


def test_attraction_is_computed_from_degrees_and_matches() -> None:
    index = BM25Index.build(["ship ice", "ice", "pole", "ship ship"])
    graph = symmetric_graph({(0, 4): 1.0, (1, 4): 1.0, (2, 4): 1.0, (3, 4): 1.0}, 5)
    restart = np.array([4], dtype=np.int32), np.array([1.0], dtype=np.float32)
    ship, ice = index.scores("ship"), index.scores("ice")
    bests = float(ship.max()), float(ice.max())
    query = index.query("ship ice")
    terms = query.terms.tolist()
    weights = np.zeros((2, 2))
    for row, word in enumerate(("ship", "ice")):
        of_word = index.query(word)
        weights[row, terms.index(int(of_word.terms[0]))] = of_word.weights[0]
    rows = *index.row_arrays, query.terms, weights, query.slots
    attraction = NodeAttraction(0.25, rows=rows, bests=bests, weights=(2.0, 5.0))
    walk = push_pagerank(graph, restart, attraction, np.zeros(0, dtype=bool), 0.5, 1e-9)
    matches = np.stack([np.append(ship / bests[0], 0.0), np.append(ice / bests[1], 0.0)], axis=1)
    np.testing.assert_allclose(walk.matches, matches, rtol=1e-6)
    wanted = np.array([1, 1, 1, 1, 4]) ** -0.25 * (1.0 + matches @ [2.0, 5.0])
    np.testing.assert_allclose(walk.attraction, wanted, rtol=1e-6)


def test_push_stays_local() -> None:
    count = 10_000
    graph = symmetric_graph({(i, i + 1): 1.0 for i in range(count - 1)}, count)
    restart = np.array([5000], dtype=np.int32), np.array([1.0], dtype=np.float32)
    walk = push_pagerank(graph, restart, NodeAttraction(), np.ones(count, dtype=bool), 0.5, 1e-4)
    assert len(walk.nodes) < 60


@settings(deadline=None, max_examples=80)
@given(push_problems(), st.sampled_from([0.3, 0.5, 0.85]))
def test_power_iteration_equals_networkx(a: PushProblem, damping: float) -> None:
    count = a.graph.row_count
    start = a.restart_row / a.restart_row.sum()
    found = power_iteration(a.graph, start, damping)
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(range(count))
    matrix = dense_matrix(a.graph, count)
    graph.add_weighted_edges_from((u, v, matrix[u, v]) for u in range(count) for v in range(count) if matrix[u, v])
    wanted = nx.pagerank(graph, alpha=damping, personalization=dict(enumerate(start)), tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(found, [wanted[node] for node in range(count)], atol=1e-7)
    assert found.sum() == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 9)), max_size=30))
def test_summed_adjacency_adds_up(entries: list[tuple[int, int, int]]) -> None:
    rows, columns, weights = (np.array([entry[i] for entry in entries], dtype=np.int64) for i in range(3))
    found = dense_matrix(summed_adjacency(rows, columns, weights.astype(np.float32), 6), 6)
    wanted = np.zeros((6, 6))
    for row, column, weight in entries:
        wanted[row, column] += weight
    assert found.tolist() == wanted.tolist()
