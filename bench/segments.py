"""Cost of segments: making one, its disk, and reading passages and vectors by place against reading rows of Lance.

`python bench/segments.py [SET] [ENCODER]`
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import clew
from clew.indexing.segments.maker import make_segment
from clew.indexing.segments.store import ensure_segments
from clew.store.snapshot_files import snapshot_folder
from clew.types import ignore_progress
from workbench import BENCHMARKS, build_index, describe_machine, print_table

ROUNDS = 50


def main() -> None:
    """Print microseconds and bytes a passage, and milliseconds of reads."""
    benchmark = BENCHMARKS[sys.argv[1] if len(sys.argv) > 1 else "2wiki"]
    folder = build_index(benchmark, sys.argv[2] if len(sys.argv) > 2 else "hashing")
    index = clew.open(folder)
    table, snapshot, columns = index.table, index.snapshot, ("id", "title", "text", "metadata", "start", "end")
    count = len(snapshot.passage_ids)
    print(describe_machine())
    rows = [table.read_fragment(fragment) for fragment in table.fragments()]
    started = time.process_time()
    for part in rows:
        make_segment(part, table.dimension)
    made = time.process_time() - started
    words = sum(len(file.open().tokens.flags) for file in ensure_segments(table, ignore_progress))
    print_table(
        ("a passage", "figure"),
        [
            ["words", f"{words / count:.0f}"],
            ["making its part of a segment, processor time", f"{made / count * 1e6:.0f} us"],
            ["segments on disk", f"{disk_bytes(folder / 'derived' / 'segments') / count:.0f} bytes"],
            ["snapshot on disk", f"{disk_bytes(snapshot_folder(table)) / count:.0f} bytes"],
            ["table on disk", f"{disk_bytes(folder / 'passages.lance') / count:.0f} bytes"],
        ],
    )
    random = np.random.default_rng(0)
    dataset = table._dataset  # noqa: SLF001

    few, many = ([sorted(random.choice(count, n, replace=False).tolist()) for _ in range(ROUNDS)] for n in (5, 1000))
    reads: list[tuple[str, list[list[int]], Callable[[list[int]], object]]] = [
        ("5 passages, by place", few, lambda drawn: [snapshot.passage(position) for position in drawn]),
        ("5 passages, rows of Lance", few, lambda drawn: dataset.take(drawn, columns=list(columns))),
        ("1,000 vectors, by place", many, lambda drawn: snapshot.vectors.rows(np.array(drawn))),
        ("1,000 vectors, rows of Lance", many, lambda drawn: dataset.take(drawn, columns=["vector"])),
    ]
    if not table.dimension:
        reads = reads[:2]
    print_table(
        ("read", "median ms"), [[name, f"{median_milliseconds(read, drawn):.3f}"] for name, drawn, read in reads]
    )


def disk_bytes(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def median_milliseconds(read: Callable[[list[int]], object], drawn: list[list[int]]) -> float:
    """Return the median wall-clock time of a read of some positions."""
    times = []
    for positions in drawn:
        started = time.perf_counter()
        read(positions)
        times.append(time.perf_counter() - started)
    return float(np.median(times) * 1e3)


if __name__ == "__main__":
    main()
