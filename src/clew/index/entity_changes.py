"""Changes of entities by people: merged, split, renamed and forgotten, each as one committed row that may be undone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.index.changes import ChangeableIndex
from clew.index.entity_names import EntityNames, clean_name, list_names, separate_names, strip_absent_names
from clew.plugins.arguments import check_count, check_string, check_strings
from clew.store.entity_decisions import (
    FORGET,
    MERGE,
    RENAME,
    SPLIT,
    UNDO,
    EntityDecision,
    append_decisions,
    decision_ids,
    effective_decisions,
    next_number,
    read_decisions,
    undone_numbers,
)
from clew.store.snapshot_files import DECISION_PROBLEMS, read_manifest
from clew.types import Filter

if TYPE_CHECKING:
    from clew.query.entity_candidates import AmbiguousEntity, DuplicateEntities

_PROBLEMS = {
    "absent": "no entity has one of its names now",
    "ambiguous": "several entities have one of its names now",
    "same": "its names are one entity now",
    "no mention": "no passage that it means mentions the entity now",
}


@dataclass(frozen=True, slots=True)
class DecisionState:
    """A decision on entities, and what it does in this version."""

    decision: EntityDecision
    is_undone: bool
    problem: str  # why it changes nothing, or not all that it names: "absent", "ambiguous", "same" or "no mention"

    @property
    def note(self) -> str:
        """Why it does not do what it says, in words; "" where it does."""
        return "undone" if self.is_undone else _PROBLEMS.get(self.problem, self.problem)


class CorrectableIndex(ChangeableIndex):
    """An index whose entities people correct; each change is one commit, and is applied again at each rebuild."""

    @property
    def entity_decisions(self) -> tuple[DecisionState, ...]:
        """All decisions on entities, in their order, also those that were undone."""
        self._check_whole()
        decisions = read_decisions(self.table)
        undone = undone_numbers(decisions)
        _ = self.context  # builds the snapshot, if another process has not
        problems = dict(read_manifest(self.snapshot_folder).get(DECISION_PROBLEMS, ()))
        return tuple(DecisionState(d, d.number in undone, problems.get(d.number, "")) for d in decisions)

    def duplicate_entities(self, limit: int = 20, name: str = "") -> "list[DuplicateEntities]":
        """Return pairs of entities that may be one, the likeliest first; under a filter, ask `restrict` for the index.

        Args:
            limit: Pairs, at most.
            name: Only pairs in which a name contains it.

        Raises:
            InputError: The limit is negative, or no whole number.
        """
        from clew.graph.similar_names import SimilarNames, list_name_parts
        from clew.query.entity_candidates import DuplicateSearch
        from clew.query.graph_browsing import GraphBrowser

        check_count(limit, "limit", least=0)
        check_string(name, "name")
        similar = SimilarNames(list_name_parts(self.snapshot))
        search = DuplicateSearch(self.snapshot, GraphBrowser(self.context.scope), similar)
        return search.find(limit, name, separate_names(effective_decisions(read_decisions(self.table))))

    def ambiguous_entities(self, limit: int = 20, name: str = "") -> "list[AmbiguousEntity]":
        """Return entities that may be several, the likeliest first; the arguments are those of `duplicate_entities`."""
        from clew.query.entity_candidates import AmbiguitySearch
        from clew.query.graph_browsing import GraphBrowser

        check_count(limit, "limit", least=0)
        check_string(name, "name")
        return AmbiguitySearch(self.snapshot, GraphBrowser(self.context.scope)).find(limit, name)

    def merge_entities(self, names: Sequence[str], into: str | None = None) -> EntityDecision:
        """Make several entities one.

        Args:
            names: Of the entities, two or more.
            into: The name of what they become; the first name if None.

        Raises:
            InputError: There is no such entity, a name stands for several, all are one already, or `into` is the name
                of another; nothing was changed.
            IndexLockedError: Another process is writing.
        """
        check_strings(names, "names")
        check_string(into, "into", optional=True)
        with self._writing():
            known = self._names()
            entities = [known.resolve(name) for name in names]
            if len(names) < 2:
                raise InputError("two or more entities are merged: name another")
            if repeated := [n for e, n in zip(entities, names, strict=True) if entities.count(e) > 1]:
                raise InputError(f"{list_names(repeated)} are one entity already: name others")
            labels = tuple(map(known.label, entities))
            new = labels[0] if into is None else clean_name(into)
            if (other := known.find_displayed(new)) is not None and other not in entities:
                raise InputError(f"{new!r} is another entity: name it among those to merge, or choose another name")
            return self._decide(EntityDecision(0, MERGE, labels, new))[0]

    def split_entity(
        self,
        name: str,
        new_name: str,
        *,
        documents: Sequence[str] = (),
        passages: Sequence[str] = (),
        where: Filter | None = None,
        form: str = "",
    ) -> EntityDecision:
        """Make the mentions of an entity in some passages another entity.

        Documents and passages that come later stay with the entity, but for those that write it as `form`.

        Args:
            name: Of the entity.
            new_name: The name of what is split off; both are found by the names that the entity has.
            documents: Ids of documents, all of whose passages are meant, also after they change.
            passages: Ids of passages.
            where: A filter, which stands for the documents, or else the passages, that it allows now.
            form: The name as passages write it, which from then on is that of the new entity alone.

        Raises:
            InputError: There is no such entity, a name stands for several, the new one is that of another entity, or
                none or all of its passages are meant; nothing was changed.
            IndexLockedError: Another process is writing.
        """
        for value, label in ((name, "name"), (new_name, "new_name"), (form, "form")):
            check_string(value, label)
        check_strings(documents, "documents")
        check_strings(passages, "passages")
        check_string(where, "where", optional=True)
        if sum(map(bool, (documents, passages, where, form))) != 1:
            raise InputError("say which mentions are split off, in one way: documents, passages, a filter or a form")
        with self._writing():
            known = self._names()
            entity, new = known.resolve(name), known.clean_new_name(new_name)
            if where is not None:
                documents, passages = self._find_places(entity, where)
            decision = EntityDecision(0, SPLIT, (known.label(entity),), new, tuple(documents), tuple(passages), form)
            self._check_split(entity, decision)
            return self._decide(decision)[0]

    def split_entity_by_context(self, name: str) -> list[EntityDecision]:
        """Make each group of documents of an entity that shares nothing with the others an entity of its own.

        Their names are told apart by what stands beside them: `John Smith (Leith)`.

        Raises:
            InputError: There is no such entity, a name stands for several, or its documents do not fall apart; nothing
                was changed.
            IndexLockedError: Another process is writing.
        """
        from clew.query.entity_candidates import AmbiguitySearch
        from clew.query.graph_browsing import GraphBrowser

        check_string(name, "name")
        with self._writing():
            known = self._names()
            entity = known.resolve(name)
            label = known.label(entity)
            groups = AmbiguitySearch(self.snapshot, GraphBrowser(self.context.scope)).context_groups(entity)
            if len(groups) < 2:
                raise InputError(f"the documents that mention {label!r} hang together: split by documents or a filter")
            names = known.for_groups(label, groups)
            split = [
                EntityDecision(0, SPLIT, (label,), new, group.documents)
                for new, group in zip(names[1:], groups[1:], strict=True)
            ]
            return self._decide(*split, EntityDecision(0, RENAME, (label,), names[0]))

    def rename_entity(self, name: str, new_name: str) -> EntityDecision:
        """Give an entity another name; it is found by the old one, too.

        Raises:
            InputError: There is no such entity, a name stands for several, or another has the new one.
            IndexLockedError: Another process is writing.
        """
        check_string(name, "name")
        check_string(new_name, "new_name")
        with self._writing():
            known = self._names()
            entity, new = known.resolve(name), clean_name(new_name)
            label = known.label(entity)
            if label == new:
                raise InputError(f"{label!r} is called so already: give another name")
            if known.find_displayed(new) not in (None, entity):
                raise InputError(f"{new!r} is another entity: merge {label!r} with it, or choose another name")
            return self._decide(EntityDecision(0, RENAME, (label,), new))[0]

    def forget_entity(self, name: str) -> EntityDecision:
        """Take an entity out of the graph: its mentions link nothing, now and in documents that come later.

        Raises:
            InputError: There is no such entity, or the name stands for several.
            IndexLockedError: Another process is writing.
        """
        check_string(name, "name")
        with self._writing():
            known = self._names()
            return self._decide(EntityDecision(0, FORGET, (known.label(known.resolve(name)),)))[0]

    def undo_entity_decision(self, number: int | None = None) -> EntityDecision:
        """Undo a decision, by one more decision; the last that is in force if no number is given.

        To undo an undoing puts its decision in force again.

        Raises:
            InputError: There is no such decision, or it is undone already.
            IndexLockedError: Another process is writing.
        """
        check_count(number, "number", optional=True, least=1)
        with self._writing():
            decisions = read_decisions(self.table)
            if number is None:
                if not (active := effective_decisions(decisions)):
                    raise InputError("no decision on entities is in force: there is nothing to undo")
                number = active[-1].number
            if number not in {decision.number for decision in decisions}:
                raise InputError(f"there is no decision {number}: `clew entities list --log` lists those there are")
            if number in undone_numbers(decisions):
                raise InputError(f"decision {number} is undone already: `clew entities list --log` says by which")
            return self._decide(EntityDecision(0, UNDO, target=number))[0]

    def add_entity_decisions(self, decisions: Sequence[EntityDecision]) -> list[EntityDecision]:
        """Add decisions as another index has them, in one commit; what they name need not be here.

        Their numbers are new ones, in the same order; those that this index has are left out, and so are those that
        are undone.
        """
        if not all(isinstance(decision, EntityDecision) for decision in decisions):
            raise InputError("decisions: give EntityDecision records, as `entity_decisions` has them")
        with self._writing():
            stored = {decision.to_triples() for decision in effective_decisions(read_decisions(self.table))}
            wanted = [d for d in effective_decisions(decisions) if d.to_triples() not in stored]
            return self._decide(*wanted) if wanted else []

    def _shred(self) -> None:
        """Take the names and ids that the index has no longer out of the decisions, too."""
        states = [(s.decision, not s.note) for s in self.entity_decisions]
        if states and any(strip_absent_names(self.snapshot, states)):
            with self._writing():
                states = [(s.decision, not s.note) for s in self.entity_decisions]
                changed, dropped = strip_absent_names(self.snapshot, states)
                append_decisions(self.table, changed)
                self.table.delete(decision_ids(dropped))
                self.table.compact()
        super()._shred()

    def _names(self) -> EntityNames:
        return EntityNames(self.context.scope, effective_decisions(read_decisions(self.table)))

    def _decide(self, *decisions: EntityDecision) -> list[EntityDecision]:
        """Write decisions, with their numbers and the time where they have none, in one commit."""
        first = next_number(read_decisions(self.table))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        made = [replace(d, number=first + place, time=d.time or now) for place, d in enumerate(decisions)]
        append_decisions(self.table, made)
        return made

    def _find_places(self, entity: int, where: Filter) -> tuple[list[str], list[str]]:
        """Return the documents of an entity that a filter allows whole, and the passages of the others."""
        allowed, snapshot = self.context.scope.mask(where), self.snapshot
        inside: dict[str, list[int]] = {}
        outside = set()
        for passage in snapshot.passages_of(entity).tolist():
            document = snapshot.document_ids[passage]
            if allowed[passage]:
                inside.setdefault(document, []).append(passage)
            else:
                outside.add(document)
        passages = [snapshot.passage_ids[p] for d in inside.keys() & outside for p in inside[d]]
        return sorted(inside.keys() - outside), sorted(passages)

    def _check_split(self, entity: int, decision: EntityDecision) -> None:
        from clew.indexing import entry

        label, snapshot = self.snapshot.entities[entity], self.snapshot
        for kind, given, ids in (
            ("document", decision.documents, snapshot.document_ids),
            ("passage", decision.passages, snapshot.passage_ids),
        ):
            known = set(ids) if given else set()
            if absent := [id_ for id_ in given if id_ not in known]:
                raise InputError(f"no {kind} has the id {absent[0]!r}: `clew search` shows the ids of what it finds")
        mentioning = snapshot.passages_of(entity).tolist()
        chosen = entry.split_passages(snapshot, decision, entity, mentioning)
        if not chosen:
            raise InputError(f"none of the passages that are meant mentions {label!r}: nothing can be split off")
        if len(chosen) == len(mentioning):
            raise InputError(f"every passage of {label!r} is meant: rename it, or name fewer")
