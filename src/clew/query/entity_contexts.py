"""The context of an entity: the other entities that passages name beside it.

Without those that are everywhere, and without years and other numbers, which things share by accident.
"""

from functools import lru_cache
from typing import final

import numpy as np

from clew.arrays import BoolArray
from clew.graph.snapshot.snapshot import Snapshot

_MAX_SHARE, _MIN_COMMON = 0.2, 20  # an entity on a larger share of the passages, and on more than so many, says nothing
_READ_PASSAGES = 200  # of an entity
_KEPT_CONTEXTS = 1 << 16


@final
class EntityContexts:
    """The contexts of the entities of a snapshot with P passages, read when they are asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        most = max(_MIN_COMMON, int(_MAX_SHARE * len(snapshot.passage_ids)))
        self._is_ignored = (snapshot.mentioned_in.degrees() > most) | _have_digit(snapshot)
        self.of_entity = lru_cache(_KEPT_CONTEXTS)(self._of_entity)

    def of_passage(self, passage: int, entity: int) -> frozenset[int]:
        """Return the other entities that a passage names."""
        found = self._snapshot.mentions.row(passage)
        return frozenset(found[~self._is_ignored[found]].tolist()) - {entity}

    def _of_entity(self, entity: int) -> frozenset[int]:
        """Return the entities that the passages of an entity name beside it."""
        passages = self._snapshot.passages_of(entity)[:_READ_PASSAGES]
        return frozenset().union(*(self.of_passage(int(passage), entity) for passage in passages))

    def documents(self, entity: int) -> dict[str, frozenset[int]]:
        """Return the context of an entity in each document that mentions it, by the document's id."""
        found: dict[str, frozenset[int]] = {}
        for passage in self._snapshot.passages_of(entity).tolist():
            document = self._snapshot.document_ids[passage]
            found[document] = found.get(document, frozenset()) | self.of_passage(passage, entity)
        return found

    def of_contexts(self, context: frozenset[int], entity: int) -> frozenset[int]:
        """Return a context with what stands beside its entities, other than one entity."""
        return context.union(*(self.of_entity(other) for other in context)) - {entity}

    def passage_counts(self, entities: list[int]) -> list[int]:
        """Return how many passages mention each entity."""
        rows = self._snapshot.mentioned_in.indptr
        numbers = np.array(entities, dtype=np.int64)
        counts: list[int] = (rows[numbers + 1] - rows[numbers]).tolist()
        return counts


def _have_digit(snapshot: Snapshot) -> BoolArray:
    """Return which names of entities (E,) have a digit."""
    data, offsets = snapshot.entities.data, snapshot.entities.offsets
    before = np.concatenate([[0], np.cumsum((data >= ord("0")) & (data <= ord("9")), dtype=np.int64)])
    found: BoolArray = before[offsets[1:]] > before[offsets[:-1]]
    return found
