"""Simple paths and their order under a bound, against enumerating them all."""

from collections.abc import Sequence

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.paths.simple_paths import PathSet, simple_paths
from clew.graph.subgraphs.k_hop import local_graph
from clew.graph.subgraphs.textual_graph import fact_graph
from tests.graph.fact_graphs import FactSet, draw_entities, fact_sets, rows
from tests.oracles import facts as oracle


def unpadded_paths(paths: PathSet) -> list[oracle.Walk]:
    """Return the paths without padding."""
    return [
        (tuple(n for n in nodes if n >= 0), tuple(e for e in edges if e >= 0))
        for nodes, edges in zip(paths.nodes.tolist(), paths.edges.tolist(), strict=True)
    ]


def by_entity(levels: Sequence[Sequence[oracle.Walk]], nodes: Sequence[int]) -> list[oracle.Walk]:
    return [(tuple(nodes[position] for position in walk), codes) for level in levels for walk, codes in level]


@settings(deadline=None, max_examples=200)
@given(st.data(), fact_sets(max_entities=7, max_facts=14), st.integers(0, 4), st.integers(0, 60) | st.just(10**6))
def test_simple_paths_come_by_length_then_round_by_round(
    data: st.DataObject, fact_set: FactSet, hops: int, max_paths: int
) -> None:
    nodes = data.draw(draw_entities(fact_set))
    starts = data.draw(st.lists(st.integers(0, len(nodes) - 1), max_size=4)) if nodes else []
    local = local_graph(fact_set.graph, np.array(nodes, dtype=np.int32), fact_set.blocked_mask)
    local_rows = rows(local)
    found = simple_paths(local, np.array(starts, dtype=np.int64), hops, max_paths)
    levels = oracle.simple_paths(lambda position: local_rows[position], starts, hops)
    wanted = by_entity(levels, nodes)
    assert unpadded_paths(found) == wanted[:max_paths]
    assert found.truncated == (len(wanted) > max_paths)
    assert found.lengths().tolist() == [len(codes) for _, codes in wanted[:max_paths]]
    assert found.nodes.shape == (len(found), hops + 1)
    assert found.edges.shape == (len(found), hops)
    assert {str(found.nodes.dtype), str(found.edges.dtype)} == {"int32"}


@settings(deadline=None, max_examples=100)
@given(fact_sets(max_entities=6, max_facts=10, min_entities=2), st.integers(1, 4))
def test_simple_paths_equal_those_of_networkx(fact_set: FactSet, hops: int) -> None:
    local = local_graph(fact_set.graph, np.arange(fact_set.entity_count, dtype=np.int32))
    graph: nx.MultiGraph = nx.MultiGraph()
    graph.add_nodes_from(range(fact_set.entity_count))
    for number, (head, _, tail) in enumerate(fact_set.facts):
        graph.add_edge(head, tail, key=number)
    wanted = {
        (one, *((other, number) for _, other, number in path))
        for one, two in ((0, other) for other in range(1, fact_set.entity_count))
        for path in nx.all_simple_edge_paths(graph, one, two, cutoff=hops)
    }
    found = {
        (nodes[0], *zip(nodes[1:], (code // 2 for code in codes), strict=True))
        for nodes, codes in unpadded_paths(simple_paths(local, np.array([0]), hops, 10**6))
    }
    assert found == wanted


def test_a_million_facts_between_two_entities_are_skipped() -> None:
    facts = np.zeros((1_000_000, 3), dtype=np.int32)
    facts[:, 2] = 1
    facts[-1] = 1, 0, 2
    local = local_graph(fact_graph(facts, 3), np.arange(3, dtype=np.int32))
    found = simple_paths(local, np.array([0]), 3, 999_999 + 20_000)
    assert len(found) == 999_999 + 20_000
    assert found.truncated
    assert found.nodes[-1].tolist() == [0, 1, 2, -1]
