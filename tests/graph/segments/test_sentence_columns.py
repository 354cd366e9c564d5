"""Sentences read by place, whichever way their passages lie in segments, and vectors of 8 bits."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clew.arrays import FloatArray
from clew.graph.segments.sentence_columns import (
    PlacedSentenceVectors,
    PlacedSpans,
    SentencePlaces,
    StoredSentences,
    make_places,
    round_sentences,
    unit_sentences,
)

COUNTS = (2, 0, 3, 1, 0, 5, 1)  # sentences of each passage
OFFSETS = np.cumsum([0, *COUNTS]).astype(np.int64)
SPANS = np.arange(2 * sum(COUNTS), dtype=np.int32).reshape(-1, 2) * 7
CODES = np.random.default_rng(5).integers(-127, 128, (sum(COUNTS), 9)).astype(np.int8)


def store(passages: list[int]) -> StoredSentences:
    rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(OFFSETS[p], OFFSETS[p + 1]) for p in passages)])
    indptr = np.cumsum([0, *(COUNTS[p] for p in passages)]).astype(np.int64)
    return StoredSentences(indptr, SPANS[rows], CODES[rows])


@given(
    sizes=st.lists(st.integers(0, 3), max_size=4),
    order=st.permutations(range(len(COUNTS))),
    wanted=st.lists(st.integers(0, sum(COUNTS) - 1)),
)
def test_sentences_are_found_in_any_segments(sizes: list[int], order: list[int], wanted: list[int]) -> None:
    bounds = np.minimum(np.cumsum([0, *sizes, len(COUNTS)]), len(COUNTS)).tolist()
    parts = [order[a:b] for a, b in pairwise(bounds)]
    places = make_places([len(part) for part in parts])[np.argsort(order)]
    found = SentencePlaces([store(part) for part in parts], places, OFFSETS)
    sentences = np.array(wanted, dtype=np.int64)
    spans, vectors = PlacedSpans(found), PlacedSentenceVectors(found)
    assert len(spans) == len(vectors) == len(SPANS)
    np.testing.assert_array_equal(spans[sentences], SPANS[sentences])
    exact = CODES[sentences] / np.linalg.norm(CODES[sentences].astype(float), axis=1, keepdims=True)
    np.testing.assert_allclose(vectors.rows(sentences), exact, atol=1e-6)
    queries = unit_sentences(CODES[:2])
    np.testing.assert_allclose(vectors.similarities(sentences, queries), exact @ queries.T, atol=1e-4)


def test_an_index_without_passages_has_no_vectors() -> None:
    places = SentencePlaces([], np.zeros(0, np.int64), np.zeros(1, np.int64))
    assert PlacedSentenceVectors(places).dimension == len(PlacedSpans(places)) == 0


def test_a_sentence_of_zeros_is_similar_to_nothing() -> None:
    stored = StoredSentences(np.array([0, 2]), np.zeros((2, 2), np.int32), np.array([[0, 0], [0, -9]], np.int8))
    vectors = PlacedSentenceVectors(SentencePlaces([stored], make_places([1]), np.array([0, 2])))
    queries = np.array([[0, 1], [1, 0]], dtype=np.float32)
    assert vectors.similarities(np.arange(2), queries).tolist() == [[0, 0], [-1, 0]]


@given(arrays(np.float32, (3, 8), elements=st.floats(-1, 1, width=32)))
def test_rounding_loses_at_most_half_a_level(rows: FloatArray) -> None:
    codes, largest = round_sentences(rows), np.abs(rows).max(1, keepdims=True)
    assert (np.abs(codes.astype(np.float64) * largest / 127 - rows) <= 0.5001 * largest / 127 + 1e-30).all()


def test_rows_are_unit_after_rounding_and_zeros_stay() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 384)).astype(np.float32)
    unit = unit_sentences(round_sentences(rows))
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)
    assert ((unit * rows).sum(1) / np.linalg.norm(rows, axis=1)).min() > 0.9999
    assert not unit_sentences(round_sentences(np.zeros((1, 4), np.float32))).any()
