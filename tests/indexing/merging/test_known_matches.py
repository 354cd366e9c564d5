"""Matches of titles that are kept between merges: the arrays are those of a merge of all from nothing."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.segments.segment import CollisionError, Segment
from clew.index import Index
from clew.indexing.merging import known_matches, title_matches
from clew.indexing.merging.known_matches import NAMES_FILE, KnownMatches, NameHashes, StoredMatches
from clew.indexing.merging.merge import merge_segments
from clew.indexing.segments.maker import make_segment
from clew.indexing.segments.store import SegmentFile
from clew.store.schema import PassageRow
from clew.store.snapshot_files import read_manifest, snapshot_folder
from clew.text import normalization, token_arrays
from clew.types import Document
from tests.indexing.merging.corpora import corpora, shortened
from tests.indexing.merging.test_merge import content
from tests.indexing.segments.rows import stored_table
from tests.small_index import DOCUMENTS, make_index


class MemoryOfSegments:
    """Keeps matches by segments, as files beside them do."""

    def __init__(self) -> None:
        self.known: dict[int, KnownMatches] = {}
        self.last_names: NameHashes | None = None
        self.segments: list[Segment] = []
        self.written = 0

    def names(self) -> NameHashes | None:
        return self.last_names

    def read(self, number: int, passages: int) -> KnownMatches | None:
        known = self.known.get(id(self.segments[number]))
        assert known is None or len(known.indptr) == passages + 1
        return known

    def write(self, number: int, matches: KnownMatches) -> None:
        self.known[id(self.segments[number])] = matches
        self.written += 1

    def finish(self, names: NameHashes) -> None:
        self.last_names = names
        present = {id(segment) for segment in self.segments}
        self.known = {key: matches for key, matches in self.known.items() if key in present}


CHOICES = st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=5)


def divide(rows: list[PassageRow]) -> list[list[PassageRow]]:
    return [part for part in (rows[start::6] for start in range(6)) if part]


@pytest.mark.parametrize("short", [False, True], ids=["hashes", "short hashes"])
@given(rows=corpora(), choices=CHOICES)
@pytest.mark.slow
def test_any_segments_that_come_and_go_give_the_arrays_of_a_merge_from_nothing(
    short: bool, rows: list[PassageRow], choices: list[set[int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if short:
            for module in (normalization, token_arrays):
                patch.setattr(module, "blake2b", shortened(15))
        try:
            parts = [make_segment(stored_table(part, 0), 0) for part in divide(rows)]
        except CollisionError:
            return
        memory = MemoryOfSegments()
        for chosen in choices:
            memory.segments = [parts[number] for number in sorted(chosen) if number < len(parts)]
            try:
                expected = content(merge_segments(memory.segments))
            except CollisionError:
                memory = MemoryOfSegments()  # as with the next salt
                continue
            assert content(merge_segments(memory.segments, memory=cast("StoredMatches", memory))) == expected


def test_a_name_of_an_equal_hash_is_another_name() -> None:
    """Between two merges the text of a hash may change, where no merge has both texts."""
    names = ("Fram Expedition", "Vega Voyage")
    rows = [
        PassageRow(name, name, 0, name, f"They saw the {other} there.", 0, 30, extractor="rules")
        for name, other in (names, names[::-1])
    ]
    memory = MemoryOfSegments()
    memory.segments = [make_segment(stored_table(rows, 0), 0)]
    for changed, written in ((0, 1), (0, 1), (1, 2)):
        if memory.last_names is not None:
            memory.last_names = NameHashes(memory.last_names.hashes, memory.last_names.checks ^ np.uint64(changed))
        assert content(merge_segments(memory.segments, memory=cast("StoredMatches", memory))) == content(
            merge_segments(memory.segments)
        )
        assert memory.written == written


def snapshot_hashes(index: Index) -> object:
    assert index.snapshot
    return read_manifest(snapshot_folder(index.table))["files"]


def test_old_texts_are_searched_for_new_names_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = make_index(tmp_path / "index", DOCUMENTS)
    rows_searched: list[int] = []
    find = title_matches.find_names

    def note(segment: Segment, tokens: object, table: object, rows: object = None) -> object:
        if rows is not None:
            rows_searched.append(len(rows))  # type: ignore[arg-type]
        return find(segment, tokens, table, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(known_matches, "find_names", note)
    index.add([Document("unheard", "Unheard Of Place", "Nobody mentions Fram here.")])
    assert sum(rows_searched) == 0
    index.add([Document("mention", "Another One", "It lies near Unheard Of Place.")])
    assert sum(rows_searched) == 0
    index.remove(["unheard"])
    assert sum(rows_searched) == 1
    fresh = make_index(tmp_path / "fresh", DOCUMENTS)
    fresh.add([Document("mention", "Another One", "It lies near Unheard Of Place.")])
    assert snapshot_hashes(index) == snapshot_hashes(fresh)


@pytest.mark.parametrize("damage", ["names", "matches", "missing", "other names"])
def test_damaged_or_missing_files_cost_a_search_alone(tmp_path: Path, damage: str) -> None:
    index = make_index(tmp_path / "index", DOCUMENTS[:4])
    derived = index.table.location.derived
    matches = next(derived.glob("segments/*-titles.safetensors"))
    names = derived / "segments" / NAMES_FILE
    earlier = names.read_bytes()
    if damage == "missing":
        matches.unlink()
    elif damage != "other names":
        file = names if damage == "names" else matches
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    index.add(DOCUMENTS[4:6])
    if damage == "other names":  # as if the process had been killed before it wrote the names
        names.write_bytes(earlier)
    index.add(DOCUMENTS[6:])
    assert snapshot_hashes(index) == snapshot_hashes(make_index(tmp_path / "fresh", DOCUMENTS))


def test_names_of_another_salt_are_not_used(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", DOCUMENTS[:4])
    folder = index.table.location.derived / "segments"
    files = [SegmentFile(file) for file in folder.glob("*-0.safetensors")]
    assert StoredMatches(files, folder, 0).names() is not None
    assert StoredMatches(files, folder, 0).read(0, len(files[0].open())) is not None
    assert StoredMatches(files, folder, 1).names() is None
