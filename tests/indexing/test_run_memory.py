"""The budget of memory of a run: its form, the batches that fit it, and the memory of a process that was given it."""

import re
import sys
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.indexing.merging.workspace import MERGE_PROCESS_BYTES
from clew.indexing.pipeline import BatchLimits
from clew.indexing.writer_settings import PROCESS_BYTES, affordable_workers, batch_limits, parse_memory
from tests.faults.commands import make_voyage, run_clew, write_lines
from tests.faults.python_process import run_python

PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("512 mb", 512 * 10**6), ("1.5GiB", 3 << 29), ("800000000", 800_000_000)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "GB", "4 apples", "-1GB", "0", "0GB", "4G B", "1e9"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="give a size such as 4GB"):
        parse_memory(text)


def test_batches_fit_the_budget_of_all_processes() -> None:
    assert batch_limits(0, 4) == BatchLimits()
    small, large = batch_limits(10**9, 1), batch_limits(4 * 10**9, 1)
    assert 0 < small.passages < large.passages
    shared = batch_limits(4 * 10**9, 3)
    assert shared.passages < large.passages / 3
    assert shared.characters <= BatchLimits().characters
    for workers in (1, 2, 8):
        processes = workers + (workers > 1)
        running = "a process takes" if workers == 1 else f"{processes} processes take .*, or fewer --workers"
        with pytest.raises(InputError, match=running):
            batch_limits(processes * PROCESS_BYTES, workers)


def test_no_more_workers_are_started_than_the_budget_has_room_for() -> None:
    assert affordable_workers(0, 8) == 8
    assert affordable_workers(1, 8) == 1
    for workers in (1, 2, 3, 8):
        least = next(n for n in range(0, 10**10, 10**6) if n and affordable_workers(n, workers) == workers)
        batch_limits(max(least, round(1.2 * PROCESS_BYTES)), workers)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the system tells no peak")
def test_a_run_keeps_its_budget(tmp_path: Path) -> None:
    # Texts of 10,000 characters, so that usual batches would hold far more than the budget leaves.
    long = ((make_voyage(number), number) for number in range(400))
    records = [{**record, "text": f"{record['text']} " * (10_000 // len(str(record["text"])))} for record, _ in long]
    file = write_lines(tmp_path / "corpus.jsonl", records)
    budget = 400 * 10**6
    peaks: dict[str, int] = {}
    for memory in ("400MB", "4GB"):
        command = [sys.executable, "-m", "clew", "index", file, "--index", tmp_path / memory, "--encoder", "none"]
        command += ["--shard", "1/1", "--staging", tmp_path / f"staging {memory}", "--memory", memory]
        peaks[memory] = int(run_python(PEAK, *command))
    assert peaks["400MB"] < budget
    assert peaks["400MB"] < peaks["4GB"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the system tells no peak")
def test_a_merge_keeps_the_budget_that_it_asks_for(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "corpus.jsonl", (make_voyage(number) for number in range(6000)))
    command: list[str | Path] = ["index", file, "--index", tmp_path / "index", "--encoder", "none", "--memory"]
    refused = run_clew(*command, str(MERGE_PROCESS_BYTES))
    assert refused.code == 2
    wanted = re.search(r"the merge of 6,000 passages takes at least (\d+)MB: give that", refused.err)
    assert wanted is not None
    assert int(run_python(PEAK, sys.executable, "-m", "clew", *command, f"{wanted[1]}MB")) < int(wanted[1]) * 10**6
