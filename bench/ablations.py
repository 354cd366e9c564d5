"""Ablations of `pagerank`: `python bench/ablations.py [SET ...]`.

Each row changes one weight of the shipped settings, which were chosen on hotpotqa/dev and musique-dev.
"""

import argparse
from dataclasses import replace

import numpy as np

from clew import index as indexes
from clew.evaluation.runs import execute
from clew.evaluation.scoring import score
from clew.graph.csr import build_adjacency
from clew.query.graph_walk import GraphWalkConfig
from clew.query.scope import Scope
from clew.retrievers.pagerank import PageRankRetriever
from clew.store.snapshot_files import snapshot_folder
from clew.text.bm25 import BM25Index
from clew_lab.datasets.loaders import load_questions
from clew_lab.graph.synonyms import load_synonyms
from workbench import BENCHMARKS, DATA, build_index, describe_machine, print_table

SHIPPED = GraphWalkConfig()
VARIANTS = {
    "shipped": SHIPPED,
    "no remainder of the question": replace(SHIPPED, remainder=0.0, remainder_value=0.0),
    "remainder in the walk only": replace(SHIPPED, remainder_value=0.0),
    "no question in the walk": replace(SHIPPED, question=0.0, question_value=0.0),
    "neither": replace(SHIPPED, question=0.0, question_value=0.0, remainder=0.0, remainder_value=0.0),
    "no lexical restart": replace(SHIPPED, lexical_restart=0.0),
    "lexical restart 0.3": replace(SHIPPED, lexical_restart=0.3),
    "no hub penalty": replace(SHIPPED, hub=0.0),
    "damping 0.5": replace(SHIPPED, damping=0.5),
    "damping 0.85": replace(SHIPPED, damping=0.85),
    "epsilon 1e-6": replace(SHIPPED, epsilon=1e-6),
    "epsilon 3e-4": replace(SHIPPED, epsilon=3e-4),
}
MEASURES = ("recall@2", "recall@5", "all_gold@5", "recall@10")


def main() -> None:
    """Print one table per set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["hotpotqa", "musique-dev"])
    print(describe_machine())
    for name in parser.parse_args().sets:
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        questions = load_questions(DATA / benchmark.questions)
        scope = Scope(index.snapshot)
        lexical = BM25Index.load(snapshot_folder(index.table) / "lexical")
        retrievers = {name: PageRankRetriever(scope, lexical, weights) for name, weights in VARIANTS.items()}
        retrievers["synonyms linked"] = PageRankRetriever(Scope(link_synonyms(index)), lexical, SHIPPED)
        rows = []
        for variant, retriever in retrievers.items():
            summary = score(execute(retriever, variant, questions, 10), questions, resamples=100).summary.to_json()
            rows.append(
                [variant, *(f"{100 * summary[m]:.1f}" for m in MEASURES), f"{1000 * summary['seconds_p50']:.1f}"]
            )
        print()
        print_table((name, *MEASURES, "ms p50"), rows)


def link_synonyms(index: indexes.Index):  # type: ignore[no-untyped-def]
    """Return the snapshot with additional walk edges between entities of nearly the same name."""
    s = index.snapshot
    synonyms = load_synonyms(index.context)
    one, other = s.entity_nodes[synonyms.row_indices()], s.entity_nodes[synonyms.indices]
    different = one != other
    rows = np.repeat(np.arange(s.walk.row_count), s.walk.degrees())
    walk = build_adjacency(
        np.concatenate([rows, one[different]]),
        np.concatenate([s.walk.indices, other[different]]),
        np.concatenate([s.walk.weights, synonyms.weights[different]]),
        s.walk.row_count,
    )
    return replace(s, walk=walk)


if __name__ == "__main__":
    main()
