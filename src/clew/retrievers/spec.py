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
    """A retriever by name; an installed package adds one by an entry point of the group `clew.retrievers`.

    Attributes:
        summary: How it ranks, in one line.
        record: Its settings record, or the place of it (`module:Class`), which is imported when needed. The record's
            `label` is the name in the registry.
        build: A function (context, settings) -> `Retriever`, or the place of it; with `combines`, a function
            (context, settings, open_retriever).
        needs: What an index must hold for it, in words.
        preset: Settings that this name fixes, for several names of one record.
        combines: Whether it is built from other retrievers.
        over_base: Whether it works above a base retriever (`base`), and cannot be one itself.
        finds_paths: Whether it searches paths in the graph and needs no passages.
        explains_passages: Whether each passage comes with a path that costs time.
    """

    summary: str
    record: type[SettingsRecord] | str
    build: Callable[..., Retriever] | str
    needs: str = "passages"
    preset: Mapping[str, Any] = field(default_factory=dict)
    combines: bool = False
    over_base: bool = False
    finds_paths: bool = False
    explains_passages: bool = False
