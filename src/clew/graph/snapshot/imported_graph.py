"""Imported graphs as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.arrays import IntArray
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
