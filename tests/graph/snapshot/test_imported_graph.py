"""Imported graphs merged with the facts of passages: positions in the union, distinct rows, and stated triples."""

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.csr import build_adjacency
from clew.graph.segments.segment import Vocabulary
from clew.graph.snapshot.imported_graph import ImportedGraph, empty_graph
from clew.graph.snapshot.relational_edges import passage_graph, stated_edge_mask
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.string_array import StringArray
from clew.text.normalization import key_hash
from tests.built_snapshots import PassageFacts, PassageTexts, build_snapshot


def vocabulary(*texts: str) -> Vocabulary:
    return Vocabulary(np.array([key_hash(text) for text in texts], dtype=np.uint64), StringArray.pack(texts))


def graph() -> ImportedGraph:
    """Oslo in Norway twice related, Norway in itself, and an entity of its own that no passage knows."""
    return ImportedGraph(
        keys=vocabulary("asker", "norway", "oslo"),
        labels=StringArray.pack(["Asker", "NORWAY", "OSLO"]),
        name_hashes=np.array([key_hash(key) for key in ("asker", "norway", "oslo", "kristiania")], dtype=np.uint64),
        name_entities=np.array([0, 1, 2, 2], dtype=np.int32),
        relations=vocabulary("in", "left"),
        triples=np.array([[0, 0, 1], [1, 0, 1], [2, 0, 1], [2, 1, 1]], dtype=np.int32),
    )


def snapshot(imported: ImportedGraph | None) -> Snapshot:
    facts = [
        PassageFacts("", [("oslo", 1.0), ("fram", 1.0)], [("fram", "left", "oslo")]),
        PassageFacts("", [("norway", 1.0), ("oslo", 1.0)], [("oslo", "in", "norway")]),
    ]
    two = ["a", "b"]
    columns = PassageTexts(two, two, two, two, ["{}"] * 2, [0, 0], [1, 1], np.zeros((2, 0), np.float32))
    keys = ("fram", "norway", "oslo")
    surfaces = {key: Counter({key.title(): 1}) for key in keys}
    return build_snapshot(columns, facts, surfaces, {key_hash(key): (key,) for key in keys}, imported)


def test_a_graph_and_passages_share_entities_relations_and_triples() -> None:
    s = snapshot(graph())
    assert list(s.entities) == ["Asker", "Fram", "NORWAY", "OSLO"]
    assert list(s.relations) == ["in", "left"]
    triples = [(s.triple(t).head, s.triple(t).relation, s.triple(t).tail, s.triple(t).passages) for t in range(5)]
    assert triples == [
        ("Asker", "in", "NORWAY", ()),
        ("Fram", "left", "OSLO", ("a",)),
        ("NORWAY", "in", "NORWAY", ()),
        ("OSLO", "in", "NORWAY", ("b",)),
        ("OSLO", "left", "NORWAY", ()),
    ]
    assert s.imported.tolist() == [True, False, True, True, True]
    assert [s.passage_triples.row(p).tolist() for p in range(2)] == [[1], [3]]
    assert s.entities_with_name("the oslo").tolist() == s.entities_with_name("Kristiania").tolist() == [3]
    assert len(s.name_hashes) == 5


def test_without_a_graph_nothing_changes() -> None:
    without, with_empty = snapshot(None), snapshot(empty_graph())
    assert not without.imported.any()
    for s in (without, with_empty):
        assert list(s.entities) == ["Fram", "Norway", "Oslo"]
        assert s.triples.tolist() == [[0, 1, 2], [2, 0, 1]]
        assert s.triples.dtype == np.int32


def test_imported_triples_are_stated_whichever_passages_are_allowed() -> None:
    s = snapshot(graph())
    for allowed in ([True, True], [True, False], [False, True], [False, False]):
        mask = np.array(allowed)
        expected = [True, allowed[0], True, True, True]
        assert s.stated_triple_mask(mask).tolist() == expected
        edges = passage_graph(s)
        every = np.arange(len(edges.triples))
        edge_mask = stated_edge_mask(edges, every, s, mask)
        assert edge_mask.tolist() == [triple < 0 or expected[triple] for triple in edges.triples.tolist()]


@given(st.data())
def test_stated_triple_mask_equals_a_check_triple_by_triple(data: st.DataObject) -> None:
    passages, triples = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 8))
    rows = data.draw(
        st.lists(
            st.sets(st.integers(0, passages - 1)) if passages else st.just(set()), min_size=triples, max_size=triples
        )
    )
    imported = data.draw(st.lists(st.booleans(), min_size=triples, max_size=triples))
    allowed = data.draw(st.lists(st.booleans(), min_size=passages, max_size=passages))
    pairs = [(t, p) for t, row in enumerate(rows) for p in row]
    passages_of_triples = build_adjacency([t for t, _ in pairs], [p for _, p in pairs], [1.0] * len(pairs), triples)
    s = replace(
        snapshot(None),
        triples=np.zeros((triples, 3), dtype=np.int32),
        imported=np.array(imported, dtype=bool),
        triple_passages=passages_of_triples,
    )
    expected = [all(allowed) or i or any(allowed[p] for p in row) for i, row in zip(imported, rows, strict=True)]
    assert s.stated_triple_mask(np.array(allowed, dtype=bool)).tolist() == expected


def test_exactly_displayed_names_take_precedence() -> None:
    g = graph()
    keys, labels = ["face", "face\0FACE", "face\0Face"], ["face", "FACE", "Face"]
    names = np.full(3, key_hash("face"), dtype=np.uint64)
    s = snapshot(
        replace(
            g,
            keys=vocabulary(*keys),
            labels=StringArray.pack(labels),
            name_hashes=names,
            name_entities=np.arange(3, dtype=np.int32),
        )
    )
    found = {
        name: [s.entities[e] for e in s.entities_with_name(name)]
        for name in ("face", "Face", " FACE ", "the face", "no")
    }
    assert found == {"face": ["face"], "Face": ["Face"], " FACE ": ["FACE"], "the face": labels, "no": []}
