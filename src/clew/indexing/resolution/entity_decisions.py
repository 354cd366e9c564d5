"""Decisions of people on entities, applied one after the other to the entities of a snapshot.

A decision names its entities; which they are is found again at each rebuild, so that it holds for documents that come
later. One whose names are not there any more changes nothing, and is listed with the reason.

Source: none.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.graph.similar_names import choose_entities
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import find_spelling
from clew.store.entity_decisions import FORGET, MERGE, RENAME, SPLIT, EntityDecision
from clew.text.normalization import key_hash, name_key

ABSENT, AMBIGUOUS, SAME, NO_MENTION = "absent", "ambiguous", "same", "no mention"
"""Reasons why a decision changes nothing, or does so for some of its names: no entity has a name of it, several have
one, its names are one entity already, no passage that it names mentions the entity."""
_NONE = -1


@final
@dataclass(frozen=True, slots=True, eq=False)
class CorrectedEntities:
    """The entities of a snapshot after decisions: E before and N after, in the order of those before.

    Entities that are split off stand behind the one that they were a part of.
    """

    numbers: IntArray  # (E,) the new number of each entity, -1 for one that is forgotten
    moved: LongArray  # (m, 3) passage, entity, and new number or -1, of mentions that do not follow `numbers`; sorted
    sources: IntArray  # (N,) an entity before whose label is kept, -1 for one in `labels`
    labels: dict[int, str]  # by new number
    name_hashes: NDArray[np.uint64]  # (n,) ascending
    name_entities: IntArray  # (n,) new numbers
    problems: tuple[tuple[int, str], ...]  # numbers of decisions that changed nothing, or not all, and the reason


def apply_decisions(
    snapshot: Snapshot, decisions: Sequence[EntityDecision], *, show_names: bool = True
) -> CorrectedEntities:
    """Return the entities of a snapshot after decisions that are in force, in their order.

    Without `show_names` no name that a decision gives is shown or found: entities have those that passages write. So it
    is for the passages that a filter allows, whose readers may not know what others called an entity.
    """
    state = _State(snapshot, show_names=show_names)
    problems = [(decision.number, state.apply(decision)) for decision in decisions]
    return state.finish(tuple((number, problem) for number, problem in problems if problem))


def split_passages(snapshot: Snapshot, decision: EntityDecision, entity: int, passages: Sequence[int]) -> list[int]:
    """Return those of the passages of an entity whose mentions of it a decision splits off."""
    documents, chosen = frozenset(decision.documents), frozenset(decision.passages)
    form = name_key(decision.form)
    return [
        passage
        for passage in passages
        if snapshot.document_ids[passage] in documents
        or snapshot.passage_ids[passage] in chosen
        or (form and name_key(find_spelling(snapshot, passage, entity)) == form)
    ]


@dataclass(slots=True)
class _Entity:
    """An entity that a decision has changed or made."""

    label: str
    source: int  # an entity of the snapshot that has the label, -1 for none
    names: set[int]  # hashes of the keys of its names
    entities: set[int]  # entities of the snapshot of which it has mentions
    place: tuple[int, int]  # that it is ordered by
    hidden_names: set[int] = field(default_factory=set)  # by which decisions alone find it
    is_dropped: bool = False  # forgotten, or without any mention left


@final
class _State:
    """The entities of a snapshot between two decisions.

    An entity is a number: below E one of the snapshot, which stands in `_changed` once a decision has changed it.
    """

    def __init__(self, snapshot: Snapshot, *, show_names: bool) -> None:
        self._snapshot = snapshot
        self._show_names = show_names
        self._count = len(snapshot.entities)
        self._changed: dict[int, _Entity] = {}
        self._merged: dict[int, int] = {}  # into which other
        self._moved: dict[int, dict[int, int]] = defaultdict(dict)  # by entity of the snapshot and passage

    def apply(self, decision: EntityDecision) -> str:
        """Apply a decision; return why it changes nothing, or not all, else ""."""
        found = [self._find(name) for name in decision.names]
        if decision.action == MERGE:
            return self._merge(decision, found)
        if not found or len(found[0]) != 1:
            return AMBIGUOUS if found and found[0] else ABSENT
        number = found[0][0]
        if decision.action == RENAME:
            self._name(self._change(number), decision.new_name)
        elif decision.action == FORGET:
            self._change(number).is_dropped = True
        elif decision.action == SPLIT:
            return self._split(decision, number)
        return ""

    def _find(self, name: str) -> list[int]:
        """Return the entities that a name stands for, ascending."""
        hash_ = key_hash(name_key(name), self._snapshot.salt)
        found = {int(e) for e in self._snapshot.entities_with_key(hash_)} - self._changed.keys()
        found |= {
            number
            for number, own in self._changed.items()
            if number not in self._merged and not own.is_dropped and hash_ in own.names | own.hidden_names
        }
        return choose_entities(name, sorted(found), self._label)

    def _label(self, number: int) -> str:
        return self._changed[number].label if number in self._changed else self._snapshot.entities[number]

    def _change(self, number: int) -> _Entity:
        """Return what is known of an entity, read from the snapshot at its first change."""
        if number not in self._changed:
            hashes = self._snapshot.name_hashes[self._snapshot.name_entities == number]
            label = self._snapshot.entities[number]
            self._changed[number] = _Entity(label, number, set(hashes.tolist()), {number}, (number, 0))
        return self._changed[number]

    def _name(self, entity: _Entity, name: str) -> None:
        hash_ = key_hash(name_key(name), self._snapshot.salt)
        if self._show_names:
            entity.label, entity.source = name, _NONE
            entity.names.add(hash_)
        else:
            entity.hidden_names.add(hash_)

    def _merge(self, decision: EntityDecision, found: Sequence[Sequence[int]]) -> str:
        single = list(dict.fromkeys(numbers[0] for numbers in found if len(numbers) == 1))
        problem = ABSENT if not all(found) else AMBIGUOUS if any(len(numbers) > 1 for numbers in found) else ""
        if len(single) < 2:
            return problem or SAME
        first = self._change(single[0])
        for number in single[1:]:
            other = self._change(number)
            first.names |= other.names
            first.hidden_names |= other.hidden_names
            first.entities |= other.entities
            self._merged[number] = single[0]
        self._name(first, decision.new_name)
        return problem

    def _split(self, decision: EntityDecision, number: int) -> str:
        whole = self._change(number)
        mentions: dict[int, list[int]] = defaultdict(list)
        for entity, passage in self._mentions(number):
            mentions[entity].append(passage)
        pairs = [(e, p) for e, own in mentions.items() for p in split_passages(self._snapshot, decision, e, own)]
        if not pairs:
            return NO_MENTION
        new = self._count + len(self._changed)
        while new in self._changed:
            new += 1
        place = whole.place[0], new
        part = _Entity(whole.label, whole.source, set(whole.names), {e for e, _ in pairs}, place)
        if decision.form:
            hash_ = key_hash(name_key(decision.form), self._snapshot.salt)
            part.names = {hash_}
            if key_hash(name_key(whole.label), self._snapshot.salt) != hash_:
                whole.names.discard(hash_)
        self._changed[new] = part
        self._name(part, decision.new_name)
        for entity, passage in pairs:
            self._moved[entity][passage] = new
        whole.is_dropped = not self._has_content(number)
        return ""

    def _mentions(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield the entities of the snapshot and the passages of the mentions that an entity has now."""
        for entity in sorted(self._changed[number].entities):
            moved = self._moved.get(entity, {})
            for passage in self._snapshot.mentioned_in.row(entity).tolist():
                if self._current(moved.get(passage, entity)) == number:
                    yield entity, passage

    def _current(self, number: int) -> int:
        while number in self._merged:
            number = self._merged[number]
        return number

    def finish(self, problems: tuple[tuple[int, str], ...]) -> CorrectedEntities:
        """Return the entities after all decisions."""
        live = [n for n, own in self._changed.items() if n not in self._merged and not own.is_dropped]
        unchanged = np.setdiff1d(np.arange(self._count), np.array(sorted(self._changed), dtype=np.int64))
        placed = [(self._changed[number].place, number) for number in live]
        places = np.array([(*place, number) for place, number in placed], dtype=np.int64).reshape(-1, 3)
        kept = np.column_stack([unchanged, np.zeros_like(unchanged), unchanged])
        rows = np.concatenate([kept, places])
        order = rows[np.lexsort((rows[:, 1], rows[:, 0])), 2]
        final = {int(number): position for position, number in enumerate(order.tolist()) if number in self._changed}
        numbers = np.full(self._count, _NONE, dtype=np.int32)
        own = order < self._count
        numbers[order[own]] = np.flatnonzero(own)
        for number in self._changed:
            if number < self._count:
                numbers[number] = final.get(self._current(number), _NONE)
        moved = [
            (passage, entity, final.get(self._current(number), _NONE))
            for entity, passages in self._moved.items()
            for passage, number in passages.items()
        ]
        sources = order.astype(np.int32)
        labels = {}
        for number, position in final.items():
            entity = self._changed[number]
            sources[position] = entity.source
            if entity.source == _NONE:
                labels[position] = entity.label
        names = self._list_names(numbers, final)
        triples = np.array(sorted(moved), dtype=np.int64).reshape(-1, 3)
        return CorrectedEntities(numbers, triples, sources, labels, *names, problems)

    def _has_content(self, number: int) -> bool:
        """Return whether a changed entity has a mention, or is one of imported graphs."""
        if next(self._mentions(number), None) is not None:
            return True
        own = [e for e in self._changed[number].entities if self._current(e) == number]
        unmentioned = any(not len(self._snapshot.mentioned_in.row(entity)) for entity in own)
        return unmentioned or bool(np.isin(self._snapshot.triples[self._snapshot.imported][:, [0, 2]], own).any())

    def _list_names(self, numbers: IntArray, final: dict[int, int]) -> tuple[NDArray[np.uint64], IntArray]:
        snapshot = self._snapshot
        changed = np.zeros(self._count, dtype=bool)
        changed[[number for number in self._changed if number < self._count]] = True
        others = ~changed[snapshot.name_entities]
        own = [(hash_, position) for number, position in final.items() for hash_ in self._changed[number].names]
        hashes = np.concatenate([snapshot.name_hashes[others], np.array([h for h, _ in own], dtype=np.uint64)])
        positions = np.array([position for _, position in own], dtype=np.int32)
        entities = np.concatenate([numbers[snapshot.name_entities[others]], positions]).astype(np.int32)
        order = np.lexsort((entities, hashes))
        return hashes[order], entities[order]
