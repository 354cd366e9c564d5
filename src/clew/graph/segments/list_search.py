"""The passages nearest to a question's vector, by the inverted lists of an index's segments.

The lists nearest to the question are read until they have held enough passages that a filter allows; these are compared
by rounded vectors, and the best of them by the exact ones, so that scores are those of a scan of all vectors.

Inverted lists of a segment's vectors, each in 8-bit integers: what a search of the passages near a question reads.

Centroids divide the space of vectors; each passage is in the list of its nearest one. The lists of a segment depend on
its vectors and the centroids alone, so that a commit makes those of its new segments.

Source: Jegou, Douze and Schmid, "Product Quantization for Nearest Neighbor Search" (2011), section 4, for the lists.
Differs from the source: vectors are rounded to 8 bits a value instead of product codes; the best are compared exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.errors import IndexFormatError
from clew.graph.segments.passage_columns import PassageVectors

_LARGEST = 127
_BLOCK_CELLS = 1 << 24  # similarities in memory at once: 64 MiB
_BLOCK_ROWS = 1 << 15
_GROUPED_FROM, _NEAR_GROUPS = 512, 8


@final
@dataclass(frozen=True, slots=True, eq=False)
class VectorLists:
    """The p passages of one segment in c lists, list by list, rows ascending within each."""

    offsets: LongArray  # (c + 1,)
    rows: IntArray  # (p,) of the segment
    codes: NDArray[np.int8]  # (p, d) vectors, each divided by its scale and rounded
    scales: FloatArray  # (p,)


def flatten_lists(lists: VectorLists) -> dict[str, NDArray[Any]]:
    """Return the arrays of the lists by their names, in the shapes of `VectorLists`."""
    return {field.name: getattr(lists, field.name) for field in fields(VectorLists)}


def unflatten_lists(arrays: Mapping[str, NDArray[Any]], name: str) -> VectorLists:
    """Return the lists of the arrays of `flatten_lists`, read from the file `name`.

    Raises IndexFormatError, which names the file, where an array is missing or misshapen.
    """
    try:
        lists = VectorLists(**{field.name: arrays[field.name] for field in fields(VectorLists)})
        fit = lists.codes.ndim == 2 and len(lists.rows) == len(lists.scales) == len(lists.codes) == lists.offsets[-1]
    except (KeyError, IndexError, TypeError):
        fit = False
    if not fit:
        raise IndexFormatError(f"the derived file {name} does not hold lists of vectors: run `clew repair`")
    return lists


def make_lists(vectors: FloatArray, centroids: FloatArray) -> VectorLists:
    """Return the lists of vectors (p, d) by their nearest centroids (c, d), unit rows."""
    nearest = nearest_centroids(vectors, centroids)
    rows = np.argsort(nearest, kind="stable").astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(nearest, minlength=len(centroids)))]).astype(np.int64)
    codes = np.empty(vectors.shape, dtype=np.int8)
    scales = np.empty(len(vectors), dtype=np.float32)
    step = _block_rows(vectors.shape[1])
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        codes[block], scales[block] = round_rows(vectors[rows[block]])
    for array in (offsets, rows, codes, scales):
        array.flags.writeable = False  # as those of a mapped file, for which searches are compiled
    return VectorLists(offsets, rows, codes, scales)


def nearest_centroids(vectors: FloatArray, centroids: FloatArray) -> LongArray:
    """Return the centroid (n,) of (c, d) with the greatest inner product with each vector (n, d), the first of equals.

    Many centroids are divided into groups, and a vector is compared with those of the groups nearest to it: it may get
    the second nearest, which costs a search nothing, in an eighth of the time.
    """
    groups = _group(centroids) if len(centroids) >= _GROUPED_FROM else [np.arange(len(centroids))]
    heads = np.stack([centroids[group].mean(axis=0) for group in groups])
    nearest = np.empty(len(vectors), dtype=np.int64)
    step = _BLOCK_ROWS if len(groups) > 1 else _block_rows(len(centroids))
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step]
        near = np.argsort(-(block @ heads.T), axis=1, kind="stable")[:, :_NEAR_GROUPS]
        best, highest = nearest[start : start + step], np.full(len(block), -np.inf, dtype=np.float32)
        for number, group in enumerate(groups):
            rows = np.flatnonzero((near == number).any(axis=1))
            products = block[rows] @ centroids[group].T
            own = products.argmax(axis=1)
            values, candidates = products[np.arange(len(rows)), own], group[own]
            better = (values > highest[rows]) | ((values == highest[rows]) & (candidates < best[rows]))
            best[rows[better]], highest[rows[better]] = candidates[better], values[better]
    return nearest


def _group(centroids: FloatArray) -> list[LongArray]:
    """Return the centroids (c, d) in about as many groups as each has members."""
    count = round(len(centroids) ** 0.5)
    group_of = nearest_centroids(centroids, train_centroids(centroids, count, 4, np.random.default_rng(0)))
    return [members for number in range(count) if len(members := np.flatnonzero(group_of == number))]


def round_rows(vectors: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """Return vectors (n, d) divided by scales and rounded to -127 to 127, and the scales (n,)."""
    scales = (np.abs(vectors).max(axis=1, initial=0.0) / _LARGEST).astype(np.float32)
    scales[scales == 0.0] = 1.0
    codes: NDArray[np.int8] = np.rint(vectors / scales[:, None]).astype(np.int8)
    return codes, scales


def train_centroids(vectors: FloatArray, count: int, rounds: int, random: np.random.Generator) -> FloatArray:
    """Return `count` centroids (count, d), unit rows, of unit vectors (n, d), n at least `count`: spherical k-means.

    A centroid that no vector is nearest to starts again at the vector that is farthest from its own.
    """
    centroids = vectors[np.sort(random.choice(len(vectors), count, replace=False))].astype(np.float32)
    for _ in range(rounds):
        nearest = nearest_centroids(vectors, centroids)
        order = np.argsort(nearest, kind="stable")
        sizes = np.bincount(nearest, minlength=count)
        filled = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[filled])])[:-1]
        closeness = np.einsum("ij,ij->i", vectors, centroids[nearest])
        centroids[filled] = np.add.reduceat(vectors[order], starts, axis=0)
        empty = np.flatnonzero(sizes == 0)
        centroids[empty] = vectors[np.argsort(closeness, kind="stable")[: len(empty)]]
        norms = np.sqrt((centroids * centroids).sum(axis=1, keepdims=True))
        centroids /= np.where(norms > 0.0, norms, 1.0)
    return centroids


def _block_rows(columns: int) -> int:
    return max(1, _BLOCK_CELLS // max(columns, 1))


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
