"""Segments on disk: made from the table alone, where they are missing, and gone when nothing needs them."""

from pathlib import Path

import numpy as np
import pytest

from clew.graph.segments.flat import flatten_arrays
from clew.graph.segments.segment import Segment
from clew.indexing.segments import store
from clew.indexing.segments.maker import make_segment
from clew.indexing.segments.store import OpenedSegments, SegmentFile, ensure_segments, read_parts, write_segment
from clew.store.array_file import ArrayFile
from clew.store.passage_table import PassageTable
from clew.store.segment_files import segments_folder
from clew.types import ignore_progress
from tests.indexing.segments.test_selection import assert_equal_bytes
from tests.store.rows import WIDTH, make_documents, make_index


def ids(files: list[SegmentFile]) -> list[list[str]]:
    return [list(file.open().passages.ids) for file in files]


def names(folder: Path) -> set[str]:
    return {file.name for file in segments_folder(folder / "derived").iterdir()}


@pytest.fixture
def table(tmp_path: Path) -> PassageTable:
    return make_index(tmp_path, ("a", 3), ("b", 1), ("c", 2))


def count_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    made: list[int] = []

    def make(rows: object, *settings: int) -> Segment:
        segment = make_segment(rows, *settings)
        made.append(len(segment))
        return segment

    monkeypatch.setattr(store, "make_segment", make)
    return made


def test_each_fragment_has_a_segment_which_is_made_once(table: PassageTable, monkeypatch: pytest.MonkeyPatch) -> None:
    made = count_made(monkeypatch)
    files = ensure_segments(table, ignore_progress)
    assert ids(files) == [["a#0", "a#1", "a#2"], ["b#0"], ["c#0", "c#1"]]
    assert ensure_segments(table, ignore_progress) == files
    assert sorted(made) == [1, 2, 3]
    for file, fragment in zip(files, table.fragments(), strict=True):
        assert_equal_bytes(file.open(), make_segment(table.read_fragment(fragment), WIDTH))


def test_after_a_deletion_the_old_segment_loses_rows_and_goes(
    table: PassageTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.replace(make_documents(("x", 2), ("y", 2)), ["x", "y"])
    before = ensure_segments(table, ignore_progress)
    made = count_made(monkeypatch)
    table.delete(["x", "b"])
    after = ensure_segments(table, ignore_progress)
    assert ids(after) == [["a#0", "a#1", "a#2"], ["c#0", "c#1"], ["y#0", "y#1"]]
    assert made == []
    assert names(tmp_path) == {file.name for file in after} < {file.name for file in before} | {after[-1].name}
    wanted = make_segment(table.read_fragment(table.fragments()[-1]), WIDTH)
    assert_equal_bytes(after[-1].open(), wanted)


def test_damaged_and_lost_segments_are_made_again(table: PassageTable, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = ensure_segments(table, ignore_progress)
    contents = [file.path.read_bytes() for file in (first, second, third)]
    made = count_made(monkeypatch)
    first.path.unlink()
    second.path.write_bytes(contents[1][:-1] + b"?")
    assert ensure_segments(table, ignore_progress) == [first, second, third]
    assert sorted(made) == [1, 3]
    assert [file.path.read_bytes() for file in (first, second, third)] == contents


def test_a_salt_gives_other_segments(table: PassageTable, tmp_path: Path) -> None:
    plain = ensure_segments(table, ignore_progress)
    salted = ensure_segments(table, ignore_progress, salt=1)
    assert not {file.name for file in plain} & {file.name for file in salted}
    assert names(tmp_path) == {file.name for file in salted}
    keys = salted[0].open().names.keys
    assert not np.array_equal(
        keys.hashes, make_segment(table.read_fragment(table.fragments()[0]), WIDTH).names.keys.hashes
    )


def test_leftovers_and_strangers_go_but_what_belongs_to_a_segment_stays(table: PassageTable, tmp_path: Path) -> None:
    first = ensure_segments(table, ignore_progress)[0]
    stem = first.name.removesuffix(".safetensors")
    folder = first.path.parent
    (folder / f"{stem}-links.safetensors").write_bytes(b"1")
    (folder / f"{'0' * 16}-0.safetensors").write_bytes(b"2")
    (folder / f"{'0' * 16}-0-links.safetensors").write_bytes(b"3")
    (folder / ".old.00000000.1.00000000.tmp").write_bytes(b"4")  # of another machine: may be at work
    ensure_segments(table, ignore_progress)
    assert names(tmp_path) - {file.name for file in ensure_segments(table, ignore_progress)} == {
        f"{stem}-links.safetensors",
        ".old.00000000.1.00000000.tmp",
    }


def test_an_older_reader_discards_nothing(table: PassageTable, tmp_path: Path) -> None:
    old = PassageTable.open(tmp_path)
    table.replace(make_documents(("d", 1)), ["d"])
    newest = ensure_segments(table, ignore_progress)
    assert ids(ensure_segments(old, ignore_progress)) == [["a#0", "a#1", "a#2"], ["b#0"], ["c#0", "c#1"]]
    assert {file.name for file in newest} <= names(tmp_path)


def test_a_writer_of_fragments_writes_what_would_be_made(table: PassageTable, tmp_path: Path) -> None:
    wanted = ensure_segments(table, ignore_progress)[0]
    content = wanted.path.read_bytes()
    wanted.path.unlink()
    metadata = table._dataset.get_fragments()[0].metadata
    rows = table.read_fragment(table.fragments()[0])
    assert write_segment(tmp_path / "derived", metadata, rows) == wanted
    assert wanted.path.read_bytes() == content


def test_an_index_without_passages_has_no_segment(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, {}, 0)
    assert ensure_segments(table, ignore_progress) == []


def test_the_file_names_no_machine(table: PassageTable, tmp_path: Path) -> None:
    files = ensure_segments(table, ignore_progress)
    assert len(files) == 3
    for file in files:
        assert str(tmp_path).encode() not in file.path.read_bytes()
        assert flatten_arrays(file.open()).keys()


def test_segments_are_mapped_once_and_stay_readable_when_their_memory_is_given_back(
    table: PassageTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ensure_segments(table, ignore_progress)
    released: list[str] = []
    release = ArrayFile.release_memory

    def note(mapped: ArrayFile) -> None:
        released.append(mapped.hash)
        release(mapped)

    monkeypatch.setattr(ArrayFile, "release_memory", note)
    resident = files[0].path.stat().st_size + files[1].path.stat().st_size
    hashes = [ArrayFile.open(file.path).hash for file in files]
    segments = OpenedSegments(files, resident)
    first = list(segments)
    assert released == [hashes[0]]
    assert segments[1] is first[1]
    assert segments[0] is first[0]
    assert released == [hashes[0], hashes[2]]
    assert segments[-1] is segments[0:3][2] is first[2]
    terms = read_parts(segments, lambda segment: segment.terms)
    assert [part.lengths.tolist() for part in terms] == [file.open().terms.lengths.tolist() for file in files]
    for segment, file in zip(segments, files, strict=True):
        assert_equal_bytes(segment, file.open())
    with pytest.raises(IndexError):
        segments[3]
