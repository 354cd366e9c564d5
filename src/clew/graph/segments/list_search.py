"""The passages nearest to a question's vector, by the inverted lists of an index's segments.

The lists nearest to the question are read until they have held enough passages that a filter allows; these are compared
by rounded vectors, and the best of them by the exact ones, so that scores are those of a scan of all vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.segments.passage_columns import PassageVectors
from clew.graph.segments.vector_lists import VectorLists, round_rows

READ_SHARE = 0.06
"""Share of the allowed passages that are compared with a question."""
_MIN_READ = 20_000  # passages compared at least; of so few allowed ones all are compared exactly
_RESCORED = 10  # exact comparisons for each passage wanted
_MIN_RESCORED = 100
_NO_FILTER = np.zeros(0, dtype=np.bool_)


@final
@dataclass(frozen=True, slots=True)
class Nearest:
    """The passages found, best first."""

    positions: LongArray  # (n,)
    scores: FloatArray  # (n,) inner products
    compared: int  # number of passages that were compared


@final
class ListSearch:
    """Searches P passages in the lists of their segments, by shared centroids (c, d)."""

    def __init__(self, parts: Sequence[VectorLists], centroids: FloatArray, vectors: PassageVectors) -> None:
        self._parts = parts
        self._centroids = centroids
        self._vectors = vectors
        self._positions = vectors.positions_by_row()
        self._sizes = sum((np.diff(part.offsets) for part in parts), np.zeros(len(centroids), dtype=np.int64))

    def top(self, vector: FloatArray, k: int, allowed: BoolArray | None) -> Nearest:
        """Return the at most `k` allowed passages (P,), None for all, that are most similar to a vector (d,)."""
        count = len(self._vectors) if allowed is None else int(np.count_nonzero(allowed))
        wanted = max(int(READ_SHARE * count), _MIN_READ, k)
        if count <= wanted:
            positions = np.arange(count) if allowed is None else np.flatnonzero(allowed)
            return self._rescore(positions, vector, k, count)
        # A product of matrices would wait for the threads of BLAS, which takes longer on a busy machine.
        closeness = np.einsum("ij,j->i", self._centroids, vector, dtype=np.float32)
        order = np.argsort(-closeness, kind="stable").astype(np.int32)
        read = np.cumsum(self._sizes[order])
        found: list[tuple[IntArray, FloatArray]] = []
        compared, first, share = 0, 0, count / len(self._vectors)
        while compared < wanted and first < len(order):
            already = int(read[first - 1]) if first else 0
            last = int(np.searchsorted(read, already + (wanted - compared) / share)) + 1
            found += self._scan(order[first:last], vector, allowed)
            compared, first = sum(len(positions) for positions, _ in found), last
        positions = np.concatenate([positions for positions, _ in found])
        scores = np.concatenate([scores for _, scores in found])
        best = _best(positions, scores, max(_RESCORED * k, _MIN_RESCORED))
        return self._rescore(np.sort(positions[best]).astype(np.int64), vector, k, compared)

    def _scan(
        self, lists: IntArray, vector: FloatArray, allowed: BoolArray | None
    ) -> list[tuple[IntArray, FloatArray]]:
        """Return the allowed passages in some lists and their inner products with a vector, segment by segment."""
        codes, scales = round_rows(vector[None])
        query, mask = codes[0].astype(np.int16), _NO_FILTER if allowed is None else allowed
        found = []
        for part, of_row in zip(self._parts, self._positions, strict=True):
            size = int((part.offsets[lists + 1] - part.offsets[lists]).sum())
            if not size:
                continue
            positions, scores = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.float32)
            arrays = part.offsets, part.rows, part.codes, part.scales
            used = _scan_lists(lists, *arrays, query, scales[0], of_row, mask, positions, scores)
            found.append((positions[:used], scores[:used]))
        return found

    def _rescore(self, positions: LongArray, vector: FloatArray, k: int, compared: int) -> Nearest:
        scores: FloatArray = self._vectors.similarities_at(positions, vector)
        best = np.lexsort((positions, -scores))[:k]
        return Nearest(positions[best], scores[best], compared)


def _best(positions: NDArray[np.integer], scores: FloatArray, count: int) -> NDArray[np.integer]:
    """Return where the `count` highest scores (n,) are, in any order; of equal ones those of the first positions."""
    if count >= len(scores):
        return np.arange(len(scores))
    lowest = np.partition(scores, len(scores) - count)[len(scores) - count]
    above, tied = np.flatnonzero(scores > lowest), np.flatnonzero(scores == lowest)
    tied = tied[np.argsort(positions[tied])[: count - len(above)]]
    return np.concatenate([above, tied])


@njit
def _scan_lists(  # type: ignore[no-untyped-def]
    lists, offsets, rows, codes, scales, query, scale, of_row, allowed, positions, scores
):
    """Write the allowed passages of some lists and their approximate scores; return their number."""
    used = 0
    for list_ in lists:
        for entry in range(offsets[list_], offsets[list_ + 1]):
            position = of_row[rows[entry]]
            if len(allowed) and not allowed[position]:
                continue
            total = np.int32(0)
            for column in range(codes.shape[1]):
                total += np.int32(codes[entry, column]) * np.int32(query[column])
            positions[used] = position
            scores[used] = np.float32(total) * scales[entry] * scale
            used += 1
    return used
