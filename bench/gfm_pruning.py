"""Recall of `gfm` by the number of nodes kept near a question's walk: `python bench/gfm_pruning.py [SET ...]`."""

import sys
import time

import numpy as np

from clew import index as indexes
from clew.retrievers.registry import parse_retriever
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, DATA, build_index, describe_machine, gold_recall, print_table

SIZES = (100, 250, 500, 1000, None)


def main() -> None:
    """Print recall and the median time of a question for each number of nodes."""
    print(describe_machine())
    for name in sys.argv[1:] or ("2wiki", "hotpotqa", "musique-dev"):
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        questions = load_questions(DATA / benchmark.questions)
        rows = []
        for size in SIZES:
            gfm = index.retriever(parse_retriever(f"gfm:nodes={size or 'all'}"), paths=0)
            gfm.retrieve([questions[-1].text], 5)
            recalls, milliseconds = [], []
            for question in questions:
                start = time.perf_counter()
                (evidence,) = gfm.retrieve([question.text], 5)
                milliseconds.append(1000 * (time.perf_counter() - start))
                recalls.append([gold_recall(evidence, question, k) for k in (2, 5)])
            two, five = np.mean(recalls, axis=0)
            rows.append([str(size or "all"), f"{100 * two:.1f}", f"{100 * five:.1f}", f"{np.median(milliseconds):.1f}"])
        print()
        print_table((f"{name}: nodes", "R@2", "R@5", "ms p50"), rows)


if __name__ == "__main__":
    main()
