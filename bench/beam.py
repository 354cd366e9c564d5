"""Time the diverse beam search, width 10 and length 3, on one and on ten times the passages: `python bench/beam.py`.

The corpora are those of `scaling.py`, which have no vectors; random vectors of the encoder's width are used, since time
does not depend on their values. Each question starts from all triples of the first ten passages of `bm25`, as in
`naive-ge`.
"""

import time

import numpy as np

from clew import index as indexes
from clew.graph.paths.beam_search import BeamSettings, TripleGraph, diverse_beam_search
from clew.graph.segments.passage_columns import PassageVectors
from clew.graph.triple_embeddings import TripleEmbeddings
from workbench import BENCHMARKS, DATA, WORK, build_corpus, describe_machine, load_question_texts, print_table, run_clew

WIDTH, ROUNDS = 384, 200


def main() -> None:
    """Print the medians of both sizes and their ratio."""
    small = BENCHMARKS["2wiki"]
    table: list[list[str]] = []
    medians: list[float] = []
    print(describe_machine())
    for name, path in (("1x", DATA / small.corpus), ("10x", build_corpus(BENCHMARKS["tenfold"]))):
        folder = WORK / f"scaling-{name}"
        run_clew("index", str(path), "--index", str(folder), "--encoder", "none")
        index = indexes.open(folder)
        milliseconds, scored = time_searches(index, load_question_texts(small))
        medians.append(float(np.median(milliseconds)))
        counts = [str(len(index.snapshot.triples)), f"{np.median(scored):.0f}"]
        table.append([name, *counts, f"{medians[-1]:.1f}", f"{np.percentile(milliseconds, 95):.1f}"])
    print_table(("corpus", "triples", "triples scored p50", "ms p50", "ms p95"), table)
    print(f"ratio {medians[1] / medians[0]:.2f}")


def time_searches(index: indexes.Index, texts: list[str]) -> tuple[list[float], list[int]]:
    """Return the milliseconds of each question's search, and the number of triples scored in it."""
    s, random = index.snapshot, np.random.default_rng(0)
    names, relations, passages = (unit_vectors(random, len(part)) for part in (s.entities, s.relations, s.passage_ids))
    vectors = TripleEmbeddings(s.triples, names, relations, s.triple_passages, PassageVectors.from_matrix(passages))
    graph = TripleGraph(s.entity_nodes.astype(np.int64)[s.triples[:, [0, 2]]], int(s.entity_nodes.max()) + 1)
    base = index.retriever("bm25", paths=0)
    milliseconds, counts = [], []
    for number, text in enumerate([*texts[-10:], *texts[:ROUNDS]]):
        passages_found = [s.position(scored.item.id) for scored in base.retrieve([text], 10)[0].passages]
        starts = np.unique(np.concatenate([s.passage_triples.row(p) for p in passages_found])).tolist()
        scores = vectors.path_scorer(unit_vectors(random, 1)[0], 0.7)
        count = [0]

        def count_scored(chain, onward, scores=scores, count=count):  # type: ignore[no-untyped-def]
            count[0] += len(onward)
            return scores(chain, onward)

        started = time.perf_counter()
        diverse_beam_search(graph, starts, count_scored, BeamSettings(10, 3))
        if number >= 10:
            milliseconds.append(1000 * (time.perf_counter() - started))
            counts.append(count[0])
    return milliseconds, counts


def unit_vectors(random: np.random.Generator, count: int) -> np.ndarray:
    """Return random unit vectors (count, WIDTH)."""
    vectors = random.standard_normal((count, WIDTH), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


if __name__ == "__main__":
    main()
