"""Likeliest walks against all walks, and against networkx on larger graphs."""

import math
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from clew.graph.csr import Adjacency
from clew.graph.paths.likeliest_walks import likeliest_walks
from clew.graph.ppr.forward_push import NodeAttraction, push_pagerank
from tests.graph.symmetric_graphs import PushProblem, push_problems, symmetric_graph
from tests.oracles.walks import probability, simple_walks

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray


def to_dictionary(graph: Adjacency) -> dict[int, dict[int, float]]:
    weights = [graph.weights[graph.indptr[i] : graph.indptr[i + 1]] for i in range(graph.row_count)]
    return {i: dict(zip(graph.row(i).tolist(), weights[i].tolist(), strict=True)) for i in range(graph.row_count)}


def find_problem_walks(a: PushProblem, targets: list[int]) -> list[tuple[float, tuple[int, ...]]]:
    return find_walks(a.graph, a.restart, a.attraction, a.blocked, a.damping, targets)


def find_walks(
    graph: Adjacency,
    restart: "tuple[IntArray, FloatArray]",
    attraction: "FloatArray",
    blocked: "BoolArray",
    damping: float,
    targets: list[int],
) -> list[tuple[float, tuple[int, ...]]]:
    walk = push_pagerank(graph, restart, NodeAttraction(given=attraction), ~blocked, damping, 1e-12)
    return likeliest_walks(graph, walk, restart, damping, targets)


def restart_shares(a: PushProblem) -> dict[int, float]:
    return dict(zip(a.restart[0].tolist(), a.restart[1].tolist(), strict=True))


@settings(deadline=None, max_examples=120)
@given(push_problems(largest=6))
def test_the_likeliest_of_all_walks_is_found(a: PushProblem) -> None:
    graph, blocked = to_dictionary(a.graph), set(np.flatnonzero(a.blocked).tolist())
    attraction, start = a.attraction.tolist(), restart_shares(a)
    best = dict.fromkeys(graph, 0.0)
    for node in start:
        for walk in simple_walks(graph, node, blocked):
            likelihood = probability(graph, walk, start, attraction, blocked, a.damping)
            best[walk[-1]] = max(best[walk[-1]], likelihood)
    for target, (likelihood, nodes) in zip(graph, find_problem_walks(a, list(graph)), strict=True):
        assert likelihood == pytest.approx(best[target], rel=1e-5, abs=1e-12)
        assert bool(nodes) == (likelihood > 0)
        if nodes:
            assert nodes[-1] == target
            assert nodes[0] in start
            assert probability(graph, nodes, start, attraction, blocked, a.damping) == pytest.approx(
                likelihood, rel=1e-5
            )


@settings(deadline=None, max_examples=60)
@given(push_problems(largest=40))
def test_likelihoods_equal_those_of_networkx_for_short_walks(a: PushProblem) -> None:
    graph, blocked = to_dictionary(a.graph), set(np.flatnonzero(a.blocked).tolist())
    attraction, start = a.attraction.tolist(), restart_shares(a)
    costs: nx.DiGraph = nx.DiGraph()
    costs.add_nodes_from(["start", *graph])
    for one in graph:
        for other in graph[one]:
            if not {one, other} & blocked:
                likelihood = probability(graph, (one, other), {one: 1.0}, attraction, blocked, a.damping or 0.5)
                costs.add_edge(one, other, weight=-math.log(likelihood))
    for node, share in start.items():
        if node not in blocked:
            costs.add_edge("start", node, weight=-math.log(share))
    lengths, paths = nx.single_source_dijkstra(costs, "start")
    a = PushProblem(a.graph, a.restart, a.attraction, a.blocked, a.damping or 0.5)
    for target, (likelihood, _) in zip(graph, find_problem_walks(a, list(graph)), strict=True):
        if target not in lengths:
            assert likelihood == 0
        elif len(paths[target]) <= 8:
            assert likelihood == pytest.approx(math.exp(-lengths[target]), rel=1e-4)


def test_a_walk_has_at_most_eight_steps() -> None:
    line = symmetric_graph({(i, i + 1): 1.0 for i in range(19)}, 20)
    start = np.array([0], dtype=np.int32), np.array([1.0], dtype=np.float32)
    free = np.zeros(20, dtype=bool)
    found = find_walks(line, start, np.ones(20, dtype=np.float32), free, 0.9, list(range(20)))
    assert [len(nodes) for _, nodes in found] == [*range(1, 10), *[0] * 11]
    assert found[8][1] == tuple(range(9))


def test_a_walk_may_start_or_end_at_a_hub_but_not_pass_it() -> None:
    pairs = {(0, other): 1.0 for other in range(1, 700)} | {(1, 700): 1.0}
    graph = symmetric_graph(pairs, 701)
    even, free = np.ones(701, dtype=np.float32), np.zeros(701, dtype=bool)

    def steps(start: int, target: int) -> tuple[int, ...]:
        restart = np.array([start], dtype=np.int32), np.array([1.0], dtype=np.float32)
        return find_walks(graph, restart, even, free, 0.5, [target])[0][1]

    assert steps(0, 5) == (0, 5)
    assert steps(700, 0) == (700, 1, 0)
    assert steps(700, 5) == ()


def test_duplicate_targets_and_no_targets() -> None:
    line = symmetric_graph({(0, 1): 1.0}, 2)
    start = np.array([0], dtype=np.int32), np.array([1.0], dtype=np.float32)
    even, free = np.ones(2, dtype=np.float32), np.zeros(2, dtype=bool)
    one, other = find_walks(line, start, even, free, 0.5, [1, 1])
    assert one == other == (0.5, (0, 1))
    assert find_walks(line, start, even, free, 0.5, []) == []
