"""Time strict filters: `python bench/strict_filters.py BENCHMARK [--shares 0.1,0.5]`; see `workbench.BENCHMARKS`.

A copy of the benchmark's index is filtered by the ids of its documents. Times are of the processor; "made" is the first
use of a filter, "opened" a later one by another process.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import clew
from workbench import BENCHMARKS, build_index, describe_machine, print_table


def main() -> None:
    """Print a row for each share of the passages that is allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmark", choices=BENCHMARKS)
    parser.add_argument("--shares", default="0.1,0.5")
    parser.add_argument("--index", type=Path, help="an index of the benchmark; else it is made or updated")
    options = parser.parse_args()
    benchmark = BENCHMARKS[options.benchmark]
    print(describe_machine())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index"
        shutil.copytree(options.index or build_index(benchmark), copy)
        ids = sorted(clew.open(copy).snapshot.document_ids[:])
        for share in map(float, options.shares.split(",")):
            last = ids[int(share * (len(ids) - 1))].replace("'", "''")
            rows.append(measure(copy, f"document_id <= '{last}'"))
    print_table(("allowed", "made", "opened", "on disk"), rows)


def measure(location: Path, where: str) -> list[str]:
    """Return the row of a filter."""
    whole = clew.open(location)
    _ = whole.snapshot
    made = seconds(lambda: whole.restrict(where).context)
    again = clew.open(location)
    _ = again.snapshot
    opened = seconds(lambda: again.restrict(where).context)
    passages = len(again.restrict(where).snapshot.passage_ids)
    files = (location / "derived" / "selected").rglob("*")
    size = sum(file.stat().st_size for file in files if file.is_file())
    shutil.rmtree(location / "derived" / "selected")
    costs = [f"{made:.1f} s", f"{opened:.2f} s", f"{size / 1e6:.0f} MB"]
    return [f"{passages:,} of {len(whole.snapshot.passage_ids):,}", *costs]


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of some work."""
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
