"""Compare composed with encoded triple vectors: `python bench/triple_vectors.py [SET]`.

`naive-ge` over `bm25`, with a triple's vector composed as the sum of those of its names and its relation, and with its
words encoded as one text; recall and the paired difference, for several weights of the stating passage in the score.
"""

import argparse
import time

import numpy as np

from clew import index as indexes
from clew.evaluation.significance import compare_means
from clew.query.context import IndexContext
from clew.retrievers.agents.settings import build_expansion
from clew.retrievers.registry import open_retriever
from clew.types import Question
from clew_lab.datasets.loaders import load_questions
from clew_lab.retrievers.graph_expansion import GraphExpansionRetriever, NaiveGE
from workbench import BENCHMARKS, DATA, build_index, describe_machine, gold_recall, print_table

PASSAGE_WEIGHTS = (0.0, 0.3, 0.5, 0.7)


def main() -> None:
    """Print one row per weight."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="?", default="musique-dev")
    name = parser.parse_args().set
    print(describe_machine())
    benchmark = BENCHMARKS[name]
    context = indexes.open(build_index(benchmark)).context.with_paths_per_passage(0)
    questions = load_questions(DATA / benchmark.questions)
    started = time.perf_counter()
    context.triple_text_vectors()
    seconds = time.perf_counter() - started
    rows = []
    for weight in PASSAGE_WEIGHTS:
        settings = NaiveGE(context=weight)
        composed = measure_recall(context, settings, questions)
        other = context.with_fresh_cache()
        encoded = measure_recall(other, NaiveGE(context=weight, triples="encoded"), questions)
        c = compare_means(("composed", "encoded"), "recall@5", composed, encoded, np.random.default_rng(0))
        difference = f"{100 * c.difference:+.1f} ({100 * c.low:+.1f} to {100 * c.high:+.1f})"
        rows.append([str(weight), f"{100 * composed.mean():.1f}", f"{100 * encoded.mean():.1f}", difference])
    print_table((f"{name}: weight of the passage", "composed R@5", "encoded R@5", "composed minus encoded"), rows)
    print(f"encoding {len(context.scope.snapshot.triples):,} triples, or reading their vectors, took {seconds:.0f} s")


def measure_recall(context: IndexContext, settings: NaiveGE, questions: list[Question]) -> np.ndarray:
    """Return the recall at 5 of each question."""
    retriever = GraphExpansionRetriever(open_retriever("bm25", context), build_expansion(context, settings))
    answers = retriever.retrieve([question.text for question in questions], 5)
    return np.array([gold_recall(evidence, one, 5) for evidence, one in zip(answers, questions, strict=True)])


if __name__ == "__main__":
    main()
