"""Files of one name in two folders are two documents, a file by two paths is one, what is gone is said or pruned."""

import os
import shutil
from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.index import Index
from clew.indexing.report import IndexingReport
from clew.indexing.sources.discovery import SourceFile
from clew.indexing.sources.reader import read_documents
from clew.indexing.sources.register import SourceRegister
from clew.settings import Settings
from clew.types import Document
from tests.faults.commands import run_clew, write_lines
from tests.indexing.sources.reading import read_ids


def write(path: Path, text: str = "Fram is a ship.") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return clew.create(tmp_path / "index", Settings(encoder="none", extractor="rules"))


def stored_texts(index: Index) -> dict[str, str]:
    rows = index.table.read(["id", "text"]).to_pylist()
    return {row["id"]: row["text"] for row in rows}


@pytest.mark.slow
def test_files_of_one_name_in_two_folders_are_two_documents(index: Index, tmp_path: Path) -> None:
    """The second overwrote the first without a word."""
    write(tmp_path / "one" / "a.txt", "One of them.")
    write(tmp_path / "two" / "a.txt", "The other one.")
    expected = {"a.txt": "One of them.", "two/a.txt": "The other one."}
    assert index.add([tmp_path / "one"]).added == 1
    report = index.add([tmp_path / "two"])
    assert (report.added, report.updated) == (1, 0)
    assert report.notes == [
        f"{tmp_path}/two/a.txt has the id 'two/a.txt': {tmp_path}/one/a.txt is another file of its name"
    ]
    assert stored_texts(index) == expected
    for again in ([tmp_path / "two"], [tmp_path / "one"], [tmp_path / "two", tmp_path / "one"]):
        report = index.add(again)
        assert (report.unchanged, report.added, report.updated, report.notes) == (len(again), 0, 0, [])
    write(tmp_path / "two" / "a.txt", "The other one, changed.")
    assert index.add([tmp_path / "two"]).updated == 1
    assert stored_texts(index) == expected | {"two/a.txt": "The other one, changed."}


def test_two_folders_together_have_different_ids(tmp_path: Path) -> None:
    write(tmp_path / "x" / "notes" / "a.txt")
    write(tmp_path / "y" / "notes" / "a.txt")
    write(tmp_path / "z" / "notes" / "a.txt")
    write_lines(tmp_path / "x" / "notes" / "b.jsonl", [{"text": "Fram"}, {"text": "Maud"}])
    write_lines(tmp_path / "y" / "notes" / "b.jsonl", [{"text": "Vega"}])
    assert read_ids(*(tmp_path / name / "notes" for name in "xyz")) == [
        "a.txt",
        "b.jsonl:1",
        "b.jsonl:2",
        "notes/a.txt",
        "notes/b.jsonl:1",
        "z/notes/a.txt",
    ]
    given = [tmp_path / "x" / "notes" / "a.txt", tmp_path / "y" / "notes" / "a.txt"]
    assert read_ids(*given) == ["a.txt", "notes/a.txt"]


def test_a_document_with_an_id_of_its_own_is_replaced_from_any_file(index: Index, tmp_path: Path) -> None:
    write_lines(tmp_path / "old.jsonl", [{"id": "a", "text": "Old."}])
    write_lines(tmp_path / "new.jsonl", [{"id": "a", "text": "New."}])
    index.add([tmp_path / "old.jsonl"])
    assert index.add([tmp_path / "new.jsonl"]).updated == 1
    assert stored_texts(index) == {"a": "New."}


@pytest.mark.parametrize("way", ["x", "./x", "up/../x", "link", "x twice", "a file of it", "the folder above"])
def test_one_file_by_two_paths_is_one_document(
    index: Index, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "top" / "x" / "a.txt")
    (tmp_path / "top" / "up").mkdir()
    (tmp_path / "top" / "link").symlink_to(tmp_path / "top" / "x")
    monkeypatch.chdir(tmp_path / "top")
    paths = {"x twice": ["x", "x"], "a file of it": ["x/a.txt"], "the folder above": ["."]}.get(way, [way])
    assert read_ids("x", *paths) == ["a.txt"]
    assert index.add(["x"]).added == 1
    assert index.add(paths).unchanged == 1
    assert list(stored_texts(index)) == ["a.txt"]


def test_a_link_beside_its_target_is_no_second_document(tmp_path: Path) -> None:
    target = write(tmp_path / "top" / "z.txt")
    (tmp_path / "top" / "a.txt").symlink_to(target)
    hidden = write(tmp_path / "top" / ".hidden.txt")
    for name in ("b.txt", "c.txt"):
        (tmp_path / "top" / name).symlink_to(hidden)
    (tmp_path / "top" / "data.bin").write_bytes(b"Text without a suffix that is read.")
    (tmp_path / "top" / "d.txt").symlink_to(tmp_path / "top" / "data.bin")
    items = list(read_documents([tmp_path / "top"]))
    assert [item.id for item in items if isinstance(item, Document)] == ["b.txt", "d.txt", "z.txt"]


def make_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    write(folder / "a.txt")
    write(folder / "deep" / "b.md", "# Larvik\nLarvik is a town.")
    write_lines(folder / "c.jsonl", [{"id": f"r{number}", "text": f"Record {number}."} for number in range(3)])
    write_lines(folder / "d.jsonl", [{"id": "moving", "text": "A record."}])
    return folder


def change(folder: Path) -> None:
    (folder / "deep" / "b.md").unlink()
    write_lines(folder / "c.jsonl", [{"id": "r0", "text": "Record 0."}, {"id": "moving", "text": "A record."}])
    (folder / "d.jsonl").unlink()


@pytest.mark.slow
def test_what_is_gone_from_a_folder_is_said_and_pruned(index: Index, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    assert index.add([folder]).added == 6
    index.add([Document("sent", "Sent", "A document that is of no folder.")])
    change(folder)
    for _ in range(2):
        report = index.add([folder])
        assert report.notes == [f"3 documents of {folder} are no longer there: --prune removes what is gone"]
        assert report.removed == 0
    outcome = run_clew("index", folder, "--index", tmp_path / "index", "--prune")
    assert outcome.code == 0
    assert "3 unchanged, 0 failed, 3 removed" in outcome.out
    assert sorted(stored_texts(clew.open(tmp_path / "index"))) == ["a.txt", "moving", "r0", "sent"]
    assert clew.open(tmp_path / "index").add([folder], prune=True).notes == []
    fresh = clew.create(tmp_path / "fresh", Settings(encoder="none", extractor="rules"))
    fresh.add([folder])
    assert stored_texts(fresh).items() < stored_texts(clew.open(tmp_path / "index")).items()


def test_what_cannot_be_read_now_is_not_pruned(index: Index, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    index.add([folder])
    with (folder / "c.jsonl").open("w", encoding="utf-8") as file:
        file.write('{"id": "r0", "text": "Record 0."}\n{"id": "r1", "te')
    write(folder / "a.txt", " ")
    report = index.add([folder], prune=True)
    assert (len(report.failures), report.removed, report.notes) == (2, 0, [])
    assert sorted(stored_texts(index)) == ["a.txt", "deep/b.md", "moving", "r0", "r1", "r2"]


def test_a_folder_that_is_empty_now_is_not_pruned(index: Index, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    index.add([folder])
    folder.rename(tmp_path / "unmounted")
    folder.mkdir()
    (note,) = index.add([folder], prune=True).notes
    assert note.startswith(f"6 documents of {folder} stay: it has no file that can be read")
    assert len(stored_texts(index)) == 6


def test_a_document_that_another_folder_has_is_not_pruned(index: Index, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    other = tmp_path / "other"
    write_lines(other.with_name("other.jsonl"), [])
    index.add([folder])
    other.mkdir()
    (folder / "c.jsonl").rename(other / "c.jsonl")
    index.add([other])
    assert index.add([folder], prune=True).removed == 0
    assert {"r0", "r1", "r2"} <= stored_texts(index).keys()


def test_pruning_wants_a_folder(index: Index, tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt")
    with pytest.raises(InputError, match="give the folder"):
        index.add([file], prune=True)
    for options, message in (
        ((file, "--prune"), "without a folder"),
        ((tmp_path, "--prune", "--estimate"), "--prune is not for --estimate"),
        ((tmp_path, "--prune", "--shard", "1/2", "--staging", tmp_path / "parts"), "--prune is not for --shard"),
    ):
        outcome = run_clew("index", *options, "--index", tmp_path / "index")
        assert (outcome.code, message in outcome.err) == (2, True), outcome


def test_a_damaged_register_loses_no_document(index: Index, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    index.add([folder])
    register = tmp_path / "index" / "sources.jsonl"
    content, stored = register.read_bytes(), stored_texts(index)
    for place in range(0, 8 * len(content), 97):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        register.write_bytes(flipped)
        known = SourceRegister(register)
        assert len(read_ids(folder, register=known)) == 6
        missing = {id_ for one in known.folders_read for id_ in known.find_missing(one)}
        assert missing.isdisjoint(stored), place
        known.close()
    register.write_bytes(content[:-9])  # of a process that was killed
    assert (index.add([folder], prune=True).unchanged, len(stored_texts(index))) == (6, 6)


def test_a_document_is_registered_before_it_is_committed(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "one" / "a.txt", "One.")
    write(tmp_path / "two" / "a.txt", "Two.")
    with monkeypatch.context() as patch:
        patch.setattr("clew.indexing.entry.settle_sources", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            index.add([tmp_path / "one"])
    assert index.add([tmp_path / "two"]).added == 1
    assert stored_texts(index) == {"a.txt": "One.", "two/a.txt": "Two."}


def _interrupt(*_: object, **__: object) -> IndexingReport:
    raise KeyboardInterrupt


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="wants POSIX permissions")
def test_what_may_not_be_looked_at_is_not_gone(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder(tmp_path)
    index.add([folder])
    real = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    report = index.add([folder], prune=True)
    assert (report.removed, len(report.failures)) == (0, 1)
    assert "deep/b.md" in stored_texts(index)


def test_a_watched_folder_leaves_the_documents_of_another_one(index: Index, tmp_path: Path) -> None:
    """The file of the watched folder replaced the other one, and removed its document when it was gone itself."""
    write(tmp_path / "one" / "notes.txt", "One of them.")
    write(tmp_path / "two" / "notes.txt", "The other one.")
    index.add([tmp_path / "one"])
    report = index.sync_folder(tmp_path / "two")
    assert report is not None
    assert report.notes == [
        f"{tmp_path}/two/notes.txt has the id 'two/notes.txt': {tmp_path}/one/notes.txt is another file of its name"
    ]
    assert stored_texts(index) == {"notes.txt": "One of them.", "two/notes.txt": "The other one."}
    assert index.add([tmp_path / "two"]).unchanged == 1
    assert index.sync_folder(tmp_path / "two") is None
    (tmp_path / "two" / "notes.txt").unlink()
    index.sync_folder(tmp_path / "two")
    assert stored_texts(index) == {"notes.txt": "One of them."}


def test_a_folder_that_was_watched_first_keeps_its_ids(index: Index, tmp_path: Path) -> None:
    write(tmp_path / "one" / "a.txt", "One of them.")
    write_lines(tmp_path / "one" / "b.jsonl", [{"id": "same", "text": "Fram."}])
    index.sync_folder(tmp_path / "one")
    write(tmp_path / "two" / "a.txt", "The other one.")
    write_lines(tmp_path / "two" / "b.jsonl", [{"id": "same", "text": "Fram."}])
    index.add([tmp_path / "two"])
    expected = {"a.txt": "One of them.", "two/a.txt": "The other one.", "same": "Fram."}
    assert stored_texts(index) == expected
    (tmp_path / "one" / "b.jsonl").unlink()
    index.sync_folder(tmp_path / "one")
    assert stored_texts(index) == expected


def test_a_part_that_would_replace_a_file_of_another_folder_is_refused(index: Index, tmp_path: Path) -> None:
    """The part replaced the document of the other folder when it was committed."""
    write(tmp_path / "one" / "a.txt", "One of them.")
    write(tmp_path / "two" / "a.txt", "The other one.")
    index.add([tmp_path / "one"])
    options = ("--index", tmp_path / "index", "--shard", "1/1", "--staging", tmp_path / "parts")
    outcome = run_clew("index", tmp_path / "two", *options)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome
    assert "would have the id 'a.txt' in a part, and has 'two/a.txt'" in outcome.err
    assert not (tmp_path / "parts").exists()
    assert run_clew("index", tmp_path / "one", *options).code == 0


def test_a_folder_that_is_away_keeps_its_ids(index: Index, tmp_path: Path) -> None:
    """Two folders that were there by turns replaced each other's documents for ever."""
    one, two, away = tmp_path / "one", tmp_path / "two", tmp_path / "away"
    write(one / "a.txt", "One of them.")
    write(two / "a.txt", "The other one.")
    index.add([one])
    one.rename(away)
    assert index.add([two]).added == 1
    away.rename(one)
    expected = {"a.txt": "One of them.", "two/a.txt": "The other one."}
    for folder in (one, two, one):
        assert index.add([folder]).unchanged == 1
        assert stored_texts(index) == expected
    (one / "a.txt").unlink()  # its folder is empty, as one that is not mounted
    write(tmp_path / "three" / "a.txt", "A third one.")
    index.add([tmp_path / "three"])
    assert stored_texts(index) == expected | {"three/a.txt": "A third one."}


def test_a_copy_that_took_the_ids_of_a_folder_keeps_them_when_that_is_back(index: Index, tmp_path: Path) -> None:
    one, two, away = tmp_path / "one", tmp_path / "two", tmp_path / "away"
    write(one / "a.txt")
    write(two / "a.txt")
    index.add([one])
    one.rename(away)
    assert index.add([two]).unchanged == 1
    away.rename(one)
    assert index.add([one]).added == 1
    assert index.add([two, one]).unchanged == 2
    assert list(stored_texts(index)) == ["a.txt", "one/a.txt"]


def test_of_two_folders_with_one_id_one_is_renamed(index: Index, tmp_path: Path) -> None:
    register = tmp_path / "index" / "sources.jsonl"
    write(tmp_path / "one" / "a.txt", "One of them.")
    write(tmp_path / "two" / "a.txt", "The other one.")
    lines = b""
    for name in ("one", "two"):
        index.add([tmp_path / name])
        lines += register.read_bytes().replace(b"two/a.txt", b"a.txt")
        register.unlink()
    register.write_bytes(lines)
    (note,) = index.add([tmp_path / "one", tmp_path / "two"]).notes
    assert "one/a.txt has the id 'one/a.txt'" in note
    for name in ("one", "two", "one"):
        assert index.add([tmp_path / name]).unchanged == 1
    assert stored_texts(index) == {"a.txt": "The other one.", "one/a.txt": "One of them."}


def test_a_damaged_byte_of_the_register_prunes_nothing_of_another_folder(tmp_path: Path) -> None:
    """Files below a damaged line of a folder counted as those of the folder before, which does not have them."""
    register, top = tmp_path / "sources.jsonl", tmp_path / "top"
    write(top / "one" / "a.txt", "One of them.")
    write(top / "one" / "gone.txt")
    write(top / "twoo" / "b.txt")
    write(top / "twoo" / "c.txt")
    known = SourceRegister(register)
    read_ids(top / "one", top / "twoo", register=known)
    known.close()
    (top / "one" / "gone.txt").unlink()
    content, missing = register.read_bytes(), set[str]()
    for place, bit in ((place, bit) for place in range(len(content)) for bit in (0, 4)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << bit
        register.write_bytes(flipped)
        damaged = SourceRegister(register)
        for source in damaged.find(top / "one"):
            assert isinstance(source, SourceFile)
            damaged.add(source, source.id)
        found = {id_ for one in damaged.folders_read for id_ in damaged.find_missing(one)}
        damaged.close()
        assert found <= {"gone.txt"}, place
        missing |= found
    assert missing == {"gone.txt"}


@pytest.mark.parametrize(("first", "second"), [("top/sub", "top"), ("top", "top/sub")])
def test_what_is_gone_from_a_folder_above_or_below_is_said_and_pruned(
    index: Index, tmp_path: Path, first: str, second: str
) -> None:
    sub = tmp_path / "top" / "sub"
    write(sub / "x.txt")
    write_lines(sub / "r.jsonl", [{"id": "r0", "text": "Fram."}, {"id": "r1", "text": "Maud."}])
    write(sub / "y.txt")
    index.add([tmp_path / first])
    index.add([tmp_path / second])
    (sub / "x.txt").unlink()
    write_lines(sub / "r.jsonl", [{"id": "r0", "text": "Fram."}])
    (note,) = index.add([tmp_path / second]).notes
    assert note.startswith(f"2 documents of {tmp_path / second} are no longer there")
    assert index.add([tmp_path / second], prune=True).removed == 2
    assert len(stored_texts(index)) == 2


def test_what_is_gone_from_a_folder_that_was_moved_is_said_and_pruned(index: Index, tmp_path: Path) -> None:
    for name in ("x.txt", "y.txt"):
        write(tmp_path / "one" / name)
    index.add([tmp_path / "one"])
    (tmp_path / "one").rename(tmp_path / "two")
    (tmp_path / "two" / "y.txt").unlink()
    (note,) = index.add([tmp_path / "two"]).notes
    assert note.startswith("1 document of ")
    assert index.add([tmp_path / "two"], prune=True).removed == 1
    assert list(stored_texts(index)) == ["x.txt"]


def test_a_folder_with_one_file_in_common_is_not_the_one_that_is_away(index: Index, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "license.txt"):
        write(tmp_path / "one" / name, f"The file {name}.")
    index.add([tmp_path / "one"])
    (tmp_path / "one").rename(tmp_path / "away")
    write(tmp_path / "two" / "license.txt", "The file license.txt.")
    assert index.add([tmp_path / "two"], prune=True).removed == 0
    assert sorted(stored_texts(index)) == ["a.txt", "b.txt", "license.txt", "two/license.txt"]


def test_an_id_of_a_deleted_file_is_free_and_stays_with_the_one_that_took_it(index: Index, tmp_path: Path) -> None:
    write(tmp_path / "one" / "a.txt", "One of them.")
    write(tmp_path / "one" / "b.txt")
    index.add([tmp_path / "one"])
    (tmp_path / "one" / "a.txt").unlink()
    write(tmp_path / "two" / "a.txt", "The other one.")
    assert index.add([tmp_path / "two"]).updated == 1
    write(tmp_path / "one" / "a.txt", "One of them.")
    assert index.add([tmp_path / "one"]).added == 1
    expected = {"a.txt": "The other one.", "b.txt": "Fram is a ship.", "one/a.txt": "One of them."}
    for name in ("one", "two"):
        assert index.add([tmp_path / name]).notes == []
        assert stored_texts(index) == expected
    (tmp_path / "two" / "a.txt").unlink()
    write(tmp_path / "two" / "c.txt")
    assert index.add([tmp_path / "two"], prune=True).removed == 1
    assert stored_texts(index).keys() == {"b.txt", "c.txt", "one/a.txt"}


@pytest.mark.parametrize("is_kept", [False, True])
def test_the_id_of_a_removed_document_is_free_where_its_file_is_gone(
    index: Index, tmp_path: Path, is_kept: bool
) -> None:
    """The ids of a folder that was deleted for good stayed taken, as if it were not mounted."""
    for name in ("a.txt", "b.txt"):
        write(tmp_path / "one" / name, f"One {name}.")
    index.add([tmp_path / "one"])
    if not is_kept:
        shutil.rmtree(tmp_path / "one")
    index.remove(["a.txt"])
    for name in ("a.txt", "b.txt"):
        write(tmp_path / "two" / name, f"Other {name}.")
    index.add([tmp_path / "two"])
    first = "two/a.txt" if is_kept else "a.txt"
    assert stored_texts(index) == {"b.txt": "One b.txt.", first: "Other a.txt.", "two/b.txt": "Other b.txt."}
