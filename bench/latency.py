"""Time single warm questions in process: `python bench/latency.py [SET] [--retrievers a,b] [--paths N]`."""

import argparse
import time

import numpy as np

from clew import index as indexes
from clew.plugins.spec import split_list
from clew.retrievers.registry import parse_retriever
from workbench import BENCHMARKS, build_index, describe_machine, load_question_texts, print_table

ROUNDS = 200


def main() -> None:
    """Print the median and 95th percentile over questions, each asked once after ten warm-up questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", nargs="?", default="2wiki")
    parser.add_argument("--retrievers", default="bm25,dense,pagerank")
    parser.add_argument("--paths", type=int, default=0, help="explanations per passage, for gfm")
    arguments = parser.parse_args()
    benchmark = BENCHMARKS[arguments.set]
    index = indexes.open(build_index(benchmark))
    texts = load_question_texts(benchmark)
    print(describe_machine())
    rows = []
    for name in split_list(arguments.retrievers):
        milliseconds = time_questions(index, name, texts, arguments.paths)
        rows.append([name, f"{np.median(milliseconds):.1f}", f"{np.percentile(milliseconds, 95):.1f}"])
    print_table((f"{benchmark.name}, {len(index.snapshot.passage_ids)} passages", "ms p50", "ms p95"), rows)


def time_questions(index: indexes.Index, name: str, texts: list[str], paths: int = 0) -> list[float]:
    """Return the milliseconds of each question at k = 5."""
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
