"""Search scope: a snapshot of an index and the passages that a filter allows."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import TypeVar

import numpy as np

from clew.arrays import BoolArray, FloatArray, LongArray, top_order
from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.conditions import OWN_FIELDS, MetadataColumns
from clew.query.entity_linker import EntityLinker
from clew.query.filters import parse_filter
from clew.query.hidden_ties import HiddenTies
from clew.query.question_linker import QuestionLinker
from clew.query.visible_names import NameTable, VisibleNames, graph_entities
from clew.types import Filter, Passage, Scored

_MAX_FILTERS = 64  # whose masks are kept, of one byte a passage each
Key = TypeVar("Key")
Value = TypeVar("Value")
_Linkers = dict[int, tuple[EntityLinker, EntityLinker]]
"""For the id of a linker the linker, which is held so that no other gets its id, and its restriction."""


class Scope:
    """A snapshot with P passages and T triples, and the links to it; the mask of each filter is computed once."""

    def __init__(
        self, snapshot: Snapshot, columns: MetadataColumns | None = None, linker: EntityLinker | None = None
    ) -> None:
        self.snapshot = snapshot
        self.linker: EntityLinker = QuestionLinker(snapshot) if linker is None else linker
        self._columns = MetadataColumns(snapshot) if columns is None else columns
        self._masks: dict[Filter, BoolArray] = {}
        self._blocked_triples: dict[Filter, BoolArray | None] = {}
        self._visible: dict[int, tuple[BoolArray, VisibleNames, _Linkers]] = {}

    def with_linker(self, linker: EntityLinker) -> "Scope":
        """Return a copy that links names otherwise, and shares the masks of filters."""
        scope = copy(self)
        scope.linker = linker
        return scope

    def __len__(self) -> int:
        return len(self.snapshot.passage_ids)

    @cached_property
    def _every(self) -> BoolArray:
        every = np.ones(len(self), dtype=bool)
        every.flags.writeable = False
        return every

    def restriction(self, allowed: BoolArray) -> BoolArray | None:
        """Return allowed passages (P,), or None where they are all; it does not look at the array of `mask(None)`."""
        return None if allowed is self._every or allowed.all() else allowed

    def mask(self, where: Filter | None) -> BoolArray:
        """Return the passages (P,) that a filter allows; all for None, as one array that is never changed.

        Raises InputError where the filter cannot be parsed, or asks for a field that no passage has.
        """
        if where is None:
            return self._every
        found = self._masks.get(where)
        if found is None:
            found = self._apply(where)
            _remember(self._masks, where, found)
        return found

    def _apply(self, where: Filter) -> BoolArray:
        predicate = parse_filter(where)
        # An index without passages has no fields, so none is misspelt: the answer is empty.
        if len(self) and (unknown := predicate.unknown_fields(self._columns)):
            # No other field is named: which passages may be seen is what the filter would have told.
            raise InputError(
                f"no passage has the field {unknown[0]!r} of the filter {where!r}; every passage has "
                f"{', '.join(OWN_FIELDS)}, and the fields of its document's metadata; text takes single quotes, a key "
                "within a key is author.name, and words of the text are looked for by the question"
            )
        mask = predicate.mask(self._columns)
        return self._every if mask.all() else mask

    def describe_empty(self, where: Filter, within: Filter | None = None) -> str:
        """Return a note on a filter that allows no passage, "" where it allows some.

        `within` is the filter of what the caller may see at all, which `where` includes: the passages that it leaves
        out are neither counted nor looked at, and no field of it is named.
        """
        if not len(self) or self.mask(where).any():
            return ""
        seen = self.mask(within)
        hidden = parse_filter(within).fields if within is not None else frozenset()
        predicate = parse_filter(where)
        clashes = predicate.describe_clashes(self._columns, seen, hidden)
        return "; ".join((f"no passage meets the filter (0 of {int(seen.sum()):,})", *clashes))

    def blocked_triples(self, where: Filter | None) -> BoolArray | None:
        """Return the triples (T,) that no allowed passage states, None for none; raises InputError as `mask`.

        One that is stated only of a name which hidden documents alone tie to its end counts as stated by none.
        """
        if where is None or self.mask(where) is self._every:
            return None
        if where not in self._blocked_triples:
            allowed = self.mask(where)
            blocked = ~self.snapshot.stated_triple_mask(allowed)
            if (ties := self.hidden_ties(allowed)) is not None:
                blocked |= ties.triples
            if unnamed := self._restricted_names(allowed)[1].unnamed:
                blocked |= np.isin(self.snapshot.triples[:, [0, 2]], unnamed).any(axis=1)
            _remember(self._blocked_triples, where, blocked if blocked.any() else None)
        return self._blocked_triples[where]

    def visible_triples(self, where: Filter | None) -> BoolArray:
        """Return the triples (T,) that a filter leaves, as an array of its own; raises InputError as `mask`."""
        blocked = self.blocked_triples(where)
        return np.ones(len(self.snapshot.triples), dtype=np.bool_) if blocked is None else ~blocked

    def mention_counts(self, allowed: BoolArray) -> LongArray:
        """Return how many allowed passages (P,) mention each entity (E,)."""
        rows = self.snapshot.mentioned_in
        before = np.concatenate([[0], np.cumsum(allowed[rows.indices], dtype=np.int64)])
        counts: LongArray = np.diff(before[np.asarray(rows.indptr)])
        ties = self.hidden_ties(allowed)
        return counts if ties is None else ties.count_mentions(counts)

    @cached_property
    def _in_graph(self) -> BoolArray:
        return graph_entities(self.snapshot)

    def names(self, allowed: BoolArray) -> NameTable:
        """Return the names that allowed passages (P,) write; those of the whole index where all are allowed."""
        return self.snapshot if self.restriction(allowed) is None else self._restricted_names(allowed)[1]

    def hidden_ties(self, allowed: BoolArray) -> HiddenTies | None:
        """Return what documents of other than the allowed passages (P,) alone say of names; None where all are."""
        return None if self.restriction(allowed) is None else self._restricted_names(allowed)[1].ties

    def linker_among(self, allowed: BoolArray) -> EntityLinker:
        """Return the linker to the names that allowed passages (P,) write."""
        if self.restriction(allowed) is None:
            return self.linker
        _, names, linkers = self._restricted_names(allowed)
        if id(self.linker) not in linkers:
            linkers[id(self.linker)] = self.linker, self.linker.restrict(names, allowed)
        return linkers[id(self.linker)][1]

    def _restricted_names(self, allowed: BoolArray) -> tuple[BoolArray, VisibleNames, _Linkers]:
        found = self._visible.get(id(allowed))  # the array is kept, so that no other has its id
        if found is None:
            found = allowed, VisibleNames(self.snapshot, allowed, self._in_graph), {}
            _remember(self._visible, id(allowed), found)
        return found

    def rank(self, scores: FloatArray, k: int, allowed: BoolArray, floor: float = 0.0) -> list[tuple[int, float]]:
        """Return positions and scores of the `k` best allowed passages (P,) above a floor, best first, ties by id."""
        candidates = np.flatnonzero(allowed & (scores > floor))
        if not len(candidates):
            return []
        best = candidates[top_order(scores[candidates], k)]
        return [(int(p), float(scores[p])) for p in best]

    def scored_passages(self, ranked: Sequence[tuple[int, float]]) -> tuple[Scored[Passage], ...]:
        """Return the passages at ranked positions."""
        return tuple(Scored(self.snapshot.passage(position), score) for position, score in ranked)


def _remember(cache: dict[Key, Value], where: Key, value: Value) -> None:
    """Keep a value, and the latest others."""
    while len(cache) >= _MAX_FILTERS:
        cache.pop(next(iter(cache)), None)
    cache[where] = value
