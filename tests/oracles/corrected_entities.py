"""Decisions on entities, applied naively: a table of who every single mention is of, rewritten by each decision."""

from collections.abc import Sequence
from dataclasses import dataclass

from clew.graph.snapshot.snapshot import Snapshot
from clew.store.entity_decisions import FORGET, MERGE, RENAME, SPLIT, EntityDecision

Mention = tuple[str, str]  # passage, label before all decisions
Fact = tuple[str, str, str, str]  # head, relation, tail, passage


@dataclass
class NaiveEntities:
    """Labels of entities by number, and the entity of each mention, None once it is forgotten."""

    labels: dict[int, str]
    entity_of: dict[Mention, int | None]
    documents: dict[str, str]
    facts: list[Fact]
    names: dict[int, set[str]]

    @classmethod
    def read(cls, snapshot: Snapshot) -> "NaiveEntities":
        """Return the mentions and facts of a snapshot without imported graphs, whose labels are distinct."""
        names = list(snapshot.entities)
        assert len(set(names)) == len(names)
        ids = list(snapshot.passage_ids)
        numbers = {name: number for number, name in enumerate(names)}
        mentions: dict[Mention, int | None] = {
            (ids[p], names[int(e)]): numbers[names[int(e)]] for p in range(len(ids)) for e in snapshot.mentions.row(p)
        }
        facts = [
            (names[h], snapshot.relations[r], names[t], ids[int(p)])
            for position, (h, r, t) in enumerate(snapshot.triples.tolist())
            for p in snapshot.triple_passages.row(position)
        ]
        return cls(
            dict(enumerate(names)),
            mentions,
            dict(zip(ids, snapshot.document_ids, strict=True)),
            facts,
            {n: {name} for n, name in enumerate(names)},
        )

    def apply(self, decisions: Sequence[EntityDecision]) -> None:
        """Apply decisions whose names are labels of different words."""
        for decision in decisions:
            found = [self._find(name) for name in decision.names]
            if decision.action == MERGE:
                present = list(dict.fromkeys(entity for entity in found if entity is not None))
                if len(present) > 1:
                    self._move(lambda _, entity, these=present: entity in these, present[0])
                    for other in present:
                        self.names[present[0]] |= self.names[other]
                    self._name(present[0], decision.new_name)
                continue
            entity = found[0]
            if entity is None:
                continue
            if decision.action == RENAME:
                self._name(entity, decision.new_name)
            elif decision.action == FORGET:
                self._move(lambda _, other, this=entity: other == this, None)
            elif decision.action == SPLIT:
                chosen = {m for m, e in self.entity_of.items() if e == entity and self._stands_in(m[0], decision)}
                if chosen:
                    new = max(self.labels) + 1
                    self.names[new] = set(self.names[entity])
                    self._name(new, decision.new_name)
                    self._move(lambda mention, _, these=chosen: mention in these, new)

    def mentions(self) -> set[tuple[str, str]]:
        """Return the passages with the label of each entity that they mention."""
        return {(passage, self.labels[e]) for (passage, _), e in self.entity_of.items() if e is not None}

    def stated(self) -> set[Fact]:
        """Return the facts by the labels of their ends, without those that lost one, or whose ends became one."""
        made = set()
        for head, relation, tail, passage in self.facts:
            first, last = self.entity_of[passage, head], self.entity_of[passage, tail]
            if first is not None and last is not None and first != last:
                made.add((self.labels[first], relation, self.labels[last], passage))
        return made

    def _find(self, name: str) -> int | None:
        live = {entity for entity in self.entity_of.values() if entity is not None}
        shown = [entity for entity in live if self.labels[entity] == name]
        found = shown or [entity for entity in live if name in self.names[entity]]
        return found[0] if len(found) == 1 else None

    def _name(self, entity: int, name: str) -> None:
        self.labels[entity] = name
        self.names[entity].add(name)

    def _move(self, is_chosen, entity) -> None:  # type: ignore[no-untyped-def]
        for mention, current in self.entity_of.items():
            if current is not None and is_chosen(mention, current):
                self.entity_of[mention] = entity

    def _stands_in(self, passage: str, decision: EntityDecision) -> bool:
        return passage in decision.passages or self.documents[passage] in decision.documents
