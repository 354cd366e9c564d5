"""Snapshots from columns, to disk and back, and the differences between two of them."""

import shutil
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import IndexFormatError
from clew.graph.csr import Adjacency
from clew.graph.segments.passage_columns import PassageColumns, StoredPassages
from clew.graph.sentence_index import SentenceRows
from clew.graph.snapshot.snapshot import (
    GivenNames,
    Snapshot,
    load_snapshot,
    named_arrays,
    save_places,
)
from clew.graph.string_array import StringArray
from clew.store.array_file import ArrayFolder
from clew.types import Passage, Triple
from clew_lab.graph.snapshot_diff import diff_snapshots
from tests.built_snapshots import (
    PassageFacts,
    PassageTexts,
    build_snapshot,
    stored_sentences,
)

FACTS = {
    "c": PassageFacts(
        "fram", [("oslo", 1.0), ("nansen", 1.0)], [("fram", "left", "oslo"), ("fram", "carried", "nansen")]
    ),
    "a": PassageFacts(
        "nansen", [("oslo", 0.5), ("bergen", 0.5)], [("nansen", "lived in", "oslo"), ("fram", "left", "oslo")]
    ),
    "b": PassageFacts("", [("🚢", 1.0)], []),
}
SURFACES = {key: Counter({key.title(): 2, key.upper(): 1}) for key in ("fram", "oslo", "nansen", "bergen", "🚢")}
NAMES = {7: ("fram",), 3: ("oslo", "bergen"), 2**64 - 1: ("nansen",)}


def snapshot(order: str = "cab", texts: dict[str, str] | None = None) -> Snapshot:
    columns = PassageTexts(
        ids=list(order),
        document_ids=[f"doc-{id_}" for id_ in order],
        titles=[FACTS[id_].title.title() for id_ in order],
        texts=[(texts or {}).get(id_, f"text of {id_} 😀") for id_ in order],
        metadata=['{"year": 1893}' for _ in order],
        starts=[ord(id_) for id_ in order],
        ends=[ord(id_) + 11 for id_ in order],
        vectors=np.array([[ord(id_), 1.0] for id_ in order], dtype=np.float32).reshape(len(order), 2),
    )
    surfaces = SURFACES if order else {}
    return build_snapshot(columns, [FACTS[id_] for id_ in order], surfaces, NAMES if order else {})


STORED: dict[str, StoredPassages] = {}


def save(s: Snapshot, folder: Path) -> Snapshot:
    """Save a snapshot, whose passages lie in one segment of the name "one", and return it."""
    STORED["one"] = store(s)
    columns = PassageColumns([STORED["one"]], np.arange(len(s.passage_ids)), ["one"])
    placed, arrays = replace(s, columns=columns), ArrayFolder(folder)
    for name, array in named_arrays(placed):
        arrays.write(name, array)
    save_places(placed, folder)
    return s


def store(s: Snapshot) -> StoredPassages:
    """Return the passages of a snapshot as they lie in a segment."""
    return StoredPassages(
        document_ids=StringArray.pack(s.document_ids),
        titles=StringArray.pack(s.titles),
        texts=StringArray.pack(s.texts),
        metadata=StringArray.pack(s.metadata),
        starts=np.array(s.starts, dtype=np.int64),
        ends=np.array(s.ends, dtype=np.int64),
        vectors=s.vectors.rows(np.arange(len(s.vectors))),
        sentences=stored_sentences(len(s.passage_ids)),
    )


def plain_values(s: Snapshot) -> dict[str, object]:
    """Return all fields of a snapshot as plain values."""
    values: dict[str, object] = {}
    for field in fields(s):
        value = getattr(s, field.name)
        if isinstance(value, StringArray):
            values[field.name] = list(value)
        elif isinstance(value, PassageColumns):
            columns = value.document_ids, value.titles, value.texts, value.metadata, value.starts, value.ends
            values[field.name] = [list(column) for column in columns]
            values["vectors"] = value.vectors.rows(np.arange(len(value.vectors))).tolist()
        elif isinstance(value, int):
            values[field.name] = value
        elif isinstance(value, Adjacency):
            values[field.name] = [(part, getattr(value, part).tolist()) for part in value.__slots__]
        elif isinstance(value, GivenNames):
            values[field.name] = value.hashes(s.salt)
        elif isinstance(value, SentenceRows):
            values[field.name] = {name: array.tolist() for name, array in named_arrays(s) if "sentence" in name}
        else:
            values[field.name] = (value.dtype.str, value.shape, value.tolist())
    return values


def test_a_snapshot_has_the_stated_facts() -> None:
    s = snapshot()
    assert list(s.passage_ids) == ["a", "b", "c"]
    assert list(s.entities) == ["Bergen", "Fram", "Nansen", "Oslo", "🚢"]
    assert list(s.relations) == ["carried", "left", "lived in"]
    assert s.title_entities.tolist() == [2, -1, 1]
    assert s.passage(2) == Passage("c", "doc-c", "Fram", "text of c 😀", 99, 110, {"year": 1893})
    assert [s.triple(i) for i in range(len(s.triples))] == [
        Triple("Fram", "carried", "Nansen", ("c",)),
        Triple("Fram", "left", "Oslo", ("a", "c")),
        Triple("Nansen", "lived in", "Oslo", ("a",)),
    ]
    assert s.triple(1, np.array([True, True, False])).passages == ("a",)
    assert [s.passage_triples.row(p).tolist() for p in range(3)] == [[1, 2], [], [0, 1]]
    assert [s.mentions.row(p).tolist() for p in range(3)] == [[0, 2, 3], [4], [1, 2, 3]]
    assert s.mentions.weights.tolist() == [0.5, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0]
    assert s.mentioned_in.row(3).tolist() == [0, 2]
    # Bergen and the ship are mentioned by one passage each, Fram and Nansen title one each; Oslo has its own node.
    assert s.entity_nodes.tolist() == [0, 2, 0, 3, 1]
    assert [s.walk.row(n).tolist() for n in range(4)] == [[2, 3], [], [0, 3], [0, 2]]
    assert s.vectors.rows(np.arange(3)).tolist() == [[97, 1], [98, 1], [99, 1]]


def test_names_are_found_by_hash_and_may_be_ambiguous() -> None:
    s = snapshot()
    assert s.entities_with_key(3).tolist() == [0, 3]
    assert s.entities_with_key(7).tolist() == [1]
    assert s.entities_with_key(2**64 - 1).tolist() == [2]
    assert s.entities_with_key(4).tolist() == []
    assert s.has_keys(np.array([4, 7, 2**64 - 1, 3, 0], dtype=np.uint64)).tolist() == [False, True, True, True, False]
    assert s.title_mask(s.entities_with_key(3)).tolist() == [False, False]
    assert s.title_mask(s.entities_with_key(7)).tolist() == [True]
    assert s.title_mask(s.entities_with_key(4)).tolist() == []


@given(st.randoms())
def test_the_order_of_the_columns_does_not_matter(random: Random) -> None:
    order = list("abc")
    random.shuffle(order)
    assert plain_values(snapshot("".join(order))) == plain_values(snapshot())


@pytest.mark.parametrize("order", ["cab", "b", ""])
def test_a_snapshot_survives_the_disk(tmp_path: Path, order: str) -> None:
    built = save(snapshot(order), tmp_path)
    assert plain_values(load_snapshot(tmp_path, STORED.__getitem__)) == plain_values(built)


@pytest.mark.parametrize("way", ["missing", "cut short", "not an array", "empty"])
@pytest.mark.parametrize("file", ["walk.indices.npy", "passage_ids.data.npy", "places.npy", "segments.json"])
def test_the_error_names_a_damaged_file(tmp_path: Path, file: str, way: str) -> None:
    save(snapshot(), tmp_path)
    path = tmp_path / file
    if way == "missing":
        path.unlink()
    elif way == "cut short":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path.write_bytes(b"" if way == "empty" else b"what is this?")
    with pytest.raises(IndexFormatError, match=f"{file}.*clew repair"):
        load_snapshot(tmp_path, STORED.__getitem__)


def test_a_loaded_snapshot_outlives_its_folder(tmp_path: Path) -> None:
    save(snapshot(), tmp_path)
    loaded = load_snapshot(tmp_path, STORED.__getitem__)
    shutil.rmtree(tmp_path)
    assert plain_values(loaded) == plain_values(snapshot())


def test_equal_snapshots_have_no_difference() -> None:
    same = diff_snapshots(snapshot("abc"), snapshot("bca"))
    assert same.is_empty
    assert same.added == same.removed == {"passages": (), "entities": (), "triples": ()}


def test_differences_are_listed_by_name() -> None:
    found = diff_snapshots(snapshot("ab"), snapshot("bc", {"b": "another text"}))
    assert not found.is_empty
    assert found.changed == ("b",)
    assert found.added == {"passages": ("c",), "entities": (), "triples": ("Fram | carried | Nansen",)}
    assert found.removed == {"passages": ("a",), "entities": (), "triples": ("Nansen | lived in | Oslo",)}
    back = diff_snapshots(snapshot("bc", {"b": "another text"}), snapshot("ab"))
    assert (back.added, back.removed) == (found.removed, found.added)


@pytest.mark.parametrize(
    "column", ["titles", "texts", "metadata", "starts", "ends"], ids=lambda column: f"changed {column}"
)
def test_a_change_of_any_column_shows(column: str) -> None:
    old, new = snapshot(), snapshot()
    value = list(getattr(old, column))
    value[2] = '{"x": 1}' if isinstance(value[2], str) else value[2] + 1
    setattr(new.columns, column, value)
    assert diff_snapshots(old, new).changed == ("c",)
