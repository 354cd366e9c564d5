"""Parts of a corpus written apart and committed at once, and batches written by several processes."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.errors import InputError, ProviderError
from clew.index import Index
from clew.indexing import pipeline, processes, selected_snapshot, writer_settings
from clew.indexing.batches import BatchWriter, WrittenBatch
from clew.indexing.chunking import Chunker
from clew.indexing.parts import parse_part
from clew.indexing.processes import ProcessRunner
from clew.indexing.report import IndexingReport
from clew.indexing.selected_snapshot import ChangedDocument, DocumentSelector, Part
from clew.settings import Settings
from clew.store.document_ids import no_documents
from clew.store.inspection import verify
from clew.types import Document, Failure
from tests.faults.commands import make_voyage, run_clew, write_lines
from tests.indexing.snapshots import snapshot_files

COUNT = 60


def create(folder: Path, encoder: str = "none") -> Index:
    return clew.create(folder, Settings(encoder=encoder, extractor="rules", passage_tokens=32))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "corpus.jsonl", [make_voyage(number) for number in range(COUNT)])


@pytest.mark.parametrize("encoder", ["none", "hashing:16"])
def test_parts_are_committed_at_once_and_equal_one_run(tmp_path: Path, corpus: Path, encoder: str) -> None:
    index, staging = create(tmp_path / "index", encoder), str(tmp_path / "staging")
    reports = [clew.open(tmp_path / "index").stage_part([corpus], f"{number}/3", staging) for number in (2, 3, 1)]
    assert index.table.count_rows() == 0
    assert index.table.open_latest().version == index.table.version
    assert sum(report.added for report in reports) == COUNT
    assert all(report.added for report in reports)
    version = index.table.version
    report = index.commit_parts(staging)
    assert (report.added, report.updated, report.failures) == (COUNT, 0, [])
    assert index.table.version == version + 1
    fresh = create(tmp_path / "fresh", encoder)
    fresh.add([corpus])
    assert snapshot_files(index) == snapshot_files(fresh)
    assert verify(tmp_path / "index") == []
    assert index.commit_parts(staging).added == 0  # what is committed stays committed
    assert index.table.version == version + 1
    assert index.add([corpus]).unchanged == COUNT


def test_a_part_may_be_written_twice_and_changed_documents_are_replaced(tmp_path: Path, corpus: Path) -> None:
    index, staging = create(tmp_path / "index"), str(tmp_path / "staging")
    index.add([corpus])
    changed = write_lines(tmp_path / "new.jsonl", [make_voyage(n, state=1 + (n % 4 == 0)) for n in range(COUNT + 9)])
    for part in ("1/2", "2/2", "1/2"):
        clew.open(tmp_path / "index").stage_part([changed], part, staging)
    index.add([make_document(1000)])  # the parts were compared with an older version
    report = index.commit_parts(staging)
    assert (report.added, report.updated, report.unchanged) == (9, COUNT // 4, COUNT - COUNT // 4)
    fresh = create(tmp_path / "fresh")
    fresh.add([changed])
    fresh.add([make_document(1000)])
    assert snapshot_files(index) == snapshot_files(fresh)
    assert verify(tmp_path / "index") == []
    clew.open(tmp_path / "index").stage_part([changed], "2/2", staging)  # once more, after the commit
    assert index.commit_parts(staging).updated == 0
    assert snapshot_files(index) == snapshot_files(fresh)


def make_document(number: int) -> Document:
    record = make_voyage(number)
    return Document(str(record["id"]), str(record["title"]), str(record["text"]))


def test_a_commit_says_what_is_missing(tmp_path: Path, corpus: Path) -> None:
    index, staging = create(tmp_path / "index"), tmp_path / "staging"
    with pytest.raises(InputError, match="holds no part: write one"):
        index.commit_parts(str(staging))
    index.stage_part([corpus], "1/4", str(staging))
    index.stage_part([corpus], "4/4", str(staging))
    with pytest.raises(
        InputError, match=r"parts 2, 3 of 4 are missing in .*: run clew index with the same files and --shard 2/4"
    ):
        index.commit_parts(str(staging))
    index.stage_part([corpus], "1/2", str(staging))
    with pytest.raises(InputError, match="holds parts of 2 and of 4"):
        index.commit_parts(str(staging))
    for file in staging.glob("*-of-00004.json"):
        file.unlink()
    index.stage_part([corpus], "2/2", str(staging))
    other = create(tmp_path / "other", "hashing:8")
    with pytest.raises(InputError, match="other settings"):
        other.commit_parts(str(staging))
    assert index.table.open_latest().count_rows() == 0


def test_parts_are_committed_to_every_index_that_lacks_them(tmp_path: Path, corpus: Path) -> None:
    index, staging = create(tmp_path / "index"), str(tmp_path / "staging")
    for part in ("1/2", "2/2"):
        index.stage_part([corpus], part, staging)
    shutil.copytree(tmp_path / "index", tmp_path / "copy")
    assert index.commit_parts(staging).added == COUNT
    restored = clew.open(tmp_path / "copy")
    assert restored.commit_parts(staging).added == COUNT
    assert snapshot_files(restored) == snapshot_files(index)
    shutil.rmtree(tmp_path / "index")
    again = create(tmp_path / "index")
    again.stage_part([corpus], "2/2", staging)
    with pytest.raises(InputError, match=r"part 1 of 2 names data files that .*index does not have .* --shard 1/2"):
        again.commit_parts(staging)
    assert again.table.count_rows() == 0
    again.stage_part([corpus], "1/2", staging)
    assert again.commit_parts(staging).added == COUNT


def test_all_parts_are_of_the_same_files(tmp_path: Path, corpus: Path) -> None:
    index, staging = create(tmp_path / "index"), str(tmp_path / "staging")
    (tmp_path / "elsewhere").mkdir()
    same = Path(shutil.copy(corpus, tmp_path / "elsewhere"))  # as another machine sees it
    index.stage_part([corpus], "1/2", staging)
    index.stage_part([same], "2/2", staging)
    assert index.commit_parts(staging).added == COUNT
    more = write_lines(tmp_path / "corpus.jsonl", [make_voyage(number) for number in range(COUNT + 30)])
    index.stage_part([more], "1/2", staging)
    with pytest.raises(InputError, match=r"part 2 of 2 was made of other files than part 1 of 2 .* --shard 2/2"):
        index.commit_parts(staging)
    assert len(index.table.document_hashes()) == COUNT
    index.stage_part([more], "2/2", staging)
    assert index.commit_parts(staging).added == 30


def test_a_passage_id_that_was_taken_since_is_found(tmp_path: Path) -> None:
    index, staging = create(tmp_path / "index"), str(tmp_path / "staging")
    long = Document("a", "A", "It drifts with the ice. " * 40)
    file = write_lines(tmp_path / "a.jsonl", [{"id": "a", "title": "A", "text": long.text}])
    index.stage_part([file], "1/1", staging)
    index.add([Document("a#2", "Larvik", "Larvik is a town.")])
    with pytest.raises(InputError, match="passage id 'a#2' was given to another document since"):
        index.commit_parts(staging)


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/b", "-1/2", "1/2/3"])
def test_a_part_has_a_number_and_a_count(text: str) -> None:
    with pytest.raises(InputError, match="such as 1/4"):
        parse_part(text)


def test_every_document_and_every_failure_is_in_one_part(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number}.txt").write_text(f"Voyage {number}", encoding="utf-8")
        (folder / f"{number}.bin").write_text("", encoding="utf-8")
    index = create(tmp_path / "index")
    reports = [index.stage_part([folder], f"{number}/3", str(tmp_path / "staging")) for number in (1, 2, 3)]
    assert [sum(report.added for report in reports), sum(len(report.failures) for report in reports)] == [20, 20]
    assert len({failure.item for report in reports for failure in report.failures}) == 20
    assert Part(1, 3).has("a") + Part(2, 3).has("a") + Part(3, 3).has("a") == 1
    for part in (Part(number, 3) for number in (1, 2, 3)):
        assert part.has("a") == part.has("a#7") == part.has("a#7#1")


def test_the_command_line_writes_and_commits_parts(tmp_path: Path, corpus: Path) -> None:
    place, staging = ("--index", tmp_path / "index"), ("--staging", tmp_path / "staging")
    for part in ("1/2", "2/2"):
        done = run_clew("index", corpus, *place, *staging, "--shard", part, "--encoder", "none")
        assert (done.code, done.err) == (0, "")
        assert f"part {part} is written; when all are, run clew index --commit {tmp_path / 'staging'}" in done.out
    done = run_clew("index", "--commit", tmp_path / "staging", *place)
    assert (done.code, done.err) == (0, "")
    assert f"{COUNT} added, 0 updated, 0 unchanged, 0 failed" in done.out
    assert f"the index holds {COUNT} passages" in done.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shard", "1/2"], "--shard is given without --staging DIR"),
        (["--staging", "s"], "--staging is given without --shard I/N"),
        (["--shard", "1/2", "--staging", "s", "--workers", "2"], "--workers is not for --shard"),
        (["--shard", "1/2", "--staging", "s", "--retry-failed"], "--retry-failed is not for --shard"),
        (["--memory", "4 apples"], "give a size such as 4GB"),
        (["--memory", "4"], "--memory is 4 bytes, and a process takes 360MB: give more"),
        (["--memory", "1MB", "--workers", "2"], "give more, or fewer --workers"),
        (["--workers", "0"], "--workers"),
        (["--shard", "3/2", "--staging", "s"], "--shard is '3/2': give the number of a part and how many there are"),
        (["--shard", "1/2", "--staging", __file__], "which is a file: name a folder"),
        (["-", "--shard", "1/2", "--staging", "s"], "cannot read standard input"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, corpus: Path, options: list[str], message: str) -> None:
    done = run_clew("index", corpus, "--index", tmp_path / "index", "--encoder", "none", *options)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err
    assert not (tmp_path / "index").exists()


def run_selector(
    documents: Sequence[Document | Failure], part: Part = selected_snapshot.ALL_DOCUMENTS
) -> tuple[list[str], IndexingReport]:
    """Select from documents of which each is stored at once, in memory."""
    report, chunker, stored = IndexingReport(), Chunker(4), dict[str, str]()

    def find(ids: Sequence[str]) -> set[str]:
        return {id_ for id_ in ids if stored.get(id_, id_) != id_}

    selected = []
    for changed in DocumentSelector(no_documents(), chunker, "", report, find, part).select(documents):
        selected.append(changed.document.id)
        stored |= {passage.id: changed.document.id for passage in chunker.split(changed.document)}
    return selected, report


def slow_selection(documents: Sequence[Document]) -> tuple[set[str], set[str]]:
    """Return the ids taken, and those refused, by looking at all ids and passages that came before."""
    chunker, taken, owner, given = Chunker(4), set[str](), dict[str, str](), set[str]()
    refused = set[str]()
    for document in documents:
        own = [passage.id for passage in chunker.split(document)]
        numbered = [id_ for id_ in own if id_ != document.id]
        is_part = owner.get(document.id, document.id) != document.id
        if document.id in given or is_part or any(id_ in given for id_ in numbered):
            refused.add(document.id)
        else:
            taken.add(document.id)
            owner |= dict.fromkeys(own, document.id)
        given.add(document.id)
    return taken, refused


texts = st.sampled_from(
    ["one two", "one two three four five six", "one. two. three. four. five. six. seven. eight. nine"]
)
ids = st.sampled_from(["a", "a#1", "a#2", "a#2#1", "b", "b#1", "c"])


@given(st.lists(st.builds(lambda id_, text: Document(id_, "", text), ids, texts), max_size=8))
def test_a_document_never_takes_the_id_of_anothers_passage(documents: list[Document]) -> None:
    selected, report = run_selector(documents)
    by_part = [run_selector(documents, Part(number, 3)) for number in (1, 2, 3)]
    assert len(selected) == len(set(selected))
    passages = [
        p.id for d in {d.id: d for d in reversed(documents)}.values() if d.id in selected for p in Chunker(4).split(d)
    ]
    assert len(passages) == len(set(passages))
    assert len(selected) + len(report.failures) == len(documents)
    assert set(selected) == slow_selection(documents)[0]
    assert sorted(id_ for ids, _ in by_part for id_ in ids) == sorted(selected)


# Processes


class _Dying:
    """Opens a writer that kills its own process, until a file says that it has done so often enough."""

    def __init__(self, settings: writer_settings.WriterSettings, notes: Path, deaths: int) -> None:
        self.settings, self.notes, self.deaths = settings, notes, deaths

    def __call__(self) -> BatchWriter:
        died = len(list(self.notes.iterdir()))
        if died < self.deaths:
            (self.notes / str(died)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.settings.open()


def make_changed(numbers: Sequence[int]) -> list[ChangedDocument]:
    return [ChangedDocument(make_document(n), f"{n:032x}", is_new=True) for n in numbers]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[ProcessRunner]:
    create(tmp_path / "index")
    settings = writer_settings.WriterSettings(str(tmp_path / "index"), {}, "rules", "cpu")
    made = ProcessRunner(settings.open, 1, 2)
    yield made
    made.close()


def fragment_rows(written: list[WrittenBatch]) -> int:
    return sum(json.loads(fragment)["physical_rows"] for batch in written for fragment in batch.fragments)


@pytest.mark.slow
def test_several_processes_give_the_bytes_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in ((processes, "MIN_PASSAGES", 8), (pipeline, "PARALLEL_PASSAGES", 8)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(writer_settings, "MIN_PASSAGES", 8)
    documents = [make_document(number) for number in range(COUNT)]
    random.Random(0).shuffle(documents)
    index, fresh = create(tmp_path / "index"), create(tmp_path / "fresh")
    report = index.add(iter(documents), workers=2)
    assert (report.added, report.remaining) == (COUNT, 0)
    assert index.table.version > 3  # committed as they finished
    fresh.add(documents)
    assert snapshot_files(index) == snapshot_files(fresh)
    assert not multiprocessing.active_children()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a process is killed by a signal")
def test_a_killed_process_is_replaced_and_its_batch_done_again(tmp_path: Path, runner: ProcessRunner) -> None:
    (tmp_path / "notes").mkdir()
    opening = runner.open_writer
    settings: writer_settings.WriterSettings = opening.__self__  # type: ignore[attr-defined]
    runner.open_writer = _Dying(settings, tmp_path / "notes", 2)
    written = runner.run(make_changed(range(9))) + runner.finish()
    assert (len(written), written[0].report.added) == (1, 9)
    assert fragment_rows(written) == written[0].report.passages
    runner.close()
    runner.open_writer = _Dying(settings, tmp_path / "notes", 99)
    with pytest.raises(
        ProviderError, match=r"a worker ended 3 times \(exit code -9\) at the documents from 'v0009' on"
    ):
        written = runner.run(make_changed(range(9, 12))) + runner.finish()
    runner.close()
    assert not multiprocessing.active_children()


def test_a_language_model_is_asked_from_one_process(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", [make_voyage(1)])
    options = ("--encoder", "none", "--extractor", "llm:ollama:test", "--workers", "2")
    done = run_clew("index", file, "--index", tmp_path / "index", *options)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "llm:ollama:test is asked from one process" in done.err


@settings(deadline=None, max_examples=5)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(1, 4))
def test_any_number_of_parts_gives_the_same_bytes(numbers: list[int], count: int) -> None:
    records = [make_voyage(number) for number in dict.fromkeys(numbers)]
    with TemporaryDirectory() as folder:
        file = write_lines(Path(folder, "corpus.jsonl"), records)
        index, fresh = create(Path(folder, "index")), create(Path(folder, "fresh"))
        for number in range(count, 0, -1):
            index.stage_part([file], f"{number}/{count}", str(Path(folder, "staging")))
        index.commit_parts(str(Path(folder, "staging")))
        fresh.add([file])
        assert snapshot_files(index) == snapshot_files(fresh)
