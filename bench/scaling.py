"""Time PageRank on ten times the passages: `python bench/scaling.py`.

The larger corpus consists of all shared corpora and copies of 2Wiki with every title renamed: the copies form graphs of
their own, which share words but no names with the questions. Neither has vectors, since the walk uses none.
"""

import numpy as np

from clew import index as indexes
from latency import time_questions
from workbench import BENCHMARKS, DATA, WORK, build_corpus, describe_machine, load_question_texts, print_table, run_clew


def main() -> None:
    """Print the medians of both sizes, measured twice in one run, and their ratio."""
    small = BENCHMARKS["2wiki"]
    sizes = {}
    for name, path in (("1x", DATA / small.corpus), ("10x", build_corpus(BENCHMARKS["tenfold"]))):
        folder = WORK / f"scaling-{name}"
        run_clew("index", str(path), "--index", str(folder), "--encoder", "none")
        sizes[name] = indexes.open(folder)
    print(describe_machine())
    texts = load_question_texts(small)
    medians = {name: float(np.median(time_questions(index, "pagerank", texts))) for name, index in sizes.items()}
    again = {name: float(np.median(time_questions(index, "pagerank", texts))) for name, index in sizes.items()}
    rows = [
        [name, str(len(index.snapshot.passage_ids)), f"{medians[name]:.2f}", f"{again[name]:.2f}"]
        for name, index in sizes.items()
    ]
    print_table(("corpus", "passages", "ms p50", "ms p50, again"), rows)
    print(f"ratio {medians['10x'] / medians['1x']:.2f}, again {again['10x'] / again['1x']:.2f}")


if __name__ == "__main__":
    main()
