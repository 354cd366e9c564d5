import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clew.errors import IndexFormatError, IndexLockedError, InputError, ProviderError
from clew.store.atomic import atomic_file, atomic_folder, new_index_folder, remove_leftovers, write_text
from clew.store.inspection import verify
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from tests.faults.python_process import run_python


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_half(file: Path) -> None:
    file.write_text("half")
    raise KeyError


def test_a_folder_appears_whole_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "snapshot"
    with atomic_folder(target) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "a.bin").write_bytes(b"1")
        assert not target.exists()
    assert (target / "sub" / "a.bin").read_bytes() == b"1"
    assert list_names(target.parent) == ["snapshot"]


@pytest.mark.parametrize(("replace", "left"), [(True, "new"), (False, "old")])
def test_a_folder_replaces_an_older_one_or_leaves_it(tmp_path: Path, *, replace: bool, left: str) -> None:
    for content in ("old", "new"):
        with atomic_folder(tmp_path / "snapshot", replace=replace) as folder:
            (folder / content).write_text(content)
    assert (list_names(tmp_path), list_names(tmp_path / "snapshot")) == (["snapshot"], [left])


def test_two_writers_of_one_folder_leave_one_whole_folder(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "snapshot") as first:
        (first / "a").write_text("1")
        with atomic_folder(tmp_path / "snapshot") as second:
            (second / "a").write_text("2")
    assert (list_names(tmp_path), (tmp_path / "snapshot" / "a").read_text()) == (["snapshot"], "1")


def test_an_error_leaves_the_older_folder_and_nothing_else(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "snapshot") as folder:
        (folder / "old").write_text("")
    with pytest.raises(KeyError), atomic_folder(tmp_path / "snapshot") as folder:
        write_half(folder / "new")
    assert (list_names(tmp_path), list_names(tmp_path / "snapshot")) == (["snapshot"], ["old"])


def test_a_file_appears_whole_and_replaces(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    with pytest.raises(KeyError), atomic_file(tmp_path / "x") as path:
        write_half(path)
    assert (tmp_path / "x").read_text() == "old"
    with atomic_file(tmp_path / "x") as path:
        path.write_text("new")
    assert ((tmp_path / "x").read_text(), list_names(tmp_path)) == ("new", ["x"])


def test_text_is_written_in_folders_that_are_there(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "one\ntwo\n")
    write_text(tmp_path / "file", "žluť\r\n")
    assert (tmp_path / "file").read_bytes() == "žluť\r\n".encode()
    with pytest.raises(ProviderError, match=r"no folder .*absent.*: create it"):
        write_text(tmp_path / "absent" / "file", "one")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_disk_that_refuses_is_a_providers_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProviderError, match="is as it was before"), atomic_folder(tmp_path / "file" / "snapshot"):
        pass


def test_leftovers_of_killed_writers_are_removed_and_those_of_living_ones_are_not(tmp_path: Path) -> None:
    code = "import os,sys,pathlib\nfrom clew.store.atomic import atomic_folder\n"
    code += "with atomic_folder(pathlib.Path(sys.argv[1]) / 'snapshot') as folder:\n"
    code += "    (folder / 'half').write_text(''); os._exit(9)\n"
    run_python(code, tmp_path, code=9)
    (leftover,) = list_names(tmp_path)
    (tmp_path / "other").mkdir()
    with atomic_folder(tmp_path / "alive"):
        assert remove_leftovers(tmp_path) == [leftover]
    assert list_names(tmp_path) == ["alive", "other"]
    assert remove_leftovers(tmp_path / "absent") == []


def test_a_leftover_with_this_process_pid_is_removed(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "snapshot") as folder:
        earlier = folder.with_name(folder.name[:-12] + "00000000.tmp")
        earlier.mkdir()
        assert remove_leftovers(tmp_path) == [earlier.name]


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="there is no /proc")
def test_a_leftover_of_a_zombie_process_is_removed(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "snapshot") as folder:
        parts = folder.name.split(".")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        leftover = tmp_path / ".".join([*parts[:3], str(process.pid), "00000000", "tmp"])
        leftover.mkdir()
        assert remove_leftovers(tmp_path) == []  # the process is alive
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
        assert remove_leftovers(tmp_path) == [leftover.name]


def test_another_machines_leftover_is_removed_after_a_day(tmp_path: Path) -> None:
    foreign = tmp_path / ".snapshot.00000000.1.00000000.tmp"
    foreign.mkdir()
    assert remove_leftovers(tmp_path) == []
    os.utime(foreign, (0, 0))
    assert remove_leftovers(tmp_path) == [foreign.name]


def fail(folder: Path, error: Exception) -> None:
    with new_index_folder(locate(folder)) as made:
        PassageTable.create(made, {}, 0)
        raise error


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), InputError("a fault"), KeyError("a bug")])
def test_a_failed_creation_leaves_nothing(tmp_path: Path, error: Exception) -> None:
    wanted = ProviderError if isinstance(error, OSError) else type(error)
    with pytest.raises(wanted):
        fail(tmp_path / "new" / "index", error)
    assert not list(tmp_path.iterdir())
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes.txt").write_text("mine")
    with pytest.raises(wanted):
        fail(tmp_path / "own", error)
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["notes.txt"]


def test_an_error_names_the_location(tmp_path: Path) -> None:
    with pytest.raises(IndexFormatError) as caught, new_index_folder(locate(tmp_path / "index")) as made:
        PassageTable.open(made)
    assert str(caught.value).startswith(f"no Clew index at {tmp_path / 'index'}: ")
    assert ".tmp" not in str(caught.value)


def test_a_creation_that_was_killed_is_no_index_and_is_removed_by_the_next(tmp_path: Path) -> None:
    with new_index_folder(locate(tmp_path / "other")) as made:
        PassageTable.create(made, {}, 0)
        name = made.name
    (tmp_path / "index").mkdir()
    shutil.copytree(tmp_path / "other", tmp_path / "index" / name)
    with pytest.raises(IndexFormatError, match="no Clew index at"):
        PassageTable.open(tmp_path / "index")
    PassageTable.create(tmp_path / "index", {}, 0)
    assert not list((tmp_path / "index").glob(".*.tmp"))
    assert verify(tmp_path / "index") == []


def test_an_index_that_another_process_makes_meanwhile_stays(tmp_path: Path) -> None:
    def make_two() -> None:
        with new_index_folder(locate(tmp_path)) as made:
            PassageTable.create(made, {"by": "this one"}, 0)
            PassageTable.create(tmp_path, {"by": "another one"}, 0)

    with pytest.raises(IndexLockedError, match="meanwhile"):
        make_two()
    assert PassageTable.open(tmp_path).settings["by"] == "another one"
    assert not list(tmp_path.glob(".*.tmp"))
