"""Clew: multi-hop retrieval over a knowledge graph made from your text.

index = clew.create("my-index")        # or clew.open("my-index")
index.add(["docs/"])
evidence = index.search("Which shipyard built the ship that ...?")
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.errors import (
        BudgetError,
        ClewError,
        IndexFormatError,
        IndexLockedError,
        InputError,
        ModelReplyError,
        ProviderError,
    )
    from clew.index import Index, create, open  # noqa: A004
    from clew.indexing.kg_formats.files import graph_file
    from clew.indexing.kg_import import GraphReport
    from clew.indexing.pipeline import IndexingReport
    from clew.retrievers.registry import RETRIEVERS
    from clew.settings import Settings
    from clew.types import Answer, Citation, Document, Evidence, Passage, Question, Scored, Triple

_HOMES = {
    "Answer": "clew.types",
    "BudgetError": "clew.errors",
    "Citation": "clew.types",
    "ClewError": "clew.errors",
    "Document": "clew.types",
    "Evidence": "clew.types",
    "GraphReport": "clew.indexing.kg_import",
    "Index": "clew.index",
    "IndexFormatError": "clew.errors",
    "IndexLockedError": "clew.errors",
    "IndexingReport": "clew.indexing.pipeline",
    "InputError": "clew.errors",
    "ModelReplyError": "clew.errors",
    "Passage": "clew.types",
    "ProviderError": "clew.errors",
    "Question": "clew.types",
    "RETRIEVERS": "clew.retrievers.registry",
    "Scored": "clew.types",
    "Settings": "clew.settings",
    "Triple": "clew.types",
    "create": "clew.index",
    "graph_file": "clew.indexing.kg_formats.files",
    "open": "clew.index",
}

__all__ = [
    "RETRIEVERS",
    "Answer",
    "BudgetError",
    "Citation",
    "ClewError",
    "Document",
    "Evidence",
    "GraphReport",
    "Index",
    "IndexFormatError",
    "IndexLockedError",
    "IndexingReport",
    "InputError",
    "ModelReplyError",
    "Passage",
    "ProviderError",
    "Question",
    "Scored",
    "Settings",
    "Triple",
    "create",
    "graph_file",
    "open",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import clew` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'clew' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
