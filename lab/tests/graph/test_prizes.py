"""G-Retriever's prizes and tree, against prizes by value and every connected set of nodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.subgraphs.textual_graph import Subgraph
from clew_lab.graph.prizes import edge_cost, edge_prizes, grow_to_budget, node_prizes, prize_tree, prune_to_budget
from lab.tests.oracles.prize_trees import is_connected, least_loss, shared_prizes

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
def test_the_most_similar_nodes_have_prizes_by_rank(similarity: list[float], k: int, prizes: list[float]) -> None:
    assert node_prizes(float_array(similarity), k).tolist() == prizes


@given(st.lists(VALUES, max_size=12), st.integers(0, 7))
def test_prizes_of_edges_value_by_value(similarity: list[float], k: int) -> None:
    assert edge_prizes(float_array(similarity), k).tolist() == pytest.approx(shared_prizes(similarity, k))


def test_the_cost_is_lowered_if_no_edge_would_be_worth_it() -> None:
    assert edge_cost(np.array([2.0, 0.1])) == 0.5
    assert edge_cost(np.array([0.3, 0.1])) == pytest.approx(0.2985)
    assert edge_cost(np.array([0.0, 0.0])) == 0.5
    assert edge_cost(np.zeros(0), 0.25) == 0.25


def test_an_example_by_hand() -> None:
    # Nodes 0 and 3 have prizes 2 and 1; edge 2-3 has prize 1, above the cost, and so is a virtual node; 4 has no prize.
    edges = edge_array([(0, 1), (1, 2), (2, 3), (0, 4)])
    node_prize = node_prizes(float_array([0.9, 0.1, 0.1, 0.8, 0.2]), 2)
    edge_prize = edge_prizes(float_array([0.1, 0.1, 0.9, 0.1]), 1)
    assert edge_prize.tolist() == [0, 0, 1, 0]
    assert as_lists(prize_tree(edges, node_prize, edge_prize)) == ([0, 1, 2, 3], [0, 1, 2])
    # The cost is lowered to the same value for 0.5 and 3.0; without prizes of edges it stays too high for any edge.
    assert as_lists(prize_tree(edges, node_prize, 0.5 * edge_prize, 3.0)) == as_lists(
        prize_tree(edges, node_prize, 0.5 * edge_prize)
    )
    assert as_lists(prize_tree(edges, node_prize, 0.0 * edge_prize, 3.0)) == ([0], [])


def test_an_edge_above_its_cost_comes_with_both_ends() -> None:
    tree = prize_tree(edge_array([(0, 1), (1, 2)]), np.zeros(3), np.array([0.0, 4.0]))
    assert as_lists(tree) == ([1, 2], [1])


def test_a_graph_without_edges_is_returned_in_full() -> None:
    assert as_lists(prize_tree(edge_array([]), np.array([1.0, 0.0]), np.zeros(0))) == ([0, 1], [])
    assert as_lists(prize_tree(edge_array([]), np.zeros(0), np.zeros(0))) == ([], [])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[float], list[float]]:
    size = draw(st.integers(1, 7))
    node = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(node, node), min_size=1, max_size=10))
    similarity = draw(st.lists(VALUES, min_size=size, max_size=size))
    return edges, similarity, draw(st.lists(VALUES, min_size=len(edges), max_size=len(edges)))


@settings(max_examples=200, deadline=None)
@given(graphs(), st.integers(1, 5), st.integers(0, 5), st.sampled_from([0.1, 0.5, 1.5]))
def test_the_tree_is_connected_with_at_most_twice_the_minimum_loss(
    graph: tuple[list[tuple[int, int]], list[float], list[float]], k: int, k_edges: int, cost: float
) -> None:
    edges, similarity, edge_similarity = graph
    node_prize, edge_prize = node_prizes(float_array(similarity), k), edge_prizes(float_array(edge_similarity), k_edges)
    nodes, tree_edges = as_lists(prize_tree(edge_array(edges), node_prize, edge_prize, cost))
    assert is_connected(nodes, [edges[edge] for edge in tree_edges])
    assert {end for edge in tree_edges for end in edges[edge]} <= set(nodes)
    lowered = edge_cost(edge_prize, cost)
    paid = sum(max(lowered - edge_prize[edge], 0.0) for edge in tree_edges)
    missed = sum(prize for node, prize in enumerate(node_prize) if node not in nodes)
    missed += sum(max(edge_prize[edge] - lowered, 0.0) for edge in range(len(edges)) if edge not in tree_edges)
    best = least_loss(edges, node_prize.tolist(), edge_prize.tolist(), lowered)
    assert paid + missed <= 2.0 * best + 1e-6


@settings(max_examples=200, deadline=None)
@given(graphs(), st.integers(1, 8))
def test_a_pruned_tree_fits_the_budget_and_is_connected(
    graph: tuple[list[tuple[int, int]], list[float], list[float]], budget: int
) -> None:
    edges, similarity, edge_similarity = graph
    node_prize, edge_prize = node_prizes(float_array(similarity), 5), edge_prizes(float_array(edge_similarity), 5)
    tree = prize_tree(edge_array(edges), node_prize, edge_prize)
    nodes, tree_edges = as_lists(prune_to_budget(tree, edge_array(edges), node_prize, edge_prize, budget))
    assert len(nodes) == min(budget, len(tree.nodes))
    assert set(nodes) <= set(tree.nodes.tolist())
    assert is_connected(nodes, [edges[edge] for edge in tree_edges])
    assert tree_edges == [edge for edge in tree.edges.tolist() if set(edges[edge]) <= set(nodes)]


def test_the_leaf_of_least_prize_including_its_edge_is_removed_first() -> None:
    edges = edge_array([(0, 1), (0, 2), (0, 3), (3, 4)])
    tree = Subgraph(np.arange(5, dtype=np.int32), np.arange(4, dtype=np.int32))
    node_prize, edge_prize = np.array([1.0, 3.0, 0.0, 0.0, 2.0]), np.array([0.0, 2.5, 0.0, 0.0])
    left = [prune_to_budget(tree, edges, node_prize, edge_prize, budget).nodes.tolist() for budget in (5, 4, 3, 2, 1)]
    assert left == [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2], [0, 1], [1]]
    equal = prune_to_budget(tree, edges, np.zeros(5), np.zeros(4), 2)
    assert as_lists(equal) == ([0, 1], [0])


def test_a_subgraph_grows_by_its_most_similar_neighbours() -> None:
    edges = edge_array([(0, 1), (1, 2), (0, 3), (2, 3), (3, 3), (4, 5), (1, 0)])
    part = Subgraph(np.array([0, 1], dtype=np.int32), np.array([0], dtype=np.int32))
    similarity = float_array([0.0, 0.0, 0.9, 0.2, 1.0, 1.0])
    assert as_lists(grow_to_budget(part, edges, similarity, 3)) == ([0, 1, 2], [0, 1])
    assert as_lists(grow_to_budget(part, edges, similarity, 9)) == ([0, 1, 2, 3], [0, 1, 2, 3, 4])
    assert as_lists(grow_to_budget(part, edges, similarity, 2)) == ([0, 1], [0])
