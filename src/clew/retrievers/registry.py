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
from clew.protocols import AgentReader, AMRParser, Extractor, LanguageModel, Reranker, Retriever
from clew.query.context import IndexContext
from clew.query.graph_walk import GraphWalkConfig
from clew.rerankers.amr.local_parser import LocalAMRParser
from clew.rerankers.amr.parsers import AmrlibParser, FileAMRParser
from clew.rerankers.g_rag.amr_document_graph import AMRDocumentGraphs
from clew.rerankers.g_rag.document_graph import DocumentGraphBuilder, IndexDocumentGraphs
from clew.rerankers.llm import LLMReranker
from clew.rerankers.text_scorer import TextReranker
from clew.retrievers.agents.gear import GearAgent, GearSettings
from clew.retrievers.agents.ircot import IRCoTAgent
from clew.retrievers.agents.llm_reader import LLMReader
from clew.retrievers.agents.local_reader import LocalReader
from clew.retrievers.bm25 import BM25Retriever
from clew.retrievers.dense import DenseRetriever
from clew.retrievers.empty_index import EmptyIndexRetriever
from clew.retrievers.entity_graph import EntityGraphRetriever
from clew.retrievers.frag.factory import make_frag_retriever
from clew.retrievers.fused import FusedRetriever
from clew.retrievers.graph_expansion import ExpansionSettings, GraphExpansion, GraphExpansionRetriever
from clew.retrievers.hipporag2 import HippoRAG2Retriever
from clew.retrievers.pagerank import PageRankRetriever
from clew.retrievers.reranked import RERANK_DEPTH, RerankedRetriever
from clew.retrievers.routed.retriever import Preference, RoutedRetriever, Router
from clew.retrievers.routed.signals import SIGNALS
from clew.retrievers.routed.weights import load_choices
from clew.retrievers.spec import Options
from clew.retrievers.subgraph.steiner import make_steiner_retriever
from clew.retrievers.title_links import TitleLinksRetriever
from clew.store.pretrained import CONFIG_FILE, PRETRAINED_FOLDER

LOCAL = "local"
LLM = "llm"


NONE, G_RAG, RERANKED = "none", "g-rag", "reranked"

GRAPH_BASES = ("entity-graph", "gfm", "hipporag2", "pagerank", "title-links")
"""Retrievers that follow the graph themselves; an expansion may overrule them less than those that read words alone."""


def _make_base(context: IndexContext) -> tuple[str, Retriever]:
    """Return the base retriever that an expansion or an agent is to have, and its name."""
    name = context.options.text("base", "bm25", [name for name in RETRIEVERS if name not in BASE_RETRIEVER_OPTIONS])
    return name, RETRIEVERS[name](context.with_paths_per_passage(0).with_options(Options()))


def make_expansion(context: IndexContext, base: str) -> GraphExpansion:
    """Return what follows triples through the index, as the options say."""
    s, options = context.scope.snapshot, context.options
    beam = BeamSettings(
        options.integer("width", BeamSettings().width),
        options.integer("length", BeamSettings().length),
        options.float_("gamma", BeamSettings().gamma),
    )
    given = ExpansionSettings(
        beam,
        options.float_("context", ExpansionSettings().context),
        options.integer("read", ExpansionSettings().read_depth),
        options.float_("weight", 2.0 if base in GRAPH_BASES else 1.0),
        options.float_("constant", ExpansionSettings().rank_constant),
    )
    nodes = int(s.entity_nodes.max(initial=-1)) + 1
    graph = TripleGraph(s.entity_nodes.astype(np.int64)[s.triples[:, [0, 2]]], nodes)
    return GraphExpansion(context.scope, graph, context.triple_vectors, context.encode_questions, given)


def open_reader(parts: IndexContext) -> AgentReader:
    """Return who reads, as the options say: `local`, or a language model."""
    context = parts.options.float_("context", ExpansionSettings().context)
    name = parts.options.text("reader", LOCAL)
    if ":" in name:
        return LLMReader(parts.open_model(name))
    if name != LOCAL:
        raise InputError(f"reader is {name!r}; wanted local, or a language model such as openai:gpt-4o-mini")
    return LocalReader(parts.scope.snapshot, parts.triple_vectors, parts.encode_questions, context)


def _make_naive_ge(context: IndexContext) -> Retriever:
    name, base = _make_base(context)
    return GraphExpansionRetriever(base, make_expansion(context, name))


def _make_sync_ge(context: IndexContext) -> Retriever:
    name, base = _make_base(context)
    return GraphExpansionRetriever(base, make_expansion(context, name), open_reader(context))


def _make_gear(context: IndexContext) -> Retriever:
    name, base = _make_base(context)
    settings = GearSettings(
        context.options.integer("steps", GearSettings().steps),
        context.options.text("expand", "yes", ("yes", "no")) == "yes",
        context.options.text("gist", "yes", ("yes", "no")) == "yes",
        later_weight=context.options.float_("later", 1.0 if name in GRAPH_BASES else 0.5),
        gist_weight=context.options.float_("gist_weight", GearSettings().gist_weight),
    )
    return GearAgent(base, make_expansion(context, name), open_reader(context), settings)


def _make_ircot(context: IndexContext) -> Retriever:
    _, base = _make_base(context)
    return IRCoTAgent(base, open_reader(context), context.options.integer("steps", 4))


def _make_reranked_base(context: IndexContext) -> Retriever:
    """Return what finds the passages of `reranked`; `make_retriever` puts the reranker above it."""
    name = context.options.text(
        "base", "pagerank", [n for n in RETRIEVERS if n not in (*BASE_RETRIEVER_OPTIONS, *PATH_RETRIEVERS)]
    )
    return RETRIEVERS[name](context.with_options(Options()))


def _make_dense(context: IndexContext) -> DenseRetriever:
    context.encoder  # noqa: B018 - there must be one
    return DenseRetriever(context.scope, context.encode_questions)


def _make_fused(context: IndexContext) -> FusedRetriever:
    return FusedRetriever((BM25Retriever(context.scope, context.lexical), _make_dense(context)))


def _make_gfm(context: IndexContext) -> Retriever:
    from clew.retrievers.gfm.factory import make_gfm_retriever  # loads torch, which takes seconds

    return make_gfm_retriever(
        context.gfm_context(), context.weights_folder("gfm"), context.options, context.paths_per_passage
    )


def _make_gcn_subgraph(context: IndexContext) -> Retriever:
    from clew.retrievers.subgraph.gcn import make_gcn_subgraph_retriever

    return make_gcn_subgraph_retriever(context.graph_search_context(), context.text_vectors, context.options)


def _make_routed(context: IndexContext) -> Retriever:
    weights = load_choices(context.weights_folder("routed"), tuple(SIGNALS))
    router = Router(weights, Preference.from_options(context.options, weights), len(context.scope))
    first = PageRankRetriever(context.scope, context.lexical, GraphWalkConfig())
    return RoutedRetriever(context.scope, first, router, lambda choice: make_retriever(choice.retriever, context))


RETRIEVERS: dict[str, Callable[[IndexContext], Retriever]] = {
    "bm25": lambda parts: BM25Retriever(parts.scope, parts.lexical),
    "dense": _make_dense,
    "entity-graph": lambda parts: EntityGraphRetriever(parts.scope, parts.lexical),
    "frag": lambda parts: make_frag_retriever(parts.graph_search_context(), parts.options),
    "frag-complex": lambda parts: make_frag_retriever(parts.graph_search_context(), parts.options, "complex"),
    "frag-simple": lambda parts: make_frag_retriever(parts.graph_search_context(), parts.options, "simple"),
    "fused": _make_fused,
    "gcn-subgraph": _make_gcn_subgraph,
    "gear": _make_gear,
    "gfm": _make_gfm,
    "hipporag2": lambda parts: HippoRAG2Retriever(parts.scope, _make_dense(parts), parts.encode_texts),
    "ircot": _make_ircot,
    "naive-ge": _make_naive_ge,
    "pagerank": lambda parts: PageRankRetriever(parts.scope, parts.lexical, GraphWalkConfig()),
    RERANKED: _make_reranked_base,
    "routed": _make_routed,
    "steiner": lambda parts: make_steiner_retriever(parts.graph_search_context(), parts.text_vectors, parts.options),
    "sync-ge": _make_sync_ge,
    "title-links": lambda parts: TitleLinksRetriever(parts.scope, _make_fused(parts)),
}

PATH_RETRIEVERS = ("frag", "frag-complex", "frag-simple", "gcn-subgraph", "steiner")
"""Retrievers that need no passages: they find paths in a graph, and what passages there are that state them."""

PATH_PER_PASSAGE = ("gfm", "pagerank", "reranked", "routed")
"""Retrievers that give a path for each passage: below a reranker they explain what is asked for, not the whole pool."""

BASE_RETRIEVER_OPTIONS = {
    "gear": ("base", "reader", "steps"),
    "ircot": ("base", "reader", "steps"),
    "naive-ge": ("base",),
    RERANKED: ("base",),
    "sync-ge": ("base", "reader"),
}
"""Retrievers over a base retriever, with the settings that the command line has options for."""

RERANKING_OPTIONS = ("rerank", "pool")
"""Settings that every retriever of passages takes."""


def _make_cross_encoder(_: IndexContext, name: str) -> Reranker:
    if not name:
        raise InputError("the reranker cross-encoder wants a folder or a name on the hub: cross-encoder:NAME")
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise InputError(f"cross-encoder: there is no folder {name!r}: give one of a model, or a name on the hub")
    return TextReranker(CrossEncoderScorer(name))


def _make_llm_reranker(context: IndexContext, model: str) -> Reranker:
    if ":" not in model:
        raise InputError(f"the reranker is 'llm:{model}'; wanted llm:PROVIDER:NAME, such as llm:openai:gpt-4o-mini")
    return LLMReranker(context.open_model(model))


def open_amr_parser(name: str) -> AMRParser:
    """Return the AMR parser of a name: `local`, `file:PATH` or `amrlib:MODEL`.

    Raises:
        InputError: There is none of that name, or the file cannot be read.
        ProviderError: A package is missing.
    """
    kind, _, rest = name.partition(":")
    if name == LOCAL:
        return LocalAMRParser()
    if kind == "file" and rest:
        return FileAMRParser(Path(rest).expanduser())
    if kind == "amrlib":
        return AmrlibParser(rest)
    raise InputError(f"no AMR parser is called {name!r}; choose local, file:PATH or amrlib:MODEL")


def make_document_graphs(
    context: IndexContext, kind: str, parser: str = LOCAL, *, text: bool = False
) -> DocumentGraphBuilder:
    """Return what makes document graphs of an index's passages.

    Args:
        context: Of the index.
        kind: "index" or "amr".
        parser: Of AMR.
        text: Whether passages' vectors are read.
    """
    if kind == "amr":
        return AMRDocumentGraphs(open_amr_parser(parser), context.encoder.encode)
    relations = context.text_vectors.relation_vectors
    return IndexDocumentGraphs(
        context.scope.snapshot, context.lexical, context.encode_questions, relations, vectors=text
    )


def _make_g_rag(context: IndexContext, folder: str) -> Reranker:
    from clew.rerankers.g_rag.reranker import DocumentGraphReranker
    from clew.rerankers.g_rag.weights import load_reranker  # loads torch, which takes seconds

    place = Path(folder).expanduser() if folder else PRETRAINED_FOLDER / G_RAG
    if not (place / CONFIG_FILE).is_file():
        raise InputError(f"g-rag: {str(place)!r} holds no {CONFIG_FILE}; give a folder that `clew train reranker` made")
    trained = load_reranker(place)
    if trained.model.settings.text and trained.encoder != context.encoder.fingerprint:
        raise InputError(
            f"g-rag: this index has the encoder {context.encoder.name}, and the network reads another's vectors; give "
            "weights of the index's encoder (clew train reranker), or make a new index"
        )
    learned_by = str(trained.about.get("parser") or LOCAL)
    if trained.kind == "amr" and learned_by != LOCAL and "amr" not in context.options:
        raise InputError(f"g-rag: {str(place)!r} learned from AMR of {learned_by}; give amr={learned_by}:... with it")
    parser = context.options.text("amr", LOCAL) if trained.kind == "amr" else LOCAL
    graphs = make_document_graphs(context, trained.kind, parser, text=trained.model.settings.text > 0)
    return DocumentGraphReranker(graphs, trained)


RERANKERS: dict[str, Callable[[IndexContext, str], Reranker]] = {
    "cross-encoder": _make_cross_encoder,
    G_RAG: _make_g_rag,
    "llm": _make_llm_reranker,
}
"""By what stands before the first colon of a reranker's name; each is given the parts, and what stands behind it."""


def add_options(names: Sequence[str], given: Mapping[str, str | int | None]) -> list[str]:
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
    able_to = [(*RERANKING_OPTIONS, *BASE_RETRIEVER_OPTIONS.get(name.partition(":")[0], ())) for name in names]
    taken = [{s: v for s, v in stated.items() if s in settings} for settings in able_to]
    for setting in stated:
        if not any(setting in settings for settings in taken):
            able = ", ".join(name for name, settings in BASE_RETRIEVER_OPTIONS.items() if setting in settings)
            raise InputError(f"--{setting} is for the retrievers {able}, not {', '.join(names)}; leave it out")
    return [_add_options(name, settings) for name, settings in zip(names, taken, strict=True)]


def _add_options(retriever: str, given: Mapping[str, str | int | None]) -> str:
    name, _, settings = retriever.partition(":")
    stated = Options(settings, name)
    if twice := next((setting for setting in given if setting in stated), ""):
        raise InputError(f"{retriever} has a setting {twice!r} of its own, and --{twice} is given too: leave one out")
    together = ",".join(part for part in (settings, *(f"{key}={value}" for key, value in given.items())) if part)
    return f"{name}:{together}" if together else name


def open_reranker(name: str, context: IndexContext) -> Reranker:
    """Return the reranker of a name: `g-rag`, `g-rag:FOLDER` of own weights, `cross-encoder:NAME`, `llm:MODEL`.

    Args:
        name: As above.
        context: Of the index, told what a user says of the reranker.

    Raises:
        InputError: There is none of that name, or its language model cannot be used.
    """
    kind, _, rest = name.partition(":")
    if kind not in RERANKERS:
        raise InputError(f"no reranker is called {name!r}; choose one of {', '.join((NONE, *RERANKERS))}")
    return RERANKERS[kind](context, rest)


def _with_reranker(retriever: str, context: IndexContext) -> Callable[[IndexContext], Retriever]:
    """Return what makes a retriever, with the reranker above it that the options name."""
    options = context.options
    name = options.text("rerank", G_RAG if retriever == RERANKED else NONE)
    pool = options.integer("pool", RERANK_DEPTH)
    if "pool" in options and "rerank" not in options and retriever != RERANKED:
        raise InputError(f"{retriever}: pool is how many passages are reranked, and no rerank is given: give both")
    make = RETRIEVERS[retriever]
    if name == NONE:
        return make
    if not len(context.scope):
        raise InputError(f"this index has no passages, and {name} reranks passages: leave rerank out")
    # Else `weights` of a retriever would be the reranker's too.
    own = Options(f"amr={options.text('amr', '')}" if "amr" in options else "", name)
    reranker = open_reranker(name, context.with_options(own))
    own.check()
    if not context.paths_per_passage or retriever not in PATH_PER_PASSAGE:
        return lambda told: RerankedRetriever(make(told), reranker, pool, name)
    return lambda told: RerankedRetriever(make(told.with_paths_per_passage(0)), reranker, pool, name, make(told))


def make_retriever(name: str, context: IndexContext) -> Retriever:
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
    if not len(context.scope) and called not in PATH_RETRIEVERS:
        return EmptyIndexRetriever(context.scope)  # some would read millions of triples before they found nothing
    told = context.with_options(
        options, fresh_cache=True
    )  # each retriever pays for the vectors of its questions, and shares them inside
    made = _with_reranker(called, told)(
        told
    )  # the reranker first: its name may be wrong, and a retriever takes seconds
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
