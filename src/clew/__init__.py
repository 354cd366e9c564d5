"""Clew: multi-hop retrieval over a knowledge graph made from your text.

index = clew.create("my-index")        # or clew.open("my-index")
index.add(["docs/"])
evidence = index.search("Which shipyard built the ship that ...?")
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.answering.selection import AnswererEntry
    from clew.errors import (
        BudgetError,
        ClewError,
        IndexFormatError,
        IndexLockedError,
        InputError,
        MissingPackageError,
        ModelReplyError,
        ProviderError,
    )
    from clew.index import Index, create, open  # noqa: A004
    from clew.index.entity_changes import DecisionState
    from clew.indexing.extraction.registry import ExtractionTools, ExtractorEntry
    from clew.indexing.kg_formats.files import graph_file
    from clew.indexing.kg_import import GraphReport
    from clew.indexing.report import IndexingReport
    from clew.indexing.sources.records import RecordColumns
    from clew.memory import Memory
    from clew.models.encoders.registry import EncoderEntry
    from clew.models.llm.providers import ModelEntry
    from clew.models.reader.decoding import ReadSpan
    from clew.models.reader.reader import Reader, Reading
    from clew.models.reader.windows import ReaderText
    from clew.plugins.records import SettingsRecord, setting
    from clew.protocols import Answerer, Encoder, Extractor, LanguageModel, Reranker, Retriever, TopicRetriever
    from clew.query.contents import IndexedDocument, IndexedDocuments, IndexedEntity, Neighbour
    from clew.query.context import IndexContext
    from clew.query.entity_candidates import AmbiguousEntity, DuplicateEntities, MentionGroup
    from clew.query.example_questions import ExampleQuestion
    from clew.query.overview import FieldOverview, IndexOverview
    from clew.query.time_limits import TimeLimits
    from clew.rerankers.g_rag.reranker import GRag
    from clew.rerankers.registry import CrossEncoder, LLMRerank, RerankerEntry
    from clew.retrievers.agents.settings import Gear
    from clew.retrievers.bm25 import BM25
    from clew.retrievers.chains import Chains
    from clew.retrievers.dense import Dense
    from clew.retrievers.frag.settings import Frag
    from clew.retrievers.fused import Fused
    from clew.retrievers.gfm.settings import GFM
    from clew.retrievers.hybrid import Hybrid
    from clew.retrievers.pagerank import PageRank
    from clew.retrievers.registry import RETRIEVERS, Reranked
    from clew.retrievers.spec import RetrieverEntry
    from clew.retrievers.subgraph.settings import GCNSubgraph
    from clew.settings import Settings
    from clew.store.entity_decisions import EntityDecision
    from clew.types import (
        Answer,
        Citation,
        Document,
        Evidence,
        Extraction,
        Failure,
        Mention,
        OtherAnswer,
        Passage,
        Place,
        PlaceStart,
        Prompt,
        Question,
        Reply,
        Scored,
        SentenceChain,
        StatedTime,
        Time,
        Triple,
        Usage,
    )

_NAMES = {
    "clew.answering.selection": "AnswererEntry",
    "clew.errors": (
        "BudgetError ClewError IndexFormatError IndexLockedError InputError MissingPackageError "
        "ModelReplyError ProviderError"
    ),
    "clew.index": "Index create open",
    "clew.index.entity_changes": "DecisionState",
    "clew.indexing.extraction.registry": "ExtractionTools ExtractorEntry",
    "clew.indexing.kg_formats.files": "graph_file",
    "clew.indexing.kg_import": "GraphReport",
    "clew.indexing.report": "IndexingReport",
    "clew.indexing.sources.records": "RecordColumns",
    "clew.memory": "Memory",
    "clew.models.encoders.registry": "EncoderEntry",
    "clew.models.llm.providers": "ModelEntry",
    "clew.models.reader.decoding": "ReadSpan",
    "clew.models.reader.reader": "Reader Reading",
    "clew.models.reader.windows": "ReaderText",
    "clew.plugins.records": "SettingsRecord setting",
    "clew.protocols": "Answerer Encoder Extractor LanguageModel Reranker Retriever TopicRetriever",
    "clew.query.contents": "IndexedDocument IndexedDocuments IndexedEntity Neighbour",
    "clew.query.context": "IndexContext",
    "clew.query.entity_candidates": "AmbiguousEntity DuplicateEntities MentionGroup",
    "clew.query.example_questions": "ExampleQuestion",
    "clew.query.overview": "FieldOverview IndexOverview",
    "clew.query.time_limits": "TimeLimits",
    "clew.rerankers.g_rag.reranker": "GRag",
    "clew.rerankers.registry": "CrossEncoder LLMRerank RerankerEntry",
    "clew.retrievers.agents.settings": "Gear",
    "clew.retrievers.bm25": "BM25",
    "clew.retrievers.chains": "Chains",
    "clew.retrievers.dense": "Dense",
    "clew.retrievers.frag.settings": "Frag",
    "clew.retrievers.fused": "Fused",
    "clew.retrievers.gfm.settings": "GFM",
    "clew.retrievers.hybrid": "Hybrid",
    "clew.retrievers.pagerank": "PageRank",
    "clew.retrievers.registry": "RETRIEVERS Reranked",
    "clew.retrievers.spec": "RetrieverEntry",
    "clew.retrievers.subgraph.settings": "GCNSubgraph",
    "clew.settings": "Settings",
    "clew.store.entity_decisions": "EntityDecision",
    "clew.types": (
        "Answer Citation Document Evidence Extraction Failure Mention OtherAnswer Passage Place PlaceStart Prompt "
        "Question Reply Scored SentenceChain StatedTime Time Triple Usage"
    ),
}
_HOMES = dict(sorted((name, module) for module, names in _NAMES.items() for name in names.split()))

__all__ = [
    "BM25", "GFM", "RETRIEVERS", "AmbiguousEntity", "Answer", "Answerer", "AnswererEntry", "BudgetError", "Chains",
    "Citation", "ClewError", "CrossEncoder", "DecisionState", "Dense", "Document", "DuplicateEntities", "Encoder",
    "EncoderEntry", "EntityDecision", "Evidence", "ExampleQuestion", "Extraction", "ExtractionTools", "Extractor",
    "ExtractorEntry", "Failure", "FieldOverview", "Frag", "Fused", "GCNSubgraph", "GRag", "Gear", "GraphReport",
    "Hybrid", "Index", "IndexContext", "IndexFormatError", "IndexLockedError", "IndexOverview", "IndexedDocument",
    "IndexedDocuments", "IndexedEntity", "IndexingReport", "InputError", "LLMRerank", "LanguageModel", "Memory",
    "Mention", "MentionGroup", "MissingPackageError", "ModelEntry", "ModelReplyError", "Neighbour", "OtherAnswer",
    "PageRank", "Passage", "Place", "PlaceStart", "Prompt", "ProviderError", "Question", "ReadSpan", "Reader",
    "ReaderText", "Reading", "RecordColumns", "Reply", "Reranked", "Reranker", "RerankerEntry", "Retriever",
    "RetrieverEntry", "Scored", "SentenceChain", "Settings", "SettingsRecord", "StatedTime", "Time", "TimeLimits",
    "TopicRetriever", "Triple", "Usage", "create", "graph_file", "open", "setting",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import clew` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'clew' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
