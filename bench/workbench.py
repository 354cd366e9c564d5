"""What the benchmarks share: where the data lie, indexes made once and kept, and tables on standard output."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import corpora

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("CLEW_DATA", ROOT.parent / "shared" / "data"))
WORK = Path(os.environ.get("CLEW_BENCH", ROOT / "runs" / "bench"))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A corpus with questions.

    Attributes:
        corpus: File below the data folder, or in the folder of the benchmarks when it is made (`MADE`).
        questions: File below the data folder.
        extractor: As `clew index --extractor`.
    """

    name: str
    corpus: str
    questions: str
    extractor: str = "rules"


BENCHMARKS = {
    b.name: b
    for b in (
        Benchmark("2wiki", "2wiki/corpus.jsonl", "2wiki/questions.jsonl"),
        Benchmark("hotpotqa", "hotpotqa/corpus.jsonl", "hotpotqa/dev.jsonl"),
        Benchmark("musique-dev", "musique-dev/corpus.jsonl", "musique-dev/dev.jsonl"),
        Benchmark("merged", "merged.jsonl", "2wiki/questions.jsonl"),
        Benchmark("tenfold", "tenfold.jsonl", "2wiki/questions.jsonl"),
        Benchmark("2wiki-untitled", "2wiki-untitled.jsonl", "2wiki/questions.jsonl"),
        Benchmark("hotpotqa-untitled", "hotpotqa-untitled.jsonl", "hotpotqa/dev.jsonl"),
        Benchmark("musique-dev-untitled", "musique-dev-untitled.jsonl", "musique-dev/dev.jsonl"),
        Benchmark("musique", "musique/corpus.jsonl", "musique/train.jsonl"),
        Benchmark(
            "musique-published", "musique/corpus.jsonl", "musique/train.jsonl", f"published:{DATA}/musique/openie.jsonl"
        ),
    )
}


MADE = {
    "merged": ("merged", ("2wiki", "2wiki-train", "hotpotqa")),
    "tenfold": ("tenfold", ("2wiki", "2wiki-train", "hotpotqa", "musique", "musique-dev")),
    "2wiki-untitled": ("untitled", ("2wiki",)),
    "hotpotqa-untitled": ("untitled", ("hotpotqa",)),
    "musique-dev-untitled": ("untitled", ("musique-dev",)),
}
"""For each made corpus how, and from which."""


@dataclass(frozen=True, slots=True)
class Process:
    """What a command cost as a whole process: wall-clock seconds and the largest resident memory in MiB."""

    seconds: float
    peak_mib: float
    output: str


def clew(*arguments: str) -> Process:
    """Run the command line in a process of its own.

    Raises:
        SystemExit: It failed.
    """
    script = (
        "import json, resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "seconds = time.perf_counter() - start\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024\n"
        "print(json.dumps([done.returncode, seconds, peak, done.stdout + done.stderr]))\n"
    )
    command = [sys.executable, "-c", script, sys.executable, "-m", "clew", *arguments]
    code, seconds, peak, output = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if code:
        raise SystemExit(f"clew {' '.join(arguments)} exited with {code}: {output}")
    return Process(seconds, peak, output)


def indexed(benchmark: Benchmark, encoder: str = "all-MiniLM-L6-v2") -> Path:
    """Return the index of a benchmark, made when it is not there or not up to date."""
    folder = WORK / f"{benchmark.name}-{encoder}"
    arguments = [str(corpus(benchmark)), "--index", str(folder)]
    clew("index", *arguments, "--extractor", benchmark.extractor, "--encoder", encoder)
    return folder


def corpus(benchmark: Benchmark) -> Path:
    """Return the corpus of a benchmark, made when it is one of those that are made and is not there."""
    if benchmark.name not in MADE:
        return DATA / benchmark.corpus
    path = WORK / benchmark.corpus
    if not path.is_file():
        kind, names = MADE[benchmark.name]
        read = [list(records(DATA / f"{name}/corpus.jsonl")) for name in names]
        made = {"merged": lambda: corpora.merged(read), "untitled": lambda: corpora.untitled(read[0])}
        corpora.write(path, made[kind]() if kind in made else corpora.tenfold(read[0], read[1:]))
    return path


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def question_texts(benchmark: Benchmark) -> list[str]:
    """Return the questions of a benchmark."""
    return [str(record["question"]) for record in records(DATA / benchmark.questions)]


def machine() -> str:
    """Return one line that says what the figures were measured on."""
    model = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.is_file():
        names = [
            line.split(":", 1)[1].strip() for line in cpu.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
