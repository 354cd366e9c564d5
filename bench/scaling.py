"""PageRank on ten times the passages: `python bench/scaling.py`.

The larger corpus is all shared corpora together, and copies of 2Wiki with every title renamed, so that the copies are
a graph of their own and share words, but no names, with the questions' one. Neither has vectors: the walk uses none.
"""

import numpy as np

from clew import index as indexes
from latency import timed
from workbench import BENCHMARKS, DATA, WORK, clew, corpus, machine, print_table, question_texts


def main() -> None:
    """Print the medians of both sizes in one run, and their ratio."""
    small = BENCHMARKS["2wiki"]
    sizes = {}
    for name, path in (("1x", DATA / small.corpus), ("10x", corpus(BENCHMARKS["tenfold"]))):
        folder = WORK / f"scaling-{name}"
        clew("index", str(path), "--index", str(folder), "--encoder", "none")
        sizes[name] = indexes.open(folder)
    print(machine())
    texts = question_texts(small)
    medians = {name: float(np.median(timed(index, "pagerank", texts))) for name, index in sizes.items()}
    again = {name: float(np.median(timed(index, "pagerank", texts))) for name, index in sizes.items()}
    rows = [
        [name, str(len(index.snapshot.passage_ids)), f"{medians[name]:.2f}", f"{again[name]:.2f}"]
        for name, index in sizes.items()
    ]
    print_table(("corpus", "passages", "ms p50", "ms p50, again"), rows)
    print(f"ratio {medians['10x'] / medians['1x']:.2f}, again {again['10x'] / again['1x']:.2f}")


if __name__ == "__main__":
    main()
