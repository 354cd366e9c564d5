"""A budget of memory reaches the merge: finished arrays go to files, bytes are equal, and too little is refused."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from clew.errors import InputError
from clew.graph.segments.segment import Segment
from clew.index import Index
from clew.indexing import snapshot_builder
from clew.indexing.merging import workspace
from clew.indexing.merging.merge import merge_segments
from clew.indexing.merging.workspace import (
    MERGE_PROCESS_BYTES,
    RESIDENT_BYTES,
    Workspace,
    check_merge_memory,
    measure_needs,
)
from clew.indexing.segments.maker import make_segment
from clew.store.atomic import temporary_folder
from clew.store.schema import PassageRow
from clew.store.snapshot_files import snapshot_folder
from clew.types import Document, ignore_progress
from tests.faults.commands import run_clew
from tests.indexing.merging.corpora import corpora
from tests.indexing.merging.test_merge import content
from tests.indexing.segments.rows import stored_table
from tests.indexing.test_snapshot_builder import read_files
from tests.small_index import DOCUMENTS, make_index

TOWN = Document("town", "Larvik", "Larvik is a town in Norway.")


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return make_index(tmp_path / "index", DOCUMENTS[:8])


@pytest.fixture
def spaces(monkeypatch: pytest.MonkeyPatch) -> list[Workspace]:
    """Every workspace that a snapshot is merged in; small arrays go to files, too."""
    used: list[Workspace] = []
    merge = merge_segments

    def note(*arguments: object) -> object:
        used.append(arguments[-1])  # type: ignore[arg-type]
        return merge(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(snapshot_builder, "merge_segments", note)
    monkeypatch.setattr(workspace, "_LEAST_BYTES", 1)
    return used


def segments_of(rows: list[PassageRow]) -> list[Segment]:
    return [make_segment(stored_table(part, 0), 0) for part in (rows[::2], rows[1::2]) if part]


@given(rows=corpora())
@pytest.mark.slow
def test_a_merge_with_files_gives_the_arrays_of_one_in_memory(rows: list[PassageRow]) -> None:
    segments = segments_of(rows)
    with pytest.MonkeyPatch.context() as patch, temporary_folder(Path("merge").absolute()) as folder:
        patch.setattr(workspace, "_LEAST_BYTES", 1)
        space = Workspace(folder, 1)
        assert content(merge_segments(segments, workspace=space)) == content(merge_segments(segments))
        assert space.written_bytes > sum(segment.terms.terms.nbytes for segment in segments)


def test_arrays_in_files_stay_readable_when_their_memory_is_given_back(tmp_path: Path) -> None:
    space = Workspace(tmp_path, 8 << 16)
    given = [np.arange(size, dtype=np.int32) for size in (1 << 16, 3, 1 << 17)]
    kept = space.keep(given)
    assert space.written_bytes == given[0].nbytes + given[2].nbytes  # a small one is not worth a file
    assert not any(array.flags.writeable for array in (kept[0], kept[2]))
    parts = space.keep_each(kept)
    for _ in range(3):
        assert [part.tolist() for part in parts] == [array.tolist() for array in given]
        space.release()
    assert space.keep(kept)[2] is kept[2]  # it is in a file


@pytest.mark.slow
def test_the_bytes_of_a_snapshot_are_equal_for_every_budget(index: Index, spaces: list[Workspace]) -> None:
    folder = snapshot_folder(index.table)
    needs = check_merge_memory(index.table, 10**12, ignore_progress)
    assert MERGE_PROCESS_BYTES < needs.least < needs.in_memory
    before = read_files(folder)
    for memory in (needs.least, needs.in_memory - 1, needs.in_memory):
        (folder / "manifest.json").unlink()
        snapshot_builder.ensure_snapshot(index.table, index._encoder, ignore_progress, memory)
        assert read_files(folder) == before
    least, most, in_memory = spaces
    assert most.written_bytes > 0 == in_memory.written_bytes
    assert 0 < least.resident_bytes < most.resident_bytes <= RESIDENT_BYTES
    assert least.threads == 1
    assert least.written_bytes > 5_000
    assert not list(index.table.location.derived.glob("*merge*"))


def test_a_budget_below_the_least_is_refused_before_anything_is_added(
    index: Index, monkeypatch: pytest.MonkeyPatch, spaces: list[Workspace]
) -> None:
    version, rows = index.table.version, index.table.count_rows()
    least = check_merge_memory(index.table, 10**12, ignore_progress).least
    wanted = f"the merge of {rows} passages takes at least {math.ceil(least / 10**6)}MB: give that"
    with pytest.raises(InputError, match=wanted):
        index.add([TOWN], memory=least - 1)
    assert index.table.open_latest().version == version
    assert not spaces
    monkeypatch.setattr(workspace, "_LEAST_TEXT_BYTES", 100_000)  # as if the town were what makes it too much
    before = check_merge_memory(index.table, 10**12, ignore_progress).least
    with pytest.raises(InputError, match="what was committed is kept"):
        index.add([TOWN], memory=before)
    assert index.table.count_rows() == rows + 1
    assert not spaces
    assert index.add([TOWN], memory=2 * before).unchanged == 1
    assert len(spaces) == 1


def test_needs_grow_with_what_is_merged() -> None:
    none = measure_needs([])
    assert none.least == MERGE_PROCESS_BYTES < none.in_memory
    one = [make_segment(stored_table([], 0), 0)]
    assert measure_needs(one).least == none.least
    assert measure_needs(one, graph_triples=10**7).least > none.least + 10**9


@pytest.mark.parametrize("count", [0, 1, 5_000, 60_000])
def test_distinct_texts_are_counted_from_a_share_of_their_hashes(count: int) -> None:
    hashes = np.unique(np.random.default_rng(1).integers(0, 2**64, count, dtype=np.uint64))
    parts = [hashes[: count // 2], hashes[count // 3 :], hashes[:0]]
    estimate = workspace._count_distinct(parts)
    assert abs(estimate - count) <= 4 * math.sqrt(64 * count)


def test_the_command_refuses_a_budget_that_no_merge_keeps(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The Fram was built in Larvik.", encoding="utf-8")
    result = run_clew("index", tmp_path / "a.txt", "--index", tmp_path / "index", "--memory", "380MB")
    assert result.code == 2
    assert "--memory is 380MB, and the merge at the end takes at least 400MB: give that" in result.err
    assert not (tmp_path / "index").exists()
