"""Builds `gear`: the base that it searches, its expansion along triples, and its reader."""

from typing import Literal

import numpy as np

from clew.errors import InputError
from clew.graph.paths.beam_search import BeamSettings, TripleGraph
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.models.llm.prompts.proximal_triples import MAX_FACTS
from clew.plugins.records import SettingsRecord
from clew.plugins.spec import suggest
from clew.protocols import LOCAL_READER, AgentReader, Retriever
from clew.query.context import IndexContext
from clew.retrievers.agents.gear import GearAgent, GearSettings
from clew.retrievers.agents.llm_reader import LLMReader
from clew.retrievers.agents.local_reader import MAX_FACTS as MAX_LOCAL_FACTS
from clew.retrievers.agents.local_reader import LocalReader
from clew.retrievers.agents.settings import (
    LOCAL_EXPANDED_NOTES,
    LOCAL_LATER_READ,
    LOCAL_NOTES,
    Expansion,
    Gear,
)
from clew.retrievers.graph_expansion import ExpansionSettings, GraphExpansion
from clew.retrievers.spec import OpenRetriever

GRAPH_BASES = ("entity-graph", "gfm", "hipporag", "hipporag2", "pagerank", "title-links")
"""Retrievers that follow the graph themselves: an expansion overrules them less than those that read words alone."""


def build_gear(context: IndexContext, settings: Gear, open_retriever: OpenRetriever) -> Retriever:
    """Return GeAR over a base retriever.

    Raises InputError for an unknown base or reader, or where expand=no leaves nothing to note.
    """
    base = open_retriever(settings.base, context.with_paths_per_passage(0))
    later = settings.later if settings.later is not None else 1.0 if _follows_graph(settings.base) else 0.5
    is_local = settings.reader == LOCAL_READER
    notes, expanded_notes, later_read = (
        (LOCAL_NOTES, LOCAL_EXPANDED_NOTES, LOCAL_LATER_READ) if is_local else [None] * 3
    )
    gear = GearSettings(
        settings.steps,
        settings.expand,
        settings.gist,
        max_facts=_limit(settings.notes, notes),
        max_expanded_facts=_limit(settings.expanded_notes, expanded_notes),
        read_base_facts=settings.notes_from == "found",
        link_by_query=(settings.passage_link or ("stated" if is_local else "query")) == "query",
        later_read_depth=later_read if settings.later_read is None else settings.later_read,
        later_weight=later,
        gist_weight=settings.gist_weight,
    )
    if not gear.expand and not gear.read_base_facts:
        raise InputError("gear: expand=no with notes_from=expanded leaves nothing to note; give notes_from=found")
    reader = open_reader(
        context,
        settings.reader,
        settings.context,
        max_facts=settings.facts,
        separate=settings.prompts == "separate",
        triples=settings.triples,
        min_gain=settings.gain,
    )
    return GearAgent(base, build_expansion(context, settings), reader, gear)


def build_expansion(context: IndexContext, settings: Expansion) -> GraphExpansion:
    """Return the expansion along the triples of one index."""
    s = context.scope.snapshot
    weight = settings.weight if settings.weight is not None else 2.0 if _follows_graph(settings.base) else 1.0
    expansion = ExpansionSettings(
        BeamSettings(settings.width, settings.length, settings.gamma, _limit(settings.hub)),
        settings.context,
        settings.read,
        weight,
        settings.constant,
        settings.candidates,
    )
    nodes = int(s.entity_nodes.max(initial=-1)) + 1
    graph = TripleGraph(s.entity_nodes.astype(np.int64)[s.triples[:, [0, 2]]], nodes)
    vectors = _triple_vectors(context, settings.triples)
    return GraphExpansion(context.scope, graph, vectors, context.encode_questions, expansion)


def open_reader(
    context: IndexContext,
    name: str,
    context_weight: float,
    *,
    max_facts: int | Literal["all"] | None = None,
    separate: bool = False,
    triples: str = "composed",
    min_gain: float = 0.0,
) -> AgentReader:
    """Return the reader of a name: `local`, or a language model; raises InputError where there is none.

    It takes at most `max_facts` facts from the passages of a question, None for its own default. The local reader takes
    the share of the stating passage in a triple's score, the kind of `triples`' vectors, and the gain below which it
    follows no name; a language model is called twice where sufficiency and the next query are `separate`.
    """
    if ":" in name:
        return LLMReader(context.open_model(name), _limit(max_facts, MAX_FACTS), separate)
    if name != LOCAL_READER:
        wanted = "a language model such as openai:gpt-4o-mini"
        raise InputError(f"reader is {name!r}; {suggest(name, [LOCAL_READER])}wanted {LOCAL_READER}, or {wanted}")
    vectors, limit = _triple_vectors(context, triples), _limit(max_facts, MAX_LOCAL_FACTS)
    encode, lexical = context.encode_questions, context.lexical
    return LocalReader(context.scope, vectors, encode, context_weight, lexical, min_gain, limit)


def _triple_vectors(context: IndexContext, kind: str) -> TripleEmbeddings:
    return context.encoded_triple_vectors if kind == "encoded" else context.triple_vectors


def _limit(count: int | Literal["all"] | None, default: int | None = None) -> int | None:
    """Return a number, None for "all", and the default where none is given."""
    if count is None:
        return default
    return None if count == "all" else count


def _follows_graph(base: SettingsRecord | str) -> bool:
    return (base if isinstance(base, str) else getattr(type(base), "label", "")) in GRAPH_BASES
