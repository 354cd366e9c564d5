"""Builds the retrievers that work above a base: `naive-ge`, `sync-ge`, `gear` and `ircot`."""

import numpy as np

from clew.errors import InputError
from clew.graph.paths.beam_search import BeamSettings, TripleGraph
from clew.plugins.records import SettingsRecord
from clew.protocols import AgentReader, Retriever
from clew.query.context import IndexContext
from clew.retrievers.agents.gear import GearAgent, GearSettings
from clew.retrievers.agents.ircot import IRCoTAgent
from clew.retrievers.agents.llm_reader import LLMReader
from clew.retrievers.agents.local_reader import LocalReader
from clew.retrievers.agents.settings import LOCAL_READER, Expansion, Gear, IRCoT, NaiveGE, SyncGE
from clew.retrievers.graph_expansion import ExpansionSettings, GraphExpansion, GraphExpansionRetriever
from clew.retrievers.spec import OpenRetriever

GRAPH_BASES = ("entity-graph", "gfm", "hipporag2", "pagerank", "title-links")
"""Retrievers that follow the graph themselves: an expansion overrules them less than those that read words alone."""


def build_naive_ge(context: IndexContext, settings: NaiveGE, open_retriever: OpenRetriever) -> Retriever:
    """Return the expansion of a base ranking along all its triples."""
    base = open_retriever(settings.base, context.with_paths_per_passage(0))
    return GraphExpansionRetriever(base, build_expansion(context, settings))


def build_sync_ge(context: IndexContext, settings: SyncGE, open_retriever: OpenRetriever) -> Retriever:
    """Return the expansion of a base ranking along the triples that a reader picks."""
    base = open_retriever(settings.base, context.with_paths_per_passage(0))
    reader = open_reader(context, settings.reader, settings.context)
    return GraphExpansionRetriever(base, build_expansion(context, settings), reader)


def build_gear(context: IndexContext, settings: Gear, open_retriever: OpenRetriever) -> Retriever:
    """Return the agent."""
    base = open_retriever(settings.base, context.with_paths_per_passage(0))
    later = settings.later if settings.later is not None else 1.0 if _follows_graph(settings.base) else 0.5
    gear = GearSettings(
        settings.steps, settings.expand, settings.gist, later_weight=later, gist_weight=settings.gist_weight
    )
    reader = open_reader(context, settings.reader, settings.context)
    return GearAgent(base, build_expansion(context, settings), reader, gear)


def build_ircot(context: IndexContext, settings: IRCoT, open_retriever: OpenRetriever) -> Retriever:
    """Return the agent."""
    base = open_retriever(settings.base, context.with_paths_per_passage(0))
    return IRCoTAgent(base, open_reader(context, settings.reader, settings.context), settings.steps)


def build_expansion(context: IndexContext, settings: Expansion) -> GraphExpansion:
    """Return the expansion along the triples of one index."""
    s = context.scope.snapshot
    weight = settings.weight if settings.weight is not None else 2.0 if _follows_graph(settings.base) else 1.0
    expansion = ExpansionSettings(
        BeamSettings(settings.width, settings.length, settings.gamma),
        settings.context,
        settings.read,
        weight,
        settings.constant,
    )
    nodes = int(s.entity_nodes.max(initial=-1)) + 1
    graph = TripleGraph(s.entity_nodes.astype(np.int64)[s.triples[:, [0, 2]]], nodes)
    return GraphExpansion(context.scope, graph, context.triple_vectors, context.encode_questions, expansion)


def open_reader(context: IndexContext, name: str, context_weight: float) -> AgentReader:
    """Return the reader of a name: `local`, or a language model; raises InputError where there is none.

    The local reader takes the share of the stating passage in a triple's score.
    """
    if ":" in name:
        return LLMReader(context.open_model(name))
    if name != LOCAL_READER:
        raise InputError(f"reader is {name!r}; wanted local, or a language model such as openai:gpt-4o-mini")
    return LocalReader(context.scope, context.triple_vectors, context.encode_questions, context_weight)


def _follows_graph(base: SettingsRecord | str) -> bool:
    return (base if isinstance(base, str) else getattr(type(base), "label", "")) in GRAPH_BASES
