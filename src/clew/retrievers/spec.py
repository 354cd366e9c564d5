"""An entry of the registry of retrievers: settings record, builder, needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.plugins.records import SettingsRecord
from clew.protocols import Retriever
from clew.query.context import IndexContext

OpenRetriever = Callable[[SettingsRecord | str, IndexContext], Retriever]
"""Opens another retriever over the same index, by its settings record or by its text form."""


@dataclass(frozen=True, slots=True)
class RetrieverEntry:
    """A retriever by name; an installed package adds one by an entry point of the group `clew.retrievers`."""

    summary: str  # how it ranks, in one line
    # its settings record, or the place of it (`module:Class`), which is imported when needed. The record's `label` is
    # the name in the registry.
    record: type[SettingsRecord] | str
    # A function (context, settings) -> `Retriever`, or the place of it; with `combines`, a function (context, settings,
    # open_retriever)
    build: Callable[..., Retriever] | str
    needs: str = "passages"  # what an index must hold for it, in words
    # settings that this name fixes, for several names of one record
    preset: Mapping[str, Any] = field(default_factory=dict)
    combines: bool = False  # whether it is built from other retrievers
    over_base: bool = False  # whether it cannot be the base retriever (`base`) of another, as those above one
    finds_paths: bool = False  # whether it searches paths in the graph and needs no passages
    explains_passages: bool = False  # whether each passage comes with a path that costs time
    finds_nothing: bool = False  # whether it searches nothing, for answers of a language model alone
