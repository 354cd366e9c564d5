"""Web pages as they come: `python bench/wild.py [--retrievers a,b] [--misses]`.

1,063 pages without titles, of up to a megabyte, with questions of one fact, of several facts, and for a summary.
Printed are the share of a question's pages among the first five documents, and the share of the questions all of whose
pages are among the first ten passages. The set is for development.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from clew import index as indexes
from clew.arrays import DoubleArray
from clew.evaluation.significance import compare_means, mean_interval
from clew.plugins.spec import split_list
from clew.protocols import Retriever
from clew.retrievers.registry import parse_retriever
from clew.types import Question
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, build_index, build_questions, describe_machine, load_records, print_table

RETRIEVERS = "auto,bm25,dense,fused,fused:least=0,pagerank,chains"
KINDS = ("single-fact", "multi_fact", "summary")
DOCUMENTS, PASSAGES, FOUND = 5, 10, 60


def main() -> None:
    """Print a table, and the paired differences between the first retriever and the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--retrievers", default=RETRIEVERS)
    parser.add_argument("--misses", action="store_true", help="print the questions whose pages the first one misses")
    arguments = parser.parse_args()
    index = indexes.open(build_index(BENCHMARKS["wild"]))
    file = build_questions(BENCHMARKS["wild"])
    questions = load_questions(file)
    kinds = np.array([record["kind"] for record in load_records(file)])
    print(describe_machine())
    print(f"{len(index.snapshot.passage_ids):,} passages, {len(questions)} questions")
    found = {
        name: measure(questions, index.retriever(parse_retriever(name) if name != "auto" else name, 0))
        for name in split_list(arguments.retrievers)
    }
    print_shares(found, kinds)
    if arguments.misses:
        for question, share in zip(questions, next(iter(found.values())), strict=True):
            if share[0] < 1:
                print(f"{100 * share[0]:.0f}% {question.text} {question.gold}")


def measure(questions: Sequence[Question], retriever: Retriever) -> DoubleArray:
    """Return (n, 2): the share of a question's pages among the first documents, and whether ten passages have all."""
    rows = []
    for question in questions:
        names = [scored.item.document_id for scored in retriever.retrieve([question.text], FOUND)[0].passages]
        first = list(dict.fromkeys(names))[:DOCUMENTS]
        gold = set(question.gold)
        rows.append((len(gold.intersection(first)) / len(gold), gold.issubset(names[:PASSAGES])))
    return np.array(rows, dtype=np.float64)


def print_shares(found: dict[str, DoubleArray], kinds: np.ndarray) -> None:
    """Print a row for each retriever, in % with 95% intervals, and how the first one differs from the others."""
    rows = []
    for name, values in found.items():
        low, high = mean_interval(values[:, 0], np.random.default_rng(0))
        cells = [f"{100 * values[:, 0].mean():.1f} ({100 * low:.1f}-{100 * high:.1f})"]
        cells += [f"{100 * values[kinds == kind, 0].mean():.1f}" for kind in KINDS]
        cells += [f"{100 * values[:, 1].mean():.1f}", f"{100 * values[kinds == 'multi_fact', 1].mean():.1f}"]
        rows.append([name, *cells])
    head = ("retriever", "pages of 5 documents", *KINDS, "all pages of 10 passages", "of several facts")
    print_table(head, rows, "Web pages as they come, in %")
    first, *others = found
    for other in others:
        for column, measured in enumerate((f"{DOCUMENTS} documents", f"{PASSAGES} passages")):
            pair = found[first][:, column], found[other][:, column]
            c = compare_means((first, other), measured, *pair, np.random.default_rng(0))
            print(
                f"{first} - {other}, {measured}: {100 * c.difference:+.1f} "
                f"({100 * c.low:+.1f} to {100 * c.high:+.1f}, p = {c.p:.4f})"
            )


if __name__ == "__main__":
    main()
