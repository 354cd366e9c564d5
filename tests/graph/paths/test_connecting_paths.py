"""Paths between two entities, against all simple paths of a plain graph."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.paths import simple_paths as module
from clew.graph.paths.simple_paths import connecting_paths
from clew.graph.subgraphs.k_hop import LocalGraph, local_graph
from clew.graph.subgraphs.textual_graph import fact_graph

NODES = 8
edges = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=20)


def make_graph(pairs: list[tuple[int, int]]) -> LocalGraph:
    triples = np.array([(a, 0, b) for a, b in pairs], dtype=np.int32).reshape(-1, 3)
    return local_graph(fact_graph(triples, NODES), np.arange(NODES, dtype=np.int32))


def all_paths(pairs: list[tuple[int, int]], start: int, end: int, hops: int) -> list[tuple[int, ...]]:
    """Return all simple paths, by length and then by positions."""
    graph = nx.Graph(pairs)
    graph.add_nodes_from(range(NODES))
    found = [] if start == end else [tuple(path) for path in nx.all_simple_paths(graph, start, end, cutoff=hops)]
    return sorted(found, key=lambda path: (len(path), path))


@given(edges, st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(1, 5), st.integers(1, 30))
def test_they_are_the_first_of_all_simple_paths(
    pairs: list[tuple[int, int]], start: int, end: int, hops: int, limit: int
) -> None:
    expected = all_paths(pairs, start, end, hops)
    found = connecting_paths(make_graph(pairs), start, end, hops, limit)
    assert list(found.nodes) == expected[:limit]
    assert found.truncated == (len(expected) > limit)


def test_a_search_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = [(a, b) for a in range(NODES) for b in range(a)]
    monkeypatch.setattr(module, "_MAX_STEPS", 20)
    found = connecting_paths(make_graph(complete), 0, 1, 5, 1_000)
    assert found.truncated
    assert found.nodes[0] == (0, 1)
    assert set(found.nodes) <= set(all_paths(complete, 0, 1, 5))
