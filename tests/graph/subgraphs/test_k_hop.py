"""Neighbourhoods against a search node by node, and the effect of the bound on edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.graph.subgraphs.k_hop import neighbourhood
from clew.graph.subgraphs.textual_graph import fact_graph
from tests.graph.fact_graphs import FactSet, draw_entities, fact_sets
from tests.oracles import facts as oracle


@settings(deadline=None, max_examples=200)
@given(st.data(), fact_sets(), st.integers(1, 4), st.integers(0, 12) | st.integers(0, 40) | st.just(10**9))
def test_neighbourhoods_equal_those_of_a_search_node_by_node(
    data: st.DataObject, fact_set: FactSet, hops: int, most: int
) -> None:
    starts = data.draw(draw_entities(fact_set))
    found = neighbourhood(fact_set.graph, np.array(starts + starts, dtype=np.int32), hops, most, fact_set.blocked_mask)
    nodes, looked, unexpanded = oracle.neighbourhood(fact_set.facts, starts, hops, most, fact_set.blocked)
    assert list(zip(found.hops.tolist(), found.nodes.tolist(), strict=True)) == nodes
    assert found.edges_read.tolist() == [looked.get(node, 0) for _, node in nodes]
    assert found.truncated_nodes == unexpanded
    assert found.edges_read.sum() <= most


def test_invalid_numbers_are_rejected() -> None:
    graph = fact_graph(np.array([(0, 0, 1)], dtype=np.int32), 2)
    for starts, hops, most, message in (
        ([2], 1, 1, "entity 2: wanted 0 to 1"),
        ([0, -1], 1, 1, "entity -1"),
        ([0], 128, 1, "128 hops"),
        ([0], -1, 1, "-1 hops"),
        ([0], 1, -1, "over -1 edges"),
    ):
        with pytest.raises(InputError, match=message):
            neighbourhood(graph, np.array(starts), hops, most)
