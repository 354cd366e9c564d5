"""The documents, entities and facts of an index version one by one, each within a filter; nothing is copied as a whole.

A document has the passages that the filter allows. An entity has the name that an allowed passage or an imported graph
gives it, and a fact is as an allowed passage that states it writes it.

The documents of an index version, in the order of their ids, with the passages of each in the order of the text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import index as as_integer
from typing import Any, SupportsIndex, final, overload

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray, sort_distinct
from clew.errors import InputError, MissingItemError, MissingKeyError
from clew.graph.graph_view import GraphView
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.arguments import check_count
from clew.query.scope import Scope
from clew.query.visible_names import visible_entities
from clew.text.display import format_count
from clew.text.normalization import key_hash, name_key
from clew.types import Filter, Passage, Triple


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


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document as an index holds it: the stretches of its text that were indexed, in the order of the text."""

    id: str
    title: str
    passages: tuple[Passage, ...]
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexedEntity:
    """An entity of an index."""

    name: str
    passages: int  # that mention it
    facts: int  # that it is an end of


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity that a fact joins to another one."""

    name: str
    triple: Triple


@final
class IndexedDocuments(Sequence[IndexedDocument]):
    """The documents of one version of an index, by id; each is read when it is asked for.

    `documents[0]`, `documents[-3:]`, `documents["id"]`, `len(documents)`, and `"id" in documents` read no more than
    they need.
    """

    def __init__(self, scope: Scope, where: Filter | None = None) -> None:
        self._scope = scope
        self._where = where
        self._documents = DocumentList(scope.snapshot)

    @cached_property
    def _numbers(self) -> LongArray:
        """The numbers (n,) of the documents with an allowed passage, ascending."""
        numbers: LongArray = np.flatnonzero(self._documents.visible(self._scope.mask(self._where)))
        return numbers

    def filter(self, where: Filter) -> "IndexedDocuments":
        """Return the documents with a passage that a filter allows, each with those passages alone.

        Raises:
            InputError: The filter cannot be read, or names a field that no passage has.
        """
        allowed = where if self._where is None else f"({self._where}) AND ({where})"
        self._scope.mask(where)  # its own error, not that of both
        return IndexedDocuments(self._scope, allowed)

    def find(self, document_id: str) -> IndexedDocument | None:
        """Return the document of an id, None where there is none."""
        number = self._documents.find(document_id)
        return None if number is None else self._read(number)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, document: object) -> bool:
        """Return whether there is a document with an id, or that is equal."""
        if isinstance(document, str):
            return self.find(document) is not None
        return isinstance(document, IndexedDocument) and self.find(document.id) == document

    @overload
    def __getitem__(self, index: SupportsIndex | str) -> IndexedDocument: ...
    @overload
    def __getitem__(self, index: slice) -> list[IndexedDocument]: ...
    def __getitem__(self, index: SupportsIndex | str | slice) -> IndexedDocument | list[IndexedDocument]:
        """Return the document of a place, from the end where it is negative, or of an id; those of a slice as a list.

        Raises:
            MissingItemError: No document has that place; an IndexError too.
            MissingKeyError: No document has that id; a KeyError too.
            InputError: The index is no whole number, slice or id.
        """
        if isinstance(index, slice):
            return [self._read_place(place) for place in self._places(index)]
        if isinstance(index, str):
            if (found := self.find(index)) is None:
                raise MissingKeyError(f"no document has the id {index!r:.200}: they are [d.id for d in documents]")
            return found
        check_count(index, "the index of a document")
        if not -len(self) <= (place := as_integer(index)) < len(self):
            wanted = f"wanted {-len(self)} to {len(self) - 1}" if len(self) else "there is none"
            raise MissingItemError(f"{place} is no place of {format_count(len(self), 'document')}; {wanted}")
        return self._read_place(place)

    def __repr__(self) -> str:
        """Return the number of documents."""
        within = "" if self._where is None else f", where {self._where}"
        return f"IndexedDocuments({format_count(len(self), 'document')}{within})"

    def _places(self, chosen: slice) -> range:
        for name in ("start", "stop", "step"):
            check_count(getattr(chosen, name), f"the {name} of a slice", optional=True)
        if chosen.step is not None and as_integer(chosen.step) == 0:
            raise InputError("the step of a slice is 0; give another")
        return range(*chosen.indices(len(self)))

    def _read_place(self, place: int) -> IndexedDocument:
        found = self._read(int(self._numbers[place]))
        assert found is not None
        return found

    def _read(self, number: int) -> IndexedDocument | None:
        s, allowed = self._scope.snapshot, self._scope.mask(self._where)
        passages = tuple(s.passage(p) for p in self._documents.passages(number) if allowed[p])
        if not passages:
            return None
        first = passages[0]
        return IndexedDocument(first.document_id, first.title, passages, dict(first.metadata))


@final
class GraphContents:
    """The entities and facts of one index version within a filter."""

    def __init__(self, scope: Scope, where: Filter | None = None) -> None:
        self._scope = scope
        self._snapshot = scope.snapshot
        self._allowed = scope.mask(where)
        self._where = where
        self._names = scope.names(self._allowed)

    def entities(self, text: str = "") -> Iterator[IndexedEntity]:
        """Yield the entities whose names contain a text, those that most passages mention first, ties by position."""
        wanted = name_key(text) if text.strip() else ""
        passages, facts = self._passage_counts, self._fact_counts
        for entity in np.lexsort((np.arange(len(passages)), -facts, -passages)).tolist():
            if not (passages[entity] or facts[entity]):
                continue
            name = self._names.entities[entity]
            if name and wanted in name_key(name):
                yield IndexedEntity(name, int(passages[entity]), int(facts[entity]))

    def neighbours(self, name: str) -> Iterator[Neighbour]:
        """Yield the entities that facts join to those of a name, fact by fact in the order of the index.

        Raises:
            InputError: No entity has that name.
        """
        ends = np.isin(self._snapshot.triples[:, [0, 2]], self._find(name))
        found = self._write(np.flatnonzero(ends.any(axis=1) & self._visible_facts))
        return (Neighbour(triple.entities[int(ends[position, 0])], triple) for triple, position in found)

    def triples(self, head: str = "", relation: str = "", tail: str = "") -> Iterator[Triple]:
        """Yield the facts with a head, a relation and a tail, "" for any, in the order of the index.

        Raises:
            InputError: No entity has such a name, or no fact such a relation.
        """
        s, mask = self._snapshot, self._visible_facts
        for column, name in ((0, head), (2, tail)):
            if name:
                mask &= np.isin(s.triples[:, column], self._find(name))
        if relation:
            mask &= np.isin(s.triples[:, 1], self._find_relation(relation))
        return (triple for triple, _ in self._write(np.flatnonzero(mask)))

    def count_entities(self) -> int:
        """Return the number of entities that an allowed passage mentions or a fact has as an end."""
        return int(((self._passage_counts > 0) | (self._fact_counts > 0)).sum())

    def count_triples(self) -> int:
        """Return the number of facts."""
        return int(self._visible_facts.sum())

    @property
    def _visible_facts(self) -> BoolArray:
        """The facts (T,) that an allowed passage states or an imported graph holds, as an array of its own."""
        return self._scope.visible_triples(self._where)

    @cached_property
    def _passage_counts(self) -> LongArray:
        """The allowed passages that mention each entity (E,)."""
        return self._scope.mention_counts(self._allowed)

    @cached_property
    def _fact_counts(self) -> LongArray:
        """The facts that each entity (E,) is an end of; one that joins it to itself counts once."""
        ends = self._snapshot.triples[self._visible_facts][:, [0, 2]]
        count = len(self._snapshot.entities)
        loops = ends[:, 0] == ends[:, 1]
        heads, tails = np.bincount(ends[:, 0], minlength=count), np.bincount(ends[~loops, 1], minlength=count)
        sums: LongArray = heads.astype(np.int64) + tails
        return sums

    def _find(self, name: str) -> IntArray:
        found = self._names.entities_with_key(key_hash(name_key(name), self._names.salt))
        seen = [e for e in found.tolist() if self._passage_counts[e] or self._fact_counts[e]]
        if not name.strip() or not seen:
            raise InputError(f"no entity is called {name!r}: look for its name by index.entities({name[:40]!r})")
        return np.array(seen, dtype=np.int32)

    def _find_relation(self, relation: str) -> list[int]:
        wanted = " ".join(relation.casefold().split())
        relations = sort_distinct(self._snapshot.triples[self._visible_facts, 1]).tolist()
        found = [r for r in relations if " ".join(self._snapshot.relations[r].casefold().split()) == wanted]
        if not found:
            raise InputError(
                f"no fact has the relation {relation!r}: those of an entity are its index.neighbours(NAME)"
            )
        return found

    def _write(self, positions: LongArray) -> Iterator[tuple[Triple, int]]:
        """Yield facts whose ends an allowed passage or a graph names, with their positions."""
        among = self._scope.restriction(self._allowed)
        for position in positions.tolist():
            triple = self._snapshot.triple(position, among)
            if triple.head and triple.tail:
                yield triple, position


def view_graph(scope: Scope, where: Filter | None = None) -> GraphView:
    """Return the entities that allowed passages or an imported graph name, and the triples of them that one states.

    Raises InputError where the filter cannot be parsed.
    """
    s, allowed = scope.snapshot, scope.mask(where)
    shown, names = scope.visible_triples(where), scope.names(allowed)
    seen: BoolArray = np.ones(len(s.entities), dtype=np.bool_)
    if where is not None:
        seen = visible_entities(s, allowed)
        seen[np.asarray(s.triples)[shown][:, [0, 2]].ravel()] = True
        seen &= np.array([bool(name) for name in names.entities], dtype=np.bool_)
        # An end that no allowed passage names has no entry, and the triple none either.
        shown &= seen[np.asarray(s.triples)[:, [0, 2]]].all(axis=1)
    return GraphView(s, names.entities, allowed, np.flatnonzero(seen), np.flatnonzero(shown))
