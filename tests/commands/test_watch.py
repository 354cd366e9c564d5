"""`clew watch`: an index follows a folder."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import clew
from clew.commands import watch
from clew.index import Index
from clew.settings import Settings
from clew.store.passage_table import PassageTable
from clew.store.writer_lock import writer_lock
from tests.faults.commands import run_clew, start_process, write_lines


@pytest.fixture
def index(tmp_path: Path) -> Index:
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    return clew.create(tmp_path / "index", Settings(encoder="none", extractor="rules"))


def documents(place: Path) -> set[str]:
    return set(PassageTable.open(place).document_hashes())


def test_an_index_follows_its_folder(index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "folder"
    (folder / "a.txt").write_text("Fram is a ship.", encoding="utf-8")
    (folder / "deep" / "b.md").write_text("# Larvik\nLarvik is a town.", encoding="utf-8")
    lines = write_lines(folder / "c.jsonl", [{"id": f"r{n}", "text": f"Record {n} is of Oslo."} for n in range(3)])
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"a.txt", "deep/b.md", "r0", "r1", "r2"}
    assert "5 added" in capsys.readouterr().out
    version = index.table.version
    watch.update(index, folder)
    assert (capsys.readouterr().out, index.table.version) == ("", version)
    (folder / "a.txt").write_text("Fram is a ship of Colin Archer.", encoding="utf-8")
    (folder / "deep" / "b.md").unlink()
    write_lines(lines, [{"id": f"r{n}", "text": f"Record {n} is of Oslo."} for n in (0, 2, 7)])
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"a.txt", "r0", "r2", "r7"}
    assert "1 added, 1 updated, 2 unchanged, 0 failed, 2 removed" in capsys.readouterr().out
    assert "Colin Archer" in index.snapshot.entities[:]
    fresh = clew.create(tmp_path / "fresh", Settings(encoder="none", extractor="rules"))
    fresh.add([folder])
    assert fresh.table.read().equals(index.table.read())


def test_a_file_that_cannot_be_read_stops_nothing_and_loses_nothing(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    lines = write_lines(folder / "c.jsonl", [{"id": f"r{n}", "text": f"Record {n} is of Oslo."} for n in range(2)])
    watch.update(index, folder)
    with lines.open("a", encoding="utf-8") as file:
        file.write('{"id": "r9", "te')
    lines.write_text(lines.read_text(encoding="utf-8").replace('{"id": "r1"', '{"id": "r1'), encoding="utf-8")
    (folder / "good.txt").write_text("Fram is a ship.", encoding="utf-8")
    capsys.readouterr()
    watch.update(index, folder)
    said = capsys.readouterr()
    assert "1 added, 0 updated, 1 unchanged, 2 failed" in said.out
    assert "c.jsonl:2" in said.err
    assert documents(tmp_path / "index") == {"r0", "r1", "good.txt"}
    lines.unlink()
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"good.txt"}


def test_of_two_files_with_one_id_the_first_is_read(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write_lines(folder / "b.jsonl", [{"id": "same", "text": "The first."}])
    watch.update(index, folder)
    second = write_lines(folder / "a.jsonl", [{"id": "same", "text": "The second."}])
    watch.update(index, folder)
    assert index.table.read()["text"].to_pylist() == ["The first."]
    second.unlink()
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"same"}


def test_documents_from_elsewhere_stay(index: Index, tmp_path: Path) -> None:
    index.add([clew.Document("other", "Other", "It was added by hand.")])
    watch.update(index, tmp_path / "folder")
    assert documents(tmp_path / "index") == {"other"}


def test_another_writer_is_waited_for(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder" / "a.txt").write_text("Fram is a ship.", encoding="utf-8")
    lock = writer_lock(tmp_path / "index")
    lock.__enter__()
    waits: list[float] = []

    def release(seconds: float) -> None:
        waits.append(seconds)
        lock.__exit__(None, None, None)

    monkeypatch.setattr(time, "sleep", release)
    watch.update(index, tmp_path / "folder")
    assert len(waits) == 1
    assert documents(tmp_path / "index") == {"a.txt"}


def test_a_folder_is_wanted(tmp_path: Path) -> None:
    done = run_clew("watch", tmp_path / "none", "--index", tmp_path / "index")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "is not a folder: name one to watch" in done.err
    assert not (tmp_path / "index").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is a signal")
@pytest.mark.parametrize("options", [["--poll", "0.1"], ["--debounce", "0.05"]])
def test_changes_are_seen_until_ctrl_c(tmp_path: Path, options: list[str]) -> None:
    if "--debounce" in options:
        pytest.importorskip("watchfiles")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("Fram is a ship.", encoding="utf-8")
    process = start_process("watch", folder, "--index", tmp_path / "index", "--encoder", "none", *options)
    try:
        wait_until(lambda: documents(tmp_path / "index") == {"a.txt"}, tmp_path)
        (folder / "b.txt").write_text("Larvik is a town.", encoding="utf-8")
        wait_until(lambda: documents(tmp_path / "index") == {"a.txt", "b.txt"}, tmp_path)
        (folder / "a.txt").unlink()
        wait_until(lambda: documents(tmp_path / "index") == {"b.txt"}, tmp_path)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGINT)
        process.join(30)
        assert process.exitcode == 130
    finally:
        process.kill()
        process.join()


def wait_until(holds: Callable[[], bool], place: Path) -> None:
    for _ in ticks():
        if (place / "index" / "passages.lance").is_dir() and holds():
            return
    pytest.fail("nothing happened")


def ticks(seconds: float = 60.0) -> Iterator[None]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.05)


def test_without_watchfiles_nothing_is_created_or_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    done = run_clew("watch", tmp_path, "--index", tmp_path / "index", "--encoder", "none")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "clew watch needs the package watchfiles" in done.err
    assert "run pip install 'clew[watch]', or give --poll SECONDS" in done.err
    assert not (tmp_path / "index").exists()
