"""Parts written by a local Ray cluster of two actors, of which one is killed."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

import clew
from clew.errors import IndexFormatError, InputError
from clew.indexing.cluster import PartActor, PartWork
from clew.indexing.cluster import _commit as commit_row
from clew.indexing.writer_settings import WriterSettings
from clew.settings import Settings
from clew.store.passage_table import PassageTable
from tests.faults.commands import make_voyage, run_clew, start_process, write_lines
from tests.indexing.test_parts import snapshot_files


def descendants(pid: int) -> dict[int, str]:
    """Return the command lines of the processes that a process and its children have started."""
    parents: dict[int, tuple[int, str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            parents[int(folder.name)] = parent, (folder / "cmdline").read_text(errors="replace").replace("\0", " ")
        except (OSError, ValueError, IndexError):
            continue
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        above = waiting.pop()
        for child, (parent, line) in parents.items():
            if parent == above and child not in found:
                found[child] = line
                waiting.append(child)
    return found


def test_an_error_in_an_actor_keeps_its_class(tmp_path: Path) -> None:
    clew.create(tmp_path / "index", Settings(encoder="none"))
    table = PassageTable.open(tmp_path / "index")
    for extractor, kind in (("none such", InputError), ("rules", IndexFormatError)):
        place = tmp_path / ("index" if kind is InputError else "absent")
        settings = WriterSettings(str(place), {}, extractor, "cpu")
        work = PartWork(settings, (str(tmp_path),), str(tmp_path / "mark"), 0)
        (row,) = PartActor(work)({"number": [1], "count": [1]}).to_pylist()
        with pytest.raises(kind, match="an actor of the cluster failed: ") as caught:
            commit_row(table, row)
        assert caught.type is kind


def newest_version(place: Path) -> int:
    """Return the newest version of an index that another process writes, 0 before its first."""
    try:
        return PassageTable.open(place).version
    except IndexFormatError:
        return 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the actors are found in /proc")
def test_a_killed_actor_is_replaced_and_the_bytes_are_those_of_one_process(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    file = write_lines(tmp_path / "corpus.jsonl", [make_voyage(number) for number in range(1500)])
    place = tmp_path / "index"
    process = start_process("index", file, "--index", place, "--encoder", "none", "--ray", "local", "--workers", "2")
    assert process.pid is not None
    try:
        killed = 0
        while process.is_alive() and not killed:
            committed = newest_version(place) >= 2
            actors = [pid for pid, line in descendants(process.pid).items() if "PartActor" in line]
            if actors and committed:
                os.kill(actors[-1], signal.SIGKILL)
                killed = actors[-1]
            time.sleep(0.02)
        process.join(240)
        assert process.exitcode == 0
        assert killed
    finally:
        for pid in descendants(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.join()
    index = clew.open(place)
    assert index.table.count_rows() == 1500
    assert index.table.version > 3
    fresh = clew.create(tmp_path / "fresh", Settings(encoder="none"))
    fresh.add([file])
    assert snapshot_files(index) == snapshot_files(fresh)


def test_without_ray_the_command_to_install_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(module: str) -> None:
        raise ImportError(f"No module named {module!r}", name=module)

    monkeypatch.setattr("clew.plugins.extras.importlib.import_module", absent)
    file = write_lines(tmp_path / "a.jsonl", [make_voyage(1)])
    done = run_clew("index", file, "--index", tmp_path / "index", "--encoder", "none", "--ray", "local")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--ray needs the package ray, which cannot be imported" in done.err
    assert "pip install 'clew[ray]'" in done.err


def test_a_language_model_is_not_asked_on_a_cluster(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", [make_voyage(1)])
    options = ("--encoder", "none", "--extractor", "llm:ollama:test", "--ray", "local")
    done = run_clew("index", file, "--index", tmp_path / "index", *options)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "llm:ollama:test is asked from one process" in done.err
