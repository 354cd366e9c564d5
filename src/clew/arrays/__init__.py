"""Types of numpy arrays, and the order of scores: the one place where ties are broken.

A ranking breaks ties by position, so it is the same on every machine.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clew.errors import InputError

FloatArray = NDArray[np.float32]
DoubleArray = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]
"""Floats of any precision."""
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
HashArray = NDArray[np.uint64]
BoolArray = NDArray[np.bool_]
IntegerT = TypeVar("IntegerT", bound=np.integer[Any])

_BLOCK_COUNT = 32


def expand_ranges(starts: NDArray[np.integer], sizes: NDArray[np.integer]) -> tuple[LongArray, LongArray]:
    """Return the numbers (m,) of n ranges, one range after the other, and the position (m,) of the range of each."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    begins = np.cumsum(sizes) - sizes
    return np.arange(len(owners)) + (np.asarray(starts, dtype=np.int64) - begins)[owners], owners


def sort_distinct(numbers: NDArray[IntegerT]) -> NDArray[IntegerT]:
    """Return the distinct ones of numbers (n,), ascending; `np.unique` takes 30 times as long for a million."""
    ordered = np.sort(numbers)
    is_new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def top_order(scores: Scores, k: int) -> LongArray:
    """Return the positions (min(k, n),) of the `k` highest scores (n,), best first, equal scores by position.

    It takes time linear in n. Minus infinity ranks last. Raises InputError where a score is NaN, `scores` is not
    one-dimensional, or `k` is below 1.
    """
    _check_scores(scores)
    if k < 1:
        raise InputError(f"k is {k}: wanted at least 1")
    if k >= len(scores):
        return np.argsort(-scores, kind="stable").astype(np.int64)
    if len(scores) > _BLOCK_COUNT * _BLOCK_COUNT * k:
        candidates = _candidate_positions(scores, k)
        if len(candidates) < len(scores) // 2:
            return candidates[top_order(scores[candidates], k)]
    lowest = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > lowest)
    # A partition alone would select arbitrary members of the tie at the k-th score instead of the first ones.
    tied = np.flatnonzero(scores == lowest)[: k - len(above)]
    best = np.concatenate([above, tied])
    return best[np.argsort(-scores[best], kind="stable")].astype(np.int64)


def _candidate_positions(scores: Scores, k: int) -> LongArray:
    """Return the positions, ascending, that can be among the `k` best: scores of at least the k-th best block maximum.

    One pass over the scores; finding the k-th score among all of them takes ten times as long.
    """
    whole = len(scores) - len(scores) % _BLOCK_COUNT
    # Strided blocks, so that the maxima are computed elementwise.
    best = np.concatenate([scores[:whole].reshape(_BLOCK_COUNT, -1).max(axis=0), scores[whole:]])
    return np.flatnonzero(scores >= np.partition(best, len(best) - k)[len(best) - k])


def _check_scores(scores: Scores) -> None:
    if scores.ndim != 1:
        raise InputError(f"scores have shape {scores.shape}: wanted (n,), one score per item")
    missing = np.flatnonzero(np.isnan(scores))
    if len(missing):
        raise InputError(
            f"the score at position {missing[0]} is NaN ({len(missing)} of {len(scores)} are), which has no rank: "
            "look for a division by zero or a zero vector where the scores are computed"
        )
