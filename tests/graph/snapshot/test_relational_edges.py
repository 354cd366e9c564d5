"""Relational edges: the head receives from the tail, and no edge is lost or duplicated."""

from dataclasses import fields, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.csr import build_adjacency
from clew.graph.snapshot.relational_edges import (
    EQUIVALENT_RELATION,
    MENTIONS_RELATION,
    induced_edges,
    passage_graph,
    relation_texts,
)
from clew.graph.string_array import StringArray
from clew.index import Index
from clew_lab.graph.node_graphs import entity_graph
from clew_lab.graph.synonyms import load_synonyms
from tests.oracles import relational_edges as plain


def test_a_triple_is_an_edge_to_its_head_and_an_inverse_edge_to_its_tail(small: Index) -> None:
    snapshot, synonyms = small.snapshot, load_synonyms(small.context)
    entities = entity_graph(snapshot, synonyms)
    for graph, node in ((passage_graph(snapshot), snapshot.entity_nodes), (entities, range(10**6))):
        edges = {
            (int(receiver), int(graph.relations[edge]), int(graph.senders[edge]))
            for receiver in range(graph.node_count)
            for edge in range(graph.indptr[receiver], graph.indptr[receiver + 1])
        }
        assert len(edges) == len(graph.senders), "no edge twice"
        for head, relation, tail in snapshot.triples.tolist():
            if node[head] != node[tail]:
                assert (node[head], relation, node[tail]) in edges
                assert (node[tail], relation + graph.relation_count, node[head]) in edges
        assert all(receiver != sender for receiver, _, sender in edges)
    assert relation_texts(snapshot)[-2:] == [MENTIONS_RELATION, EQUIVALENT_RELATION]


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from((3, 60)))
def test_edges_are_those_of_a_sort(small: Index, data: st.DataObject, limit: int) -> None:
    """Many edges of one node are sorted in another way than few."""
    passages, entities, relations = 3, 5, 3
    entity, passage = st.integers(0, entities - 1), st.integers(0, passages - 1)
    triples = data.draw(st.lists(st.tuples(entity, st.integers(0, relations - 1), entity), min_size=limit, max_size=90))
    mentions = data.draw(st.lists(st.tuples(passage, entity), max_size=12))
    pairs = data.draw(st.lists(st.tuples(entity, entity), max_size=6))
    nodes = data.draw(st.lists(st.integers(0, 5), min_size=entities, max_size=entities))
    both = [*pairs, *((other, one) for one, other in pairs)]
    snapshot = replace(
        small.snapshot,
        entities=StringArray.pack("abcde"),
        relations=StringArray.pack("rst"),
        triples=np.array(sorted(set(triples)), dtype=np.int32).reshape(-1, 3),
        mentions=build_adjacency([p for p, _ in mentions], [e for _, e in mentions], np.ones(len(mentions)), passages),
        entity_nodes=np.array(nodes, dtype=np.int32),
        walk=build_adjacency([], [], [], 6),
    )
    synonyms = build_adjacency([a for a, _ in both], [b for _, b in both], np.ones(len(both)), entities)
    for actual, expected in (
        (passage_graph(snapshot), plain.passage_graph(snapshot)),
        (entity_graph(snapshot, synonyms), plain.entity_graph(snapshot, synonyms)),
    ):
        for field in fields(expected):
            one, other = getattr(actual, field.name), getattr(expected, field.name)
            np.testing.assert_array_equal(one, other, field.name)
            assert np.asarray(one).dtype == np.asarray(other).dtype


@given(st.data())
def test_induced_edges_are_those_with_both_ends_inside(small: Index, data: st.DataObject) -> None:
    graph = passage_graph(small.snapshot)
    nodes = np.array(sorted(data.draw(st.sets(st.integers(0, graph.node_count - 1)))), dtype=np.int32)
    senders, receivers, positions = induced_edges(graph, nodes)
    all_receivers = np.repeat(np.arange(graph.node_count), np.diff(graph.indptr))
    inside = np.isin(graph.senders, nodes) & np.isin(all_receivers, nodes)
    assert positions.tolist() == np.flatnonzero(inside).tolist()
    assert nodes[senders].tolist() == graph.senders[positions].tolist()
    assert nodes[receivers].tolist() == all_receivers[positions].tolist()
