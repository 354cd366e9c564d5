"""What expansion along triples, and agents over it, are worth: `python bench/graph_expansion.py [SET ...]`.

For each base retriever: itself, `naive-ge`, `sync-ge`, `gear` of 1 to 4 steps and without each of its parts, and
`ircot`, with the local reader; recall, steps and milliseconds a question, and the paired difference to the base at 5.
"""

import argparse
import time

import numpy as np

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.evaluation.significance import compare_means
from workbench import BENCHMARKS, DATA, indexed, machine, print_table

CUTOFFS = (2, 5, 10)
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
)


def main() -> None:
    """Print a table a set and base."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["2wiki", "hotpotqa", "musique-dev"])
    parser.add_argument("--bases", default="bm25,pagerank,gfm")
    parser.add_argument("--variants", nargs="+", default=VARIANTS)
    arguments = parser.parse_args()
    print(machine())
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        index = indexes.open(indexed(benchmark))
        questions = load_questions(DATA / benchmark.questions)
        for base in arguments.bases.split(","):
            plain, *_ = measured(index, base, questions)
            rows = [row(base, plain, plain, 1.0, 0.0)]
            for variant in arguments.variants:
                chosen = f"{variant}{',' if ':' in variant else ':'}base={base}"
                found, steps, milliseconds = measured(index, chosen, questions)
                rows.append(row(variant, found, plain, steps, milliseconds))
            print()
            columns = (f"{name}, base {base}", "R@2", "R@5", "R@10", "all gold@5", "R@5 above base", "steps", "ms")
            print_table(columns, rows)


def measured(index: indexes.Index, name: str, questions) -> tuple[dict[int, np.ndarray], float, float]:  # type: ignore[no-untyped-def]
    """Return recall of each question at each cut-off, the mean number of steps, and the mean milliseconds."""
    retriever = index.retriever(name, paths=0)
    retriever.retrieve([questions[0].text], 10)
    started = time.perf_counter()
    answers = retriever.retrieve([question.text for question in questions], max(CUTOFFS))
    milliseconds = 1000 * (time.perf_counter() - started) / len(questions)
    shares: dict[int, list[float]] = {k: [] for k in CUTOFFS}
    for question, evidence in zip(questions, answers, strict=True):
        found = [{scored.item.id, scored.item.document_id} for scored in evidence.passages]
        for k in CUTOFFS:
            shares[k].append(len(set(question.gold) & set().union(*found[:k])) / len(question.gold))
    steps = float(np.mean([max(len(evidence.steps), 1) for evidence in answers]))
    return {k: np.array(values) for k, values in shares.items()}, steps, milliseconds


def row(label: str, found: dict[int, np.ndarray], base: dict[int, np.ndarray], steps: float, ms: float) -> list[str]:
    """Return a line of the table."""
    recall = [f"{100 * found[k].mean():.1f}" for k in CUTOFFS]
    above = ""
    if found is not base:
        compared = compare_means((label, "base"), "recall@5", found[5], base[5], np.random.default_rng(0))
        above = f"{100 * compared.difference:+.1f} ({100 * compared.low:+.1f} to {100 * compared.high:+.1f})"
    return [label, *recall, f"{100 * (found[5] == 1).mean():.1f}", above, f"{steps:.1f}", f"{ms:.0f}"]


if __name__ == "__main__":
    main()
