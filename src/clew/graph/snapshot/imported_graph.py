"""Imported graphs as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.graph.csr import run_starts
from clew.graph.segments.segment import Vocabulary
from clew.graph.string_array import StringArray


@dataclass(frozen=True, slots=True, eq=False)
class ImportedGraph:
    """All imported graphs of an index together: n entities, t triples."""

    keys: Vocabulary  # n; an entity of the passages with the same key is the same entity
    labels: StringArray  # n, the displayed names
    name_hashes: NDArray[np.uint64]  # (m,) `clew.text.normalization.key_hash` of the entities' name keys, in any order
    name_entities: IntArray  # (m,) the entity of each hash
    relations: Vocabulary
    triples: IntArray  # (t, 3) head, relation, tail: positions in `keys` and `relations`; in any order


def empty_graph() -> ImportedGraph:
    """Return a graph without entities and triples."""
    hashes, numbers = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32)
    nothing = Vocabulary(hashes, StringArray.pack(()))
    return ImportedGraph(nothing, nothing.texts, hashes, numbers, nothing, numbers.reshape(0, 3))


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
