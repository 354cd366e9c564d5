"""Import of a graph of ten million triples: `python bench/big_graph.py [--triples N] [--folder FOLDER]`.

The graph is generated with a seed: degrees follow a power law, one entity has a tenth of all triples as their tail, and
some triples are duplicates. Prints the time of each stage, the peak memory by then, and sizes.
"""

import argparse
import resource
import shutil
import time
from pathlib import Path

import numpy as np

import clew
from clew.settings import Settings
from workbench import WORK, describe_machine, print_table

SEED, RELATIONS, CHUNK = 7, 300, 1_000_000
SYLLABLES = ("ka", "lo", "mi", "ren", "to", "sha", "vel", "dor", "ian", "pe", "gu", "ny", "sto", "bra", "wick", "el")


def main() -> None:
    """Generate the file if it is missing, import it, and import it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=WORK / "big-graph")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    file = arguments.folder / f"graph-{arguments.triples}.tsv"
    if not file.exists():
        generate(file, arguments.triples)
    print(describe_machine())
    print(f"{file.name}: {file.stat().st_size / 2**20:,.0f} MiB")
    index = arguments.folder / "index"
    shutil.rmtree(index, ignore_errors=True)
    stages = Stages()
    opened = clew.create(index, Settings(encoder="none"), stages)
    report = opened.import_graph(file)
    stages.end()
    snapshot = opened.snapshot
    print(f"{report.triples:,} triples stored, {report.duplicates:,} duplicates, {report.added} parts")
    print(f"{len(snapshot.entities):,} entities, {len(snapshot.triples):,} distinct triples")
    print_table(("stage", "seconds", "CPU seconds", "peak MiB"), stages.rows)
    started = time.perf_counter()
    opened.import_graph(file)
    print(f"the same file again: {time.perf_counter() - started:.0f} s")
    started = time.perf_counter()
    _ = clew.open(index).snapshot
    print(f"opening the snapshot: {time.perf_counter() - started:.1f} s")
    for part in ("passages.lance", "derived"):
        size = sum(path.stat().st_size for path in (index / part).rglob("*") if path.is_file())
        print(f"{part}: {size / 2**20:,.0f} MiB")


class Stages:
    """Progress callback that records wall-clock and CPU seconds of each stage, and the peak memory so far."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self._stage = ""
        self._since = time.perf_counter(), time.process_time()

    def __call__(self, stage: str, _done: int, _total: int) -> None:
        """Record the beginning of a stage."""
        if stage != self._stage:
            self.end()
            self._stage = stage

    def end(self) -> None:
        """Record the end of the last stage."""
        now = time.perf_counter(), time.process_time()
        if self._stage:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            seconds = [f"{end - start:.0f}" for start, end in zip(self._since, now, strict=True)]
            self.rows.append([self._stage, *seconds, f"{peak:,.0f}"])
        self._since = now


def generate(file: Path, triples: int) -> None:
    """Write tab-separated triples of a third as many entities, whose degrees follow a power law."""
    random = np.random.default_rng(SEED)
    entities = triples // 3
    with file.open("w", encoding="utf-8") as stream:
        for start in range(0, triples, CHUNK):
            count = min(CHUNK, triples - start)
            heads = (entities * random.random(count) ** 1.5).astype(np.int64)
            tails = (entities * random.random(count) ** 3).astype(np.int64)
            tails[random.random(count) < 0.1] = 0
            relations = (RELATIONS * random.random(count) ** 2).astype(np.int64)
            rows = zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True)
            stream.writelines(f"{entity_name(h)}\trelation {r}\t{entity_name(t)}\n" for h, r, t in rows)


def entity_name(number: int) -> str:
    """Return a name of two words and a number, about as long as the names of people and films."""
    first = SYLLABLES[number % 16] + SYLLABLES[number // 16 % 16] + SYLLABLES[number // 256 % 16]
    return f"{first.title()} {SYLLABLES[number // 7 % 16].title()}{SYLLABLES[number // 4096 % 16]} {number}"


if __name__ == "__main__":
    main()
