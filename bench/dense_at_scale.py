"""Time `dense` by inverted lists against a scan: `python bench/dense_at_scale.py [PASSAGES ...] [--hashing]`.

The vectors are those of 2wiki, hotpotqa and musique-dev, drawn again and again with noise (a cosine of 0.89 to the one
drawn), by the default encoder, or with `--hashing` by the encoder `hashing`. It prints the seconds of processor time of
training and listing, medians of a question in milliseconds, and the share of the exact top 10 that is found, without a
filter and with filters that allow a half and a fiftieth.
"""

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import clew
from clew.arrays import BoolArray, FloatArray
from clew.graph.segments.list_search import ListSearch, make_lists, train_centroids
from clew.graph.segments.passage_columns import PassageVectors
from clew.graph.segments.sentence_columns import make_places
from clew.indexing.sentence_vectors import ROUNDS, SAMPLE_SIZE, count_lists
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from workbench import BENCHMARKS, build_index, describe_machine, load_question_texts, print_table

SETS = ("2wiki", "hotpotqa", "musique-dev")
SIZES = (100_000, 1_000_000)
SEGMENT_ROWS = 1 << 16
QUESTIONS = 200
K = 10
Found = TypeVar("Found")
NOISE = 0.5  # length of the noise added to a unit vector


def main() -> None:
    """Print a table with a row for each size and filter."""
    encoder_name = "hashing" if "--hashing" in sys.argv else DEFAULT_ENCODER
    sizes = [int(text) for text in sys.argv[1:] if text != "--hashing"] or list(SIZES)
    encoder = open_encoder(encoder_name)
    questions = encoder.encode_queries(load_question_texts(BENCHMARKS["hotpotqa"])[:QUESTIONS])
    sources = [clew.open(build_index(BENCHMARKS[name], encoder_name)).snapshot.vectors for name in SETS]
    stored = np.concatenate([vectors.rows(np.arange(len(vectors))) for vectors in sources])
    print(describe_machine())
    for size in sizes:
        print_table(
            (
                "passages",
                "allowed",
                "scan ms",
                "lists ms",
                "processor ms",
                "compared",
                "of the top 10",
                "train, list s",
            ),
            measure(copy_vectors(stored, size), questions),
        )


def copy_vectors(stored: FloatArray, count: int) -> FloatArray:
    """Return `count` unit vectors that are some of the stored ones (n, d) with noise."""
    random = np.random.default_rng(0)
    width = stored.shape[1]
    vectors = np.empty((count, width), dtype=np.float32)
    for start in range(0, count, SEGMENT_ROWS):
        block = vectors[start : start + SEGMENT_ROWS]
        noise = random.standard_normal(block.shape, dtype=np.float32) * np.float32(NOISE / np.sqrt(width))
        block[:] = stored[random.integers(0, len(stored), len(block))] + noise
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return vectors


def measure(vectors: FloatArray, questions: FloatArray) -> list[list[str]]:
    """Return a row of the table for each filter."""
    count = len(vectors)
    lists, random = count_lists(count), np.random.default_rng(0)
    before = time.process_time()
    drawn = np.sort(random.choice(count, min(count, SAMPLE_SIZE * lists), replace=False))
    centroids = train_centroids(vectors[drawn], lists, ROUNDS, random)
    trained = time.process_time()
    parts = [vectors[start : start + SEGMENT_ROWS] for start in range(0, count, SEGMENT_ROWS)]
    listed = [make_lists(part, centroids) for part in parts]
    done = time.process_time()
    columns = PassageVectors(parts, make_places([len(part) for part in parts]))
    search = ListSearch(listed, centroids, columns)
    rows = []
    for allowed in (None, random.random(count) < 0.5, random.random(count) < 0.02):
        share, scan_ms = "all" if allowed is None else f"{allowed.mean():.2f}", 0.0
        best, scan_ms, _ = run(questions, lambda question, some=allowed: scan(columns, question, some))  # type: ignore[misc]
        for question in questions[:5]:
            search.top(question, K, allowed)
        found, lists_ms, processor_ms = run(questions, lambda question, some=allowed: search.top(question, K, some))  # type: ignore[misc]
        # Copies may have equal scores: what counts is whether a score is among the best.
        hits = [(one.scores >= scores[-1]).sum() / K for one, scores in zip(found, best, strict=True)]
        compared = f"{np.mean([one.compared for one in found]):,.0f}"
        times = f"{scan_ms:.1f}", f"{lists_ms:.1f}", f"{processor_ms:.1f}"
        made = f"{trained - before:.0f}, {done - trained:.0f}"
        rows.append([f"{count:,}", share, *times, compared, f"{np.mean(hits):.3f}", made])
    return rows


def scan(columns: PassageVectors, question: FloatArray, allowed: BoolArray | None) -> FloatArray:
    """Return the best scores, best first, of all that is allowed."""
    scores = columns.similarities(question)
    if allowed is not None:
        scores = scores[allowed]
    return -np.sort(-np.partition(scores, len(scores) - K)[len(scores) - K :])


def run(questions: FloatArray, search: Callable[[FloatArray], Found]) -> tuple[list[Found], float, float]:
    """Return what a search gives for each question, and the medians of its milliseconds: by the clock, of processor."""
    results, seconds, processor = [], [], []
    for question in questions:
        before, busy = time.perf_counter(), time.process_time()
        results.append(search(question))
        seconds.append(time.perf_counter() - before)
        processor.append(time.process_time() - busy)
    return results, 1000.0 * float(np.median(seconds)), 1000.0 * float(np.median(processor))


if __name__ == "__main__":
    main()
