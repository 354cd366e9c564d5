"""Two writers, readers during writes, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import clew as library
from clew.store.inspection import verify
from clew.store.passage_table import PassageTable
from clew.store.writer_lock import writer_lock
from clew.types import Document
from tests.faults.commands import make_voyage, run_clew, run_process, snapshot_hash, start_process, write_lines
from tests.faults.readers import run as run_readers

NUMBERS = range(300)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "voyages.jsonl", [make_voyage(number) for number in NUMBERS])


def small_index(folder: Path) -> library.Index:
    index = library.create(folder, library.Settings(encoder="hashing:16"))
    index.add([make_document(number) for number in range(20)])
    return index


def make_document(number: int, state: int = 1) -> Document:
    record = make_voyage(number, state)
    return Document(str(record["id"]), str(record["title"]), str(record["text"]), {"year": 1800 + number})


@contextmanager
def paused_writer(index: Path, *arguments: str | Path) -> Iterator[int]:
    """Pause a command as soon as it has the lock, and yield its process id."""
    process = start_process(*arguments, "--index", index, batch=8)
    assert process.pid is not None
    lock = index / "clew.lock"
    while not (lock.exists() and lock.read_bytes()):
        assert process.is_alive()
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield process.pid
    finally:
        os.kill(process.pid, signal.SIGCONT)
        process.join()
    assert process.exitcode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be stopped")
def test_a_second_writer_gets_a_clear_error(tmp_path: Path, corpus: Path) -> None:
    index = tmp_path / "index"
    small_index(index)
    for command in (["index", corpus], ["compact"]):
        with paused_writer(index, *command) as pid:
            before = PassageTable.open(index).version
            for second in (["index", corpus], ["remove", "v0001"], ["compact"], ["repair"]):
                outcome = run_clew(*second, "--index", index)
                assert (outcome.code, outcome.err.count("\n")) == (2, 1)
                assert f"is being written by process {pid}" in outcome.err
            assert run_clew("search", "Voyage 2", "--index", index).code == 0
            assert run_clew("verify", "--index", index).code == 0
            assert PassageTable.open(index).version == before
    assert len(PassageTable.open(index).document_hashes()) == len(NUMBERS)


def test_a_writer_reads_what_another_wrote_before_it(tmp_path: Path) -> None:
    first = small_index(tmp_path)
    second = library.open(tmp_path)
    first.add([make_document(100)])
    report = second.add([make_document(100), make_document(101)])
    assert (report.added, report.unchanged) == (1, 1)
    assert second.stats().documents == 22
    with writer_lock(tmp_path), pytest.raises(library.IndexLockedError, match="wait until it has finished"):
        first.remove(["v0001"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("commits", [0, 1, 4])
def test_an_interrupt_leaves_a_valid_index_and_one_line(tmp_path: Path, corpus: Path, commits: int) -> None:
    index, reference = tmp_path / "index", tmp_path / "whole"
    arguments = ["index", str(corpus), "--encoder", "hashing:16"]
    program = (
        "from clew.commands import app; from clew.indexing import pipeline; "
        "pipeline.BATCH_PASSAGES = pipeline.BATCH_LIMIT = 8; app.main()"
    )
    command = [sys.executable, "-c", program, *arguments, "--index", str(index)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        versions = index / "passages.lance" / "_versions"
        while not (index / "clew.lock").exists() or len(list(versions.glob("*.manifest"))) <= commits:
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err == "clew: stopped; what was committed is stored, and the same command goes on from there\n"
    stored = PassageTable.open(index).document_hashes()
    assert len(stored) >= 8 * commits
    assert verify(index) == []
    assert run_process(*arguments[:2], "--index", index).code == 0
    assert run_process(*arguments, "--index", reference).code == 0
    assert snapshot_hash(index) == snapshot_hash(reference)


@pytest.mark.slow
def test_two_processes_that_read_beside_one_that_writes_see_whole_versions(tmp_path: Path) -> None:
    assert run_readers(tmp_path / "index", opens=60) == {"": 60}
