"""Graphs that were imported, as arrays, and how their entities are numbered together with those of the passages."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.string_array import StringArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import IntArray, LongArray


@dataclass(frozen=True, slots=True, eq=False)
class ImportedGraph:
    """All imported graphs of an index together: n entities, t triples.

    Attributes:
        keys: n, sorted, distinct; an entity of the passages that has the same key is the same entity.
        labels: n, as they are shown.
        name_hashes: (m,) of the names that entities go by (see `text.names.key_hash`), in any order.
        name_entities: (m,) the entity of each.
        relations: Texts, sorted, distinct.
        triples: (t, 3) head, relation and tail as positions in `keys` and `relations`; sorted, distinct.
    """

    keys: StringArray
    labels: StringArray
    name_hashes: "NDArray[np.uint64]"
    name_entities: "IntArray"
    relations: StringArray
    triples: "IntArray"


def empty_graph() -> ImportedGraph:
    """Return a graph that holds nothing."""
    nothing, none = StringArray.pack(()), np.zeros(0, dtype=np.int32)
    return ImportedGraph(nothing, nothing, np.zeros(0, dtype=np.uint64), none, nothing, none.reshape(0, 3))


@dataclass(frozen=True, slots=True, eq=False)
class MergedPositions:
    """Where the texts of two sorted lists stand in the sorted list of both together.

    Attributes:
        count: Of the list of both.
        first: (a,) places of the first list's texts.
        second: (b,) places of the second list's.
    """

    count: int
    first: "LongArray"
    second: "LongArray"


def merge_sorted(first: Sequence[str], second: Sequence[str]) -> MergedPositions:
    """Return the numbers of the texts of two lists, each sorted and distinct, in the order of both together.

    Args:
        first: The shorter one, as a rule: each of its texts is looked for in the other list.
        second: Any sequence.
    """
    places = np.array([bisect_left(second, text) for text in first], dtype=np.int64)
    absent = np.array(
        [p == len(second) or second[p] != text for p, text in zip(places.tolist(), first, strict=True)], bool
    )
    before = np.cumsum(absent) - absent  # texts of the first list alone that stand before this one
    inserted = np.cumsum(np.bincount(places[absent], minlength=len(second) + 1))[: len(second)]
    return MergedPositions(
        len(second) + int(absent.sum()), places + before, np.arange(len(second), dtype=np.int64) + inserted
    )


def merge_texts(first: Sequence[str], second: StringArray, positions: MergedPositions) -> StringArray:
    """Return texts by their place among both; where both have one, the second's."""
    if not len(first):
        return second
    texts = [""] * positions.count
    for place, text in zip(positions.first.tolist(), first, strict=True):
        texts[place] = text
    for place, text in zip(positions.second.tolist(), second, strict=True):
        texts[place] = text
    return StringArray.pack(texts)


def distinct_rows(rows: "NDArray[np.integer]") -> "tuple[NDArray[np.integer], LongArray]":
    """Return the distinct rows of a matrix (n, k), sorted, and for each row (n,) which of them it is.

    Args:
        rows: None of whose values is negative.
    """
    keys = _pack_rows(rows)
    order = np.lexsort(keys[::-1])
    first = np.ones(len(rows), dtype=bool)
    first[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    which = np.empty(len(rows), dtype=np.int64)
    which[order] = np.cumsum(first) - 1
    return rows[order[first]], which


def _pack_rows(rows: "NDArray[np.integer]") -> "list[LongArray]":
    """Return columns as few numbers a row that sort as the rows do: sorting by one is several times as fast."""
    keys = [np.zeros(len(rows), dtype=np.int64)]
    room = 1
    for column in rows.T:
        size = int(column.max(initial=0)) + 1
        if room * size < 1 << 62:
            keys[-1] = keys[-1] * size + column
            room *= size
        else:
            keys.append(column.astype(np.int64))
            room = size
    return keys
