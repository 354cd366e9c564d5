"""The registry of retrievers: names to settings records and builders, imported when one is asked for.

To add a retriever: write its file with a settings record and a builder, and add its line to `RETRIEVERS`; or add an
entry point of the group `clew.retrievers` in a package of your own (docs/add-a-retriever.md).
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from clew.errors import InputError
from clew.models.encoders.int4_e5 import Int4E5
from clew.plugins.records import SettingsRecord, WholeNumber, setting
from clew.plugins.registry import Registry
from clew.plugins.spec import nearest, split_settings, suggest
from clew.protocols import Retriever
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.rerankers.registry import NO_RERANKER, open_reranker, parse_reranker, reranker_text
from clew.retrievers.evidence import EMPTY_QUESTION, check_k, make_evidence
from clew.retrievers.object_retriever import accept_retriever
from clew.retrievers.reranked import RERANK_DEPTH, RerankedRetriever
from clew.retrievers.spec import OpenRetriever, RetrieverEntry
from clew.store.weights_io import CONFIG_FILE, PRETRAINED_FOLDER, read_encoder_fingerprint
from clew.types import Evidence, Filter

NO_PASSAGES = "the index holds no passages, so none was found: add documents with `clew index`"
ONLY_GRAPH = f"{NO_PASSAGES}, or search its imported graph with the retriever frag"


@dataclass(frozen=True, slots=True)
class EmptyIndexRetriever:
    """Returns empty evidence with a note that states the reason."""

    scope: Scope  # an index without passages

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return empty evidence with a note a question."""
        check_k(k, questions)
        self.scope.mask(where)
        started = time.perf_counter()
        note = ONLY_GRAPH if len(self.scope.snapshot.triples) else NO_PASSAGES
        return [make_evidence((), (), (note if text.strip() else EMPTY_QUESTION,), started) for text in questions]


_logger = logging.getLogger(__name__)
RERANKED = "reranked"
RERANKING_SETTINGS = ("rerank", "rerank_depth")
_HERE = "clew.retrievers"
_VECTORS = "passages, vectors"
_FACTS = "facts (triples); vectors, or without them words"

RETRIEVERS = Registry(
    "retriever",
    "clew.retrievers",
    {
        "bm25": RetrieverEntry("rare words shared with the question", f"{_HERE}.bm25:BM25", f"{_HERE}.bm25:build_bm25"),
        "chains": RetrieverEntry(
            "chains of sentences that a name or a rare word joins, and a walk; nothing trained",
            f"{_HERE}.chains:Chains",
            f"{_HERE}.chains:build_chains",
            explains_passages=True,
        ),
        "dense": RetrieverEntry(
            "cosine of passage and question", f"{_HERE}.dense:Dense", f"{_HERE}.dense:build_dense", _VECTORS
        ),
        "frag": RetrieverEntry(
            "reasoning paths through the facts, by the question's complexity, after FRAG",
            f"{_HERE}.frag.settings:Frag",
            f"{_HERE}.frag.settings:build_frag",
            _FACTS,
            finds_paths=True,
        ),
        "fused": RetrieverEntry(
            "`bm25` and `dense`, fused by reciprocal rank",
            f"{_HERE}.fused:Fused",
            f"{_HERE}.fused:build_fused",
            _VECTORS,
            combines=True,
        ),
        "gcn-subgraph": RetrieverEntry(
            "a subgraph that a small graph network selects, trained by a reader's loss, after GCN-Retriever",
            f"{_HERE}.subgraph.settings:GCNSubgraph",
            f"{_HERE}.subgraph.gcn:build_gcn_subgraph",
            "facts (triples), vectors",
            finds_paths=True,
        ),
        "gear": RetrieverEntry(
            "an agent: searches in steps, with a memory of triples, after GeAR",
            f"{_HERE}.agents.settings:Gear",
            f"{_HERE}.agents.settings:build_gear",
            _VECTORS,
            combines=True,
            over_base=True,
        ),
        "gfm": RetrieverEntry(
            "a graph neural network over the graph near the question, after GFM-RAG",
            f"{_HERE}.gfm.settings:GFM",
            f"{_HERE}.gfm.factory:build_gfm",
            "passages, vectors of the encoder that its weights read",
            explains_passages=True,
        ),
        "hybrid": RetrieverEntry(
            "vectors, words of the question that the index has, and chains of sentences; any language",
            f"{_HERE}.hybrid:Hybrid",
            f"{_HERE}.hybrid:build_hybrid",
            _VECTORS,
            explains_passages=True,
        ),
        "pagerank": RetrieverEntry(
            "a walk from the names in the question, along links that fit the rest of it",
            f"{_HERE}.pagerank:PageRank",
            f"{_HERE}.pagerank:build_pagerank",
            explains_passages=True,
        ),
        RERANKED: RetrieverEntry(
            "the first passages of another retriever in a reranker's order, after G-RAG",
            f"{_HERE}.registry:Reranked",
            f"{_HERE}.registry:build_reranked",
            _VECTORS,
            combines=True,
            over_base=True,
            explains_passages=True,
        ),
    },
    RetrieverEntry,
    unsuggested=frozenset({"none"}),
)
"""All retrievers by name."""


class Reranked(SettingsRecord):
    """Settings of a retriever with a reranker above it."""

    label: ClassVar[str] = RERANKED

    base: SettingsRecord | str = setting("pagerank", "retriever whose passages are reranked")
    rerank: SettingsRecord | str = setting("g-rag", "reranker", "G-RAG")
    rerank_depth: WholeNumber = setting(RERANK_DEPTH, "passages that are reranked", "G-RAG: n = 100")


def build_reranked(context: IndexContext, settings: Reranked, open_retriever: OpenRetriever) -> Retriever:
    """Return a retriever with a reranker above it; raises InputError for an unfit base or an index without passages."""
    name = _entry_name(settings.base)
    entry = RETRIEVERS.entry(name)
    if not len(context.scope):
        raise InputError(
            f"this index has no passages, and {reranker_text(settings.rerank)} reranks passages: leave rerank out"
        )
    # The reranker first: it may be refused, and a retriever takes seconds.
    reranker = open_reranker(settings.rerank, context)
    label = reranker_text(settings.rerank)
    if not context.paths_per_passage or not entry.explains_passages:
        return RerankedRetriever(open_retriever(settings.base, context), reranker, settings.rerank_depth, label)
    unexplained = open_retriever(settings.base, context.with_paths_per_passage(0))
    explainer = open_retriever(settings.base, context)
    return RerankedRetriever(unexplained, reranker, settings.rerank_depth, label, explainer)


def open_retriever(spec: SettingsRecord | str, context: IndexContext) -> Retriever:
    """Return a retriever over one index, of a record such as `GFM(nodes="all")`, or a name, for its default settings.

    Raises InputError where no retriever has that name, or the index lacks what it needs.
    """
    searched = spec.base if isinstance(spec, Reranked) else spec
    if not is_path_retriever(searched) and not len(context.scope):
        return EmptyIndexRetriever(context.scope)  # some read millions of triples before they find nothing
    # Each retriever pays for the vectors of its questions, and shares them with those that it is built from.
    retriever = _build(spec, context.with_fresh_cache())
    _logger.info("opened the retriever %s over %d passages", _entry_name(searched), len(context.scope))
    return retriever


def parse_retriever(text: str) -> SettingsRecord:
    """Return the settings record of a retriever as it is written on the command line: a name, or `gfm:nodes=all`.

    Each takes `rerank` and `rerank_depth` besides its own settings. Raises InputError where no retriever or setting has
    that name, or a value cannot be used.
    """
    name, _, settings = text.partition(":")
    entry = RETRIEVERS.entry(name)
    values = split_settings(settings, name)
    reranking = {key: values.pop(key) for key in RERANKING_SETTINGS if key in values}
    if name == RERANKED:
        return _parse_reranking(values.pop("base", "pagerank"), {"rerank": "g-rag", **reranking}, values)
    for key in values.keys() - record_of(name).model_fields.keys():
        if close := nearest(key, RERANKING_SETTINGS):
            raise InputError(f"{name} has no setting {key!r}; did you mean {close}?")
    if fixed := next((key for key in values if key in entry.preset), ""):
        raise InputError(f"{name} fixes {fixed}: leave it out")
    record = record_of(name)(**{**entry.preset, **values})
    if not reranking or reranking == {"rerank": NO_RERANKER}:
        return record
    if "rerank" not in reranking:
        given = next(iter(reranking))
        raise InputError(f"{name}: {given} is a setting of reranking, and no rerank is given: give both")
    return _parse_reranking(record, reranking, {})


def record_of(name: str) -> type[SettingsRecord]:
    """Return the settings record of a retriever; raises InputError where no retriever has that name."""
    return RETRIEVERS.record(name)


def is_path_retriever(spec: SettingsRecord | str) -> bool:
    """Return whether a retriever searches paths in the graph and needs no passages; raises InputError if unknown."""
    return RETRIEVERS.entry(_entry_name(spec)).finds_paths


def finds_nothing(spec: SettingsRecord | str) -> bool:
    """Return whether a retriever is the one that finds nothing; raises InputError if unknown."""
    return RETRIEVERS.entry(_entry_name(spec)).finds_nothing


def names_that_find_paths() -> list[str]:
    """Return the names of the retrievers that search paths in a graph."""
    entries = RETRIEVERS.usable_entries().items()
    return [name for name, entry in entries if entry.finds_paths and not entry.finds_nothing]


def default_retriever(context: IndexContext, encoder_fingerprint: str) -> str:
    """Return the name of the retriever that serves an index best.

    That is `frag` where the index holds facts and no passage, `gfm` where it has vectors that the weights of `gfm`
    read, but `hybrid` where its documents are long and the weights are not its own; `hybrid` where its encoder is that
    of many languages, else `chains`.
    """
    if len(context.scope.snapshot.triples) and not len(context.scope):
        return "frag"
    own = context.own_weights_folder("gfm")
    is_adapted = (own / CONFIG_FILE).is_file()
    if read_encoder_fingerprint(own if is_adapted else PRETRAINED_FOLDER / "gfm") == encoder_fingerprint:
        are_long = context.scope.snapshot.columns.are_of_long_documents
        return "hybrid" if are_long and not is_adapted else "gfm"
    return "hybrid" if encoder_fingerprint == Int4E5.fingerprint else "chains"


def describe_default(name: str, encoder_fingerprint: str) -> tuple[str, ...]:
    """Return a note on why a retriever was chosen for an index of an encoder; none for `gfm`, the usual one."""
    is_of_many = encoder_fingerprint == Int4E5.fingerprint
    reasons = {
        "frag": "the index holds facts and no passages",
        "chains": "the index has no vectors that the weights of gfm read",
        "hybrid": "the vectors are of many languages" if is_of_many else "most passages are parts of long documents",
    }
    return (f"retriever {name}, since {reasons[name]}",) if name in reasons else ()


def _build(spec: SettingsRecord | str, context: IndexContext) -> Retriever:
    settings = parse_retriever(spec) if isinstance(spec, str) else spec
    name = _entry_name(settings)
    entry = RETRIEVERS.entry(name)
    _check_names(settings)
    combined = (_build,) if entry.combines else ()
    built = RETRIEVERS.build(name, context, settings, *combined)
    return accept_retriever(built, context.scope, RETRIEVERS.origin(name))


def _check_names(spec: SettingsRecord | str) -> None:
    base = getattr(spec, "base", None)
    if base is None:
        return
    name = _entry_name(base)
    if name not in RETRIEVERS or not _can_be_base(name, spec):
        able = [other for other in RETRIEVERS.usable_entries() if _can_be_base(other, spec)]
        wanted = f"{suggest(name, able)}wanted one of {', '.join(able)}"
        raise InputError(f"{_entry_name(spec)}: base is {name!r}; {wanted}")


def _can_be_base(name: str, spec: SettingsRecord | str) -> bool:
    return name != RERANKED if isinstance(spec, Reranked) else not RETRIEVERS.entry(name).over_base


def _entry_name(spec: SettingsRecord | str) -> str:
    if isinstance(spec, str):
        name, colon, _ = spec.partition(":")
        if colon:
            raise InputError(
                f'the retriever is {spec!r}; from Python settings go into its record, such as clew.GFM(nodes="all")'
            )
        return name
    label: str = getattr(type(spec), "label", "")
    if not label:
        raise InputError(f"{type(spec).__name__} has no label: a settings record names the retriever it belongs to")
    return label


def _parse_reranking(base: SettingsRecord | str, reranking: dict[str, str], values: dict[str, Any]) -> SettingsRecord:
    depth: dict[str, Any] = {key: reranking[key] for key in ("rerank_depth",) if key in reranking}
    if reranking["rerank"] == NO_RERANKER:
        return parse_retriever(base) if isinstance(base, str) else base
    reranker = parse_reranker(reranking["rerank"])
    return Reranked(base=base, rerank=reranker, **depth, **values)
