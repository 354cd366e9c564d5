"""G-Retriever's prizes and tree against prizes value by value and every connected set of nodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.subgraphs.prizes import edge_cost, edge_prizes, grow_to_budget, node_prizes, prize_tree, prune_to_budget
from clew.graph.subgraphs.textual_graph import Subgraph
from tests.oracles.prize_trees import is_connected, least_loss, shared_prizes

VALUES = st.sampled_from([-0.25, 0.0, 0.125, 0.5, 0.75])


def float_array(values: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, dtype=np.float32)


def edge_array(edges: list[tuple[int, int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    return np.array(edges, dtype=np.int32).reshape(len(edges), 2)


def as_lists(part: Subgraph) -> tuple[list[int], list[int]]:
    return part.nodes.tolist(), part.edges.tolist()


@pytest.mark.parametrize(
    ("similarity", "k", "prizes"),
    [
        ([0.1, 0.9, 0.5, 0.9], 3, [0, 3, 1, 2]),
        ([-0.5, -0.1], 3, [1, 2]),
        ([0.5, 0.5, 0.5], 2, [2, 1, 0]),
        ([0.5, 0.2], 0, [0, 0]),
        ([], 3, []),
    ],
)
def test_the_likest_nodes_have_prizes_by_rank(similarity: list[float], k: int, prizes: list[float]) -> None:
    assert node_prizes(float_array(similarity), k).tolist() == prizes


@pytest.mark.parametrize(
    ("similarity", "k", "prizes"),
    [
        ([0.9, 0.5, 0.5, 0.1], 2, [2.0, 0.5, 0.5, 0.0]),
        ([0.9] * 10 + [0.5, 0.1], 3, [0.3] * 10 + [0.3 * 0.99, 0.3 * 0.99**2]),
        ([-0.5, -0.7], 5, [2.0, 1.0]),
        ([0.5], 0, [0.0]),
        ([], 5, []),
    ],
)
def test_edges_of_one_value_share_its_prize(similarity: list[float], k: int, prizes: list[float]) -> None:
    assert edge_prizes(float_array(similarity), k).tolist() == pytest.approx(prizes, abs=1e-12)


@given(st.lists(VALUES, max_size=12), st.integers(0, 7))
def test_prizes_of_edges_value_by_value(similarity: list[float], k: int) -> None:
    assert edge_prizes(float_array(similarity), k).tolist() == pytest.approx(shared_prizes(similarity, k))


def test_the_cost_is_lowered_where_no_edge_would_be_worth_it() -> None:
    assert edge_cost(np.array([2.0, 0.1])) == 0.5
    assert edge_cost(np.array([0.3, 0.1])) == pytest.approx(0.2985)
    assert edge_cost(np.array([0.0, 0.0])) == 0.5
    assert edge_cost(np.zeros(0), 0.25) == 0.25


def test_a_case_by_hand() -> None:
    # Nodes 0 and 3 have prizes 2 and 1; of the edges between, 2-3 has 2 and so is a node; 4 is worth nothing to anyone.
    edges = edge_array([(0, 1), (1, 2), (2, 3), (0, 4)])
    of_nodes = node_prizes(float_array([0.9, 0.1, 0.1, 0.8, 0.2]), 2)
    of_edges = edge_prizes(float_array([0.1, 0.1, 0.9, 0.1]), 1)
    assert of_edges.tolist() == [0, 0, 1, 0]
    assert as_lists(prize_tree(edges, of_nodes, of_edges)) == ([0, 1, 2, 3], [0, 1, 2])
    # At a cost of 1.2 the way of two edges is dearer than what either side holds.
    assert as_lists(prize_tree(edges, of_nodes, 0.5 * of_edges, 3.0)) == as_lists(
        prize_tree(edges, of_nodes, 0.5 * of_edges)
    )
    assert as_lists(prize_tree(edges, of_nodes, 0.0 * of_edges, 3.0)) == ([0], [])


def test_an_edge_worth_its_cost_comes_with_both_ends() -> None:
    tree = prize_tree(edge_array([(0, 1), (1, 2)]), np.zeros(3), np.array([0.0, 4.0]))
    assert as_lists(tree) == ([1, 2], [1])


def test_a_graph_without_edges_is_taken_whole() -> None:
    assert as_lists(prize_tree(edge_array([]), np.array([1.0, 0.0]), np.zeros(0))) == ([0, 1], [])
    assert as_lists(prize_tree(edge_array([]), np.zeros(0), np.zeros(0))) == ([], [])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[float], list[float]]:
    size = draw(st.integers(1, 7))
    node = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(node, node), min_size=1, max_size=10))
    likeness = draw(st.lists(VALUES, min_size=size, max_size=size))
    return edges, likeness, draw(st.lists(VALUES, min_size=len(edges), max_size=len(edges)))


@settings(max_examples=200, deadline=None)
@given(graphs(), st.integers(1, 5), st.integers(0, 5), st.sampled_from([0.1, 0.5, 1.5]))
def test_the_tree_is_connected_and_at_most_twice_the_least_loss(
    graph: tuple[list[tuple[int, int]], list[float], list[float]], k: int, k_edges: int, cost: float
) -> None:
    edges, likeness, likeness_of_edges = graph
    of_nodes, of_edges = node_prizes(float_array(likeness), k), edge_prizes(float_array(likeness_of_edges), k_edges)
    nodes, taken = as_lists(prize_tree(edge_array(edges), of_nodes, of_edges, cost))
    assert is_connected(nodes, [edges[edge] for edge in taken])
    assert {end for edge in taken for end in edges[edge]} <= set(nodes)
    lowered = edge_cost(of_edges, cost)
    paid = sum(max(lowered - of_edges[edge], 0.0) for edge in taken)
    missed = sum(prize for node, prize in enumerate(of_nodes) if node not in nodes)
    missed += sum(max(of_edges[edge] - lowered, 0.0) for edge in range(len(edges)) if edge not in taken)
    best = least_loss(edges, of_nodes.tolist(), of_edges.tolist(), lowered)
    assert paid + missed <= 2.0 * best + 1e-6


@settings(max_examples=200, deadline=None)
@given(graphs(), st.integers(1, 8))
def test_what_is_left_of_a_tree_fits_and_hangs_together(
    graph: tuple[list[tuple[int, int]], list[float], list[float]], budget: int
) -> None:
    edges, likeness, likeness_of_edges = graph
    of_nodes, of_edges = node_prizes(float_array(likeness), 5), edge_prizes(float_array(likeness_of_edges), 5)
    tree = prize_tree(edge_array(edges), of_nodes, of_edges)
    nodes, taken = as_lists(prune_to_budget(tree, edge_array(edges), of_nodes, of_edges, budget))
    assert len(nodes) == min(budget, len(tree.nodes))
    assert set(nodes) <= set(tree.nodes.tolist())
    assert is_connected(nodes, [edges[edge] for edge in taken])
    assert taken == [edge for edge in tree.edges.tolist() if set(edges[edge]) <= set(nodes)]


def test_the_leaf_of_least_prize_goes_first_and_its_edge_counts() -> None:
    edges = edge_array([(0, 1), (0, 2), (0, 3), (3, 4)])
    tree = Subgraph(np.arange(5, dtype=np.int32), np.arange(4, dtype=np.int32))
    of_nodes, of_edges = np.array([1.0, 3.0, 0.0, 0.0, 2.0]), np.array([0.0, 2.5, 0.0, 0.0])
    left = [prune_to_budget(tree, edges, of_nodes, of_edges, budget).nodes.tolist() for budget in (5, 4, 3, 2, 1)]
    assert left == [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2], [0, 1], [1]]
    equal = prune_to_budget(tree, edges, np.zeros(5), np.zeros(4), 2)
    assert as_lists(equal) == ([0, 1], [0])


def test_a_part_grows_by_its_likest_neighbours() -> None:
    edges = edge_array([(0, 1), (1, 2), (0, 3), (2, 3), (3, 3), (4, 5), (1, 0)])
    part = Subgraph(np.array([0, 1], dtype=np.int32), np.array([0], dtype=np.int32))
    likeness = float_array([0.0, 0.0, 0.9, 0.2, 1.0, 1.0])
    assert as_lists(grow_to_budget(part, edges, likeness, 3)) == ([0, 1, 2], [0, 1])
    assert as_lists(grow_to_budget(part, edges, likeness, 9)) == ([0, 1, 2, 3], [0, 1, 2, 3, 4])
    assert as_lists(grow_to_budget(part, edges, likeness, 2)) == ([0, 1], [0])
