"""The only tables from names to constructors. To add a retriever or a reranker: write its file, add its line."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from clew.errors import InputError
from clew.graph.paths.beam_search import BeamSettings, TripleGraph
from clew.indexing.extraction.llm import LanguageModelExtractor
from clew.indexing.extraction.published import PublishedExtractor
from clew.indexing.extraction.rule_based import RuleExtractor
from clew.models.text_scorers import CrossEncoderScorer
from clew.protocols import AmrParser, Extractor, LanguageModel, Reader, Reranker, Retriever
from clew.query.context import Parts
from clew.query.graph_walk import PageRankWeights
from clew.rerankers.amr.local_parser import LocalAmrParser
from clew.rerankers.amr.parsers import AmrlibParser, FileAmrParser
from clew.rerankers.g_rag.amr_document_graph import MeaningGraphs
from clew.rerankers.g_rag.document_graph import DocumentGraphs, IndexGraphs
from clew.rerankers.llm import ModelReranker
from clew.rerankers.text_scorer import TextReranker
from clew.retrievers.agents.gear import GearAgent, GearSettings
from clew.retrievers.agents.ircot import IRCoTAgent
from clew.retrievers.agents.llm_reader import ModelReader
from clew.retrievers.agents.local_reader import LocalReader
from clew.retrievers.bm25 import BM25Retriever
from clew.retrievers.dense import DenseRetriever
from clew.retrievers.empty_index import NoPassagesRetriever
from clew.retrievers.entity_graph import EntityGraphRetriever
from clew.retrievers.frag.factory import frag_retriever
from clew.retrievers.fused import FusedRetriever
from clew.retrievers.graph_expansion import ExpansionSettings, GraphExpansion, GraphExpansionRetriever
from clew.retrievers.hipporag2 import HippoRAG2Retriever
from clew.retrievers.pagerank import PageRankRetriever
from clew.retrievers.reranked import POOL, RerankedRetriever
from clew.retrievers.routed.retriever import Preference, RoutedRetriever, Router
from clew.retrievers.routed.signals import SIGNALS
from clew.retrievers.routed.weights import load_choices
from clew.retrievers.spec import Options
from clew.retrievers.subgraph.steiner import steiner_retriever
from clew.retrievers.title_links import TitleLinksRetriever
from clew.store.pretrained import CONFIG, SHIPPED

LOCAL = "local"
LLM = "llm"


NONE, G_RAG, RERANKED = "none", "g-rag", "reranked"

GRAPH_BASES = ("entity-graph", "gfm", "hipporag2", "pagerank", "title-links")
"""Retrievers that follow the graph themselves; an expansion may overrule them less than those that read words alone."""


def _base(parts: Parts) -> tuple[str, Retriever]:
    """Return the base retriever that an expansion or an agent is to have, and its name."""
    name = parts.options.text("base", "bm25", [name for name in RETRIEVERS if name not in STEPWISE])
    return name, RETRIEVERS[name](parts.explaining(0).told(Options()))


def expansion_of(parts: Parts, base: str) -> GraphExpansion:
    """Return what follows triples through the index, as the options say."""
    s, options = parts.scope.snapshot, parts.options
    beam = BeamSettings(
        options.whole("width", BeamSettings().width),
        options.whole("length", BeamSettings().length),
        options.number("gamma", BeamSettings().gamma),
    )
    given = ExpansionSettings(
        beam,
        options.number("context", ExpansionSettings().context),
        options.whole("read", ExpansionSettings().read),
        options.number("weight", 2.0 if base in GRAPH_BASES else 1.0),
        options.number("constant", ExpansionSettings().rank_constant),
    )
    nodes = int(s.entity_nodes.max(initial=-1)) + 1
    graph = TripleGraph(s.entity_nodes.astype(np.int64)[s.triples[:, [0, 2]]], nodes)
    return GraphExpansion(parts.scope, graph, parts.triple_vectors, parts.question_vectors, given)


def reader_of(parts: Parts) -> Reader:
    """Return who reads, as the options say: `local`, or a language model."""
    context = parts.options.number("context", ExpansionSettings().context)
    name = parts.options.text("reader", LOCAL)
    if ":" in name:
        return ModelReader(parts.open_model(name))
    if name != LOCAL:
        raise InputError(f"reader is {name!r}; wanted local, or a language model such as openai:gpt-4o-mini")
    return LocalReader(parts.scope.snapshot, parts.triple_vectors, parts.question_vectors, context)


def _naive_ge(parts: Parts) -> Retriever:
    name, base = _base(parts)
    return GraphExpansionRetriever(base, expansion_of(parts, name))


def _sync_ge(parts: Parts) -> Retriever:
    name, base = _base(parts)
    return GraphExpansionRetriever(base, expansion_of(parts, name), reader_of(parts))


def _gear(parts: Parts) -> Retriever:
    name, base = _base(parts)
    settings = GearSettings(
        parts.options.whole("steps", GearSettings().steps),
        parts.options.text("expand", "yes", ("yes", "no")) == "yes",
        parts.options.text("gist", "yes", ("yes", "no")) == "yes",
        later_weight=parts.options.number("later", 1.0 if name in GRAPH_BASES else 0.5),
        gist_weight=parts.options.number("gist_weight", GearSettings().gist_weight),
    )
    return GearAgent(base, expansion_of(parts, name), reader_of(parts), settings)


def _ircot(parts: Parts) -> Retriever:
    _, base = _base(parts)
    return IRCoTAgent(base, reader_of(parts), parts.options.whole("steps", 4))


def _reranked(parts: Parts) -> Retriever:
    """Return what finds the passages of `reranked`; `make_retriever` puts the reranker above it."""
    name = parts.options.text("base", "pagerank", [n for n in RETRIEVERS if n not in (*STEPWISE, *WITHOUT_PASSAGES)])
    return RETRIEVERS[name](parts.told(Options()))


def _dense(parts: Parts) -> DenseRetriever:
    parts.encoder  # noqa: B018 - there must be one
    return DenseRetriever(parts.scope, parts.question_vectors)


def _fused(parts: Parts) -> FusedRetriever:
    return FusedRetriever((BM25Retriever(parts.scope, parts.lexical), _dense(parts)))


def _gfm(parts: Parts) -> Retriever:
    from clew.retrievers.gfm.factory import gfm_retriever  # loads torch, which takes seconds

    return gfm_retriever(parts.surroundings(), parts.weights("gfm"), parts.options, parts.paths)


def _gcn_subgraph(parts: Parts) -> Retriever:
    from clew.retrievers.subgraph.gcn import gcn_subgraph_retriever

    return gcn_subgraph_retriever(parts.graph_parts(), parts.text_vectors, parts.options)


def _routed(parts: Parts) -> Retriever:
    weights = load_choices(parts.weights("routed"), tuple(SIGNALS))
    router = Router(weights, Preference.of(parts.options, weights), len(parts.scope))
    first = PageRankRetriever(parts.scope, parts.lexical, PageRankWeights())
    return RoutedRetriever(parts.scope, first, router, lambda choice: make_retriever(choice.retriever, parts))


RETRIEVERS: dict[str, Callable[[Parts], Retriever]] = {
    "bm25": lambda parts: BM25Retriever(parts.scope, parts.lexical),
    "dense": _dense,
    "entity-graph": lambda parts: EntityGraphRetriever(parts.scope, parts.lexical),
    "frag": lambda parts: frag_retriever(parts.graph_parts(), parts.options),
    "frag-complex": lambda parts: frag_retriever(parts.graph_parts(), parts.options, "complex"),
    "frag-simple": lambda parts: frag_retriever(parts.graph_parts(), parts.options, "simple"),
    "fused": _fused,
    "gcn-subgraph": _gcn_subgraph,
    "gear": _gear,
    "gfm": _gfm,
    "hipporag2": lambda parts: HippoRAG2Retriever(parts.scope, _dense(parts), parts.encode_texts),
    "ircot": _ircot,
    "naive-ge": _naive_ge,
    "pagerank": lambda parts: PageRankRetriever(parts.scope, parts.lexical, PageRankWeights()),
    RERANKED: _reranked,
    "routed": _routed,
    "steiner": lambda parts: steiner_retriever(parts.graph_parts(), parts.text_vectors, parts.options),
    "sync-ge": _sync_ge,
    "title-links": lambda parts: TitleLinksRetriever(parts.scope, _fused(parts)),
}

WITHOUT_PASSAGES = ("frag", "frag-complex", "frag-simple", "gcn-subgraph", "steiner")
"""Retrievers that need no passages: they find paths in a graph, and what passages there are that state them."""

EXPLAINING = ("gfm", "pagerank", "reranked", "routed")
"""Retrievers that give a path for each passage: below a reranker they explain what is asked for, not the whole pool."""

STEPWISE = {
    "gear": ("base", "reader", "steps"),
    "ircot": ("base", "reader", "steps"),
    "naive-ge": ("base",),
    RERANKED: ("base",),
    "sync-ge": ("base", "reader"),
}
"""Retrievers over a base retriever, with the settings that the command line has options for."""

RERANKING = ("rerank", "pool")
"""Settings that every retriever of passages takes."""


def _cross_encoder(_: Parts, name: str) -> Reranker:
    if not name:
        raise InputError("the reranker cross-encoder wants a folder or a name on the hub: cross-encoder:NAME")
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise InputError(f"cross-encoder: there is no folder {name!r}: give one of a model, or a name on the hub")
    return TextReranker(CrossEncoderScorer(name))


def _llm(parts: Parts, model: str) -> Reranker:
    if ":" not in model:
        raise InputError(f"the reranker is 'llm:{model}'; wanted llm:PROVIDER:NAME, such as llm:openai:gpt-4o-mini")
    return ModelReranker(parts.open_model(model))


def open_amr_parser(name: str) -> AmrParser:
    """Return the AMR parser of a name: `local`, `file:PATH` or `amrlib:MODEL`.

    Raises:
        InputError: There is none of that name, or the file cannot be read.
        ProviderError: A package is missing.
    """
    kind, _, rest = name.partition(":")
    if name == LOCAL:
        return LocalAmrParser()
    if kind == "file" and rest:
        return FileAmrParser(Path(rest).expanduser())
    if kind == "amrlib":
        return AmrlibParser(rest)
    raise InputError(f"no AMR parser is called {name!r}; choose local, file:PATH or amrlib:MODEL")


def document_graphs(parts: Parts, kind: str, parser: str = LOCAL, *, text: bool = False) -> DocumentGraphs:
    """Return what makes document graphs of an index's passages.

    Args:
        parts: Of the index.
        kind: "index" or "amr".
        parser: Of AMR.
        text: Whether passages' vectors are read.
    """
    if kind == "amr":
        return MeaningGraphs(open_amr_parser(parser), parts.encoder.encode)
    relations = parts.text_vectors.relations
    return IndexGraphs(parts.scope.snapshot, parts.lexical, parts.question_vectors, relations, vectors=text)


def _g_rag(parts: Parts, folder: str) -> Reranker:
    from clew.rerankers.g_rag.reranker import DocumentGraphReranker
    from clew.rerankers.g_rag.weights import load_reranker  # loads torch, which takes seconds

    place = Path(folder).expanduser() if folder else SHIPPED / G_RAG
    if not (place / CONFIG).is_file():
        raise InputError(f"g-rag: {str(place)!r} holds no {CONFIG}; give a folder that `clew train reranker` made")
    trained = load_reranker(place)
    if trained.model.settings.text and trained.encoder != parts.encoder.fingerprint:
        raise InputError(
            f"g-rag: this index has the encoder {parts.encoder.name}, and the network reads another's vectors; give "
            "weights of the index's encoder (clew train reranker), or make a new index"
        )
    learned_by = str(trained.about.get("parser") or LOCAL)
    if trained.kind == "amr" and learned_by != LOCAL and "amr" not in parts.options:
        raise InputError(f"g-rag: {str(place)!r} learned from AMR of {learned_by}; give amr={learned_by}:... with it")
    parser = parts.options.text("amr", LOCAL) if trained.kind == "amr" else LOCAL
    graphs = document_graphs(parts, trained.kind, parser, text=trained.model.settings.text > 0)
    return DocumentGraphReranker(graphs, trained)


RERANKERS: dict[str, Callable[[Parts, str], Reranker]] = {
    "cross-encoder": _cross_encoder,
    G_RAG: _g_rag,
    "llm": _llm,
}
"""By what stands before the first colon of a reranker's name; each is given the parts, and what stands behind it."""


def with_options(names: Sequence[str], given: Mapping[str, str | int | None]) -> list[str]:
    """Return retrievers' names with the settings that each of them takes.

    Raises:
        InputError: None of them takes one that is given, or a value has a comma in it.
    """
    stated = {setting: value for setting, value in given.items() if value is not None}
    for setting, value in stated.items():
        if "," in str(value):
            raise InputError(
                f"--{setting} is {value!r}, and a comma ends a setting: give a name or a folder without one"
            )
    able_to = [(*RERANKING, *STEPWISE.get(name.partition(":")[0], ())) for name in names]
    taken = [{s: v for s, v in stated.items() if s in settings} for settings in able_to]
    for setting in stated:
        if not any(setting in settings for settings in taken):
            able = ", ".join(name for name, settings in STEPWISE.items() if setting in settings)
            raise InputError(f"--{setting} is for the retrievers {able}, not {', '.join(names)}; leave it out")
    return [_with(name, settings) for name, settings in zip(names, taken, strict=True)]


def _with(retriever: str, given: Mapping[str, str | int | None]) -> str:
    name, _, settings = retriever.partition(":")
    stated = Options(settings, name)
    if twice := next((setting for setting in given if setting in stated), ""):
        raise InputError(f"{retriever} has a setting {twice!r} of its own, and --{twice} is given too: leave one out")
    together = ",".join(part for part in (settings, *(f"{key}={value}" for key, value in given.items())) if part)
    return f"{name}:{together}" if together else name


def open_reranker(name: str, parts: Parts) -> Reranker:
    """Return the reranker of a name: `g-rag`, `g-rag:FOLDER` of own weights, `cross-encoder:NAME`, `llm:MODEL`.

    Args:
        name: As above.
        parts: Of the index, told what a user says of the reranker.

    Raises:
        InputError: There is none of that name, or its language model cannot be used.
    """
    kind, _, rest = name.partition(":")
    if kind not in RERANKERS:
        raise InputError(f"no reranker is called {name!r}; choose one of {', '.join((NONE, *RERANKERS))}")
    return RERANKERS[kind](parts, rest)


def _reranking(retriever: str, parts: Parts) -> Callable[[Parts], Retriever]:
    """Return what makes a retriever, with the reranker above it that the options name."""
    options = parts.options
    name = options.text("rerank", G_RAG if retriever == RERANKED else NONE)
    pool = options.whole("pool", POOL)
    if "pool" in options and "rerank" not in options and retriever != RERANKED:
        raise InputError(f"{retriever}: pool is how many passages are reranked, and no rerank is given: give both")
    make = RETRIEVERS[retriever]
    if name == NONE:
        return make
    if not len(parts.scope):
        raise InputError(f"this index has no passages, and {name} reranks passages: leave rerank out")
    # Else `weights` of a retriever would be the reranker's too.
    own = Options(f"amr={options.text('amr', '')}" if "amr" in options else "", name)
    reranker = open_reranker(name, parts.told(own))
    own.check()
    if not parts.paths or retriever not in EXPLAINING:
        return lambda told: RerankedRetriever(make(told), reranker, pool, name)
    return lambda told: RerankedRetriever(make(told.explaining(0)), reranker, pool, name, make(told))


def make_retriever(name: str, parts: Parts) -> Retriever:
    """Return the retriever of a name, with settings after a colon: `gfm`, or `gfm:nodes=all,weights=FOLDER`.

    Each takes `rerank` and `pool` besides its own: `fused:rerank=cross-encoder:NAME,pool=50`; where weights of `g-rag`
    read AMR also `amr`, its parser.

    Raises:
        InputError: There is none of that name or setting, or it needs vectors that the index lacks.
    """
    called, _, settings = name.partition(":")
    if called not in RETRIEVERS:
        raise InputError(f"no retriever is called {called!r}; choose one of {', '.join(RETRIEVERS)}")
    options = Options(settings, called)
    if not len(parts.scope) and called not in WITHOUT_PASSAGES:
        return NoPassagesRetriever(parts.scope)  # some would read millions of triples before they found nothing
    told = parts.told(
        options, anew=True
    )  # each retriever pays for the vectors of its questions, and shares them inside
    made = _reranking(called, told)(told)  # the reranker first: its name may be wrong, and a retriever takes seconds
    options.check()
    return made


def open_extractor(
    name: str,
    open_model: Callable[[str], LanguageModel] | None = None,
    calls: int = 2,
    on_done: Callable[[int], None] | None = None,
) -> Extractor:
    """Return the extractor of a name.

    Args:
        name: `rules`, `published:FILE` for triples that were extracted elsewhere, or `llm:PROVIDER:NAME`.
        open_model: Gives the language model of a name; None where there can be none.
        calls: Of a language model a passage, 1 or 2.
        on_done: Told how many passages more a language model is done with.

    Raises:
        InputError: There is none of that name, the file cannot be read, or the language model cannot be used.
    """
    if name == "rules":
        return RuleExtractor()
    kind, _, rest = name.partition(":")
    if kind == "published" and rest:
        return PublishedExtractor(Path(rest))
    if kind == LLM and rest and open_model is not None:
        return LanguageModelExtractor(open_model(rest), calls, on_done)
    raise InputError(f"no extractor is called {name!r}; choose rules, published:FILE or llm:PROVIDER:NAME")
