"""Questions in one call against one after the other: `python bench/server_batches.py INDEX QUESTIONS [--batch 8]`.

Whether a server gains where it puts questions that wait into one call of a retriever. Both forms alternate in one run,
each with questions of its own, since the vectors of questions are kept; the figures are processor time of all threads
and elapsed time, for a question.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import clew
from clew.protocols import Retriever
from workbench import describe_machine, print_table

RETRIEVERS = ("pagerank", "dense", "gfm")


def main() -> None:
    """Print a row for each retriever."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    lines = options.questions.read_text(encoding="utf-8").splitlines()
    questions = [line for line in lines if line.strip()][: 2 * options.batch * options.rounds]
    batches = [questions[start : start + options.batch] for start in range(0, len(questions), options.batch)]
    print(describe_machine())
    index, rows = clew.open(options.index), []
    for name in RETRIEVERS:
        retriever = index.retriever(name, 0)
        retriever.retrieve(["Where is the ship?"], 5)
        singly, together = [], []
        for first, second in zip(batches[::2], batches[1::2], strict=True):
            singly.append(measure(retriever, [[question] for question in first]))
            together.append(measure(retriever, [second]))
        row = [name]
        for column in (0, 1):
            one, all_ = (1000 * sum(run[column] for run in runs) / (len(questions) / 2) for runs in (singly, together))
            row += [f"{one:.2f}", f"{all_:.2f}", f"{one / all_:.2f}"]
        rows.append(row)
    parts = ("processor ms, singly", "together", "gain", "elapsed ms, singly", "together", "gain")
    print_table((f"{options.batch} questions", *parts), rows)


def measure(retriever: Retriever, calls: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Return the processor seconds of all threads, and the elapsed seconds of some calls, each with its questions."""
    processor, began = time.process_time(), time.perf_counter()
    for questions in calls:
        retriever.retrieve(questions, 5)
    return time.process_time() - processor, time.perf_counter() - began


if __name__ == "__main__":
    main()
