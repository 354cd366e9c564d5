"""The forms of what the server is asked and answers about decisions on entities."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from clew.server.records import Quote

_Name = Annotated[str, Field(min_length=1, max_length=500)]
_Id = Annotated[str, Field(min_length=1, max_length=4_000)]


class EntityChange(BaseModel):
    """A decision to be made."""

    model_config = ConfigDict(
        extra="forbid",
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


class EntityDecision(BaseModel):
    """A decision that was made."""

    number: int
    action: str
    description: str
    name: str = Field(description="Resulting name of the entity; empty after forget and undo.")
    time: str
    undone: bool
    note: str = Field(description="Why it changes nothing, or not all that it names; or that it is undone.")


class EntityDecisions(BaseModel):
    """Decisions of an index, in their order."""

    index: str
    version: int
    decisions: list[EntityDecision]


class DuplicateEntities(BaseModel):
    """Two entities that may be one."""

    names: list[str]
    score: float
    reason: str
    shared: list[str] = Field(description="Names of entities that stand beside both.")
    quotes: list[Quote]


class DuplicateList(BaseModel):
    """Pairs of entities that may be one, the likeliest first."""

    index: str
    version: int
    pairs: list[DuplicateEntities]


class MentionGroup(BaseModel):
    """Documents of an entity that share nothing with those of other groups."""

    documents: list[str]
    neighbours: list[str]
    form: str
    quote: Quote


class AmbiguousEntity(BaseModel):
    """An entity that may be several."""

    name: str
    score: float
    reason: Literal["contexts", "names"]
    groups: list[MentionGroup]


class AmbiguousList(BaseModel):
    """Entities that may be several, the likeliest first."""

    index: str
    version: int
    entities: list[AmbiguousEntity]
