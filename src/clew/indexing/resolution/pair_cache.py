"""Storage of the pairs that an earlier synonym search found, so that the next one compares only new names.

Lists of vectors that are compared with each other, where comparing all pairs would take too long.

A vector is in the lists of the few random directions that it points to most, and two vectors are compared where they
share a list. Which lists a vector is in depends on that vector alone, to the last bit: directions are random signs, and
vectors are rounded to integers, so that sums are exact on every machine. So a name that comes later is compared as if
all had come at once.

Source: Andoni et al., "Practical and Optimal LSH for Angular Distance" (2015), cross-polytope hashing.
Differs from the source: directions are random signs in place of rotated axes; one table with the best few directions of
each vector in place of many tables.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.arrays.mapped_files import VectorFile
from clew.graph.string_array import StringArray
from clew.indexing.segments.vocabularies import to_arrow
from clew.store.error_mapping import map_errors

KEY_BYTES = 16
_FORMAT = 2


@final
@dataclass(frozen=True, slots=True)
class PairCache:
    """The pairs of an earlier run, before the limit for each name was applied."""

    threshold: float  # similarity threshold of that run
    limit: int  # limit of pairs for each name in that run; about twice as many of a name's best pairs are stored
    keys: NDArray[np.uint8]  # hashes of names and vectors, (n, 16) bytes
    left: IntArray  # one end of each pair, a row of `keys`, (m,)
    right: IntArray  # the other end, (m,)
    score: FloatArray  # cosines, (m,)
    lists: int  # number of lists of names that were compared with each other, 0 where all names were
    floor: FloatArray  # (n,) score above which no pair of a name is missing, 0 when none is


_ARRAYS = {"keys": "u1", "left": "<i4", "right": "<i4", "score": "<f4", "floor": "<f4"}


def save_pairs(cache: PairCache, folder: Path) -> None:
    """Write one .npy file for each field into `folder`; equal values give equal bytes."""
    with map_errors(str(folder), "writing"):
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "settings.npy", np.asarray([_FORMAT, cache.threshold, cache.limit, cache.lists], dtype="<f8"))
        for name, kind in _ARRAYS.items():
            np.save(folder / f"{name}.npy", getattr(cache, name).astype(kind))


def load_pairs(folder: Path) -> PairCache | None:
    """Read a folder of `save_pairs` whose files are intact; None where another version of Clew wrote them."""
    try:
        number, threshold, limit, lists = np.load(folder / "settings.npy", allow_pickle=False).tolist()
        arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in _ARRAYS}
    except (OSError, ValueError):
        return None
    cache = PairCache(threshold=threshold, limit=int(limit), lists=int(lists), **arrays)
    return cache if number == _FORMAT else None


def first_rows(names: StringArray) -> LongArray:
    """Return the first position (d,) of each of d distinct names, ascending."""
    numbers = to_arrow(names).dictionary_encode().indices.to_numpy()
    rows: LongArray = np.sort(np.unique(numbers, return_index=True)[1])
    return rows


LISTS_PER_VECTOR = 6
_MEMBERS_PER_LIST = 384  # on average: comparing takes about as long as finding the lists
_SCALE = 1 << 12  # vectors are rounded to this fraction; sums stay below 2**24, where single precision is exact
_BLOCK_SUMS = 1 << 22  # sums at once, 32 MB
_SEED = 20
COMPARISON_BLOCK_BYTES = 6 * 8 * _BLOCK_SUMS
"""Memory of the sums that are sorted at once, and of the blocks of similarities."""


VectorRows = FloatArray | VectorFile
"""Unit vectors (n, d) that are read by rows: an array, or a file of them."""


def count_lists(vectors: int) -> int:
    """Return the number of lists for some number of vectors: a power of two, so that it rarely changes."""
    wanted = max(1, vectors * LISTS_PER_VECTOR // _MEMBERS_PER_LIST)
    return 1 << (wanted - 1).bit_length()


def assign_lists(vectors: VectorRows, lists: int) -> IntArray:
    """Return the lists (n, at most `LISTS_PER_VECTOR`) of unit vectors (n, d), ascending."""
    count = min(LISTS_PER_VECTOR, lists)
    signs = np.random.default_rng(_SEED).integers(0, 2, size=(vectors.shape[1], lists)).astype(np.float32) * 2 - 1
    assigned = np.empty((len(vectors), count), dtype=np.int32)
    rows = max(1, _BLOCK_SUMS // lists)
    for start in range(0, len(vectors), rows):
        sums = np.rint(vectors[start : start + rows] * np.float32(_SCALE)) @ signs
        # Equal sums are ordered by their lists' numbers, so that the choice never depends on a partition's order.
        keys = sums.astype(np.int64) * lists - np.arange(lists)
        best = np.argpartition(-keys, count - 1, axis=1)[:, :count]
        best.sort(axis=1)
        assigned[start : start + rows] = best
    return assigned


def members_by_list(assigned: IntArray, lists: int) -> Iterator[tuple[int, LongArray]]:
    """Yield each of `lists` lists with two members or more, and these (m,), ascending, of those `assigned` (n, c)."""
    flat = assigned.ravel()
    order = np.argsort(flat, kind="stable")
    rows = order // assigned.shape[1]
    bounds = np.searchsorted(flat[order], np.arange(lists + 1))
    for list_ in range(lists):
        if bounds[list_ + 1] - bounds[list_] > 1:
            yield list_, rows[bounds[list_] : bounds[list_ + 1]]


def is_first_shared(assigned: IntArray, left: LongArray, right: LongArray, list_: int) -> BoolArray:
    """Return for pairs (m,) in a list whether it is the first that both are in, of those `assigned` (n, c) to all."""
    shared = assigned[left][:, :, None] == assigned[right][:, None, :]
    first = np.where(shared.any(axis=2), assigned[left], np.iinfo(np.int32).max).min(axis=1)
    is_first: BoolArray = first == list_
    return is_first
