"""Recall of `chains` beside other graph retrievers, and the time of a question: `python bench/chains.py [SET ...]`.

Times are processor time of single warm questions in one thread, retriever after retriever for each question, so that
they are of one load; compare them within a table alone.
"""

import argparse
import time

import numpy as np

from clew import index as indexes
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.plugins.spec import split_list
from clew.retrievers.registry import parse_retriever
from workbench import BENCHMARKS, build_index, build_questions, describe_machine, load_question_texts, print_table

RETRIEVERS = "chains,pagerank,gfm,linearrag,sprig"
MEASURES = ("recall@2", "recall@5", "all_gold@5", "recall@10")
ROUNDS, WARM_UP = 3, 10


def main() -> None:
    """Print one table a set, and the paired tests of the first retriever against each other one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["musique-dev", "hotpotqa"])
    parser.add_argument("--retrievers", default=RETRIEVERS)
    parser.add_argument("--timed", type=int, default=100, help="questions that are timed")
    arguments = parser.parse_args()
    names = split_list(arguments.retrievers)
    print(describe_machine())
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        specs = {retriever: parse_retriever(retriever) for retriever in names}
        questions = build_questions(benchmark)
        report = evaluate_retrievers(index, questions, specs, (2, 5, 10), None, None, lambda *_: None).to_json()
        milliseconds = time_questions(index, names, load_question_texts(benchmark)[: arguments.timed])
        passages = len(index.snapshot.passage_ids)
        print(f"\n{name}: {report['questions']} questions, {passages} passages; in %, 95% interval")
        rows = [
            [retriever, *format_cells(report["retrievers"][retriever]), f"{milliseconds[retriever]:.1f}"]
            for retriever in names
        ]
        print_table(("retriever", *MEASURES, "ms"), rows)
        for c in report["comparisons"]:
            if c["measure"] in MEASURES[:3]:
                interval = f"{100 * c['low']:+.1f} to {100 * c['high']:+.1f}, p = {c['p']:.4f}"
                print(f"{c['a']} - {c['b']}, {c['measure']}: {100 * c['difference']:+.1f} ({interval})")


def format_cells(summary: dict) -> list[str]:  # type: ignore[type-arg]
    """Return the measures of a retriever with their intervals."""
    bounds = {name: summary["intervals"][name] for name in MEASURES}
    return [f"{100 * summary[name]:.1f} ({100 * low:.1f}-{100 * high:.1f})" for name, (low, high) in bounds.items()]


def time_questions(index: indexes.Index, names: list[str], texts: list[str]) -> dict[str, float]:
    """Return for each retriever the median over questions of the least milliseconds of processor time, at k = 5."""
    retrievers = {name: index.retriever(parse_retriever(name), 0) for name in names}
    least = {name: np.full(len(texts), np.inf) for name in names}
    for repeat in range(-1, ROUNDS):
        for number, text in enumerate(texts if repeat >= 0 else texts[:WARM_UP]):
            for name, retriever in retrievers.items():
                asked = text + " " * (repeat + 1)  # its vector is not in the cache of questions
                started = time.process_time()
                retriever.retrieve([asked], 5)
                spent = 1000 * (time.process_time() - started)
                if repeat >= 0:
                    least[name][number] = min(least[name][number], spent)
    return {name: float(np.median(values)) for name, values in least.items()}


if __name__ == "__main__":
    main()
