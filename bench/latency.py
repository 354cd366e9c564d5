"""Time of one warm question, in process: `python bench/latency.py [SET] [--retrievers a,b] [--paths N]`."""

import argparse
import time

import numpy as np

from clew import index as indexes
from clew.plugins.spec import split_list
from clew.retrievers.registry import parse_retriever
from workbench import BENCHMARKS, indexed, machine, print_table, question_texts

ROUNDS = 200


def main() -> None:
    """Print the median and the 95th percentile over questions, each asked once after a warm-up of ten others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", nargs="?", default="2wiki")
    parser.add_argument("--retrievers", default="bm25,dense,pagerank")
    parser.add_argument("--paths", type=int, default=0, help="explanations a passage, for gfm")
    arguments = parser.parse_args()
    benchmark = BENCHMARKS[arguments.set]
    index = indexes.open(indexed(benchmark))
    texts = question_texts(benchmark)
    print(machine())
    rows = []
    for name in split_list(arguments.retrievers):
        milliseconds = timed(index, name, texts, arguments.paths)
        rows.append([name, f"{np.median(milliseconds):.1f}", f"{np.percentile(milliseconds, 95):.1f}"])
    print_table((f"{benchmark.name}, {len(index.snapshot.passage_ids)} passages", "ms p50", "ms p95"), rows)


def timed(index: indexes.Index, name: str, texts: list[str], paths: int = 0) -> list[float]:
    """Return the milliseconds of each question, k = 5."""
    retriever = index.retriever(parse_retriever(name), paths)
    for text in texts[-10:]:
        retriever.retrieve([text], 5)
    milliseconds = []
    for text in texts[:ROUNDS]:
        start = time.perf_counter()
        retriever.retrieve([text], 5)
        milliseconds.append(1000 * (time.perf_counter() - start))
    return milliseconds


if __name__ == "__main__":
    main()
