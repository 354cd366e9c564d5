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
    from clew.indexing.extraction.registry import ExtractionTools, ExtractorEntry
    from clew.indexing.kg_formats.files import graph_file
    from clew.indexing.kg_import import GraphReport
    from clew.indexing.pipeline import IndexingReport
    from clew.models.encoders.registry import EncoderEntry
    from clew.plugins.records import SettingsRecord, setting
    from clew.protocols import Answerer, Encoder, Extractor, Reranker, Retriever
    from clew.query.context import IndexContext
    from clew.rerankers.g_rag.settings import GRag
    from clew.rerankers.registry import CrossEncoder, LLMRerank, RerankerEntry
    from clew.retrievers.agents.settings import Gear, IRCoT, NaiveGE, SyncGE
    from clew.retrievers.bm25 import BM25
    from clew.retrievers.dense import Dense
    from clew.retrievers.entity_graph import EntityGraph
    from clew.retrievers.frag.settings import Frag
    from clew.retrievers.fused import Fused
    from clew.retrievers.gfm.settings import GFM
    from clew.retrievers.hipporag2 import HippoRAG2
    from clew.retrievers.pagerank import PageRank
    from clew.retrievers.registry import RETRIEVERS, Reranked
    from clew.retrievers.routed.settings import Routed
    from clew.retrievers.spec import RetrieverEntry
    from clew.retrievers.subgraph.settings import GCNSubgraph, Steiner
    from clew.retrievers.title_links import TitleLinks
    from clew.settings import Settings
    from clew.types import Answer, Citation, Document, Evidence, Passage, Question, Scored, Triple

_HOMES = {
    "Answer": "clew.types",
    "Answerer": "clew.protocols",
    "BM25": "clew.retrievers.bm25",
    "BudgetError": "clew.errors",
    "Citation": "clew.types",
    "ClewError": "clew.errors",
    "CrossEncoder": "clew.rerankers.registry",
    "Dense": "clew.retrievers.dense",
    "Document": "clew.types",
    "Encoder": "clew.protocols",
    "EncoderEntry": "clew.models.encoders.registry",
    "EntityGraph": "clew.retrievers.entity_graph",
    "Evidence": "clew.types",
    "ExtractionTools": "clew.indexing.extraction.registry",
    "Extractor": "clew.protocols",
    "ExtractorEntry": "clew.indexing.extraction.registry",
    "Frag": "clew.retrievers.frag.settings",
    "Fused": "clew.retrievers.fused",
    "GCNSubgraph": "clew.retrievers.subgraph.settings",
    "GFM": "clew.retrievers.gfm.settings",
    "GRag": "clew.rerankers.g_rag.settings",
    "Gear": "clew.retrievers.agents.settings",
    "GraphReport": "clew.indexing.kg_import",
    "HippoRAG2": "clew.retrievers.hipporag2",
    "IRCoT": "clew.retrievers.agents.settings",
    "Index": "clew.index",
    "IndexContext": "clew.query.context",
    "IndexFormatError": "clew.errors",
    "IndexLockedError": "clew.errors",
    "IndexingReport": "clew.indexing.pipeline",
    "InputError": "clew.errors",
    "LLMRerank": "clew.rerankers.registry",
    "ModelReplyError": "clew.errors",
    "NaiveGE": "clew.retrievers.agents.settings",
    "PageRank": "clew.retrievers.pagerank",
    "Passage": "clew.types",
    "ProviderError": "clew.errors",
    "Question": "clew.types",
    "RETRIEVERS": "clew.retrievers.registry",
    "Reranked": "clew.retrievers.registry",
    "Reranker": "clew.protocols",
    "RerankerEntry": "clew.rerankers.registry",
    "Retriever": "clew.protocols",
    "RetrieverEntry": "clew.retrievers.spec",
    "Routed": "clew.retrievers.routed.settings",
    "Scored": "clew.types",
    "Settings": "clew.settings",
    "SettingsRecord": "clew.plugins.records",
    "Steiner": "clew.retrievers.subgraph.settings",
    "SyncGE": "clew.retrievers.agents.settings",
    "TitleLinks": "clew.retrievers.title_links",
    "Triple": "clew.types",
    "create": "clew.index",
    "graph_file": "clew.indexing.kg_formats.files",
    "open": "clew.index",
    "setting": "clew.plugins.records",
}

__all__ = [
    "BM25",
    "GFM",
    "RETRIEVERS",
    "Answer",
    "Answerer",
    "BudgetError",
    "Citation",
    "ClewError",
    "CrossEncoder",
    "Dense",
    "Document",
    "Encoder",
    "EncoderEntry",
    "EntityGraph",
    "Evidence",
    "ExtractionTools",
    "Extractor",
    "ExtractorEntry",
    "Frag",
    "Fused",
    "GCNSubgraph",
    "GRag",
    "Gear",
    "GraphReport",
    "HippoRAG2",
    "IRCoT",
    "Index",
    "IndexContext",
    "IndexFormatError",
    "IndexLockedError",
    "IndexingReport",
    "InputError",
    "LLMRerank",
    "ModelReplyError",
    "NaiveGE",
    "PageRank",
    "Passage",
    "ProviderError",
    "Question",
    "Reranked",
    "Reranker",
    "RerankerEntry",
    "Retriever",
    "RetrieverEntry",
    "Routed",
    "Scored",
    "Settings",
    "SettingsRecord",
    "Steiner",
    "SyncGE",
    "TitleLinks",
    "Triple",
    "create",
    "graph_file",
    "open",
    "setting",
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
