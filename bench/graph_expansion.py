"""Benchmark graph expansion and the agents that use it: `python bench/graph_expansion.py [SET ...]`.

For each base retriever: itself, `naive-ge`, `sync-ge`, `gear` of 1 to 4 steps and without each of its parts, the
published form of each (`preset=paper`), and `ircot`, with the local reader; recall, steps and milliseconds per
question, and the paired difference to the base at 5.
"""

import argparse
import time

import numpy as np

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.evaluation.significance import compare_means
from clew.retrievers.registry import parse_retriever
from workbench import BENCHMARKS, DATA, build_index, describe_machine, gold_recall, print_table

CUTOFFS = (2, 5, 10)
PUBLISHED = ("naive-ge:preset=paper", "sync-ge:preset=paper", "gear:preset=paper")
VARIANTS = (
    "naive-ge",
    "sync-ge",
    "sync-ge:gamma=0",
    "sync-ge:context=0",
    "gear:steps=1",
    "gear:steps=2",
    "gear:steps=3",
    "gear",
    "gear:gamma=0",
    "gear:gist=no",
    "gear:expand=no",
    "ircot",
    *PUBLISHED,
)


def main() -> None:
    """Print one table per set and base."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["2wiki", "hotpotqa", "musique-dev"])
    parser.add_argument("--bases", default="bm25,pagerank,gfm")
    parser.add_argument("--variants", nargs="+", default=VARIANTS)
    parser.add_argument("--limit", type=int, help="first questions of each set, at most")
    arguments = parser.parse_args()
    print(describe_machine())
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        questions = load_questions(DATA / benchmark.questions)[: arguments.limit]
        for base in arguments.bases.split(","):
            plain, *_ = measure(index, base, questions)
            rows = [format_row(base, plain, plain, 1.0, 0.0)]
            for variant in arguments.variants:
                chosen = f"{variant}{',' if ':' in variant else ':'}base={base}"
                recalls, steps, milliseconds = measure(index, chosen, questions)
                rows.append(format_row(variant, recalls, plain, steps, milliseconds))
            print()
            columns = (
                f"{name}, base {base}, {len(questions)} questions",
                "R@2",
                "R@5",
                "R@10",
                "all gold@5",
                "R@5 above base",
                "steps",
                "ms",
            )
            print_table(columns, rows)


def measure(index: indexes.Index, name: str, questions) -> tuple[dict[int, np.ndarray], float, float]:  # type: ignore[no-untyped-def]
    """Return the recall of each question at each cut-off, the mean number of steps, and the mean milliseconds."""
    retriever = index.retriever(parse_retriever(name), paths=0)
    retriever.retrieve([questions[0].text], 10)
    started = time.perf_counter()
    answers = retriever.retrieve([question.text for question in questions], max(CUTOFFS))
    milliseconds = 1000 * (time.perf_counter() - started) / len(questions)
    pairs = list(zip(answers, questions, strict=True))
    recalls = {k: np.array([gold_recall(evidence, question, k) for evidence, question in pairs]) for k in CUTOFFS}
    steps = float(np.mean([max(len(evidence.steps), 1) for evidence in answers]))
    return recalls, steps, milliseconds


def format_row(
    label: str, recalls: dict[int, np.ndarray], base: dict[int, np.ndarray], steps: float, ms: float
) -> list[str]:
    """Return a row of the table."""
    means = [f"{100 * recalls[k].mean():.1f}" for k in CUTOFFS]
    gain = ""
    if recalls is not base:
        c = compare_means((label, "base"), "recall@5", recalls[5], base[5], np.random.default_rng(0))
        gain = f"{100 * c.difference:+.1f} ({100 * c.low:+.1f} to {100 * c.high:+.1f})"
    return [label, *means, f"{100 * (recalls[5] == 1).mean():.1f}", gain, f"{steps:.1f}", f"{ms:.0f}"]


if __name__ == "__main__":
    main()
