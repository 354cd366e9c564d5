"""Composed vectors of triples against encoded ones: `python bench/triple_vectors.py [SET]`.

`naive-ge` over `bm25` with a triple's vector as the sum of those of its names and its relation, and with its words
encoded as one text; recall, and the paired difference, for several shares of the stating passage in the score.
"""

import argparse
import time

import numpy as np

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.evaluation.significance import compare_means
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.query.context import IndexContext
from clew.retrievers.agents.factory import build_expansion
from clew.retrievers.agents.settings import NaiveGE
from clew.retrievers.graph_expansion import GraphExpansionRetriever
from clew.retrievers.registry import open_retriever
from clew.types import Question
from workbench import BENCHMARKS, DATA, indexed, machine, print_table

CONTEXTS = (0.0, 0.3, 0.5, 0.7)


def main() -> None:
    """Print a line for each share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="?", default="musique-dev")
    name = parser.parse_args().set
    print(machine())
    benchmark = BENCHMARKS[name]
    parts = indexes.open(indexed(benchmark)).context.with_paths_per_passage(0)
    questions = load_questions(DATA / benchmark.questions)
    started = time.perf_counter()
    vectors = encoded(parts)
    seconds = time.perf_counter() - started
    rows = []
    for context in CONTEXTS:
        settings = NaiveGE(context=context)
        composed = recalls(parts, settings, questions)
        other = parts.with_fresh_cache()
        other.__dict__["triple_vectors"] = vectors
        whole = recalls(other, settings, questions)
        d = compare_means(("composed", "encoded"), "recall@5", composed, whole, np.random.default_rng(0))
        apart = f"{100 * d.difference:+.1f} ({100 * d.low:+.1f} to {100 * d.high:+.1f})"
        rows.append([str(context), f"{100 * composed.mean():.1f}", f"{100 * whole.mean():.1f}", apart])
    print_table((f"{name}: share of the passage", "composed R@5", "encoded R@5", "composed minus encoded"), rows)
    print(f"encoding {len(parts.scope.snapshot.triples):,} triples took {seconds:.0f} s")


def encoded(parts: IndexContext) -> TripleEmbeddings:
    """Return vectors of triples whose words were encoded as one text: a relation of its own each, and no names."""
    s = parts.scope.snapshot
    texts = [" ".join((t.head, t.relation, t.tail)) for t in map(s.triple, range(len(s.triples)))]
    triples = np.zeros_like(s.triples)
    triples[:, 1] = np.arange(len(texts))
    names = np.zeros((1, parts.encoder.dimension), dtype=np.float32)
    return TripleEmbeddings(triples, names, parts.encoder.encode(texts), s.triple_passages, s.vectors)


def recalls(parts: IndexContext, settings: NaiveGE, questions: list[Question]) -> np.ndarray:
    """Return the recall at 5 of each question."""
    retriever = GraphExpansionRetriever(open_retriever("bm25", parts), build_expansion(parts, settings))
    answers = retriever.retrieve([question.text for question in questions], 5)
    shares = []
    for question, evidence in zip(questions, answers, strict=True):
        found = {id_ for scored in evidence.passages for id_ in (scored.item.id, scored.item.document_id)}
        shares.append(len(set(question.gold) & found) / len(question.gold))
    return np.array(shares)


if __name__ == "__main__":
    main()
