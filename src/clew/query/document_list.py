"""The documents of an index version, in the order of their ids, with the passages of each in the order of the text."""

from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import final

import numpy as np

from clew.arrays import BoolArray, IntArray
from clew.graph.snapshot.snapshot import Snapshot


@final
class DocumentList:
    """The D documents of a snapshot of P passages; they are sorted at first use, and kept as 4 bytes a passage."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """The positions of the passages (P,) by document and start, and where each document begins (D + 1,)."""
        s = self._snapshot
        ids, starts = list(s.document_ids), s.starts[:]
        order = sorted(range(len(ids)), key=lambda p: (ids[p], starts[p], s.passage_ids[p]))
        first = [i for i, p in enumerate(order) if i == 0 or ids[p] != ids[order[i - 1]]]
        return np.array(order, dtype=np.int32), np.array([*first, len(order)], dtype=np.int32)

    def __len__(self) -> int:
        return len(self._order[1]) - 1

    def id(self, number: int) -> str:
        """Return the id of the document of a number (0 to D - 1)."""
        order, first = self._order
        return self._snapshot.document_ids[int(order[first[number]])]

    def passages(self, number: int) -> list[int]:
        """Return the positions of a document's passages, in the order of the text."""
        order, first = self._order
        passages: list[int] = order[first[number] : first[number + 1]].tolist()
        return passages

    def find(self, document_id: str) -> int | None:
        """Return the number of a document, None for one that the index does not hold."""
        number = bisect_left(range(len(self)), document_id, key=self.id)
        return number if number < len(self) and self.id(number) == document_id else None

    def first_after(self, document_id: str) -> int:
        """Return the number of the first document with a greater id, D where there is none."""
        return bisect_right(range(len(self)), document_id, key=self.id)

    def visible(self, allowed: BoolArray) -> BoolArray:
        """Return which documents (D,) have an allowed passage (P,)."""
        order, first = self._order
        if not len(order):
            return np.zeros(0, dtype=np.bool_)
        mask: BoolArray = np.logical_or.reduceat(allowed[order], first[:-1])
        return mask
