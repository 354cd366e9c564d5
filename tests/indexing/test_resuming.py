"""A run that stops early keeps its commits, and the same documents again make the same index as one run."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.index import Index
from clew.indexing import pipeline
from clew.settings import Settings
from clew.types import Document, ignore_progress
from tests.indexing.snapshots import snapshot_files


class StoppedError(Exception):
    """An error that ends a run from outside."""


class StopAfter:
    """A progress callback that ends a run at the n-th report of a stage; "indexing" is reported after each commit."""

    def __init__(self, after: int, stage: str = "indexing") -> None:
        self.remaining = after
        self.stage = stage

    def __call__(self, stage: str, _done: int, _total: int) -> None:
        self.remaining -= stage == self.stage
        if self.remaining <= 0:
            raise StoppedError


def make_voyage(number: int, parts: int, state: str) -> Document:
    text = "\n\n".join(
        f"Part {part} of {state}: Voyage {number} followed Voyage {number // 2} to Hobart. " + "It drifted on. " * 60
        for part in range(parts)
    )
    return Document(f"v{number}", f"Voyage {number}", text, {"parts": parts}, aliases=(f"Cruise {number}",))


def create_index(folder: Path, progress: StopAfter | None = None) -> Index:
    return clew.create(
        folder, Settings(encoder="none", extractor="rules", passage_tokens=64), progress or ignore_progress
    )


@pytest.fixture(autouse=True, scope="module")
def small_batches() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "BATCH_PASSAGES", 5)
        patch.setattr(pipeline, "BATCH_LIMIT", 5)
        yield


@settings(deadline=None, max_examples=6)
@given(
    st.lists(st.integers(1, 3), min_size=4, max_size=9),
    st.lists(st.integers(1, 3), min_size=4, max_size=9),
    st.integers(1, 3),
)
@pytest.mark.slow
def test_a_stopped_run_keeps_whole_documents_and_goes_on(before: list[int], after: list[int], stop: int) -> None:
    old = [make_voyage(number, parts, "old") for number, parts in enumerate(before)]
    new = [make_voyage(number, parts, "new") for number, parts in enumerate(after)]
    with TemporaryDirectory() as folder:
        create_index(Path(folder, "one")).add(old)
        batches = -(-sum(after) // 7)  # at least: one ends with the document, of up to 3 passages, that reaches 5
        halting = clew.open(Path(folder, "one"), StopAfter(min(stop, batches)))
        with pytest.raises(StoppedError):
            halting.add(new)
        reopened = clew.open(Path(folder, "one"))
        stored: dict[str, list[str]] = {}
        for id_, text in zip(reopened.snapshot.document_ids, reopened.snapshot.texts, strict=True):
            stored.setdefault(id_, []).append(text)
        # Each document is complete, in one of its two states, and never a mixture.
        done = {id_ for id_, texts in stored.items() if all(" of new:" in text for text in texts if " of " in text)}
        counts = {document.id: document.text.count("Part ") for document in old}
        counts |= {document.id: document.text.count("Part ") for document in new if document.id in done}
        assert {id_: sum(text.count("Part ") for text in texts) for id_, texts in stored.items()} == counts
        assert done, "a commit was made and is gone"
        report = reopened.add(new)
        assert report.unchanged == len(done)
        assert report.added + report.updated == len(new) - len(done)
        fresh = create_index(Path(folder, "two"))
        fresh.add([*new, *old[len(new) :]])
        assert snapshot_files(reopened) == snapshot_files(fresh)


def test_a_removal_stays_where_the_run_stops_before_its_snapshot(tmp_path: Path) -> None:
    index = create_index(tmp_path / "index")
    index.add([make_voyage(0, 2, "old"), make_voyage(1, 2, "old")])
    stored = snapshot_files(index)
    with pytest.raises(StoppedError):
        clew.open(tmp_path / "index", StopAfter(1, "linking")).remove(["v0"])
    reopened = clew.open(tmp_path / "index")
    assert set(reopened.snapshot.document_ids) == {"v1"}
    reopened.add([make_voyage(0, 2, "old")])
    assert snapshot_files(reopened) == stored


def test_a_stop_before_the_snapshot_loses_only_the_snapshot(tmp_path: Path) -> None:
    documents = [make_voyage(number, 2, "old") for number in range(6)]
    create_index(tmp_path / "index")
    with pytest.raises(StoppedError):
        clew.open(tmp_path / "index", StopAfter(1, "linking")).add(documents)
    reopened = clew.open(tmp_path / "index")
    version = reopened.table.version
    assert reopened.add(documents).unchanged == 6
    assert reopened.table.version == version
    fresh = create_index(tmp_path / "fresh")
    fresh.add(documents)
    assert snapshot_files(reopened) == snapshot_files(fresh)
