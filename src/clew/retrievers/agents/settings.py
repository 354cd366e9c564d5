"""Settings of `gear` and its builder: the base that it searches, its expansion along triples, and its reader."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from clew.errors import InputError
from clew.graph.paths.beam_search import BeamSettings, TripleGraph
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.models.llm.prompts.proximal_triples import MAX_FACTS
from clew.plugins.records import Amount, CountOrAll, SettingsRecord, Share, WholeNumber, setting
from clew.plugins.spec import suggest
from clew.protocols import LOCAL_READER, AgentReader, Retriever
from clew.query.context import IndexContext
from clew.retrievers.agents.gear import GearAgent, GearSettings
from clew.retrievers.agents.llm_reader import LLMReader
from clew.retrievers.agents.local_reader import MAX_FACTS as MAX_LOCAL_FACTS
from clew.retrievers.agents.local_reader import LocalReader
from clew.retrievers.graph_expansion import ExpansionSettings, GraphExpansion
from clew.retrievers.spec import OpenRetriever

LOCAL_NOTES, LOCAL_EXPANDED_NOTES, LOCAL_LATER_READ = 4, 2, 3
_BASE = "retriever whose passages are read"
_READER = "`local`, or a language model such as openai:gpt-4o-mini"
_EXPANSION = ExpansionSettings()
_GEAR = GearSettings()
_CAPS = "published: all; docs/decisions, GeAR"


class Expansion(SettingsRecord):
    """Settings of expansion along triples, of all retrievers that do it."""

    PAPER: ClassVar[Mapping[str, Any]] = {
        "length": 2,
        "width": 10,
        "context": 0.0,
        "hub": "all",
        "triples": "encoded",
        "weight": 1.0,
        "constant": 60.0,
    }
    """Values of `preset=paper`; a setting that is given beside it counts."""

    preset: Literal["ours", "paper"] = setting(
        "ours", "default of all other settings: what is best here, or the published form"
    )
    base: SettingsRecord | str = setting("bm25", _BASE)
    width: Annotated[int, Field(ge=1, le=1000)] = setting(
        _EXPANSION.beam.width, "beams that each step keeps", "published for relatives of GeAR: 10"
    )
    length: Annotated[int, Field(ge=1, le=16)] = setting(
        _EXPANSION.beam.length, "triples of a chain, at most", "published for relatives of GeAR: 2; docs/decisions"
    )
    gamma: Amount = setting(_EXPANSION.beam.gamma, "penalty of a beam's later siblings", "GeAR")
    context: Amount = setting(
        _EXPANSION.context, "share of the stating passage in a triple's score", "docs/decisions, GeAR"
    )
    read: WholeNumber = setting(
        _EXPANSION.read_depth, "passages of the base that are read", "published for relatives of GeAR: 10"
    )
    weight: Amount | None = setting(
        None,
        "weight of the base's ranking; 1 as published",
        "docs/decisions, GeAR",
        "2 above a base that follows the graph, else 1",
    )
    constant: Amount = setting(
        _EXPANSION.rank_constant, "rank constant of the fusion; 60 as published", "docs/decisions, GeAR"
    )
    hub: CountOrAll = setting(
        _EXPANSION.beam.hub, "triples of a node through which a chain goes, at most; all as published", "bench/beam.py"
    )
    triples: Literal["composed", "encoded"] = setting(
        "composed",
        "vectors of triples: of names and relation, added, or of each triple's text, which takes about a minute for "
        "ten thousand triples once",
        "docs/decisions; GeAR: encoded",
    )
    candidates: WholeNumber = setting(
        _EXPANSION.candidates, "passages of each ranking that are fused", "published for relatives of GeAR: 100"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("preset") != "paper":
            return values
        return {**cls.published_values(values), **values}

    @classmethod
    def published_values(cls, _: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of `preset=paper`, beside those that are given."""
        return cls.PAPER


class ReaderExpansion(Expansion):
    """Settings of expansion along triples that a reader picks."""

    reader: str = setting(LOCAL_READER, _READER)
    facts: CountOrAll | None = setting(
        None,
        "facts that the reader takes from the passages, at most",
        "GeAR: all",
        f"{MAX_LOCAL_FACTS} with the local reader, {MAX_FACTS} with a language model",
    )

    @classmethod
    def published_values(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of `preset=paper`; the local reader keeps its number of facts, since it selects by it."""
        return {**cls.PAPER, "facts": "all"} if ":" in str(given.get("reader", LOCAL_READER)) else cls.PAPER


class Gear(ReaderExpansion):
    """Settings of `gear`."""

    label: ClassVar[str] = "gear"
    PAPER: ClassVar[Mapping[str, Any]] = {
        **Expansion.PAPER,
        "notes": "all",
        "expanded_notes": "all",
        "notes_from": "expanded",
        "passage_link": "query",
        "later_read": 10,
        "later": 1.0,
        "gist_weight": 1.0,
        "prompts": "separate",
        "gain": 0.0,
    }

    steps: WholeNumber = setting(_GEAR.steps, "steps, at most", "docs/decisions")
    expand: bool = setting(_GEAR.expand, "whether passages are searched along triples", "GeAR")
    gist: bool = setting(_GEAR.gist, "whether the memory's triples bring passages to the final ranking", "GeAR")
    notes: CountOrAll | None = setting(
        None,
        "facts of the base's passages that a step notes, at most",
        _CAPS,
        f"all; {LOCAL_NOTES} with the local reader",
    )
    expanded_notes: CountOrAll | None = setting(
        None,
        "facts of the passages found by expansion that a step notes, at most",
        _CAPS,
        f"all; {LOCAL_EXPANDED_NOTES} with the local reader",
    )
    notes_from: Literal["found", "expanded"] = setting(
        "found",
        "passages whose facts are noted: of base and expansion, none read twice in a step, or as published of the "
        "expansion alone",
        "docs/decisions, GeAR",
    )
    passage_link: Literal["query", "stated"] | None = setting(
        None,
        "passages that a memory triple brings: those that the base ranks for its text, as published, or those that "
        "state the nearest triple",
        "docs/decisions, GeAR",
        "query; stated with the local reader",
    )
    later_read: WholeNumber | None = setting(
        None,
        "passages that steps after the first read",
        "docs/decisions, GeAR; published: 10",
        f"as many as the first; {LOCAL_LATER_READ} with the local reader",
    )
    prompts: Literal["joint", "separate"] = setting(
        "joint",
        "whether a language model judges the memory and writes the next query in one call or, as published, in two",
        "docs/decisions",
    )
    gain: Share = setting(
        0.1,
        "share of the question's words that a passage has to add, for the local reader to follow its name",
        "docs/decisions, GeAR",
    )
    later: Amount | None = setting(
        None,
        "weight of later steps; 1 as published",
        "docs/decisions, GeAR",
        "1 above a base that follows the graph, else 0.5",
    )
    gist_weight: Amount = setting(
        _GEAR.gist_weight, "weight of the passages of a memory triple; 1 as published", "docs/decisions, GeAR"
    )


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
