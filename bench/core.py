"""The core against a base commit, side by side: `python bench/core.py BASE [PART ...] [--sets a,b] [--work DIR]`.

Parts: `indexing` (a new index of 2wiki: wall-clock time, processor time, peak memory), `search` (`clew search` on 2wiki
as a whole process, warm disk: processor time and peak memory), `warm` (a warm question in process, milliseconds) and
`quality` (recall on every set, this checkout against the base, paired over the questions).

Each side builds its own indexes with its own default encoder and weights, in processes that import only its package.
What is timed alternates between the sides, so that only ratios within one run count; run it on an idle machine.
"""

import argparse
import json
import statistics
import subprocess
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from clew.evaluation.significance import compare_means
from workbench import BENCHMARKS, DATA, WORK, build_corpus, describe_machine, print_table, run_python

ROOT = Path(__file__).resolve().parent.parent
SETS = ("2wiki", "hotpotqa", "musique-dev")
SEARCHED = ("gfm", "pagerank", "bm25")
WARM = ("dense", "gfm")
RANKED = ("dense", "fused", "gfm", "gfm:rerank=g-rag")
CUTOFFS = (2, 5)
SEARCH_RUNS, WARM_QUESTIONS = 7, 200

WORKER = """
import json, sys, time
from clew import index as indexes
from clew.retrievers.registry import parse_retriever

mode, folder, given, names, out = sys.argv[1:]
texts = json.load(open(given))
index, result = indexes.open(folder), {}
for name in names.split(","):
    retriever = index.retriever(parse_retriever(name), 0)
    if mode == "warm":
        for text in texts[-10:]:
            retriever.retrieve([text], 5)
        times = []
        for text in texts:
            start = time.perf_counter()
            retriever.retrieve([text], 5)
            times.append(1000 * (time.perf_counter() - start))
        result[name] = times
    else:
        evidence = [e for start in range(0, len(texts), 50) for e in retriever.retrieve(texts[start : start + 50], 10)]
        result[name] = [[[s.item.id, s.item.document_id] for s in e.passages] for e in evidence]
json.dump(result, open(out, "w"))
"""


class Side:
    """The package of one commit, or of this checkout."""

    def __init__(self, name: str, source: Path, work: Path) -> None:
        self.name = name
        self.work = work / name
        self._source = source

    def run(self, arguments: Sequence[str]) -> tuple[float, float, float]:
        """Run Python with arguments; return wall-clock seconds, processor seconds and peak MiB."""
        process = run_python(arguments, self._source)
        return process.seconds, process.processor_seconds, process.peak_mib

    def index(self, name: str) -> Path:
        """Return the index of a set, made if necessary."""
        folder = self.work / name
        if not folder.is_dir():
            self.run(["-m", "clew", "index", str(build_corpus(BENCHMARKS[name])), "--index", str(folder)])
        return folder

    def measure(self, mode: str, name: str, texts: Sequence[str], retrievers: Sequence[str]) -> dict[str, Any]:
        """Return what the worker measures of some retrievers on a set."""
        given, out = self.work / "texts.json", self.work / "out.json"
        folder = self.index(name)
        given.write_text(json.dumps(list(texts)), encoding="utf-8")
        self.run(["-c", WORKER, mode, str(folder), str(given), ",".join(retrievers), str(out)])
        result: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return result


def main() -> None:
    """Print one table per part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="a commit")
    parser.add_argument("parts", nargs="*", default=["indexing", "search", "warm", "quality"])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--work", type=Path, default=WORK / "core")
    arguments = parser.parse_args()
    before = Side("base", check_out(arguments.base, arguments.work), arguments.work)
    sides = before, Side("new", ROOT / "src", arguments.work)
    for side in sides:
        side.work.mkdir(parents=True, exist_ok=True)
    sets = arguments.sets.split(",")
    print(describe_machine())
    parts = {"indexing": print_indexing, "search": print_search}
    for part in arguments.parts:
        if part in parts:
            parts[part](sides)
        elif part == "warm":
            print_warm(sides, [name for name in sets if name != "musique-dev"])
        elif part == "quality":
            print_quality(sides, sets)
        else:
            raise SystemExit(f"no part {part!r}; choose among indexing, search, warm and quality")


def check_out(commit: str, work: Path) -> Path:
    """Return the source folder of a commit."""
    folder = work / "checkout"
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit, "src"], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def load_records(name: str) -> list[dict[str, Any]]:
    """Return the questions of a set."""
    lines = (DATA / BENCHMARKS[name].questions).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def print_indexing(sides: Sequence[Side]) -> None:
    """Print the cost of a new index of 2wiki."""
    rows = []
    for side in sides:
        rmtree(side.work / "2wiki", ignore_errors=True)
        corpus = str(build_corpus(BENCHMARKS["2wiki"]))
        wall, processor, peak = side.run(["-m", "clew", "index", corpus, "--index", str(side.work / "2wiki")])
        rows.append([side.name, f"{wall:.1f} s", f"{processor:.1f} s", f"{peak:.0f} MiB"])
    print_table(("new index of 2wiki", "wall", "processor", "peak"), rows)


def print_search(sides: Sequence[Side]) -> None:
    """Print medians of whole processes of `clew search`."""
    question = load_records("2wiki")[0]["question"]
    rows = []
    for retriever in SEARCHED:
        figures: dict[str, list[tuple[float, float, float]]] = {side.name: [] for side in sides}
        for run in range(SEARCH_RUNS + 1):
            for side in sides:
                folder = str(side.index("2wiki"))
                measured = side.run(["-m", "clew", "search", question, "--index", folder, "--retriever", retriever])
                if run:  # the first one fills caches
                    figures[side.name].append(measured)
        old, new = ([statistics.median(column) for column in zip(*figures[side.name], strict=True)] for side in sides)
        rows.append([
            retriever, f"{old[1]:.2f} s", f"{new[1]:.2f} s", f"{new[1] / old[1]:.2f}", f"{old[2]:.0f}", f"{new[2]:.0f}"
        ])  # fmt: skip
    print_table(("clew search", "processor, base", "new", "ratio", "peak MiB, base", "new"), rows)


def print_warm(sides: Sequence[Side], sets: Sequence[str]) -> None:
    """Print medians of warm questions at k = 5."""
    rows = []
    for name in sets:
        texts = [record["question"] for record in load_records(name)][:WARM_QUESTIONS]
        for retriever in WARM:
            times: dict[str, list[float]] = {side.name: [] for side in sides}
            for start in range(0, len(texts), 50):  # in turn, since the machine is not equally fast all the time
                for side in sides:
                    times[side.name] += side.measure("warm", name, texts[start : start + 50], [retriever])[retriever]
            old, new = (float(np.median(times[side.name])) for side in sides)
            rows.append([name, retriever, f"{old:.1f} ms", f"{new:.1f} ms", f"{new / old:.2f}"])
    print_table(("a warm question", "retriever", "base", "new", "ratio"), rows)


def print_quality(sides: Sequence[Side], sets: Sequence[str]) -> None:
    """Print recall of both sides with the paired difference and its interval."""
    rows = []
    for name in sets:
        records = load_records(name)
        texts = [record["question"] for record in records]
        found = [side.measure("rank", name, texts, RANKED) for side in sides]
        for retriever in RANKED:
            for k in CUTOFFS:
                old, new = (
                    np.array([
                        recall(passages[:k], record["gold"])
                        for passages, record in zip(side[retriever], records, strict=True)
                    ])
                    for side in found
                )  # fmt: skip
                paired = compare_means(("new", "base"), f"R@{k}", new, old, np.random.default_rng(0))
                interval = f"{100 * paired.low:+.1f} to {100 * paired.high:+.1f}"
                shown = f"{100 * old.mean():.1f}", f"{100 * new.mean():.1f}", f"{100 * (new - old).mean():+.1f}"
                rows.append([name, retriever, f"R@{k}", *shown, interval, f"{paired.p:.3f}"])
    print_table(("set", "retriever", "measure", "base", "new", "difference", "95% interval", "p"), rows)


def recall(passages: Sequence[Sequence[str]], gold: Sequence[str]) -> float:
    """Return the share of the gold, ids of passages or documents, among passages."""
    ids = {id_ for own in passages for id_ in own}
    return len(ids.intersection(gold)) / len(set(gold))


if __name__ == "__main__":
    main()
