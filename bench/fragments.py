"""Time of a question by the number of fragments of an index: `python bench/fragments.py [SET ...]`.

An index is copied and compacted, which leaves one fragment where there were many; each question is asked of both, one
after the other, so that the ratio is of one load. Times are processor time of single warm questions in one thread.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from clew import index as indexes
from clew.index import Index
from clew.plugins.spec import split_list
from clew.retrievers.registry import parse_retriever
from workbench import BENCHMARKS, build_index, describe_machine, load_question_texts, print_table

ROUNDS, WARM_UP = 3, 10


def main() -> None:
    """Print one table a set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["musique-dev", "hotpotqa"])
    parser.add_argument("--retrievers", default="chains,gfm")
    parser.add_argument("--timed", type=int, default=60, help="questions that are timed")
    arguments = parser.parse_args()
    print(describe_machine())
    for name in arguments.sets:
        with tempfile.TemporaryDirectory() as folder:
            many, one = (copy_index(build_index(BENCHMARKS[name]), Path(folder) / label) for label in ("many", "one"))
            one.compact()
            texts = load_question_texts(BENCHMARKS[name])[: arguments.timed]
            rows = [time_questions(spec, (many, one), texts) for spec in split_list(arguments.retrievers)]
        print(f"\n{name}: {len(many.snapshot.passage_ids)} passages")
        labels = [f"fragments: {len(index.snapshot.columns.segments)}" for index in (many, one)]
        print_table(("retriever", *labels, "ratio"), rows)


def copy_index(folder: Path, target: Path) -> Index:
    """Return a copy of an index."""
    shutil.copytree(folder, target)
    return indexes.open(target)


def time_questions(spec: str, sides: tuple[Index, Index], texts: list[str]) -> list[str]:
    """Return a row: the medians of both indexes, in milliseconds, and the median ratio of a question."""
    retrievers = [side.retriever(parse_retriever(spec), 0) for side in sides]
    for text in texts[:WARM_UP]:
        for retriever in retrievers:
            retriever.retrieve([text], 5)
    times = np.zeros((ROUNDS, len(texts), len(sides)))
    for measured in times:
        for row, text in enumerate(texts):
            for side, retriever in enumerate(retrievers):
                started = time.process_time()
                retriever.retrieve([text], 5)
                measured[row, side] = time.process_time() - started
    best = 1000 * times.min(axis=0)
    return [
        spec,
        *(f"{median:.2f} ms" for median in np.median(best, axis=0)),
        f"{np.median(best[:, 1] / best[:, 0]):.2f}",
    ]


if __name__ == "__main__":
    main()
