"""`kill -9` at random moments of every command that writes: commits stay whole, and the command can be completed.

What a reader beside it has seen stays, too; kills at chosen operations are in `test_enumerated.py`.
"""

import random
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from clew.store.dataset import open_dataset
from clew.store.inspection import verify
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import snapshot_folder, snapshot_problems
from tests.faults.commands import (
    make_voyage,
    memory_folder,
    run_process,
    snapshot_hash,
    start_process,
    stored_documents,
    write_graph,
    write_lines,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
DOCUMENTS, BATCH, KILLS = 60, 9, 12
OPERATIONS = ["index", "update", "remove", "compact", "import", "change"]
REMOVED = [f"v{number:04d}" for number in range(0, DOCUMENTS, 3)]


class ReferenceRun(NamedTuple):
    """A command, the index it starts from (None for none), the one that it leaves, and its result."""

    start: Path | None
    result: Path
    arguments: list[str | Path]
    before: Mapping[str, str]
    after: Mapping[str, str]
    snapshot: str
    seconds: float


def find_problems(index: Path) -> list[str]:
    # A kill damages no deletion file, and the child process that reads them costs a second.
    with patch("clew.store.inspection.crashing_fragments", return_value=set()):
        return verify(index) + snapshot_problems(snapshot_folder(PassageTable.open(index)))


def run_undisturbed(folder: Path, name: str, start: Path | None, *arguments: str | Path) -> ReferenceRun:
    index = folder / name
    if start is not None:
        shutil.copytree(start, index)
    before = stored_documents(index)
    started = time.perf_counter()
    assert run_process(*arguments, "--index", index, batch=BATCH).code == 0
    seconds = time.perf_counter() - started
    return ReferenceRun(start, index, list(arguments), before, stored_documents(index), snapshot_hash(index), seconds)


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    with memory_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def reference_runs(memory: Path) -> dict[str, ReferenceRun]:
    folder = memory
    old = write_lines(folder / "old.jsonl", [make_voyage(number) for number in range(DOCUMENTS)])
    new = [make_voyage(number, state=1 + (number % 4 == 0)) for number in range(DOCUMENTS + 15)]
    encoder = ["--encoder", "hashing:16"]
    run_process("--help")  # so that the fork server's start is not measured
    references = {"index": run_undisturbed(folder, "indexed", None, "index", old, *encoder)}
    changed = write_lines(folder / "new.jsonl", new)
    references["update"] = run_undisturbed(folder, "updated", folder / "indexed", "index", changed)
    references["remove"] = run_undisturbed(folder, "removed", folder / "updated", "remove", *REMOVED)
    references["compact"] = run_undisturbed(folder, "compacted", folder / "removed", "compact")
    for name, result, start, state in (("import", "imported", "indexed", 1), ("change", "changed", "imported", 2)):
        graph = write_graph(folder / name / "g.tsv", 300, state)
        references[name] = run_undisturbed(folder, result, folder / start, "kg", "import", graph)
    return references


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_kill(reference_runs: dict[str, ReferenceRun], operation: str, memory: Path) -> None:
    run = reference_runs[operation]
    rng = random.Random(operation)
    interrupted = 0
    for kill in range(KILLS):
        index = memory / f"{operation}-{kill}"
        if run.start is not None:
            shutil.copytree(run.start, index)
        process = start_process(*run.arguments, "--index", index, batch=BATCH)
        time.sleep((kill + rng.random()) / KILLS * run.seconds)  # spread evenly, since there are few
        seen = stored_documents(index)
        process.kill()
        process.join()
        interrupted += process.exitcode != 0
        check_committed(run, seen, stored_documents(index))
        if stored_documents(index):
            assert find_problems(index) == []
        finish(run, index)
        assert stored_documents(index) == run.after
        assert snapshot_hash(index) == run.snapshot
        assert not list((index / "derived").rglob("*.tmp"))
        shutil.rmtree(index)
    assert interrupted  # the number depends on the machine


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_commit_of_a_command_is_whole(reference_runs: dict[str, ReferenceRun], operation: str) -> None:
    """A kill between two commits leaves the first of them, and hardly ever comes at that moment by chance."""
    run = reference_runs[operation]
    location = locate(run.result)
    first = 0 if run.start is None else PassageTable.open(run.start).version
    versions = sorted(stored.version for stored in PassageTable.open(run.result).versions() if stored.version > first)
    assert versions
    seen = run.before
    for version in versions:
        dataset = open_dataset(location, version)
        assert dataset is not None
        documents = PassageTable(location, dataset).document_hashes()
        check_committed(run, seen, documents)
        seen = documents
    assert seen == run.after


def check_committed(run: ReferenceRun, seen: Mapping[str, str], after_kill: Mapping[str, str]) -> None:
    """Check that each document is in its old or its new state, and that new states seen by a reader have stayed."""
    for id_ in {*run.before, *run.after, *after_kill}:
        assert after_kill.get(id_) in (run.before.get(id_), run.after.get(id_))
        if seen.get(id_) == run.after.get(id_):
            assert after_kill.get(id_) == run.after.get(id_)


def finish(run: ReferenceRun, index: Path) -> None:
    if run.arguments[0] == "remove" and stored_documents(index) == run.after:
        # It was done, so the same command only reports unknown ids. Any reader builds the snapshot.
        assert run_process(*run.arguments, "--index", index).code == 2
        assert run_process("stats", "--index", index).code == 0
    else:
        assert run_process(*run.arguments, "--index", index, batch=BATCH).code == 0
