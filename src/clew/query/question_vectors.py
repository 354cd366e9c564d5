"""The vectors of a question, made in a thread of their own while it is linked, and the passages most similar to them.

Passages are found by inverted lists where an index has them, else by a scan. Both return the same scores. The lists may
miss passages that a scan finds; its note says which was used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.graph.segments.list_search import ListSearch
from clew.query.linking import LinkedQuestion
from clew.query.scope import Scope
from clew.store import segment_files
from clew.text.display import format_count

PendingVector = Callable[[], FloatArray]
"""Waits for a vector (d,), and returns it."""


def link_and_encode(
    question: str,
    link: Callable[[str], LinkedQuestion],
    texts: Callable[[LinkedQuestion], Sequence[str]],
    begin_encoding: Callable[[str], PendingVector],
) -> tuple[LinkedQuestion, Callable[[int], FloatArray]]:
    """Return a linked question, and a function that returns the vector (d,) of one of its texts, by number.

    The question itself is encoded while it is linked, before its texts are known: most often it is the first of them.
    """
    pending = {question: begin_encoding(question)}
    linked = link(question)
    wanted = texts(linked)
    pending |= {text: begin_encoding(text) for text in wanted if text not in pending}
    return linked, lambda number: pending[wanted[number]]()


EXACT_HINT = "dense:exact=true compares all"


LISTS_HINT = "run `clew compact` for a faster search"


@final
@dataclass(frozen=True, slots=True)
class SimilarPassages:
    """The search of one index."""

    scope: Scope
    open_lists: Callable[[], ListSearch | None] = lambda: None  # returns None where the index has no lists
    exact: bool = False  # whether all vectors are compared in any case

    def rank(self, vector: FloatArray, k: int, allowed: BoolArray) -> tuple[list[tuple[int, float]], tuple[str, ...]]:
        """Return positions and cosines of the at most `k` allowed passages (P,) nearest to a vector (d,), and notes.

        Best first, ties by id. There is no note on an index that is too small for lists.
        """
        lists = None if self.exact else self.open_lists()
        if lists is None:
            similarity = self.scope.snapshot.vectors.similarities(vector)
            return self.scope.rank(similarity, k, allowed, floor=-np.inf), self._exact_notes(allowed)
        nearest = lists.top(vector, k, self.scope.restriction(allowed))
        found = list(zip(nearest.positions.tolist(), nearest.scores.tolist(), strict=True))
        note = f"{nearest.compared:,} of {int(allowed.sum()):,} passages were compared by their vectors: {EXACT_HINT}"
        return found, (note,)

    def _exact_notes(self, allowed: BoolArray) -> tuple[str, ...]:
        if len(self.scope) < segment_files.LISTED_PASSAGES:
            return ()
        note = f"all {format_count(int(allowed.sum()), 'passage was', 'passages were')} compared by their vectors"
        return (note if self.exact else f"{note}: {LISTS_HINT}",)
