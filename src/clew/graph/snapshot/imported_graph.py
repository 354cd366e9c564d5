"""Imported graphs as arrays, and the merging of their entities with those of the passages."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.graph.csr import run_starts
from clew.graph.string_array import StringArray


@dataclass(frozen=True, slots=True, eq=False)
class ImportedGraph:
    """All imported graphs of an index together: n entities, t triples."""

    keys: StringArray  # n, sorted, distinct; an entity of the passages with the same key is the same entity
    labels: StringArray  # n, the displayed names
    name_hashes: NDArray[np.uint64]  # (m,) `clew.text.normalization.key_hash` of the entities' name keys, in any order
    name_entities: IntArray  # (m,) the entity of each hash
    relations: StringArray  # texts, sorted, distinct
    triples: IntArray  # (t, 3) head, relation, tail: positions in `keys` and `relations`; sorted, distinct


def empty_graph() -> ImportedGraph:
    """Return a graph without entities and triples."""
    texts, numbers = StringArray.pack(()), np.zeros(0, dtype=np.int32)
    return ImportedGraph(texts, texts, np.zeros(0, dtype=np.uint64), numbers, texts, numbers.reshape(0, 3))


@dataclass(frozen=True, slots=True, eq=False)
class MergedPositions:
    """Positions of the texts of two sorted lists in their sorted union."""

    count: int  # size of the union
    first: LongArray  # (a,) positions of the first list's texts
    second: LongArray  # (b,) positions of the second list's texts


def merge_sorted(first: Sequence[str], second: Sequence[str]) -> MergedPositions:
    """Return the positions of the texts of two lists, each sorted and distinct, in their sorted union.

    The first should be the shorter one: each of its texts is searched for in the other.
    """
    found = [bisect_left(second, text) for text in first]
    new = np.array([p == len(second) or second[p] != text for p, text in zip(found, first, strict=True)], bool)
    positions = np.array(found, dtype=np.int64)
    before = np.cumsum(new) - new  # texts only in the first list that precede this one
    inserted = np.cumsum(np.bincount(positions[new], minlength=len(second) + 1))[: len(second)]
    return MergedPositions(len(second) + int(new.sum()), positions + before, np.arange(len(second)) + inserted)


def merge_texts(first: Sequence[str], second: StringArray, positions: MergedPositions) -> StringArray:
    """Return the texts of the union in order; where both lists have an entry, the second one's text."""
    if not len(first):
        return second
    texts = [""] * positions.count
    for numbers, source in ((positions.first, first), (positions.second, second)):
        for position, text in zip(numbers.tolist(), source, strict=True):
            texts[position] = text
    return StringArray.pack(texts)


def distinct_rows(rows: NDArray[np.integer]) -> tuple[NDArray[np.integer], LongArray]:
    """Return the distinct rows of a matrix (n, k) of non-negative values, sorted, and the index (n,) of each row."""
    keys = _pack_rows(rows)
    order = np.lexsort(keys[::-1])
    first = run_starts(*(key[order] for key in keys))
    index = np.empty(len(rows), dtype=np.int64)
    index[order] = np.cumsum(first) - 1
    return rows[order[first]], index


def _pack_rows(rows: NDArray[np.integer]) -> list[LongArray]:
    """Pack the columns into few keys that sort as the rows do; sorting by one key is several times as fast."""
    keys = [np.zeros(len(rows), dtype=np.int64)]
    span = 1
    for column in rows.T:
        size = int(column.max(initial=0)) + 1
        if span * size < 1 << 62:
            keys[-1] = keys[-1] * size + column
            span *= size
        else:
            keys.append(column.astype(np.int64))
            span = size
    return keys
