"""A disk that is full or read-only: a clear error, nothing lost, and the same command continues later."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from clew.store.inspection import verify
from tests.faults.commands import (
    Outcome,
    folder_hash,
    make_voyage,
    run_process,
    snapshot_hash,
    stored_documents,
    write_lines,
)

BATCH, DOCUMENTS = 24, 150
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="no limits of this kind")]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(
        tmp_path_factory.mktemp("corpus") / "voyages.jsonl", [make_voyage(number) for number in range(DOCUMENTS)]
    )


class Undisturbed(NamedTuple):
    """What a run with enough space leaves."""

    snapshot: str
    disk_bytes: int


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Undisturbed:
    index = tmp_path_factory.mktemp("undisturbed") / "index"
    assert add_documents(corpus, index).code == 0
    sizes = [file.stat() for file in index.rglob("*") if file.is_file()]
    blocks = sum(size.st_blocks * 512 for size in sizes)
    return Undisturbed(snapshot_hash(index), blocks)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small disk where that is allowed."""
    if not sys.platform.startswith("linux") or shutil.which("mount") is None:
        pytest.skip("no mount")
    folder = tmp_path / "disk"
    folder.mkdir()
    if not mount("-t", "tmpfs", "-o", "size=64m", "tmpfs", folder):
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def mount(*options: str | Path) -> bool:
    return subprocess.run(["mount", *options], check=False, capture_output=True).returncode == 0


def add_documents(corpus: Path, index: Path) -> Outcome:
    return run_process("index", corpus, "--index", index, "--encoder", "hashing:64", batch=BATCH)


def check_one_line(outcome: Outcome) -> str:
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("clew: ")
    return outcome.err


@pytest.mark.parametrize("share", [0.04, 0.12, 0.3, 0.5, 0.7, 0.9])
def test_a_full_disk(disk: Path, corpus: Path, undisturbed: Undisturbed, share: float) -> None:
    kilobytes = int(share * undisturbed.disk_bytes / 1024)
    assert mount("-o", f"remount,size={kilobytes}k", disk)
    message = check_one_line(add_documents(corpus, disk / "index"))
    assert "free some space" in message
    committed = stored_documents(disk / "index")
    second_message = check_one_line(add_documents(corpus, disk / "index"))
    assert "free some space" in second_message
    assert committed.items() <= stored_documents(disk / "index").items()
    assert mount("-o", "remount,size=64m", disk)
    if committed:
        assert verify(disk / "index") == []
    assert add_documents(corpus, disk / "index").code == 0
    assert snapshot_hash(disk / "index") == undisturbed.snapshot


def test_a_disk_that_cannot_be_written(disk: Path, corpus: Path) -> None:
    index = disk / "index"
    assert add_documents(corpus, index).code == 0
    more = write_lines(corpus.parent / "more.jsonl", [make_voyage(1000)])
    before = folder_hash(index)
    assert mount("-o", "remount,ro", disk)
    for command in (["search", "Voyage 12"], ["ask", "Who led Voyage 12?"], ["stats"], ["verify"]):
        outcome = run_process(*command, "--index", index)
        assert (outcome.code, outcome.err) == (0, ""), command
    for writing in (["index", str(more)], ["remove", "v0001"], ["compact"], ["repair"]):
        assert "not possible here" in check_one_line(run_process(*writing, "--index", index))
    new = run_process("index", more, "--index", disk / "new", "--encoder", "none")
    assert (new.code, new.err.count("\n")) == (2, 1)
    assert "cannot be written (Read-only file system)" in new.err
    assert folder_hash(index) == before
    assert not (disk / "new").exists()
    assert mount("-o", "remount,rw", disk)
    shutil.rmtree(index / "derived")
    assert mount("-o", "remount,ro", disk)
    found = run_process("search", "Voyage 12", "--index", index)
    assert (found.code, found.err.count("\n")) == (0, 1)
    assert "cannot be written" in found.err
    assert mount("-o", "remount,rw", disk)
    assert run_process("search", "Voyage 12", "--index", index).code == 0


@pytest.mark.parametrize("missing", ["derived", "derived/snapshots"])
def test_a_search_on_a_full_disk_answers(disk: Path, corpus: Path, missing: str) -> None:
    """It failed where something that is derived was to be written: with the line of a command that writes."""
    index = disk / "index"
    assert add_documents(corpus, index).code == 0
    expected = [run_process("search", "Voyagge 12", "--index", index, "--retriever", name) for name in ("frag", "bm25")]
    shutil.rmtree(index / missing)
    shutil.rmtree(index / "derived" / "arrays", ignore_errors=True)
    fill(disk / "fill")
    for name, whole in zip(("frag", "bm25"), expected, strict=True):
        found = run_process("search", "Voyagge 12", "--index", index, "--retriever", name)
        assert (found.code, found.out) == (0, whole.out)
        assert all(line.startswith("note: ") for line in found.err.splitlines())
    (disk / "fill").unlink()
    assert run_process("search", "Voyage 12", "--index", index).err == ""
    assert verify(index) == []


def fill(file: Path) -> None:
    """Write a file until the disk is full."""
    with suppress(OSError), file.open("wb") as stream:
        while True:
            stream.write(bytes(1 << 12))
            stream.flush()
