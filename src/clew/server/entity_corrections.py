"""Entities that people correct, over the server: candidates within what a key may see, and decisions.

A decision holds names of the whole index: who may not write, as no key with a filter may, sees none.
"""

from collections.abc import Sequence

from clew.errors import InputError
from clew.index import Index
from clew.index.entity_changes import DecisionState
from clew.server import entity_records
from clew.server.access import Access
from clew.server.open_indexes import OpenVersion
from clew.server.views import view_quote
from clew.store.entity_decisions import EntityDecision


def find_duplicates(version: OpenVersion, access: Access, text: str, limit: int) -> entity_records.DuplicateList:
    """Return pairs of entities that may be one, among the passages that the key may see."""
    pairs = [
        entity_records.DuplicateEntities(
            names=list(pair.names),
            score=pair.score,
            reason=pair.reason,
            shared=list(pair.shared),
            quotes=[view_quote(citation) for citation in pair.citations],
        )
        for pair in _visible_index(version, access).duplicate_entities(limit, text)
    ]
    return entity_records.DuplicateList(index=version.name, version=version.number, pairs=pairs)


def find_ambiguous(version: OpenVersion, access: Access, text: str, limit: int) -> entity_records.AmbiguousList:
    """Return entities that may be several, among the passages that the key may see."""
    entities = [
        entity_records.AmbiguousEntity(
            name=entity.name,
            score=entity.score,
            reason="names" if entity.reason == "names" else "contexts",
            groups=[
                entity_records.MentionGroup(
                    documents=list(group.documents),
                    neighbours=list(group.neighbours),
                    form=group.form,
                    quote=view_quote(group.citation),
                )
                for group in entity.groups
            ],
        )
        for entity in _visible_index(version, access).ambiguous_entities(limit, text)
    ]
    return entity_records.AmbiguousList(index=version.name, version=version.number, entities=entities)


def list_decisions(version: OpenVersion) -> entity_records.EntityDecisions:
    """Return all decisions of an index."""
    return _view_states(version.name, version.index, version.index.entity_decisions)


def decide(name: str, index: Index, change: entity_records.EntityChange) -> entity_records.EntityDecisions:
    """Make a decision on an index that is open for writing; return those that it became."""
    made = {decision.number for decision in _apply(index, change)}
    return _view_states(name, index, [state for state in index.entity_decisions if state.decision.number in made])


def _apply(index: Index, change: entity_records.EntityChange) -> list[EntityDecision]:
    names, new = change.names, change.new_name
    if change.action == "undo":
        return [index.undo_entity_decision(change.number)]
    if change.action == "merge":
        return [index.merge_entities(names, new)]
    if len(names) != 1:
        raise InputError(f"names holds {len(names)} names: give the one entity to {change.action}")
    if change.action == "forget":
        return [index.forget_entity(names[0])]
    if change.action == "split" and change.by_context:
        return index.split_entity_by_context(names[0])
    if new is None:
        raise InputError(f"new_name is missing: give the name that the entity gets by the {change.action}")
    if change.action == "rename":
        return [index.rename_entity(names[0], new)]
    documents, passages = change.documents, change.passages
    return [
        index.split_entity(names[0], new, documents=documents, passages=passages, where=change.where, form=change.form)
    ]


def _visible_index(version: OpenVersion, access: Access) -> Index:
    where = access.restrict(None, version.scope)
    return version.index if where is None else version.restrict(where)


def _view_states(name: str, index: Index, states: Sequence[DecisionState]) -> entity_records.EntityDecisions:
    decisions = [
        entity_records.EntityDecision(
            number=state.decision.number,
            action=state.decision.action,
            description=state.decision.describe(),
            name=state.decision.new_name,
            time=state.decision.time,
            undone=state.is_undone,
            note=state.note,
        )
        for state in states
    ]
    return entity_records.EntityDecisions(index=name, version=index.table.version, decisions=decisions)
