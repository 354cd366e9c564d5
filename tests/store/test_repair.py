"""Repair loses as little as it can, asks before, and takes no failing machine for damage."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from lance.fragment import LanceFragment

import clew
from clew.errors import ClewError, IndexFormatError, InputError, ProviderError
from clew.settings import Settings
from clew.store.array_file import write_arrays
from clew.store.dataset import manifest_path
from clew.store.inspection import verify
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.store.repair import ADD_AGAIN, REMOVE_AGAIN, repair
from tests.faults.commands import folder_hash, run_clew
from tests.store.rows import SETTINGS, WIDTH, data_files, leave_out_checksums, make_documents, make_index


def test_a_whole_older_version_is_gone_back_to_before_rows_are_dropped(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    table.replace(make_documents(("a", 3), ("b", 2)), ["a", "b"])
    table.replace(make_documents(("a", 2), state="2"), ["a"])  # the old rows are still in the older version
    data_files(tmp_path)[-1].write_bytes(b"")
    actions = repair(tmp_path)
    assert actions[0].startswith("undone: the changes since version 2, which is whole (data file ")
    assert actions[-1] == ADD_AGAIN
    assert PassageTable.open(tmp_path).version == 4
    assert PassageTable.open(tmp_path).document_hashes() == {"a": "a/1", "b": "b/1"}
    assert verify(tmp_path) == []


def swap_deleted_rows(index: Path) -> Path:
    """Let a file of deleted rows name another row than was removed; return it."""
    (file,) = (index / "passages.lance" / "_deletions").iterdir()
    with pa.OSFile(str(file)) as source:
        schema = pa.ipc.open_file(source).read_all().schema
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.table([pa.array([1], schema.field(0).type)], schema=schema))
    return file


def test_rows_that_came_back_are_repaired_by_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_checksums(monkeypatch)
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    table.replace(make_documents(("a", 1), ("b", 1), ("c", 1)), ["a", "b", "c"])
    table.delete(["a"])
    swap_deleted_rows(tmp_path)
    assert "are read again" in verify(tmp_path)[0]
    with pytest.raises(IndexFormatError, match="clew repair"):
        PassageTable.open(tmp_path).read()
    actions = repair(tmp_path)
    assert actions[0].startswith("undone: the changes since version 2")
    # What was lost is the removal: the sources have nothing to add.
    assert actions[1:] == ["there again, if it was removed since version 2: 'a', 'b', 'c'", REMOVE_AGAIN]
    assert list(PassageTable.open(tmp_path).document_hashes()) == ["a", "b", "c"]
    assert verify(tmp_path) == []


@pytest.mark.parametrize("has_older", [True, False])
def test_a_damaged_record_of_checksums_is_repaired(tmp_path: Path, *, has_older: bool) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    table.replace(make_documents(("a", 1), ("b", 1), ("c", 1)), ["a", "b", "c"])
    table.delete(["a"])
    newest, *older = sorted((tmp_path / "passages.lance" / "_versions").glob("*.manifest"))
    for path in () if has_older else older:
        path.unlink()
    for path in (newest, *(tmp_path / "passages.lance" / "_transactions").iterdir()):
        head, mark, rest = path.read_bytes().partition(b"clew.deletions")
        path.write_bytes(head + mark + rest.replace(b'{"version"', b'["version"', 1))
    assert "the deletion file" in verify(tmp_path)[0]
    actions = repair(tmp_path)
    assert actions[0].startswith("undone: " if has_older else "dropped 2 passages: ")
    assert list(PassageTable.open(tmp_path).document_hashes()) == (["a", "b", "c"] if has_older else [])
    assert verify(tmp_path) == []


def test_documents_that_return_are_named_beside_what_was_lost(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 2), ("b", 2))
    table.replace(make_documents(("c", 1)), ["b", "c"])
    data_files(tmp_path)[-1].write_bytes(b"")
    actions = repair(tmp_path)
    assert actions[1:] == ["there again, if it was removed since version 3: 'b'", REMOVE_AGAIN, ADD_AGAIN]
    assert PassageTable.open(tmp_path).document_hashes() == {"a": "a/1", "b": "b/1"}


def test_rows_that_came_back_are_dropped_where_no_version_before_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_checksums(monkeypatch)
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    table.replace(make_documents(("a", 1), ("b", 1), ("c", 1)), ["a", "b", "c"])
    table.delete(["a"])
    table.replace(make_documents(("d", 1)), ["d"])
    location = locate(tmp_path)
    for version in (1, 2):
        manifest_path(location, version).unlink()
    swap_deleted_rows(tmp_path)
    actions = repair(tmp_path)
    assert actions[0].startswith("dropped 2 passages: the rows deleted from data file ")
    assert list(PassageTable.open(tmp_path).document_hashes()) == ["d"]
    assert verify(tmp_path) == []


def test_a_lost_newest_version_is_given_up(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 1), ("b", 1))
    manifest_path(locate(tmp_path), table.version).unlink()
    assert repair(tmp_path) == ["undone: the changes since version 2, as version 3 is gone", REMOVE_AGAIN, ADD_AGAIN]
    assert PassageTable.open(tmp_path).document_hashes() == {"a": "a/1"}
    assert repair(tmp_path) == []


FAILURES = [
    OSError(errno.EACCES, "Permission denied"),
    OSError("LanceError(IO): Permission denied (os error 13)"),
    OSError("LanceError(IO): Too many open files (os error 24)"),
    OSError(errno.EIO, "Input/output error"),
    OSError("Generic S3 error: error sending request"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_a_file_that_may_not_be_read_now_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: OSError
) -> None:
    make_index(tmp_path, ("a", 1), ("b", 1))
    before = folder_hash(tmp_path / "passages.lance")

    def fail(*_: object, **__: object) -> Iterator[pa.RecordBatch]:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(LanceFragment, "to_batches", fail)
        for run in (repair, verify):
            with pytest.raises(ProviderError):
                run(tmp_path)
    assert folder_hash(tmp_path / "passages.lance") == before


def test_a_derived_file_that_may_not_be_read_now_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_index(tmp_path, ("a", 1))
    file = tmp_path / "derived" / "segments" / "x.safetensors"
    write_arrays(file, {})
    original = Path.open

    def fail(path: Path, *arguments: object, **options: object) -> object:
        if path == file:
            raise OSError(errno.EMFILE, "Too many open files")
        return original(path, *arguments, **options)  # type: ignore[call-overload]

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", fail)
        with pytest.raises(ProviderError, match="too many files are open"):
            repair(tmp_path)
    assert file.exists()
    assert repair(tmp_path) == []


def test_nothing_is_lost_unasked(tmp_path: Path) -> None:
    make_index(tmp_path, ("a", 1), ("b", 1))
    data_files(tmp_path)[1].write_bytes(b"")
    before = folder_hash(tmp_path / "passages.lance")
    asked: list[str] = []

    def refuse(losses: Sequence[str]) -> bool:
        asked.extend(losses)
        return False

    with pytest.raises(InputError, match="nothing was repaired"):
        repair(tmp_path, refuse)
    assert len(asked) == 1
    outcome = run_clew("repair", "--index", tmp_path)
    assert outcome.code == 2
    assert outcome.err.splitlines()[0].startswith("note: a repair loses this: undone")
    assert outcome.err.splitlines()[1].startswith("clew: nothing was repaired")
    assert folder_hash(tmp_path / "passages.lance") == before
    assert run_clew("repair", "--index", tmp_path, "--yes").code == 0
    assert verify(tmp_path) == []


def test_a_repair_that_fails_at_the_commit_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_index(tmp_path, ("a", 1), ("b", 1), ("c", 4))
    data_files(tmp_path)[1].write_bytes(b"")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
        with pytest.raises(ClewError):
            repair(tmp_path)
    repair(tmp_path)
    assert PassageTable.open(tmp_path).document_hashes() == {"a": "a/1", "c": "c/1"}


def test_an_older_version_becomes_the_newest(tmp_path: Path) -> None:
    index = clew.create(tmp_path / "i", Settings(encoder="none", extractor="rules"))
    documents = [clew.Document(name, name, f"{name} is a town in Norway.") for name in ("Oslo", "Bergen", "Vardø")]
    for document in documents:
        index.add([document])
    index.remove(["Bergen"])
    assert [(one.version, one.rows) for one in index.versions()] == [(5, 2), (4, 3), (3, 2), (2, 1), (1, 0)]
    outcome = run_clew("restore", "--list", "--index", tmp_path / "i")
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["5", "4", "3", "2", "1"]
    assert run_clew("restore", "4", "--index", tmp_path / "i").out == "version 6 has what version 4 had\n"
    reopened = clew.open(tmp_path / "i")
    assert sorted(reopened.table.document_hashes()) == ["Bergen", "Oslo", "Vardø"]
    assert len(reopened.snapshot.passage_ids) == 3
    index = clew.open(tmp_path / "i")
    index.restore(5)
    assert len(index.snapshot.passage_ids) == 2
    for version, fault in ((0, "is not there"), (7, "is the newest one already"), (8, "is not there")):
        with pytest.raises(InputError, match=f"version {version} of .* {fault}: the versions are 7, 6, 5, 4, 3, 2, "):
            index.restore(version)
    assert verify(tmp_path / "i") == []


def test_a_version_with_a_changed_letter_is_not_restored(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    table.replace(make_documents(("a", 1)), ["a"])
    (file,) = data_files(tmp_path)
    table.replace(make_documents(("b", 1)), ["b"])
    file.write_bytes(file.read_bytes().replace(b"London is", b"Lonfon is", 1))
    with pytest.raises(IndexFormatError, match=r"version 2 of .* is damaged .*its checksum differs"):
        PassageTable.open(tmp_path).restore(2)
    assert PassageTable.open(tmp_path).version == 3
