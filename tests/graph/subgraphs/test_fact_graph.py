"""Fact graphs against sorting the facts one by one."""

import numpy as np
import pytest
from hypothesis import given, settings

from clew.errors import InputError
from clew.graph.subgraphs import textual_graph as module
from clew.graph.subgraphs.textual_graph import fact_graph
from tests.graph.fact_graphs import FactSet, fact_sets, rows
from tests.oracles import facts as oracle


@settings(deadline=None, max_examples=150)
@given(fact_sets())
def test_rows_are_the_edges_of_every_entity_by_neighbour_and_edge(fact_set: FactSet) -> None:
    graph = fact_set.graph
    assert rows(graph) == [oracle.entity_edges(fact_set.facts, entity) for entity in range(fact_set.entity_count)]
    assert graph.entity_count == fact_set.entity_count
    assert [str(a.dtype) for a in (graph.indptr, graph.neighbours, graph.edges)] == ["int64", "int32", "int32"]


def test_entities_out_of_range_are_rejected() -> None:
    for head, seen in ((5, "5"), (-1, "-1")):
        with pytest.raises(InputError, match=f"entity {seen}: wanted 0 to 2"):
            fact_graph(np.array([[head, 0, 1]], dtype=np.int32), 3)


def test_more_triples_than_codes_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TRIPLES", 1)
    with pytest.raises(InputError, match="2 triples: at most 1"):
        fact_graph(np.zeros((2, 3), dtype=np.int32), 1)
