"""`kill -9` at random moments of a graph import: commits stay whole, and the same command continues."""

import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.store.kg_shards import shard_triples
from clew.store.passage_table import PassageTable
from tests.faults.commands import (
    folder_hash,
    make_voyage,
    memory_folder,
    run_process,
    snapshot_hash,
    start_process,
    stored_documents,
    write_lines,
)
from tests.faults.test_kill import find_problems

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")]
TRIPLES, BATCH, KILLS = 1_200, 25, 8


def write_graph(path: Path, state: int = 1) -> Path:
    """Write a graph of voyages; in state 2 it is shorter, and every fourth fifty of its triples differ."""
    rows = (
        f"Voyage {n % 90}\tmet{' again' * (state - 1) if n // 50 % 4 == 0 else ''}\tship {n}\n"
        for n in range(TRIPLES // state)
    )
    path.write_text("".join(rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def start_folder() -> Iterator[Path]:
    """Yield a folder with an index of documents that share names with a graph, with and without the graph."""
    with memory_folder() as folder:
        make_start(folder)
        yield folder


def make_start(folder: Path) -> None:
    lines = write_lines(folder / "voyages.jsonl", [make_voyage(number) for number in range(30)])
    assert run_process("index", lines, "--index", folder / "index", "--encoder", "hashing:16").code == 0
    shutil.copytree(folder / "index", folder / "bare")
    first = write_graph(folder / "g.tsv")
    assert run_process("kg", "import", first, "--index", folder / "index", batch=BATCH).code == 0


@pytest.fixture
def place() -> Iterator[Path]:
    with memory_folder() as folder:
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize(("before", "state"), [("bare", 1), ("index", 2)], ids=["new", "changed"])
def test_kill(start_folder: Path, place: Path, before: str, state: int) -> None:
    (place / "g").mkdir()
    file = write_graph(place / "g" / "g.tsv", state)
    command: list[str | Path] = ["kg", "import", file]
    shutil.copytree(start_folder / before, place / "whole")
    started = time.perf_counter()
    assert run_process(*command, "--index", place / "whole", batch=BATCH).code == 0
    seconds = time.perf_counter() - started
    after, snapshot = stored_documents(place / "whole"), snapshot_hash(place / "whole")
    rng = random.Random(before)
    interrupted = 0
    for kill in range(KILLS):
        index = place / str(kill)
        shutil.copytree(start_folder / before, index)
        old = stored_documents(index)
        process = start_process(*command, "--index", index, batch=BATCH)
        time.sleep(rng.uniform(0, seconds))
        process.kill()
        process.join()
        interrupted += process.exitcode != 0
        after_kill = stored_documents(index)
        assert all(after_kill.get(id_) in (old.get(id_), after.get(id_)) for id_ in {*old, *after, *after_kill})
        assert find_problems(index) == []
        assert run_process(*command, "--index", index, batch=BATCH).code == 0
        assert stored_documents(index) == after
        assert snapshot_hash(index) == snapshot
        assert not list((index / "derived").rglob("*.tmp"))
        shutil.rmtree(index)
    assert interrupted


def test_a_disk_that_is_full_keeps_what_was_committed(start_folder: Path, place: Path) -> None:
    shutil.copytree(start_folder / "bare", place / "index")
    before = folder_hash(place / "index" / "passages.lance" / "data")
    outcome = run_process(
        "kg", "import", start_folder / "g.tsv", "--index", place / "index", batch=1000, file_bytes=8_000
    )
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith("clew: ")
    assert "Traceback" not in outcome.err
    assert find_problems(place / "index") == []
    assert run_process("kg", "import", start_folder / "g.tsv", "--index", place / "index", batch=1000).code == 0
    assert folder_hash(place / "index" / "passages.lance" / "data") != before
    table = PassageTable.open(place / "index")
    assert sum(len(triples) for rows in table.iter_shards() for _, triples in shard_triples(rows)) == TRIPLES


@pytest.mark.parametrize("file_bytes", [1_500, 8_000])
def test_an_import_into_a_new_index_on_a_full_disk_leaves_nothing(place: Path, file_bytes: int) -> None:
    (place / "g").mkdir()
    command: list[str | Path] = ["kg", "import", write_graph(place / "g" / "g.tsv"), "--encoder", "none"]
    outcome = run_process(*command, "--index", place / "index", batch=1000, file_bytes=file_bytes)
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith("clew: ")
    assert ".tmp" not in outcome.err
    assert not (place / "index").exists()
    assert run_process(*command, "--index", place / "index", batch=1000).code == 0
    assert find_problems(place / "index") == []
