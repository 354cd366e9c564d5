"""Vectors of relations and what they decide: `python bench/relation_vectors.py [SET ...]`.

`gfm` with a vector for each relation; with the 4,096 of `clew.graph.snapshot.relation_vectors`, which the others borrow
or not; and with one vector for all: recall, how many texts are encoded, and a paired test of all gold in five against
the first.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from clew import index as indexes
from clew.arrays import FloatArray
from clew.evaluation.runs import execute
from clew.evaluation.scoring import compare, score
from clew.graph.snapshot.relation_vectors import frequent_relations, shared_vectors, vector_rows
from clew.graph.snapshot.relational_edges import relation_texts
from clew.index import Index
from clew.inference.query_network import QueryNetwork
from clew.retrievers.gfm.factory import project_all_relations
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.registry import parse_retriever
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, build_index, build_questions, describe_machine, print_table

MEASURES = ("recall@2", "recall@5", "all_gold@5")


def main() -> None:
    """Print a table of all sets."""
    rows = []
    for name in sys.argv[1:] or ["musique-dev", "2wiki", "hotpotqa"]:
        index = indexes.open(build_index(BENCHMARKS[name]))
        questions = load_questions(build_questions(BENCHMARKS[name]))
        retriever = index.retriever(parse_retriever("gfm"), 0)
        assert isinstance(retriever, GFMRetriever)
        assert isinstance(retriever.model, QueryNetwork)
        scores = []
        for label, count, vectors in list_variants(index, retriever):
            projected = project_all_relations(retriever.model, vectors)
            rows_of_all = np.arange(len(vectors), dtype=np.int32)
            variant = replace(retriever, relation_projections=projected, relation_rows=rows_of_all)
            scores.append(score(execute(variant, label, questions, 10), questions))
            summary = scores[-1].summary.to_json()
            chance = compare(scores[0], scores[-1], "all_gold@5").p
            rows.append([name, label, f"{count:,}", *(f"{100 * summary[m]:.1f}" for m in MEASURES), f"{chance:.2f}"])
    print(describe_machine())
    print_table(("set", "vectors of relations", "encoded", *MEASURES, "p"), rows)


def list_variants(index: Index, retriever: GFMRetriever) -> Iterator[tuple[str, int, FloatArray]]:
    """Yield the name of each variant, the number of texts that it encodes, and the vector (R, t) of each relation."""
    texts, edges = relation_texts(index.snapshot), retriever.graphs.edges
    frequent, encode = frequent_relations(edges, texts), index.context.encode_texts
    shared = shared_vectors(texts, frequent, encode)
    yield "its own for each", len(texts), encode(texts)
    yield "those of the most frequent", len(frequent), shared[vector_rows(texts, frequent)]
    own = vector_rows(texts, frequent)
    own[np.setdiff1d(np.arange(len(texts)), frequent)] = len(frequent)
    yield "those, and the mean for the others", len(frequent), shared[own]
    yield "one for all", 1, np.repeat(shared[-1:], len(texts), axis=0)


if __name__ == "__main__":
    main()
