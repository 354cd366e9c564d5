"""Entities that people correct, over the server: candidates within what a key may see, and decisions.

A decision holds names of the whole index: who may not write, as no key with a filter may, sees none.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from clew.errors import InputError
from clew.index import Index
from clew.index.entity_changes import DecisionState
from clew.server.access import Access
from clew.server.open_indexes import OpenVersion
from clew.server.records import OfVersion, Record
from clew.store import entity_decisions
from clew.types import Citation

_Name = Annotated[str, Field(min_length=1, max_length=500)]
_Id = Annotated[str, Field(min_length=1, max_length=4_000)]


class EntityChange(Record):
    """A decision to be made."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"action": "merge", "names": ["John Smith", "J. Smith"]},
                {"action": "split", "names": ["John Smith"], "new_name": "John Smith (navy)", "documents": ["navy.md"]},
                {"action": "undo", "number": 3},
            ]
        },
    )

    action: Literal["merge", "split", "rename", "forget", "undo"]
    names: list[_Name] = Field(default=[], max_length=100, description="Names of the entities; empty for undo.")
    new_name: _Name | None = Field(default=None, description="New name of the merged, split-off or renamed entity.")
    documents: list[_Id] = Field(default=[], max_length=10_000, description="Documents whose mentions are split off.")
    passages: list[_Id] = Field(default=[], max_length=10_000, description="Passages whose mentions are split off.")
    where: Annotated[str, Field(max_length=10_000)] | None = Field(
        default=None, description="Filter: the mentions in the passages that it allows are split off."
    )
    form: Annotated[str, Field(max_length=500)] = Field(default="", description="The name as passages write it.")
    by_context: bool = Field(default=False, description="Split each group of documents that shares nothing.")
    number: int | None = Field(
        default=None, ge=1, description="Number of the decision to undo; null for the last one in force."
    )


class EntityDecision(Record):
    """A decision that was made."""

    number: int
    action: str
    description: str
    name: str = Field(description="Resulting name of the entity; empty after forget and undo.")
    time: str
    undone: bool
    note: str = Field(description="Why it changes nothing, or not all that it names; or that it is undone.")


class EntityDecisions(OfVersion):
    """Decisions of an index, in their order."""

    decisions: list[EntityDecision]


class DuplicateEntities(Record):
    """Two entities that may be one."""

    names: Sequence[str]
    score: float
    reason: str
    shared: Sequence[str] = Field(description="Names of entities that stand beside both.")
    quotes: Sequence[Citation] = Field(validation_alias="citations")


class DuplicateList(OfVersion):
    """Pairs of entities that may be one, the likeliest first."""

    pairs: list[DuplicateEntities]


class MentionGroup(Record):
    """Documents of an entity that share nothing with those of other groups."""

    documents: Sequence[str]
    neighbours: Sequence[str]
    form: str
    quote: Citation = Field(validation_alias="citation")


class AmbiguousEntity(Record):
    """An entity that may be several."""

    name: str
    score: float
    reason: Literal["contexts", "names"]
    groups: Sequence[MentionGroup]


class AmbiguousList(OfVersion):
    """Entities that may be several, the likeliest first."""

    entities: list[AmbiguousEntity]


def find_duplicates(version: OpenVersion, access: Access, text: str, limit: int) -> DuplicateList:
    """Return pairs of entities that may be one, among the passages that the key may see."""
    found = _visible_index(version, access).duplicate_entities(limit, text)
    pairs = [DuplicateEntities.model_validate(pair) for pair in found]
    return DuplicateList(index=version.name, version=version.number, pairs=pairs)


def find_ambiguous(version: OpenVersion, access: Access, text: str, limit: int) -> AmbiguousList:
    """Return entities that may be several, among the passages that the key may see."""
    found = _visible_index(version, access).ambiguous_entities(limit, text)
    entities = [AmbiguousEntity.model_validate(entity) for entity in found]
    return AmbiguousList(index=version.name, version=version.number, entities=entities)


def list_decisions(version: OpenVersion) -> EntityDecisions:
    """Return all decisions of an index."""
    return _view_states(version.name, version.index, version.index.entity_decisions)


def decide(name: str, index: Index, change: EntityChange) -> EntityDecisions:
    """Make a decision on an index that is open for writing; return those that it became."""
    made = {decision.number for decision in _apply(index, change)}
    return _view_states(name, index, [state for state in index.entity_decisions if state.decision.number in made])


def _apply(index: Index, change: EntityChange) -> list[entity_decisions.EntityDecision]:
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


def _view_states(name: str, index: Index, states: Sequence[DecisionState]) -> EntityDecisions:
    decisions = [
        EntityDecision(
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
    return EntityDecisions(index=name, version=index.table.version, decisions=decisions)
