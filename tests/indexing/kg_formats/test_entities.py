"""The entity of each id, its label, and the names that lead to it."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.indexing.kg_formats.entities import GraphTexts, build_imported_graph, default_label
from clew.indexing.kg_formats.tables import EntityNames, RawTriple
from clew.text.normalization import key_hash, name_key


def triple_arrays(*parts: list[RawTriple]) -> list[pa.StructArray]:
    columns = [[pa.array([row[index] for row in part], pa.string()) for index in range(3)] for part in parts]
    return [pa.StructArray.from_arrays(column, ["head", "relation", "tail"]) for column in columns]


def read_graph(triples: list[list[RawTriple]], names: list[list[RawTriple]], salt: int = 0) -> ImportedGraph:
    texts = GraphTexts()
    for part in triple_arrays(*names):
        texts.add_names(part)
    for part in triple_arrays(*triples):
        texts.add_triples(part)
    return build_imported_graph(texts, salt)


def build_graph(triples: list[RawTriple], *names: EntityNames) -> ImportedGraph:
    return read_graph([triples], [[row for name in names for row in name.to_triples()]])


def find_labels(graph: ImportedGraph, name: str) -> list[str]:
    positions = np.flatnonzero(graph.name_hashes == np.uint64(key_hash(name_key(name))))
    return sorted(graph.labels[int(e)] for e in set(graph.name_entities[positions].tolist()))


def list_triples(graph: ImportedGraph) -> list[RawTriple]:
    texts = graph.relations.texts
    return sorted({(graph.labels[h], texts[r], graph.labels[t]) for h, r, t in graph.triples.tolist()})


def test_entities_keep_their_exact_names_and_fold_to_their_keys() -> None:
    graph = build_graph([("Émile", "is", "The Café"), ("Émile", "is", "The Café"), ("Émile", "likes", "Émile")])
    assert sorted(graph.keys.texts) == ["cafe", "emile"]
    assert sorted(graph.labels) == ["The Café", "Émile"]
    assert list_triples(graph) == [("Émile", "is", "The Café"), ("Émile", "likes", "Émile")]
    assert find_labels(graph, "CAFÉ") == ["The Café"]


def test_two_entities_of_one_key_stay_two_and_their_name_leads_to_both() -> None:
    graph = build_graph([("Face", "is", "film"), ("face", "is", "part"), ("FACE", "is", "gene")])
    assert sorted(graph.labels) == ["FACE", "Face", "face", "film", "gene", "part"]
    assert len(set(graph.keys.texts)) == 6
    assert "face" not in list(graph.keys.texts)
    assert find_labels(graph, "face") == ["FACE", "Face", "face"]


def test_names_without_a_letter_stay_separate() -> None:
    names = ["-", "－", "$", "...", "🚢", "\u0301"]
    graph = build_graph([(name, "is", "sign") for name in names])
    assert len(graph.keys) == len(names) + 1
    assert all(name in find_labels(graph, name) for name in names)


def test_labels_are_shown_and_aliases_and_ids_lead_to_them() -> None:
    graph = build_graph(
        [("m.01", "by", "m.02"), ("m.02", "born", "1832")],
        EntityNames("m.01", "Fram", ("the Fram", "Polar ship", "Fram")),
        EntityNames("m.02", "Colin Archer"),
        EntityNames("m.99", "Nobody"),
        EntityNames("1832", "A year"),
    )
    assert list_triples(graph) == [("Colin Archer", "born", "A year"), ("Fram", "by", "Colin Archer")]
    assert find_labels(graph, "polar ship") == find_labels(graph, "Fram") == find_labels(graph, "m.01") == ["Fram"]
    assert find_labels(graph, "Nobody") == []
    assert find_labels(graph, "1832") == []  # a bare number as an id would match any question about a year
    assert find_labels(graph, "a year") == ["A year"]


def test_one_label_of_several_is_shown_and_the_others_are_names() -> None:
    names = [("Wien", "de"), ("Vienna", "en"), ("Vena", ""), ("Bécs", "hu"), ("Viena", "en-us")]
    graph = build_graph(
        [("Q1", "in", "x")], *(EntityNames("Q1", label, language=language) for label, language in names)
    )
    assert "Vena" in list(graph.labels)
    assert all(find_labels(graph, label) == ["Vena"] for label, _ in names)
    foreign = build_graph(
        [("Q1", "in", "x")], EntityNames("Q1", "Wien", language="de"), EntityNames("Q1", "Viena", language="en-us")
    )
    assert "Viena" in list(foreign.labels)


def test_a_node_that_is_listed_is_an_entity_without_a_triple() -> None:
    graph = build_graph(
        [("a", "to", "b")],
        EntityNames("c", "Alone", is_listed=True),
        EntityNames("d", is_listed=True),
        EntityNames("e", "Not listed"),
    )
    assert sorted(graph.labels) == ["Alone", "a", "b", "d"]
    only = build_graph([], EntityNames("c", "Alone", is_listed=True))
    assert (list(only.labels), only.triples.shape) == (["Alone"], (0, 3))


@pytest.mark.parametrize(
    ("id_", "label"),
    [
        ("<http://dbpedia.org/resource/Colin_Archer>", "Colin Archer"),
        ("<http://x.org/caf%C3%A9#me>", "me"),
        ("<http://x.org/caf%C3%A9/>", "café"),
        ("<urn:x:y>", "y"),
        ("<http://>", "http"),
        ("_:b0", "_:b0"),
        ("http://x.org/a", "http://x.org/a"),
        ("<3", "<3"),
    ],
)
def test_addresses_without_a_label_are_shown_by_their_end(id_: str, label: str) -> None:
    assert default_label(id_) == label


def test_an_empty_graph() -> None:
    graph = build_imported_graph(GraphTexts())
    assert (len(graph.keys), len(graph.relations), graph.triples.shape, len(graph.name_hashes)) == (0, 0, (0, 3), 0)


TEXT = st.sampled_from(["a", "A", "b", "the a", "日", "-", "<x:y>", "1", "é", "e"])
TRIPLES = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=12)
NAMES = st.lists(
    st.builds(EntityNames, TEXT, TEXT, st.tuples(TEXT), st.sampled_from(["", "en", "de"]), st.booleans()), max_size=6
)


@given(TRIPLES, NAMES, st.randoms())
@settings(deadline=None)
def test_the_order_and_the_shards_do_not_matter(
    triples: list[RawTriple], names: list[EntityNames], random: Random
) -> None:
    def plain(graph: ImportedGraph) -> list[object]:
        pairs = sorted(set(zip(graph.name_hashes.tolist(), graph.name_entities.tolist(), strict=True)))
        rows = sorted(set(map(tuple, graph.triples.tolist())))
        hashes = [graph.keys.hashes.tolist(), graph.relations.hashes.tolist()]
        return [list(graph.keys.texts), list(graph.labels), pairs, list(graph.relations.texts), rows, hashes]

    expected = plain(build_graph(triples, *names))
    rows = [row for name in names for row in name.to_triples()]
    random.shuffle(triples)
    random.shuffle(rows)
    middle, named = random.randint(0, len(triples)), random.randint(0, len(rows))
    parts = [triples[:middle], triples[middle:], triples[:1]]
    assert plain(read_graph(parts, [rows[named:], rows[:named]])) == expected
    assert expected[5] == [[key_hash(text) for text in texts] for texts in (expected[0], expected[3])]  # type: ignore[attr-defined]
    # An independent count: as many entities as exact ids, even if some fold to the same key.
    ids = {end for head, _, tail in triples for end in (head, tail)} | {name.id for name in names if name.is_listed}
    assert len(list(expected[0])) == len(ids)  # type: ignore[call-overload]
    assert len(list(expected[4])) == len(set(triples))  # type: ignore[call-overload]
