"""Which entity an id is, what it is shown as, and which names lead to it."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.indexing.kg_formats.entities import imported_graph, unlabelled
from clew.indexing.kg_formats.statements import Named, Stated
from clew.text.normalization import key_hash, name_key


def arrays(*parts: list[Stated]) -> list[pa.StructArray]:
    columns = [[pa.array([row[place] for row in part], pa.string()) for place in range(3)] for part in parts]
    return [pa.StructArray.from_arrays(column, ["head", "relation", "tail"]) for column in columns]


def made(triples: list[Stated], *names: Named) -> ImportedGraph:
    return imported_graph(arrays(triples), arrays([row for name in names for row in name.triples()]))


def called(graph: ImportedGraph, name: str) -> list[str]:
    places = np.flatnonzero(graph.name_hashes == np.uint64(key_hash(name_key(name))))
    return sorted(graph.labels[int(e)] for e in set(graph.name_entities[places].tolist()))


def shown(graph: ImportedGraph) -> list[Stated]:
    return [(graph.labels[h], graph.relations[r], graph.labels[t]) for h, r, t in graph.triples.tolist()]


def test_entities_keep_their_exact_names_and_fold_to_their_keys() -> None:
    graph = made([("Émile", "is", "The Café"), ("Émile", "is", "The Café"), ("Émile", "likes", "Émile")])
    assert list(graph.keys) == ["cafe", "emile"]
    assert list(graph.labels) == ["The Café", "Émile"]
    assert shown(graph) == [("Émile", "is", "The Café"), ("Émile", "likes", "Émile")]
    assert called(graph, "CAFÉ") == ["The Café"]


def test_two_entities_of_one_key_stay_two_and_their_name_leads_to_both() -> None:
    graph = made([("Face", "is", "film"), ("face", "is", "part"), ("FACE", "is", "gene")])
    assert sorted(graph.labels) == ["FACE", "Face", "face", "film", "gene", "part"]
    assert len(set(graph.keys)) == 6
    assert "face" not in list(graph.keys)
    assert called(graph, "face") == ["FACE", "Face", "face"]


def test_names_without_a_letter_stay_apart() -> None:
    names = ["-", "－", "$", "...", "🚢", "\u0301"]
    graph = made([(name, "is", "sign") for name in names])
    assert len(graph.keys) == len(names) + 1
    assert all(name in called(graph, name) for name in names)


def test_labels_are_shown_and_aliases_and_ids_lead_to_them() -> None:
    graph = made(
        [("m.01", "by", "m.02"), ("m.02", "born", "1832")],
        Named("m.01", "Fram", ("the Fram", "Polar ship", "Fram")),
        Named("m.02", "Colin Archer"),
        Named("m.99", "Nobody"),
        Named("1832", "A year"),
    )
    assert shown(graph) == [("Colin Archer", "born", "A year"), ("Fram", "by", "Colin Archer")]
    assert called(graph, "polar ship") == called(graph, "Fram") == called(graph, "m.01") == ["Fram"]
    assert called(graph, "Nobody") == []
    assert called(graph, "1832") == []  # a bare number as an id would be found in any question about a year
    assert called(graph, "a year") == ["A year"]


def test_one_label_of_several_is_shown_and_the_others_are_names() -> None:
    names = [("Wien", "de"), ("Vienna", "en"), ("Vena", ""), ("Bécs", "hu"), ("Viena", "en-us")]
    graph = made([("Q1", "in", "x")], *(Named("Q1", label, language=language) for label, language in names))
    assert "Vena" in list(graph.labels)
    assert all(called(graph, label) == ["Vena"] for label, _ in names)
    foreign = made([("Q1", "in", "x")], Named("Q1", "Wien", language="de"), Named("Q1", "Viena", language="en-us"))
    assert "Viena" in list(foreign.labels)


def test_a_node_that_is_listed_is_an_entity_without_a_triple() -> None:
    graph = made(
        [("a", "to", "b")], Named("c", "Alone", listed=True), Named("d", listed=True), Named("e", "Not listed")
    )
    assert list(graph.labels) == ["a", "Alone", "b", "d"]
    only = made([], Named("c", "Alone", listed=True))
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
    assert unlabelled(id_) == label


def test_nothing_at_all() -> None:
    graph = imported_graph([], [])
    assert (len(graph.keys), len(graph.relations), graph.triples.shape, len(graph.name_hashes)) == (0, 0, (0, 3), 0)


TEXT = st.sampled_from(["a", "A", "b", "the a", "日", "-", "<x:y>", "1", "é", "e"])
TRIPLES = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=12)
NAMES = st.lists(
    st.builds(Named, TEXT, TEXT, st.tuples(TEXT), st.sampled_from(["", "en", "de"]), st.booleans()), max_size=6
)


@given(TRIPLES, NAMES, st.randoms())
@settings(deadline=None)
def test_the_order_and_the_parts_do_not_matter(triples: list[Stated], names: list[Named], random: Random) -> None:
    def plain(graph: ImportedGraph) -> list[object]:
        pairs = sorted(set(zip(graph.name_hashes.tolist(), graph.name_entities.tolist(), strict=True)))
        return [list(graph.keys), list(graph.labels), pairs, list(graph.relations), graph.triples.tolist()]

    whole = plain(made(triples, *names))
    rows = [row for name in names for row in name.triples()]
    random.shuffle(triples)
    random.shuffle(rows)
    cut, named = random.randint(0, len(triples)), random.randint(0, len(rows))
    parts = arrays(triples[:cut], triples[cut:], triples[:1])
    assert plain(imported_graph(parts, arrays(rows[named:], rows[:named]))) == whole
    # An independent count: as many entities as exact ids, whatever they fold to.
    ids = {end for head, _, tail in triples for end in (head, tail)} | {name.id for name in names if name.listed}
    assert len(list(whole[0])) == len(ids)  # type: ignore[call-overload]
    assert len(list(whole[4])) == len(set(triples))  # type: ignore[call-overload]
