"""`clew watch`: an index follows a folder."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import clew
from clew.commands import watching as watch
from clew.errors import IndexLockedError, InputError
from clew.index import Index
from clew.indexing.sources.folder_state import FolderReader
from clew.settings import Settings
from clew.store.passage_table import PassageTable
from clew.store.writer_lock import writer_lock
from clew.types import Document, Failure
from tests.commands.refusals import check_refused
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


def test_empty_files_and_links_out_of_the_folder_are_notes_and_an_emptied_file_keeps_its_document(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    (tmp_path / "secret.txt").write_text("A secret.", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "__init__.py").touch()
    (folder / "a.txt").write_text("Fram is a ship.", encoding="utf-8")
    watch.update(index, folder)
    said = capsys.readouterr()
    assert "1 added, 0 updated, 0 unchanged, 0 failed" in said.out
    assert "1 link leads out of the given folder" in said.err
    assert "1 empty file was skipped" in said.err
    watch.update(index, folder)
    assert capsys.readouterr().out == ""
    (folder / "a.txt").write_text("", encoding="utf-8")  # as in the moment before it is written anew
    watch.update(index, folder)
    assert "1 failed" in capsys.readouterr().out
    assert documents(tmp_path / "index") == {"a.txt"}


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


def test_a_record_that_moves_to_a_file_before_its_own_is_kept(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    moved, other = {"id": "moved", "text": "Fram is a ship."}, {"id": "other", "text": "Oslo is a town."}
    write_lines(folder / "b.jsonl", [moved, other])
    watch.update(index, folder)
    write_lines(folder / "a.jsonl", [{**moved, "text": "Fram is a ship of Larvik."}])  # b.jsonl still has it
    watch.update(index, folder)
    write_lines(folder / "b.jsonl", [other])
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"moved", "other"}
    assert "Fram is a ship of Larvik." in index.table.read()["text"].to_pylist()
    (folder / "a.jsonl").unlink()
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"other"}


def test_documents_that_another_command_removed_or_replaced_are_put_back(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    (folder / "a.txt").write_text("Fram is a ship.", encoding="utf-8")
    watch.update(index, folder)
    version = index.table.version
    (folder / "a.txt").write_text("Fram is a ship of Larvik.", encoding="utf-8")
    (folder / "deep" / "b.txt").write_text("Oslo is a town.", encoding="utf-8")
    watch.update(index, folder)
    wanted = index.table.read()
    changes: list[Callable[[Index], object]] = [
        lambda other: other.remove(["deep/b.txt"]),
        lambda other: other.restore(version),
        lambda other: other.add([clew.Document("a.txt", "A", "Another text.")]),
    ]
    for change in changes:
        with clew.open(tmp_path / "index") as other:
            change(other)
        assert not clew.open(tmp_path / "index").table.read().equals(wanted)
        watch.update(index, folder)
        assert clew.open(tmp_path / "index").table.read().equals(wanted)
    with clew.open(tmp_path / "index") as other:
        other.add([clew.Document("elsewhere", "", "It is of no folder.")])
        other.compact()
    capsys.readouterr()
    watch.update(index, folder)
    assert capsys.readouterr().out == ""  # nothing of the folder has changed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PassageTable, "stored_documents", lambda _: pytest.fail("the index was read again"))
        watch.update(index, folder)


def test_a_change_by_another_command_during_a_look_is_found_by_the_next(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    (folder / "a.txt").write_text("Fram is a ship.", encoding="utf-8")
    watch.update(index, folder)
    read = FolderReader.documents

    def remove_meanwhile(reader: FolderReader) -> Iterator[Document | Failure]:
        with clew.open(tmp_path / "index") as other:
            other.remove(["a.txt"])
        monkeypatch.undo()
        return read(reader)

    # The documents are asked for before the lock is taken.
    monkeypatch.setattr(FolderReader, "documents", remove_meanwhile)
    (folder / "b.txt").write_text("Oslo is a town.", encoding="utf-8")
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"b.txt"}
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"a.txt", "b.txt"}


def test_a_state_of_an_earlier_version_is_read(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"Fram is a ship of {name}.", encoding="utf-8")
    watch.update(index, folder)
    (state,) = (tmp_path / "index" / "watched").iterdir()
    lines = [json.loads(line)[:5] for line in state.read_text(encoding="utf-8").splitlines()[1:]]
    state.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "b.txt").unlink()
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"a.txt"}


def test_a_folder_that_is_away_for_a_moment_is_waited_for(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, away = tmp_path / "folder", tmp_path / "away"
    (folder / "a.txt").write_text("Fram is a ship.", encoding="utf-8")
    watch.update(index, folder)
    folder.rename(away)
    waits: list[float] = []

    def bring_back(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            away.rename(folder)

    monkeypatch.setattr(time, "sleep", bring_back)
    capsys.readouterr()
    watch.update(index, folder)
    said = capsys.readouterr()
    assert len(waits) == 3
    assert (said.err.count("waiting: "), said.err.count("is not there (No such file or directory)")) == (1, 1)
    assert said.out == f"nothing has changed in {folder}\n"
    assert documents(tmp_path / "index") == {"a.txt"}


def test_nothing_is_removed_where_the_folder_vanishes_during_a_look(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"Fram is a ship of {name}.", encoding="utf-8")
    watch.update(index, folder)
    (folder / "b.txt").unlink()
    read = FolderReader.documents

    def vanish(reader: FolderReader) -> Iterator[Document | Failure]:
        folder.rename(tmp_path / "away")
        return read(reader)

    monkeypatch.setattr(FolderReader, "documents", vanish)
    with pytest.raises(InputError, match="is not there"):
        index.sync_folder(folder)
    folder.mkdir()
    (tmp_path / "away").rename(tmp_path / "again")
    monkeypatch.setattr(FolderReader, "documents", read)
    assert documents(tmp_path / "index") == {"a.txt", "b.txt"}


def test_an_empty_place_of_a_file_system_is_no_empty_folder(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "a.txt").write_text("Fram is a ship.", encoding="utf-8")
    watch.update(index, folder)
    (state,) = (tmp_path / "index" / "watched").iterdir()
    header, line = state.read_text(encoding="utf-8").splitlines()
    other = {**json.loads(header), "device": json.loads(header)["device"] + 1}
    state.write_text(f"{json.dumps(other)}\n{line}\n", encoding="utf-8")
    (folder / "a.txt").rename(tmp_path / "a.txt")
    with pytest.raises(InputError, match="has no file, and is on another file system than before"):
        index.sync_folder(folder)
    (tmp_path / "a.txt").rename(folder / "a.txt")
    assert index.sync_folder(folder) is None
    (folder / "a.txt").unlink()  # on the same file system it is gone
    watch.update(index, folder)
    assert documents(tmp_path / "index") == set()


def test_what_lies_in_a_folder_that_cannot_be_opened_stays(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    for name in ("a.txt", "deep/b.txt", "deep/c.txt"):
        (folder / name).write_text(f"Fram is a ship of {name}.", encoding="utf-8")
    watch.update(index, folder)
    scan = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    (folder / "a.txt").unlink()
    with monkeypatch.context() as patch:
        patch.setattr("clew.indexing.sources.discovery.os.scandir", refuse)
        watch.update(index, folder)
    assert "deep: the folder cannot be opened: Permission denied" in capsys.readouterr().err
    assert documents(tmp_path / "index") == {"deep/b.txt", "deep/c.txt"}
    (folder / "deep" / "b.txt").unlink()
    watch.update(index, folder)
    assert documents(tmp_path / "index") == {"deep/c.txt"}


def test_a_folder_is_wanted(tmp_path: Path) -> None:
    done = run_clew("index", tmp_path / "none", "--watch", "--index", tmp_path / "index")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "No such file or directory" in done.err
    assert not (tmp_path / "index").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is a signal")
@pytest.mark.parametrize("options", [["--poll", "0.1"], []])
def test_changes_are_seen_until_ctrl_c(tmp_path: Path, options: list[str]) -> None:
    if not options:
        pytest.importorskip("watchfiles")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("Fram is a ship.", encoding="utf-8")
    process = start_process("index", folder, "--watch", "--index", tmp_path / "index", "--encoder", "none", *options)
    try:
        wait_until(lambda: documents(tmp_path / "index") == {"a.txt"}, tmp_path)
        (folder / "b.txt").write_text("Larvik is a town.", encoding="utf-8")
        wait_until(lambda: documents(tmp_path / "index") == {"a.txt", "b.txt"}, tmp_path)
        (folder / "a.txt").unlink()
        wait_until(lambda: documents(tmp_path / "index") == {"b.txt"}, tmp_path)
        folder.rename(tmp_path / "away")
        (tmp_path / "next").mkdir()
        (tmp_path / "next" / "c.txt").write_text("Oslo is a town.", encoding="utf-8")
        (tmp_path / "next").rename(folder)
        wait_until(lambda: documents(tmp_path / "index") == {"c.txt"}, tmp_path)
        (folder / "d.txt").write_text("Bergen is a town.", encoding="utf-8")
        wait_until(lambda: documents(tmp_path / "index") == {"c.txt", "d.txt"}, tmp_path)
        wait_until(lambda: removes(tmp_path / "index", "d.txt"), tmp_path)
        wait_until(lambda: documents(tmp_path / "index") == {"c.txt", "d.txt"}, tmp_path)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGINT)
        process.join(30)
        assert process.exitcode == 130
    finally:
        process.kill()
        process.join()


def removes(place: Path, id_: str) -> bool:
    """Return whether a document was removed; it is not while another process writes."""
    try:
        with clew.open(place) as index:
            return bool(index.remove([id_]).removed)
    except IndexLockedError:
        return False


def wait_until(holds: Callable[[], bool], place: Path) -> None:
    for _ in ticks():
        if any((place / "index" / "passages.lance" / "_versions").glob("*.manifest")) and holds():
            return
    pytest.fail("nothing happened")


def ticks(seconds: float = 60.0) -> Iterator[None]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.05)


def test_without_watchfiles_nothing_is_created_or_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    done = run_clew("index", tmp_path, "--watch", "--index", tmp_path / "index", "--encoder", "none")
    check_refused(done, "clew index --watch needs the package watchfiles")
    assert "run pip install 'clew[watch]', or give --poll SECONDS" in done.err
    assert not (tmp_path / "index").exists()
