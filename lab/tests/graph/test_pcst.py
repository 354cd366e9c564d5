"""The primal-dual approximation against all trees, and against the results of another program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew_lab.graph.pcst import prize_collecting_tree
from lab.tests.oracles.prize_trees import is_connected, least_loss


def solve(edges: list[tuple[int, int]], prizes: list[float], costs: list[float]) -> tuple[float, list[int]]:
    ends = np.array(edges, dtype=np.int32).reshape(-1, 2)
    nodes, tree_edges = prize_collecting_tree(ends, np.array(prizes), np.array(costs))
    assert len(tree_edges) == len(nodes) - 1
    assert is_connected(nodes.tolist(), [edges[edge] for edge in tree_edges.tolist()])
    assert nodes.tolist() == sorted(set(nodes.tolist()))
    assert tree_edges.tolist() == sorted(set(tree_edges.tolist()))
    paid = sum(costs[edge] for edge in tree_edges.tolist())
    return paid + sum(prize for node, prize in enumerate(prizes) if node not in nodes), nodes.tolist()


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[float], list[float]]:
    size = draw(st.integers(2, 7))
    node = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=10))
    amount = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), st.floats(0.0, 3.0))
    prizes = draw(st.lists(amount, min_size=size, max_size=size))
    return edges, prizes, draw(st.lists(amount, min_size=len(edges), max_size=len(edges)))


@settings(max_examples=300, deadline=None)
@given(problems())
def test_the_result_is_a_tree_of_at_most_twice_the_minimum_loss(
    problem: tuple[list[tuple[int, int]], list[float], list[float]],
) -> None:
    edges, prizes, costs = problem
    highest = max(costs, default=0.0)
    best = least_loss(edges, prizes, [highest - cost for cost in costs], highest)
    assert best - 1e-6 <= solve(edges, prizes, costs)[0] <= 2.0 * best + 1e-6


@pytest.mark.parametrize("size", [2, 5, 9])
def test_a_chain_whose_end_prizes_cover_its_costs_is_selected(size: int) -> None:
    edges = [(node, node + 1) for node in range(size - 1)]
    costs = [0.5] * (size - 1)
    enough, too_little = [0.0] * size, [0.0] * size
    enough[0] = enough[-1] = 0.25 * (size - 1) + 0.01
    too_little[0], too_little[-1] = 9.0, 0.5 * (size - 1) / 20
    assert solve(edges, enough, costs)[1] == list(range(size))
    assert solve(edges, too_little, costs)[1] == [0]


def test_the_rays_of_a_star_that_cover_their_cost_are_selected() -> None:
    edges = [(0, ray) for ray in range(1, 6)]  # a ray of less than half its cost is deactivated before the merger
    assert solve(edges, [5.0, 0.6, 0.2, 0.51, 0.0, 3.0], [0.5] * 5)[1] == [0, 1, 3, 5]


def test_a_deactivated_component_is_kept_if_the_tree_leads_through_it() -> None:
    edges = [(0, 1), (1, 2), (1, 3)]
    assert solve(edges, [2.0, 0.1, 2.0, 0.1], [1.0, 1.0, 1.0])[1] == [0, 1, 2]


# Nodes and edges found by pcst_fast 1.0.10 (no root, one cluster, pruning gw, numpy 1.26).
REFERENCE_TREES = [
    ([(0, 1), (0, 1), (1, 2)], [3.0, 0.0, 2.0], [0.5, 0.2, 0.5], [0, 1, 2], [1, 2]),
    ([(0, 1), (2, 3)], [3.0, 1.0, 2.5, 2.0], [0.5, 0.2], [2, 3], [1]),
    ([(0, 1)], [1.0, 1.0], [1.5], [0, 1], [0]),  # worse than one node alone, but within the guarantee
    (
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3), (2, 5)],
        [1.3, 0.0, 0.2, 0.7, 0.0, 0.45],
        [0.5, 0.61, 0.3, 0.72, 0.4, 0.55, 0.33],
        [0, 1, 2, 3, 5],
        [0, 2, 5, 6],
    ),
]


@pytest.mark.parametrize(("edges", "prizes", "costs", "nodes", "tree_edges"), REFERENCE_TREES)
def test_the_tree_of_another_program(
    edges: list[tuple[int, int]], prizes: list[float], costs: list[float], nodes: list[int], tree_edges: list[int]
) -> None:
    found = prize_collecting_tree(np.array(edges, dtype=np.int32), np.array(prizes), np.array(costs))
    assert [part.tolist() for part in found] == [nodes, tree_edges]


def test_degenerate_graphs() -> None:
    none, no_edges = prize_collecting_tree(np.zeros((0, 2), dtype=np.int32), np.zeros(0), np.zeros(0))
    assert not len(none)
    assert not len(no_edges)
    assert solve([], [0.0], [])[1] == [0]
    assert solve([], [1.0, 3.0, 2.0], [])[1] == [1]
    assert solve([(0, 0), (0, 1)], [1.0, 1.0], [0.0, 0.1])[1] == [0, 1]
    assert len(solve([(0, 1), (1, 2)], [0.0, 0.0, 0.0], [0.0, 0.0])[1]) >= 1
