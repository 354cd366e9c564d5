"""Synonym edges: pairs of names whose vectors are nearly equal.

Up to `EXACT_NAMES` names the search is exact: block products of all vectors with all vectors propose pairs. More are
compared within lists of vectors of nearly one direction (`pair_cache`), which finds nearly all pairs. The score
of each is computed again on its own in double precision, so that no result depends on the block boundaries. A later run
compares only new names, and returns exactly what a run without a cache would.

Source: Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", 2024
(synonymy edges: cosine above a threshold tau).

Differs from the source: a name proposes at most `limit` edges, its best, and an edge stays when either end proposes it,
so that a hub may have more; equal neighbours are ordered by name.

Synonym edges by a threshold relative to each name's nearest neighbour.

Source: the authors' code of GFM-RAG, entity resolution: the scores of a name's neighbours are divided by the best one.
Differs from the source: cosines of any encoder in place of late interaction; the name itself is no neighbour; an edge
that either end proposes stands for both directions; equal neighbours are ordered by name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.graph.string_array import StringArray
from clew.indexing.resolution.pair_cache import (
    KEY_BYTES,
    PairCache,
    VectorRows,
    assign_lists,
    count_lists,
    is_first_shared,
    members_by_list,
)
from clew.indexing.segments.vocabularies import rank_strings

EXACT_NAMES = 200_000
_BLOCK_ROWS, _BLOCK_COLUMNS = 1024, 4096  # 16 MB a block
_EXACT_BLOCK_PAIRS = 128  # what fits the processor's cache
_MAX_PENDING_PAIRS = 2_000_000  # pairs held before they are pruned


@final
@dataclass(frozen=True, slots=True)
class Synonyms:
    """Pairs of names that are considered synonyms."""

    left: IntArray  # row of the name that comes first, (m,)
    right: IntArray  # row of the other, (m,); pairs ascend by left, then right
    score: FloatArray  # cosines, (m,)
    cache: PairCache  # input for the next run, so that it compares only new names


class _Pairs(NamedTuple):
    left: IntArray
    right: IntArray
    score: FloatArray

    def take(self, chosen: BoolArray | LongArray) -> "_Pairs":
        return _Pairs(self.left[chosen], self.right[chosen], self.score[chosen])


def find_synonyms(
    names: Sequence[str], vectors: VectorRows, threshold: float, limit: int = 100, cache: PairCache | None = None
) -> Synonyms:
    """Return all pairs with cosine >= threshold that are among the `limit` best of at least one end.

    The n names are distinct, `vectors` (n, d) their unit vectors, where d = 0 gives no pairs; the threshold is above 0
    and at most 1; each name proposes at most `limit` pairs, at least 1. More than `EXACT_NAMES` vectors are read by
    blocks, so that they may lie in a file, and packed names (`StringArray`) take no object each. The cache of an
    earlier run over any names serves speed alone; that of another `threshold`, `limit` or number of lists is ignored.
    """
    order = _rank_names(names)
    keys = _name_keys(names, vectors)
    depth = 2 * limit  # more than the limit, so that a truncated list can lose names and stay complete
    lists = count_lists(len(names)) if len(names) > EXACT_NAMES else 0
    if cache is not None and (cache.threshold, cache.limit, cache.lists) != (threshold, limit, lists):
        cache = None
    pairs, floor, fresh = _carry_over(cache, keys)
    if vectors.shape[1]:
        found = _search_pairs(vectors, fresh, threshold, depth, floor, lists)
        pairs = _collect_pairs(pairs, found, order, depth, floor)
    pairs = pairs.take(np.lexsort((pairs.right, pairs.left)))
    best = pairs.take(_is_among_best(pairs, order, limit))
    return Synonyms(*best, cache=PairCache(threshold, limit, keys, *pairs, lists=lists, floor=floor))


def _rank_names(names: Sequence[str]) -> LongArray:
    return rank_strings(names if isinstance(names, StringArray) else StringArray.pack(names))


def _blocks(vectors: VectorRows) -> Iterator[tuple[int, FloatArray]]:
    """Yield all vectors, some rows at a time, each time with the number of the first."""
    for start in range(0, len(vectors), _BLOCK_COLUMNS):
        yield start, vectors[start : start + _BLOCK_COLUMNS]


def _name_keys(names: Sequence[str], vectors: VectorRows) -> NDArray[np.uint8]:
    """Hash each name with its vector, so that a name with another vector counts as new, (n, 16)."""
    digests = bytearray()
    each_name = iter(names)
    for _, rows in _blocks(vectors):
        for row in np.ascontiguousarray(rows, dtype="<f4"):
            digest = blake2b(row, digest_size=KEY_BYTES)
            digest.update(next(each_name).encode("utf-8", "surrogatepass"))
            digests += digest.digest()
    return np.frombuffer(digests, dtype=np.uint8).reshape(len(names), KEY_BYTES)


def _carry_over(cache: PairCache | None, keys: NDArray[np.uint8]) -> tuple[_Pairs, FloatArray, BoolArray]:
    """Return cached pairs in the new numbering, each name's floor, and which names must be compared with all others."""
    count = len(keys)
    fresh = np.ones(count, dtype=np.bool_)
    floor = np.zeros(count, dtype=np.float32)
    if cache is None or not len(cache.keys):
        empty = np.empty(0, dtype=np.int32)
        return _Pairs(empty, empty, np.empty(0, dtype=np.float32)), floor, fresh
    new_rows = _find_keys(keys, cache.keys)
    # A name whose list was truncated still has its best pairs while enough of them remain above the floor; otherwise
    # one of its best may have been dropped, and the name is compared again.
    both_present = (new_rows[cache.left] >= 0) & (new_rows[cache.right] >= 0)
    certain_pairs = np.zeros(len(new_rows), dtype=np.int64)
    for end in (cache.left, cache.right):
        certain_pairs += np.bincount(end[both_present & (cache.score > cache.floor[end])], minlength=len(new_rows))
    keeps_list = (new_rows >= 0) & ((cache.floor == 0) | (certain_pairs >= cache.limit))
    fresh[new_rows[keeps_list]] = False
    floor[new_rows[keeps_list]] = cache.floor[keeps_list]
    keeps_pair = keeps_list[cache.left] & keeps_list[cache.right]
    left, right = new_rows[cache.left[keeps_pair]], new_rows[cache.right[keeps_pair]]
    return _Pairs(np.minimum(left, right), np.maximum(left, right), cache.score[keeps_pair]), floor, fresh


def _find_keys(keys: NDArray[np.uint8], wanted: NDArray[np.uint8]) -> IntArray:
    """Return the positions (m,) of wanted keys (m, 16) among distinct ones (n, 16), -1 for one that is not there."""
    stored, searched = (np.ascontiguousarray(part).view(f"S{KEY_BYTES}").ravel() for part in (keys, wanted))
    if not len(stored):
        return np.full(len(searched), -1, dtype=np.int32)
    order = np.argsort(stored)
    found = order[np.minimum(np.searchsorted(stored, searched, sorter=order), len(stored) - 1)]
    return np.where(stored[found] == searched, found, -1).astype(np.int32)


def _search_pairs(
    vectors: VectorRows, fresh: BoolArray, threshold: float, depth: int, floor: FloatArray, lists: int
) -> Iterator[_Pairs]:
    """Yield once each pair with cosine >= threshold and a fresh end, except pruned ones, which raise `floor`.

    With `lists`, 0 for none, only vectors that share one of these are compared.
    """
    if not fresh.any():
        return
    assigned = assign_lists(vectors, lists) if lists else None
    rows = vectors if lists else np.ascontiguousarray(vectors[:], dtype=np.float32)
    everything = np.arange(len(fresh))
    groups = _duplicate_groups(vectors)
    slack = max(1e-4, 2.0**-22 * vectors.shape[1])  # above any rounding of a product in single precision
    for list_, members in [(0, everything)] if assigned is None else members_by_list(assigned, lists):
        new = members[fresh[members]]
        members = np.concatenate([new, members[~fresh[members]]])
        for top in range(0, len(new), _BLOCK_ROWS):
            bottom = min(top + _BLOCK_ROWS, len(new))
            for start in range(top, len(members), _BLOCK_COLUMNS):
                row_names, column_names = members[top:bottom], members[start : start + _BLOCK_COLUMNS]
                block = rows[row_names] @ rows[column_names].T
                if start < bottom:  # each pair once: only those right of the diagonal
                    block[np.arange(top, bottom)[:, None] >= np.arange(start, start + block.shape[1])] = -1
                chosen, row_floor, column_floor = _select_candidates(block, threshold - slack, slack, depth)
                floor[row_names] = np.maximum(floor[row_names], row_floor)
                floor[column_names] = np.maximum(floor[column_names], column_floor)
                left, right = np.nonzero(chosen)
                left, right = row_names[left], column_names[right]
                if assigned is not None:
                    is_first = is_first_shared(assigned, left, right, list_)
                    left, right = left[is_first], right[is_first]
                if len(left):
                    yield _exact_pairs(vectors, groups, left, right, threshold)


def _select_candidates(
    block: FloatArray, min_score: float, slack: float, depth: int
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Select (rows, columns) that may be among the `depth` best of either, with scores above which none was pruned."""
    chosen: BoolArray = block >= min_score
    row_floor, column_floor = (np.zeros(size, dtype=np.float32) for size in block.shape)
    if min(np.count_nonzero(chosen, axis=axis).max() for axis in (0, 1)) <= depth:
        return chosen, row_floor, column_floor  # a pair is pruned only when both its ends have enough better ones
    # Twice the slack: the product may have ranked a pair that much too low and the ones above it that much too high.
    row_least = np.partition(block, -depth, axis=1)[:, -depth, None] - 2 * slack
    column_least = np.partition(block, -depth, axis=0)[-depth] - 2 * slack
    pruned = chosen & (block < row_least) & (block < column_least)
    if pruned.any():
        pruned_scores = np.where(pruned, block + np.float32(slack), np.float32(0))
        row_floor, column_floor = pruned_scores.max(axis=1), pruned_scores.max(axis=0)
        chosen &= ~pruned
    return chosen, row_floor, column_floor


def _duplicate_groups(vectors: VectorRows) -> LongArray | None:
    """Give equal vectors (unknown words) one number, (n,), so that their pairs are not computed; None if none are."""
    digests = bytearray()
    for _, rows in _blocks(vectors):
        for row in np.ascontiguousarray(rows, dtype=np.float32):
            digests += blake2b(row, digest_size=KEY_BYTES).digest()
    _, first, groups = np.unique(np.frombuffer(digests, f"S{KEY_BYTES}"), return_index=True, return_inverse=True)
    return first[groups] if len(first) < len(vectors) else None


def _exact_pairs(
    vectors: VectorRows, groups: LongArray | None, left: LongArray, right: LongArray, threshold: float
) -> _Pairs:
    if groups is None:
        score = _cosines(vectors, left, right)
    else:
        one, other = groups[left], groups[right]
        codes = np.minimum(one, other) * len(vectors) + np.maximum(one, other)
        distinct, which = np.unique(codes, return_inverse=True)
        score = _cosines(vectors, *np.divmod(distinct, len(vectors)))[which]
    accepted = score >= threshold
    left, right = left[accepted].astype(np.int32), right[accepted].astype(np.int32)
    return _Pairs(np.minimum(left, right), np.maximum(left, right), score[accepted].astype(np.float32))


def _cosines(vectors: VectorRows, left: LongArray, right: LongArray) -> NDArray[np.float64]:
    score = np.empty(len(left))
    for start in range(0, len(left), _EXACT_BLOCK_PAIRS):
        block = slice(start, start + _EXACT_BLOCK_PAIRS)
        score[block] = (vectors[left[block]].astype(np.float64) * vectors[right[block]]).sum(axis=1)
    return score


def _collect_pairs(pairs: _Pairs, found: Iterator[_Pairs], order: LongArray, depth: int, floor: FloatArray) -> _Pairs:
    """Add the pairs found to `pairs`, pruning from time to time so that memory stays bounded."""
    max_pairs = max(_MAX_PENDING_PAIRS, 2 * depth * len(order))
    blocks, pair_count = [pairs], len(pairs.left)
    for block_pairs in found:
        blocks.append(block_pairs)
        pair_count += len(block_pairs.left)
        if pair_count > max_pairs:
            blocks = [_prune(_concatenate(blocks), order, depth, floor)]
            pair_count = len(blocks[0].left)
    return _prune(_concatenate(blocks), order, depth, floor)


def _concatenate(blocks: list[_Pairs]) -> _Pairs:
    return _Pairs(*(np.concatenate(columns) for columns in zip(*blocks, strict=True)))


def _prune(pairs: _Pairs, order: LongArray, depth: int, floor: FloatArray) -> _Pairs:
    best = _is_among_best(pairs, order, depth)
    dropped = pairs.take(~best)
    np.maximum.at(floor, dropped.left, dropped.score)
    np.maximum.at(floor, dropped.right, dropped.score)
    return pairs.take(best)


def _is_among_best(pairs: _Pairs, order: LongArray, depth: int) -> BoolArray:
    """Return which pairs are among the `depth` best of at least one end; ties are broken by the other end's name."""
    count = len(pairs.left)
    end = np.concatenate([pairs.left, pairs.right])
    if not count or np.bincount(end).max() <= depth:
        return np.ones(count, dtype=np.bool_)
    other = order[np.concatenate([pairs.right, pairs.left])]
    ranking = np.lexsort((other, -np.concatenate([pairs.score, pairs.score]), end))
    sizes = np.bincount(end)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    is_best = np.empty(2 * count, dtype=np.bool_)
    is_best[ranking] = np.arange(2 * count) - first < depth
    chosen: BoolArray = is_best[:count] | is_best[count:]
    return chosen


def find_relative_synonyms(
    names: Sequence[str], vectors: FloatArray, share: float, limit: int = 100
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs whose cosine is above `share` of the best one of an end, among its `limit` best.

    Args:
        names: The n distinct names.
        vectors: (n, d) unit vectors of the names.
        share: Of the best cosine, above 0 and at most 1.
        limit: Pairs that a name proposes, at least 1.

    Returns:
        Left and right rows (m,), left below right, ascending, and cosines (m,). All names are compared with all.
    """
    order = _rank_names(names)
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(names), _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS].astype(np.float64) @ vectors.astype(np.float64).T
        for row, scores in enumerate(block, start):
            scores[row] = -np.inf
            best = np.lexsort((order, -scores))[:limit] if len(scores) > 1 else np.zeros(0, dtype=np.int64)
            for other in best.tolist():
                if scores[other] > 0 and scores[other] >= share * scores[best[0]]:
                    found[min(row, other), max(row, other)] = float(scores[other])
    pairs = sorted(found)
    left, right = (np.array([pair[end] for pair in pairs], dtype=np.int32) for end in (0, 1))
    return left, right, np.array([found[pair] for pair in pairs], dtype=np.float32)
