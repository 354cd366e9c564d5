"""Equivalence edges: the pairs of names whose vectors all but agree.

The search is exact. Blocks of the product of all vectors with all vectors propose pairs; each is computed again on
its own in double precision, so that no result depends on how the names were cut into blocks. A later run compares
only what is new, and gives exactly what a run from nothing would.

Source: Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", 2024
(synonymy edges: cosine above a threshold tau).

Differs from the source: a name brings at most `limit` edges, its best, and an edge stays when either end brings it, so
that a hub may have more; of equal neighbours the one that sorts first is better.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from clew.errors import InputError
from clew.indexing.resolution.pair_cache import KEY_BYTES, PairCache

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

_BLOCK_ROWS, _BLOCK_COLUMNS = 1024, 4096  # 16 MB a block
_EXACT_BLOCK_PAIRS = 128  # what fits the processor's cache
_MAX_PENDING_PAIRS = 2_000_000  # pairs held before the hopeless ones are dropped


@final
@dataclass(frozen=True, slots=True)
class Synonyms:
    """Pairs of names taken to mean one thing.

    Attributes:
        left: Row of the name that comes first, (m,).
        right: Row of the other, (m,); pairs ascend by left, then right.
        score: Cosines, (m,).
        cache: What the next run needs to compare only what is new.
    """

    left: "IntArray"
    right: "IntArray"
    score: "FloatArray"
    cache: PairCache


class _Pairs(NamedTuple):
    left: "IntArray"
    right: "IntArray"
    score: "FloatArray"

    def take(self, chosen: "BoolArray | LongArray") -> "_Pairs":
        return _Pairs(self.left[chosen], self.right[chosen], self.score[chosen])


def find_synonyms(
    names: Sequence[str],
    vectors: "FloatArray",
    threshold: float,
    limit: int = 100,
    cache: PairCache | None = None,
) -> Synonyms:
    """Return all pairs with cosine >= tau that are among the `limit` best of at least one end.

    Args:
        names: Distinct names, n of them.
        vectors: Their unit rows, (n, d); d = 0 gives no pairs.
        threshold: Threshold, above 0 and at most 1.
        limit: At least 1.
        cache: What an earlier run returned, over any set of names; it changes the time, never the result. One with
            another `threshold` or `limit` is not used.

    Raises:
        InputError: Names are repeated, shapes do not fit, a row is not of unit length, or a number is out of its range.
    """
    _check_input(names, vectors, threshold, limit)
    order = np.empty(len(names), dtype=np.int64)
    order[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    keys = _name_keys(names, vectors)
    depth = 2 * limit  # more than the limit, so that a list that was cut can lose names and stay certain
    if cache is not None and (cache.threshold, cache.limit) != (threshold, limit):
        cache = None
    pairs, floor, fresh = _carry_over(cache, keys)
    if vectors.shape[1]:
        found = _search_pairs(vectors, fresh, threshold, depth, floor)
        pairs = _collect_pairs(pairs, found, order, depth, floor)
    pairs = pairs.take(np.lexsort((pairs.right, pairs.left)))
    return Synonyms(
        *pairs.take(_is_among_best(pairs, order, limit)),
        cache=PairCache(threshold, limit, keys, *pairs, floor=floor),
    )


def _check_input(names: Sequence[str], vectors: "FloatArray", threshold: float, limit: int) -> None:
    if vectors.ndim != 2 or len(vectors) != len(names):
        raise InputError(f"vectors of shape {vectors.shape} for {len(names)} names; wanted one row a name")
    if len(set(names)) != len(names):
        raise InputError(f"{len(names) - len(set(names))} of {len(names)} names are repeated; give each name once")
    if not 0 < threshold <= 1:
        raise InputError(f"threshold tau is {threshold}; wanted above 0 and at most 1, for example 0.8")
    if limit < 1:
        raise InputError(f"limit is {limit}; wanted at least 1, for example 100")
    if vectors.size:
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        wrong = np.flatnonzero(~(np.abs(lengths - 1) < 1e-3))  # written so that NaN counts as wrong
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"the vector of {names[row]!r} has length {lengths[row]}; wanted 1; divide each row by its length"
            )


def _name_keys(names: Sequence[str], vectors: "FloatArray") -> NDArray[np.uint8]:
    """Hash each name with its vector, so that a name with a new vector counts as new, (n, 16)."""
    rows = np.ascontiguousarray(vectors, dtype="<f4")
    digests: list[bytes] = []
    for name, row in zip(names, rows, strict=True):
        digest = blake2b(row, digest_size=KEY_BYTES)
        digest.update(name.encode("utf-8", "surrogatepass"))
        digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(names), KEY_BYTES)


def _carry_over(cache: PairCache | None, keys: NDArray[np.uint8]) -> "tuple[_Pairs, FloatArray, BoolArray]":
    """Return known pairs in the new numbering, each name's floor, and which names must be compared with all."""
    count = len(keys)
    fresh = np.ones(count, dtype=np.bool_)
    floor = np.zeros(count, dtype=np.float32)
    if cache is None or not len(cache.keys):
        empty = np.empty(0, dtype=np.int32)
        return _Pairs(empty, empty, np.empty(0, dtype=np.float32)), floor, fresh
    places = {key.tobytes(): place for place, key in enumerate(keys)}
    now = np.asarray([places.get(key.tobytes(), -1) for key in cache.keys], dtype=np.int32)
    # A name whose list was cut is still certain of its best while enough of them are left above the cut; after that it
    # may be owed a pair that was dropped, and is compared again.
    remains = (now[cache.left] >= 0) & (now[cache.right] >= 0)
    certain = np.zeros(len(now), dtype=np.int64)
    for end in (cache.left, cache.right):
        certain += np.bincount(end[remains & (cache.score > cache.floor[end])], minlength=len(now))
    settled = (now >= 0) & ((cache.floor == 0) | (certain >= cache.limit))
    fresh[now[settled]] = False
    floor[now[settled]] = cache.floor[settled]
    stays = settled[cache.left] & settled[cache.right]
    left, right = now[cache.left[stays]], now[cache.right[stays]]
    return _Pairs(np.minimum(left, right), np.maximum(left, right), cache.score[stays]), floor, fresh


def _search_pairs(
    vectors: "FloatArray", fresh: "BoolArray", threshold: float, depth: int, floor: "FloatArray"
) -> Iterator[_Pairs]:
    """Yield every pair with cosine >= tau and a fresh end, once, but for the hopeless ones, which raise `floor`."""
    new = np.flatnonzero(fresh)
    if not len(new):
        return
    members = np.concatenate([new, np.flatnonzero(~fresh)])
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    twins = _duplicate_groups(rows)
    if len(new) < len(members):
        rows = rows[members]
    slack = max(1e-4, 2.0**-22 * vectors.shape[1])  # above any rounding of a product in single precision
    for top in range(0, len(new), _BLOCK_ROWS):
        bottom = min(top + _BLOCK_ROWS, len(new))
        for start in range(top, len(members), _BLOCK_COLUMNS):
            block = rows[top:bottom] @ rows[start : start + _BLOCK_COLUMNS].T
            if start < bottom:  # each pair once: keep what lies right of the diagonal
                block[np.arange(top, bottom)[:, None] >= np.arange(start, start + block.shape[1])] = -1
            across, along = members[top:bottom], members[start : start + _BLOCK_COLUMNS]
            chosen, row_floor, column_floor = _select_candidates(block, threshold - slack, slack, depth)
            floor[across] = np.maximum(floor[across], row_floor)
            floor[along] = np.maximum(floor[along], column_floor)
            left, right = np.nonzero(chosen)
            if len(left):
                yield _exact_pairs(vectors, twins, across[left], along[right], threshold)


def _select_candidates(
    block: "FloatArray", min_score: float, slack: float, depth: int
) -> "tuple[BoolArray, FloatArray, FloatArray]":
    """Choose what may be among the `depth` best of its row or column.

    Returns:
        The choice, (rows, columns), and for each row and for each column a score above which it lost nothing.
    """
    chosen: BoolArray = block >= min_score
    row_floor, column_floor = (np.zeros(size, dtype=np.float32) for size in block.shape)
    if min(np.count_nonzero(chosen, axis=axis).max() for axis in (0, 1)) <= depth:
        return chosen, row_floor, column_floor  # a pair goes only when both its ends have enough better ones
    # Twice the slack: the product may have ranked a pair that much too low and the ones above it that much too high.
    row_least = np.partition(block, -depth, axis=1)[:, -depth, None] - 2 * slack
    column_least = np.partition(block, -depth, axis=0)[-depth] - 2 * slack
    lost = chosen & (block < row_least) & (block < column_least)
    if lost.any():
        dropped = np.where(lost, block + np.float32(slack), np.float32(0))
        row_floor, column_floor = dropped.max(axis=1), dropped.max(axis=0)
        chosen &= ~lost
    return chosen, row_floor, column_floor


def _duplicate_groups(rows: "FloatArray") -> "LongArray | None":
    """Give equal vectors one number, (n,); None when all differ.

    Words outside a model's vocabulary all have one vector; without this each of their pairs would be computed.
    """
    first: dict[bytes, int] = {}
    digests = (blake2b(row.tobytes(), digest_size=16).digest() for row in rows)
    numbers = [first.setdefault(digest, place) for place, digest in enumerate(digests)]
    return np.asarray(numbers, dtype=np.int64) if len(first) < len(rows) else None


def _exact_pairs(
    vectors: "FloatArray", groups: "LongArray | None", left: "LongArray", right: "LongArray", threshold: float
) -> _Pairs:
    """Compute each pair on its own in double precision and keep those of at least tau."""
    if groups is None:
        score = _cosines(vectors, left, right)
    else:
        one, other = groups[left], groups[right]
        codes = np.minimum(one, other) * len(vectors) + np.maximum(one, other)
        distinct, which = np.unique(codes, return_inverse=True)
        score = _cosines(vectors, *np.divmod(distinct, len(vectors)))[which]
    enough = score >= threshold
    left, right = left[enough].astype(np.int32), right[enough].astype(np.int32)
    return _Pairs(np.minimum(left, right), np.maximum(left, right), score[enough].astype(np.float32))


def _cosines(vectors: "FloatArray", left: "LongArray", right: "LongArray") -> NDArray[np.float64]:
    score = np.empty(len(left))
    for start in range(0, len(left), _EXACT_BLOCK_PAIRS):
        part = slice(start, start + _EXACT_BLOCK_PAIRS)
        score[part] = (vectors[left[part]].astype(np.float64) * vectors[right[part]]).sum(axis=1)
    return score


def _collect_pairs(
    pairs: _Pairs, found: Iterator[_Pairs], order: "LongArray", depth: int, floor: "FloatArray"
) -> _Pairs:
    """Put what is found with `pairs`, dropping the hopeless ones now and then so that memory stays bounded."""
    most = max(_MAX_PENDING_PAIRS, 2 * depth * len(order))
    pool, held = [pairs], len(pairs.left)
    for more in found:
        pool.append(more)
        held += len(more.left)
        if held > most:
            pool = [_prune(_concatenate(pool), order, depth, floor)]
            held = len(pool[0].left)
    return _prune(_concatenate(pool), order, depth, floor)


def _concatenate(pool: list[_Pairs]) -> _Pairs:
    return _Pairs(*(np.concatenate(part) for part in zip(*pool, strict=True)))


def _prune(pairs: _Pairs, order: "LongArray", depth: int, floor: "FloatArray") -> _Pairs:
    """Drop the pairs that are among the `depth` best of neither end, and raise the `floor` of both."""
    best = _is_among_best(pairs, order, depth)
    dropped = pairs.take(~best)
    np.maximum.at(floor, dropped.left, dropped.score)
    np.maximum.at(floor, dropped.right, dropped.score)
    return pairs.take(best)


def _is_among_best(pairs: _Pairs, order: "LongArray", depth: int) -> "BoolArray":
    """Tell which pairs are among the `depth` best of at least one end; of equal ones the other end sorts first."""
    count = len(pairs.left)
    end = np.concatenate([pairs.left, pairs.right])
    if not count or np.bincount(end).max() <= depth:
        return np.ones(count, dtype=np.bool_)
    other = order[np.concatenate([pairs.right, pairs.left])]
    ranked = np.lexsort((other, -np.concatenate([pairs.score, pairs.score]), end))
    sizes = np.bincount(end)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    inside = np.empty(2 * count, dtype=np.bool_)
    inside[ranked] = np.arange(2 * count) - first < depth
    chosen: BoolArray = inside[:count] | inside[count:]
    return chosen
