"""Time of the diverse beam search, width 10 and length 3, on one and on ten times the passages: `python bench/beam.py`.

The corpora are those of `scaling.py`, which have no vectors: time does not ask what vectors say, so random ones of the
encoder's width stand in. Each question starts from all triples of the first ten passages that `bm25` finds, as in
`naive-ge`.
"""

import time

import numpy as np

from clew import index as indexes
from clew.graph.paths.beam_search import BeamSettings, TripleGraph, diverse_beam_search
from clew.graph.triple_embeddings import TripleEmbeddings
from workbench import BENCHMARKS, DATA, WORK, clew, corpus, machine, print_table, question_texts

WIDTH, ROUNDS = 384, 200


def main() -> None:
    """Print the medians of both sizes in one run, and their ratio."""
    small = BENCHMARKS["2wiki"]
    table: list[list[str]] = []
    medians: list[float] = []
    print(machine())
    for name, path in (("1x", DATA / small.corpus), ("10x", corpus(BENCHMARKS["tenfold"]))):
        folder = WORK / f"scaling-{name}"
        clew("index", str(path), "--index", str(folder), "--encoder", "none")
        index = indexes.open(folder)
        milliseconds, scored = timed(index, question_texts(small))
        medians.append(float(np.median(milliseconds)))
        counts = [str(len(index.snapshot.triples)), f"{np.median(scored):.0f}"]
        table.append([name, *counts, f"{medians[-1]:.1f}", f"{np.percentile(milliseconds, 95):.1f}"])
    print_table(("corpus", "triples", "triples scored p50", "ms p50", "ms p95"), table)
    print(f"ratio {medians[1] / medians[0]:.2f}")


def timed(index: indexes.Index, texts: list[str]) -> tuple[list[float], list[int]]:
    """Return the milliseconds of each question's search, and how many triples were scored in it."""
    s, random = index.snapshot, np.random.default_rng(0)
    names, relations, passages = (rows(random, len(part)) for part in (s.entities, s.relations, s.passage_ids))
    vectors = TripleEmbeddings(s.triples, names, relations, s.triple_passages, passages)
    graph = TripleGraph(s.entity_nodes.astype(np.int64)[s.triples[:, [0, 2]]], int(s.entity_nodes.max()) + 1)
    base = index.retriever("bm25", paths=0)
    milliseconds, counts = [], []
    for place, text in enumerate([*texts[-10:], *texts[:ROUNDS]]):
        found = [s.position(scored.item.id) for scored in base.retrieve([text], 10)[0].passages]
        starts = np.unique(np.concatenate([s.passage_triples.row(p) for p in found])).tolist()
        scores = vectors.path_scorer(rows(random, 1)[0], 0.7)
        count = [0]

        def counted(chain, onward, scores=scores, count=count):  # type: ignore[no-untyped-def]
            count[0] += len(onward)
            return scores(chain, onward)

        started = time.perf_counter()
        diverse_beam_search(graph, starts, counted, BeamSettings(10, 3))
        if place >= 10:
            milliseconds.append(1000 * (time.perf_counter() - started))
            counts.append(count[0])
    return milliseconds, counts


def rows(random: np.random.Generator, count: int) -> np.ndarray:
    """Return random unit rows."""
    made = random.standard_normal((count, WIDTH), dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


if __name__ == "__main__":
    main()
