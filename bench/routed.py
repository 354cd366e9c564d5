"""`routed` beside every fixed choice: recall and time of one run, and which of them lie on the frontier.

`python bench/routed.py [SET ...] [--retrievers a,b] [--routed SETTINGS ...] [--weights FOLDER]`. Retrievers take turns,
one question each, so that what else the machine does falls on all of them alike.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.evaluation.significance import compare_means
from clew.plugins.spec import split_list
from clew.retrievers.registry import parse_retriever
from clew.types import Evidence, Question
from workbench import BENCHMARKS, DATA, indexed, machine, print_table

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
    """What one retriever gave for n questions: recall at 2 and 5, whether all gold was among 5, and milliseconds."""

    name: str
    at2: np.ndarray
    at5: np.ndarray
    whole: np.ndarray
    milliseconds: np.ndarray
    chosen: dict[str, float]

    @property
    def time(self) -> float:
        """The mean, without the slowest twentieth: what else the machine did."""
        return float(np.sort(self.milliseconds)[: max(1, round(0.95 * len(self.milliseconds)))].mean())


def main() -> None:
    """Print for each set one table, and how `routed` compares with the fixed choice of nearest time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--retrievers", default=FIXED)
    parser.add_argument("--routed", nargs="*", default=ROUTED, help="settings, one an argument")
    parser.add_argument("--weights", default="", help="a folder for routed, in place of the shipped ones")
    parser.add_argument("--questions", type=int, default=0, help="at most so many of a set, 0 for all")
    arguments = parser.parse_args()
    print(machine())
    extra = f"weights={arguments.weights}" if arguments.weights else ""
    settings = [",".join(filter(None, (one, extra))) for one in arguments.routed]
    names = [*split_list(arguments.retrievers), *(f"routed:{one}" if one else "routed" for one in settings)]
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        index = indexes.open(indexed(benchmark))
        questions = [q for q in load_questions(DATA / benchmark.questions) if q.gold]
        questions = questions[: arguments.questions or len(questions)]
        found = measured(index, names, questions)
        print(f"\n{name}: {len(questions)} questions, {len(index.snapshot.passage_ids)} passages\n")
        print_table(("retriever", "R@2", "R@5", "all@5", "ms p50", "ms mean", "frontier", "chosen"), rows(found))
        print()
        compared(found)


def measured(index: indexes.Index, names: Sequence[str], questions: Sequence[Question]) -> list[Measured]:
    """Ask every retriever every question, one at a time, in turns."""
    made = [index.retriever(parse_retriever(name), 0) for name in names]
    for retriever in made:
        retriever.retrieve([question.text for question in questions[-WARM:]], DEPTH)
    values = np.zeros((len(names), len(questions), 4))
    chosen: list[list[str]] = [[] for _ in names]
    order = np.random.default_rng(0)
    for turn in range(len(questions)):
        # Whoever comes after a retriever of several threads is slowed by them, so each turn has an order of its own.
        # Whoever asks a question second finds its data in the processor's cache, so a turn asks each another one.
        for place in order.permutation(len(made)).tolist():
            row = (turn + place * len(questions) // len(made)) % len(questions)
            start = time.perf_counter()
            evidence = made[place].retrieve([questions[row].text], DEPTH)[0]
            spent = 1000 * (time.perf_counter() - start)
            two, five = (gold_among(evidence, questions[row], k) for k in (2, DEPTH))
            values[place, row] = two, five, five == 1.0, spent
            if names[place].startswith("routed"):
                chosen[place].append(evidence.notes[0].split()[1])
    shares = [{one: picks.count(one) / len(picks) for one in dict.fromkeys(sorted(picks))} for picks in chosen]
    columns = [(of[:, 0], of[:, 1], of[:, 2], of[:, 3]) for of in values]
    return [Measured(n, *column, chosen=s) for n, column, s in zip(names, columns, shares, strict=True)]


def gold_among(evidence: Evidence, question: Question, k: int) -> float:
    """Return the share of a question's gold, passages or documents, that is among the first k passages."""
    ids = {id_ for scored in evidence.passages[:k] for id_ in (scored.item.id, scored.item.document_id)}
    return len(ids.intersection(question.gold)) / len(question.gold)


def frontier(found: Sequence[Measured]) -> list[Measured]:
    """Return those that no other beats in recall at 5 and mean time."""
    return [
        one
        for one in found
        if not any(
            (o.at5.mean() >= one.at5.mean() and o.time < one.time)
            or (o.at5.mean() > one.at5.mean() and o.time <= one.time)
            for o in found
        )
    ]


def rows(found: Sequence[Measured]) -> list[list[str]]:
    """Return a row a retriever."""
    best = {one.name for one in frontier(found)}
    cells = []
    for one in found:
        shares = ", ".join(f"{name} {100 * share:.0f}%" for name, share in one.chosen.items())
        recalls = (100 * one.at2.mean(), 100 * one.at5.mean(), 100 * one.whole.mean())
        figures = (*recalls, np.median(one.milliseconds), one.time)
        cells.append([one.name, *(f"{figure:.1f}" for figure in figures), "*" if one.name in best else "", shares])
    return cells


def compared(found: Sequence[Measured]) -> None:
    """Print how each `routed` differs from the fixed choices of the frontier next to it in time, on both sides."""
    fixed = sorted(frontier([o for o in found if not o.name.startswith("routed")]), key=lambda o: o.time)
    for one in (one for one in found if one.name.startswith("routed")):
        for other in [*[o for o in fixed if o.time <= one.time][-1:], *[o for o in fixed if o.time > one.time][:1]]:
            c = compare_means((one.name, other.name), "recall@5", one.at5, other.at5, np.random.default_rng(0))
            interval = f"{100 * c.low:+.1f} to {100 * c.high:+.1f}, p = {c.p:.4f}"
            ratio = one.time / other.time
            print(f"{one.name} - {other.name}, R@5: {100 * c.difference:+.1f} ({interval}), in {ratio:.2f} of its time")


if __name__ == "__main__":
    main()
