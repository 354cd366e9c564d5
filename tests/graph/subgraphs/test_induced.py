"""Local graphs against selecting their edges one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.graph.subgraphs import k_hop as module
from clew.graph.subgraphs.k_hop import explored_graph, filter_edges, local_graph, neighbourhood
from clew.graph.subgraphs.textual_graph import fact_graph
from tests.graph.fact_graphs import FactSet, draw_entities, fact_sets, rows
from tests.oracles import facts as oracle


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.data(), fact_sets())
def test_the_induced_graph_in_the_given_order(data: st.DataObject, fact_set: FactSet) -> None:
    nodes = data.draw(draw_entities(fact_set))
    local = local_graph(fact_set.graph, np.array(nodes, dtype=np.int32), fact_set.blocked_mask)
    assert local.nodes.tolist() == nodes
    assert rows(local) == oracle.induced_edges(fact_set.facts, nodes, fact_set.blocked)
    assert local.degrees().tolist() == [len(row) for row in rows(local)]


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.data(), fact_sets(), st.integers(1, 4), st.integers(0, 12) | st.integers(0, 40) | st.just(10**9))
def test_the_explored_graph_has_the_edges_that_were_read(
    data: st.DataObject, fact_set: FactSet, hops: int, most: int
) -> None:
    starts = data.draw(draw_entities(fact_set))
    found = neighbourhood(fact_set.graph, np.array(starts, dtype=np.int32), hops, most, fact_set.blocked_mask)
    local = explored_graph(fact_set.graph, found, fact_set.blocked_mask)
    _, looked, _ = oracle.neighbourhood(fact_set.facts, starts, hops, most, fact_set.blocked)
    assert rows(local) == oracle.explored_edges(fact_set.facts, found.nodes.tolist(), looked, fact_set.blocked)
    opened = rows(explored_graph(fact_set.graph, found))
    assert opened == oracle.explored_edges(fact_set.facts, found.nodes.tolist(), looked, set()), (
        "only between these nodes"
    )
    assert len(local.edges) <= 2 * found.edges_read.sum()


def test_an_edge_read_from_only_one_end_is_in_the_graph() -> None:
    facts = [(0, 0, 1), (0, 0, 2), (0, 0, 5), (5, 1, 0), (0, 0, 6)]
    graph = fact_graph(np.array(facts, dtype=np.int32), 7)
    for quota in range(6):
        found = neighbourhood(graph, np.array([0, 5]), 1, 2 + quota)
        assert found.edges_read.tolist()[:2] == [min(quota, 5), 2]
        local = rows(explored_graph(graph, found))
        assert local == oracle.explored_edges(facts, found.nodes.tolist(), {0: quota, 5: 2}, set())
        assert local[0][:2] == [(1, 4), (1, 7)]


@settings(deadline=None, max_examples=100)
@given(st.data(), fact_sets(max_entities=6, max_facts=10, min_entities=1), st.integers(1, 3))
def test_no_walk_is_lost_in_the_explored_graph(data: st.DataObject, fact_set: FactSet, hops: int) -> None:
    starts = data.draw(draw_entities(fact_set, min_size=1))
    local = explored_graph(fact_set.graph, neighbourhood(fact_set.graph, np.array(starts), hops, 10**9))
    local_rows, nodes = rows(local), local.nodes.tolist()
    found = {
        (tuple(nodes[position] for position in walk), codes)
        for walk, codes in oracle.walks(lambda position: local_rows[position], range(len(starts)), hops)
    }
    wanted = set(oracle.walks(lambda node: oracle.entity_edges(fact_set.facts, node), starts, hops))
    assert found == wanted


def hub_facts(count: int, entities: int) -> list[oracle.Fact]:
    """Return facts of hubs with parallel and self-edges, and of leaves, each joined with a hub and another leaf."""
    return [
        *[(one, 0, other) for one in range(count) for other in range(count)] * 2,
        *((leaf % count, 1, leaf) for leaf in range(count, entities)),
        *((leaf, 2, leaf + 1) for leaf in range(count, entities - 1)),
    ]


def test_reading_and_searching_a_long_row_give_the_same() -> None:
    facts, entities = hub_facts(3, 900), 900
    nodes = [7, 2, 899, 0, 1, 8, 500, *range(100, 130)]
    graph = fact_graph(np.array(facts, dtype=np.int32), entities)
    blocked = np.zeros(len(facts), dtype=np.bool_)
    blocked[[1, 4, 30]] = True
    for mask in (None, blocked):
        found = rows(local_graph(graph, np.array(nodes, dtype=np.int32), mask))
        assert found == oracle.induced_edges(facts, nodes, set() if mask is None else {1, 4, 30})
    degrees = np.diff(graph.indptr)[nodes]
    assert (degrees > 2 * module.LOOKUP_COST * 9).sum() == 3, "the hubs are looked up"


@settings(deadline=None, max_examples=100)
@given(st.data(), fact_sets())
def test_filtering_edges_keeps_all_nodes(data: st.DataObject, fact_set: FactSet) -> None:
    local = local_graph(fact_set.graph, np.arange(fact_set.entity_count, dtype=np.int32))
    count = len(local.edges)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=np.bool_)
    left = iter(mask.tolist())
    assert rows(filter_edges(local, mask)) == [[step for step in row if next(left)] for row in rows(local)]
    assert filter_edges(local, mask).nodes is local.nodes


def test_positions_of_entities() -> None:
    local = local_graph(fact_graph(np.zeros((0, 3), dtype=np.int32), 9), np.array([7, 0, 3], dtype=np.int32))
    assert local.positions(np.array([3, 8, 7, 1, 0, 3])).tolist() == [2, -1, 0, -1, 1, 2]
    assert local.distinct_positions(np.array([2, 0, 2, 1, 0])).tolist() == [2, 0, 1]
    empty = local_graph(fact_graph(np.zeros((0, 3), dtype=np.int32), 0), np.zeros(0, dtype=np.int32))
    assert empty.positions(np.array([1])).tolist() == [-1]
    for start in (3, -1):
        with pytest.raises(InputError, match=f"position {start}: wanted 0 to 2"):
            local.distinct_positions(np.array([0, start]))


def test_invalid_nodes_are_rejected() -> None:
    graph = fact_graph(np.array([(0, 0, 1)], dtype=np.int32), 2)
    for nodes, message in (
        ([2], "entity 2: wanted 0 to 1"),
        ([-1], "entity -1"),
        ([1, 0, 1], "entity 1 is given twice"),
    ):
        with pytest.raises(InputError, match=message):
            local_graph(graph, np.array(nodes, dtype=np.int32))
