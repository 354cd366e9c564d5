"""Compare `routed` with every fixed choice: recall and time in one run, and the Pareto frontier.

`python bench/routed.py [SET ...] [--retrievers a,b] [--routed SETTINGS ...] [--weights FOLDER]`. Retrievers take turns,
one question each, so that what else the machine does falls on all of them alike.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clew import index as indexes
from clew.evaluation.significance import compare_means
from clew.plugins.spec import split_list
from clew.retrievers.registry import parse_retriever
from clew.types import Question
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, DATA, build_index, describe_machine, gold_recall, print_table

SETS = ("2wiki", "hotpotqa", "musique-dev")
FIXED = "bm25,dense,fused,title-links,pagerank,gfm,naive-ge:base=pagerank,gear:base=gfm,expand=no"
ROUTED = (
    "",
    "worth=1000",
    "worth=500",
    "worth=300",
    "worth=100",
    "worth=50",
    "worth=20",
    "worth=0",
    "budget=0.002",
    "budget=0.01",
    "budget=0.05",
)
DEPTH, WARM = 5, 5


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of one retriever on n questions: recall at 2 and 5, whether all gold is among 5, and milliseconds."""

    name: str
    at2: np.ndarray
    at5: np.ndarray
    whole: np.ndarray
    milliseconds: np.ndarray
    chosen: dict[str, float]

    @property
    def time(self) -> float:
        """Mean milliseconds without the slowest twentieth, which other work on the machine delays."""
        return float(np.sort(self.milliseconds)[: max(1, round(0.95 * len(self.milliseconds)))].mean())


def main() -> None:
    """Print for each set a table, and compare `routed` with the fixed choices of similar time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--retrievers", default=FIXED)
    parser.add_argument("--routed", nargs="*", default=ROUTED, help="settings, one per argument")
    parser.add_argument("--weights", default="", help="folder of weights for routed instead of the shipped ones")
    parser.add_argument("--questions", type=int, default=0, help="maximum number per set, 0 for all")
    arguments = parser.parse_args()
    print(describe_machine())
    extra = f"weights={arguments.weights}" if arguments.weights else ""
    settings = [",".join(filter(None, (one, extra))) for one in arguments.routed]
    names = [*split_list(arguments.retrievers), *(f"routed:{one}" if one else "routed" for one in settings)]
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        questions = [q for q in load_questions(DATA / benchmark.questions) if q.gold]
        questions = questions[: arguments.questions or len(questions)]
        results = measure(index, names, questions)
        print(f"\n{name}: {len(questions)} questions, {len(index.snapshot.passage_ids)} passages\n")
        print_table(
            ("retriever", "R@2", "R@5", "all@5", "ms p50", "ms mean", "frontier", "chosen"), format_rows(results)
        )
        print()
        print_comparisons(results)


def measure(index: indexes.Index, names: Sequence[str], questions: Sequence[Question]) -> list[Measured]:
    """Run every retriever on every question, one at a time, in turns."""
    retrievers = [index.retriever(parse_retriever(name), 0) for name in names]
    for retriever in retrievers:
        retriever.retrieve([question.text for question in questions[-WARM:]], DEPTH)
    values = np.zeros((len(names), len(questions), 4))
    chosen: list[list[str]] = [[] for _ in names]
    order = np.random.default_rng(0)
    for turn in range(len(questions)):
        # A retriever that runs after a multi-threaded one is slowed by it, so each turn has another order.
        # A question asked again finds its data in the processor's cache, so each retriever of a turn gets another one.
        for column in order.permutation(len(retrievers)).tolist():
            row = (turn + column * len(questions) // len(retrievers)) % len(questions)
            start = time.perf_counter()
            evidence = retrievers[column].retrieve([questions[row].text], DEPTH)[0]
            milliseconds = 1000 * (time.perf_counter() - start)
            two, five = (gold_recall(evidence, questions[row], k) for k in (2, DEPTH))
            values[column, row] = two, five, five == 1.0, milliseconds
            if names[column].startswith("routed"):
                chosen[column].append(evidence.notes[0].split()[1])
    shares = [{one: picks.count(one) / len(picks) for one in dict.fromkeys(sorted(picks))} for picks in chosen]
    columns = [(of[:, 0], of[:, 1], of[:, 2], of[:, 3]) for of in values]
    return [Measured(n, *column, chosen=s) for n, column, s in zip(names, columns, shares, strict=True)]


def frontier(results: Sequence[Measured]) -> list[Measured]:
    """Return the results that no other dominates in recall at 5 and mean time."""
    return [
        one
        for one in results
        if not any(
            (o.at5.mean() >= one.at5.mean() and o.time < one.time)
            or (o.at5.mean() > one.at5.mean() and o.time <= one.time)
            for o in results
        )
    ]


def format_rows(results: Sequence[Measured]) -> list[list[str]]:
    """Return one row per retriever."""
    best = {one.name for one in frontier(results)}
    cells = []
    for one in results:
        shares = ", ".join(f"{name} {100 * share:.0f}%" for name, share in one.chosen.items())
        recalls = (100 * one.at2.mean(), 100 * one.at5.mean(), 100 * one.whole.mean())
        figures = (*recalls, np.median(one.milliseconds), one.time)
        cells.append([one.name, *(f"{figure:.1f}" for figure in figures), "*" if one.name in best else "", shares])
    return cells


def print_comparisons(results: Sequence[Measured]) -> None:
    """Compare each `routed` with the next faster and the next slower fixed choice on the frontier."""
    fixed = sorted(frontier([o for o in results if not o.name.startswith("routed")]), key=lambda o: o.time)
    for one in (one for one in results if one.name.startswith("routed")):
        for other in [*[o for o in fixed if o.time <= one.time][-1:], *[o for o in fixed if o.time > one.time][:1]]:
            c = compare_means((one.name, other.name), "recall@5", one.at5, other.at5, np.random.default_rng(0))
            interval = f"{100 * c.low:+.1f} to {100 * c.high:+.1f}, p = {c.p:.4f}"
            ratio = one.time / other.time
            print(f"{one.name} - {other.name}, R@5: {100 * c.difference:+.1f} ({interval}), in {ratio:.2f} of its time")


if __name__ == "__main__":
    main()
