"""Sets of ids as arrays of hashes, against sets and dictionaries of Python."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.store import document_ids
from clew.store.document_ids import (
    ABSENT,
    IdSet,
    collect_documents,
    find_pair,
    find_pairs,
    hash_pairs,
    numbered_parent,
    read_states,
    root_id,
    sort_pairs,
    state_hash,
    text_hash,
)
from tests.store.rows import make_documents, make_index

short_texts = st.text(alphabet="ab#1é", max_size=4)


@given(st.lists(short_texts, max_size=60))
def test_a_set_of_ids_is_a_set(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_ids, "_PENDING_IDS", 3)
        ids, expected = IdSet(), set[str]()
        for text in texts:
            assert ids.add(text) == (text not in expected)
            expected.add(text)
            assert text in ids
        assert len(ids) == len(expected)
        assert "another" not in ids


def test_hashes_of_equal_first_halves_are_told_from_each_other() -> None:
    halves = [(7, 1), (7, 3), (7, 9), (2, 5)]
    pairs = sort_pairs(hash_pairs(np.array(half, dtype=np.uint64).tobytes() for half in halves))
    wanted = [*halves, (7, 2), (7, 10), (1, 1), (9, 9)]
    hashes = [np.array(half, dtype=np.uint64).tobytes() for half in wanted]
    assert [find_pair(pairs, hash_) >= 0 for hash_ in hashes] == [True] * 4 + [False] * 4
    positions = find_pairs(pairs, hash_pairs(hashes)).tolist()
    assert positions == [find_pair(pairs, hash_) for hash_ in hashes]
    assert sorted(positions) == [-1] * 4 + [0, 1, 2, 3]
    assert find_pairs(hash_pairs([]), hash_pairs(hashes)).tolist() == [-1] * 8


def test_numbers_at_the_end_of_an_id() -> None:
    assert [numbered_parent(id_) for id_ in ("a#2", "a", "#2", "a#2#31", "a#", "a#b")] == [
        "a",
        None,
        None,
        "a#2",
        None,
        None,
    ]
    assert [root_id(id_) for id_ in ("a#2#31", "a", "a#b")] == ["a", "a", "a#b"]


rows = st.lists(
    st.tuples(st.sampled_from(["a", "b#1", "c", "d#2#3"]), st.sampled_from(["0" * 32, "f" * 32, "x", "graph:1"]),
              st.integers(1, 3)),
    max_size=12,
)  # fmt: skip


@given(rows, st.integers(1, 5))
def test_documents_of_one_state_with_all_rows_are_complete(stored: list[tuple[str, str, int]], size: int) -> None:
    # A shard has an id of its own.
    stored = [(f"shard {id_}" if hash_ == "graph:1" else id_, hash_, count) for id_, hash_, count in stored]
    names = ["document_id", "document_hash", "document_rows"]
    table = pa.table({name: [row[place] for row in stored] for place, name in enumerate(names)})
    states: dict[str, set[tuple[str, int]]] = {}
    for id_, hash_, count in stored:
        states.setdefault(id_, set()).add((hash_, count))
    expected = {
        id_: next(iter(found))[0]
        for id_, found in states.items()
        if len(found) == 1 and sum(row[0] == id_ for row in stored) == next(iter(found))[1]
    }
    documents = collect_documents(table.to_batches(max_chunksize=size), lambda hash_: hash_.startswith("graph:"))
    plain = {id_: hash_ for id_, hash_ in expected.items() if not hash_.startswith("graph:")}
    assert len(documents) == len(plain)
    for id_ in states:
        assert (id_ in documents) == (id_ in plain)
        assert [documents.has_state(id_, hash_) for hash_ in ("0" * 32, "x")] == [
            plain.get(id_) == h for h in ("0" * 32, "x")
        ]
    assert documents.shards.keys() == {id_ for id_, hash_, _ in stored if hash_.startswith("graph:")}
    for id_ in ("b", "d#2", "a"):
        assert (id_ in documents.parents) == any(numbered_parent(stored_id) == id_ for stored_id in plain | states)


@given(
    st.lists(
        st.one_of(st.text("0123456789abcdefg", max_size=33), st.text("0123456789abcdef", min_size=32, max_size=32))
    )
)
def test_states_are_read_as_each_alone(hashes: list[str]) -> None:
    for array in (pa.array(hashes, pa.string()), pa.array(["zz", *hashes], pa.string()).slice(1)):
        states, is_own = read_states(array)
        assert [states[:, row].tobytes() for row in range(len(hashes))] == [state_hash(hash_) for hash_ in hashes]
        assert is_own.tolist() == [re.fullmatch("[0-9a-f]{32}", hash_) is not None for hash_ in hashes]


def test_the_documents_of_a_table(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 3), ("b", 1))
    documents = table.stored_documents()
    assert len(documents) == 2
    assert all(documents.has_state(id_, hash_) for id_, hash_ in table.document_hashes().items())
    states = documents.find_states(["b", "none", "a"])
    assert [states[:, row].tobytes() for row in range(3)] == [documents.find_state(id_) for id_ in ("b", "none", "a")]
    assert [documents.find_state(id_) == state_hash(f"{id_}/1") for id_ in ("a", "b")] == [True, True]
    assert documents.find_state("none") == ABSENT
    table.replace(make_documents(("a", 1), state="2"), ["a"])
    assert not documents.has_state("a", "a/2")
    assert table.stored_documents().has_state("a", "a/2")


def test_an_id_takes_few_bytes() -> None:
    ids = IdSet()
    for number in range(200_000):
        ids.add(f"document {number}")
    assert ids._sorted.nbytes + 100 * len(ids._pending) < 40 * len(ids) + 100 * document_ids._PENDING_IDS
    assert text_hash("document 7") != text_hash("document 8")
