"""BM25 scores of passages from the terms in their rows.

The row of a passage has its terms, ascending, and how often each occurs. A term's impact in a passage is its saturated
frequency there, between 0 and 1; its contribution to a score is the impact times the term's weight in the question.

Source: the formula that Kamphuis et al., "Which BM25 do you mean?" (2020) call Lucene (accurate).
Differs from the source: a term that a passage has more than 65,535 times counts as often as that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.arrays import DoubleArray, FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit


def length_norms(k1: float, b: float, mean_length: float) -> tuple[float, float]:
    """Return x and y such that a term that occurs c times in a passage of n terms has the impact c / (c + x + y n)."""
    return k1 * (1.0 - b), k1 * b / mean_length if mean_length else 0.0


def term_slots(terms: IntArray) -> IntArray:
    """Return a hash table of terms (q,): the position of each plus one in the first free place from its low bits on."""
    size = 1 << (8 * len(terms)).bit_length()
    slots = [0] * size
    for position, term in enumerate(terms.tolist(), 1):
        slot = term & (size - 1)
        while slots[slot]:
            slot = (slot + 1) & (size - 1)
        slots[slot] = position
    return np.array(slots, dtype=np.int32)


@njit
def fill_rows(
    indptr: LongArray,
    terms: IntArray,
    counts: IntArray,
    columns: IntArray,
    places: IntArray,
    row_offsets: LongArray,
    row_terms: IntArray,
    row_counts: NDArray[np.uint16],
    frequencies: LongArray,
) -> None:
    """Copy the terms of texts (n,) to their places (n,) in the rows of an index; `columns` renumbers the terms."""
    for text in range(len(places)):
        target = row_offsets[places[text]]
        for entry in range(indptr[text], indptr[text + 1]):
            column = columns[terms[entry]]
            row_terms[target] = column
            row_counts[target] = min(counts[entry], 65535)
            frequencies[column] += 1
            target += 1


@njit
def term_impact(count: float, length: int, base: float, slope: float) -> float:
    """Return the impact of a term that occurs `count` times in a passage of `length` terms (see `length_norms`)."""
    return count / (count + base + slope * length)


@njit
def _find_term(term, terms, slots):  # type: ignore[no-untyped-def]
    """Return the position of a term in `terms` by their `term_slots`, -1 if it is not there."""
    mask = len(slots) - 1
    slot = term & mask
    while slots[slot] > 0 and terms[slots[slot] - 1] != term:
        slot = (slot + 1) & mask
    return slots[slot] - 1


@njit
def score_row(
    row_offsets: LongArray,
    row_terms: IntArray,
    row_counts: NDArray[np.uint16],
    lengths: IntArray,
    base: float,
    slope: float,
    terms: IntArray,
    weights: DoubleArray,
    slots: IntArray,
    passage: int,
) -> np.floating[Any]:
    """Return the BM25 score of one passage for terms (q,), ascending, with weights (q,) and `term_slots`."""
    score = np.float32(0.0)
    for entry in range(row_offsets[passage], row_offsets[passage + 1]):
        position = _find_term(row_terms[entry], terms, slots)
        if position >= 0:
            impact = term_impact(float(row_counts[entry]), lengths[passage], base, slope)
            score += np.float32(weights[position] * impact)
    return score


@njit
def score_row_pair(
    row_offsets: LongArray,
    row_terms: IntArray,
    row_counts: NDArray[np.uint16],
    lengths: IntArray,
    base: float,
    slope: float,
    terms: IntArray,
    weights: DoubleArray,
    slots: IntArray,
    passage: int,
) -> tuple[np.floating[Any], np.floating[Any]]:
    """Return the BM25 scores of one passage for two questions with the weights (2, q), as `score_row`."""
    one, other = np.float32(0.0), np.float32(0.0)
    for entry in range(row_offsets[passage], row_offsets[passage + 1]):
        position = _find_term(row_terms[entry], terms, slots)
        if position >= 0:
            impact = term_impact(float(row_counts[entry]), lengths[passage], base, slope)
            one += np.float32(weights[0, position] * impact)
            other += np.float32(weights[1, position] * impact)
    return one, other


@njit
def score_rows(
    row_offsets: LongArray,
    row_terms: IntArray,
    row_counts: NDArray[np.uint16],
    lengths: IntArray,
    base: float,
    slope: float,
    terms: IntArray,
    weights: DoubleArray,
    slots: IntArray,
    passages: IntArray,
) -> FloatArray:
    """Return the BM25 scores (n,) of passages (n,)."""
    scores = np.empty(len(passages), dtype=np.float32)
    for i in range(len(passages)):
        scores[i] = score_row(
            row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, slots, passages[i]
        )
    return scores
