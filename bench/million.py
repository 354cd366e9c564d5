"""A million passages on one machine: `python bench/million.py [--passages N] [--base SRC] [--parts ...] [--work DIR]`.

The corpus is all shared corpora and copies of them with every title renamed. Nothing has vectors. Parts:

- `index`: a new index of all, as a whole process: seconds and peak memory (`--workers N` as well as one process);
- `add`: ten documents added, and removed again, also in processor time; whether the snapshot has the bytes of before;
- `small`: ten documents added to 2wiki;
- `open`: opening, and 200 questions: seconds, the medians of `pagerank` and `bm25` here and at 10,000 passages, and the
  peak memory.

`--base SRC` measures another checkout's `src` beside this one, in the same run. A million takes about an hour, 100,000
(`--passages 100000`) about ten minutes.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

import corpora
from workbench import (
    BENCHMARKS,
    DATA,
    ROOT,
    WORK,
    Process,
    describe_machine,
    load_question_texts,
    load_records,
    print_table,
    run_python,
)

SOURCES = ("2wiki", "2wiki-train", "hotpotqa", "musique", "musique-dev")
PARTS = ("index", "add", "small", "open")
SMALL, QUESTIONS = 10_000, 200
EXTRA_ID = "ten-more"

ASK = """
import json, resource, sys, time

start = time.perf_counter()
from clew import index as indexes

folder, given = sys.argv[1:]
imported = time.perf_counter()
index = indexes.open(folder)
index.context
opened = time.perf_counter()
texts, medians = json.load(open(given)), {}
for name in ("pagerank", "bm25"):
    retriever = index.retriever(name, 0)
    for text in texts[-20:]:
        retriever.retrieve([text], 5)
    times = []
    for text in texts:
        began = time.perf_counter()
        retriever.retrieve([text], 5)
        times.append(1000 * (time.perf_counter() - began))
    medians[name] = sorted(times)[len(times) // 2]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([imported - start, opened - imported, medians, peak]))
"""


def main() -> None:
    """Print one table a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--base", type=Path, help="the src folder of another checkout")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument(
        "--workers", default="1", help="numbers of processes, such as 1,2; the last one's index is kept"
    )
    parser.add_argument("--memory", help="a budget for indexing runs, such as 2GB")
    parser.add_argument("--work", type=Path, default=WORK / "million")
    arguments = parser.parse_args()
    print(describe_machine())
    sides = [("this", ROOT / "src")] + ([("base", arguments.base.resolve())] if arguments.base else [])
    parts = arguments.parts.split(",")
    if unknown := sorted(set(parts) - set(PARTS)):
        raise SystemExit(f"no part {unknown[0]!r}; choose among {', '.join(PARTS)}")
    for name, source in sides:
        side = Side(name, source, arguments.work, arguments.passages)
        side.memory = ["--memory", arguments.memory] if arguments.memory else []
        if "index" in parts:
            print_index(side, [int(n) for n in arguments.workers.split(",")])
        if "add" in parts:
            print_add(side, side.index(side.passages))
        if "small" in parts:
            print_add(side, side.index(None))
        if "open" in parts:
            print_open(side)


class Side:
    """The package of one checkout, and its indexes."""

    def __init__(self, name: str, source: Path, work: Path, passages: int) -> None:
        self.name = name
        self.passages = passages
        self._work = work
        self._source = source
        self.memory: list[str] = []  # options of indexing runs

    def run(self, arguments: Sequence[str]) -> Process:
        """Run Python with arguments."""
        return run_python(arguments, self._source)

    def folder(self, passages: int | None) -> Path:
        """Return the folder of the index of so many passages, None for 2wiki."""
        return self._work / self.name / str(passages or "2wiki")

    def corpus(self, passages: int | None) -> Path:
        """Return the file of so many passages, made if it is missing; None for 2wiki."""
        if passages is None:
            return DATA / BENCHMARKS["2wiki"].corpus
        file = self._work / f"corpus-{passages}.jsonl"
        if not file.is_file():
            sources = [list(load_records(DATA / f"{name}/corpus.jsonl")) for name in SOURCES]
            corpora.write(file, corpora.multiply(sources, passages))
        return file

    def make(self, passages: int | None, workers: int | None) -> Process:
        """Make an index; return its cost."""
        folder = self.folder(passages)
        rmtree(folder, ignore_errors=True)
        options = ["--workers", str(workers)] if workers is not None else []
        arguments = ["-m", "clew", "index", str(self.corpus(passages)), "--index", str(folder), "--encoder", "none"]
        return self.run([*arguments, *options, *self.memory])

    def index(self, passages: int | None) -> Path:
        """Return the index of so many passages, made if it is missing."""
        if not self.folder(passages).is_dir():
            self.make(passages, None)
        return self.folder(passages)


def print_index(side: Side, workers: Sequence[int]) -> None:
    """Print the cost of a new index."""
    side.corpus(side.passages)
    rows, hashes = [], []
    for number in workers:
        process = side.make(side.passages, number)
        hashes.append(snapshot_hashes(side.folder(side.passages)))
        costs = f"{process.seconds:.0f} s", f"{process.processor_seconds:.0f} s", f"{process.peak_mib:.0f} MiB"
        rows.append([side.name, f"{side.passages:,}", str(number), *costs])
    print_table(("checkout", "passages", "processes", "a new index", "processor", "peak of the greatest process"), rows)
    if len(hashes) > 1:
        print(
            f"snapshots of {len(hashes)} runs have {'equal' if all(h == hashes[0] for h in hashes) else 'OTHER'} bytes"
        )


def print_add(side: Side, folder: Path) -> None:
    """Print the cost of ten documents more, and of their removal."""
    before = snapshot_hashes(folder)
    extra = folder.parent / "ten.jsonl"
    records = list(load_records(DATA / BENCHMARKS["2wiki"].corpus))[:10]
    documents = [
        {**record, "id": f"{EXTRA_ID}-{n}", "title": f"{record['title']} II"} for n, record in enumerate(records)
    ]
    extra.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    added = side.run(["-m", "clew", "index", str(extra), "--index", str(folder), *side.memory])
    ids = [document["id"] for document in documents]
    removed = side.run(["-m", "clew", "remove", *ids, "--index", str(folder)])
    rows = [
        [
            side.name,
            folder.name,
            label,
            f"{process.seconds:.1f} s",
            f"{process.processor_seconds:.1f} s",
            f"{process.peak_mib:.0f} MiB",
        ]
        for label, process in (("added", added), ("removed again", removed))
    ]
    print_table(("checkout", "index", "ten documents", "seconds", "processor", "peak"), rows)
    print(f"bytes of the snapshot after that: {'as before' if snapshot_hashes(folder) == before else 'OTHER'}")


def print_open(side: Side) -> None:
    """Print the cost of opening and of questions, here and at 10,000 passages."""
    given = side.folder(None).parent / "questions.json"
    texts = load_question_texts(BENCHMARKS["2wiki"])[:QUESTIONS]
    rows, medians = [], []
    for passages in (SMALL, side.passages):
        folder = side.index(passages)
        given.write_text(json.dumps(texts), encoding="utf-8")
        imported, opened, found, peak = json.loads(side.run(["-c", ASK, str(folder), str(given)]).output)
        medians.append(found)
        times = [f"{found[name]:.2f} ms" for name in ("pagerank", "bm25")]
        rows.append([side.name, f"{passages:,}", f"{imported:.2f} s", f"{opened:.2f} s", *times, f"{peak:.0f} MiB"])
    rows.append(
        [side.name, "ratio", "", "", *(f"{medians[1][n] / medians[0][n]:.2f}" for n in ("pagerank", "bm25")), ""]
    )
    print_table(("checkout", "passages", "imports", "opening", "pagerank", "bm25", "peak after 200 questions"), rows)


def snapshot_hashes(folder: Path) -> dict[str, Any]:
    """Return the hashes of the files of the newest snapshot."""
    manifests = sorted((folder / "derived" / "snapshots").glob("*/manifest.json"), key=lambda m: m.stat().st_mtime_ns)
    files: dict[str, Any] = json.loads(manifests[-1].read_text(encoding="utf-8"))["files"]
    return files


if __name__ == "__main__":
    main()
