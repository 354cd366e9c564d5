"""The only table from names to constructors. To add a retriever: write its file, add its line to `RETRIEVERS`."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.agents.gear import GearAgent, GearSettings
from clew.agents.ircot import IRCoTAgent
from clew.errors import InputError
from clew.graph.beam import BeamSettings, TripleGraph
from clew.graph.snapshot import load_snapshot
from clew.graph.triple_vectors import TripleVectors
from clew.indexing.llm import LanguageModelExtractor
from clew.indexing.published import PublishedExtractor
from clew.indexing.rules import RuleExtractor
from clew.lexical import LexicalIndex
from clew.protocols import Encoder, Extractor, LanguageModel, Reader, Retriever
from clew.reading.by_model import ModelReader
from clew.reading.local import LocalReader
from clew.retrievers.bm25 import BM25Retriever
from clew.retrievers.dense import DenseRetriever
from clew.retrievers.entity_graph import EntityGraphRetriever
from clew.retrievers.frag_parts import GraphParts, frag_retriever
from clew.retrievers.fused import FusedRetriever
from clew.retrievers.graph_expansion import ExpansionSettings, GraphExpansion, GraphExpansionRetriever
from clew.retrievers.hipporag2 import HippoRAG2Retriever
from clew.retrievers.no_passages import NoPassagesRetriever
from clew.retrievers.options import Options
from clew.retrievers.pagerank import PageRankRetriever
from clew.retrievers.question_subgraph import TextVectors
from clew.retrievers.question_walk import PageRankWeights, Walker
from clew.retrievers.routed import Preference, RoutedRetriever, Router
from clew.retrievers.routed_signals import SIGNALS
from clew.retrievers.routed_weights import load_choices
from clew.retrievers.scope import Scope
from clew.retrievers.shipped import CONFIG, SHIPPED, own_weights
from clew.retrievers.steiner import steiner_retriever
from clew.retrievers.title_links import TitleLinksRetriever
from clew.store.kept import kept_array
from clew.store.vectors import VectorStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.retrievers.gfm_parts import Surroundings
    from clew.retrievers.gfm_weights import TrainedGNN
    from clew.types import FloatArray

LEXICAL = "lexical"
LOCAL = "local"
LLM = "llm"
_REMEMBERED = 1024  # questions


class Parts:
    """What retrievers are made of, for one version of an index.

    Attributes:
        scope: The snapshot and its filters.
        lexical: The words of the passages.
        paths: How many paths explain each passage, where each of them costs time.
        options: What the user says of the retriever.
        open_model: Gives the language model of a name.

    Args:
        folder: The snapshot on disk.
        vectors: Where vectors of short texts are remembered.
        open_encoder: Gives the encoder that made the passages' vectors.
        open_model: As above.
        on_progress: Told how many texts were encoded, when a retriever has to encode many.
    """

    def __init__(
        self,
        folder: Path,
        vectors: Path,
        open_encoder: Callable[[], Encoder],
        open_model: Callable[[str], LanguageModel],
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        # Both are mapped now, not when first used: the files may be replaced while this version is still held.
        self.scope = Scope(load_snapshot(folder))
        self.lexical = LexicalIndex.load(folder / LEXICAL)
        self.paths = 1
        self.options = Options()
        self._questions: dict[str, FloatArray] = {}
        self._folder = folder
        self._vectors = vectors
        self._open_encoder = open_encoder
        self.open_model = open_model
        self._on_progress = on_progress

    def explaining(self, paths: int) -> "Parts":
        """Return the same parts for retrievers that give so many paths a passage; 0 saves the time that they cost."""
        if paths < 0:
            raise InputError(f"paths is {paths}: ask for 0 or more a passage")
        parts = copy(self)
        parts.paths = paths
        return parts

    def told(self, options: Options) -> "Parts":
        """Return the same parts with what the user says of the retriever."""
        parts = copy(self)
        parts.options = options
        return parts

    def weights(self, name: str) -> Path:
        """Return the folder of a network's weights: the one asked for, the index's own, or those of the package."""
        own = self.own_weights(name)
        asked = self.options.text("weights", "")
        return Path(asked).expanduser() if asked else own if (own / CONFIG).is_file() else SHIPPED / name

    def own_weights(self, name: str) -> Path:
        """Return the folder of the weights that were adapted to this index, whether they are there or not."""
        return own_weights(self._vectors.parent, name)

    def surroundings(self) -> "Surroundings":
        """Return what the graph neural network is given of the index."""
        from clew.models.encoders import open_reading
        from clew.models.sentence_transformer import Reading
        from clew.retrievers.gfm_parts import Surroundings

        def own(trained: "TrainedGNN") -> Encoder:
            encoder = trained.encoder
            return open_reading(encoder.name, Reading(encoder.normalize, encoder.query, encoder.text))

        encoder = self._open_encoder()
        walker = Walker(self.scope, self.lexical, PageRankWeights())
        return Surroundings(walker, encoder if encoder.dimension else None, own, self.encode_by, self.kept)

    def graph_parts(self) -> GraphParts:
        """Return what retrievers of paths are given of the index."""
        encoder = self._open_encoder()
        read = encoder if encoder.dimension else None
        return GraphParts(self.scope, self.lexical, read, self.kept, self.weights)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder that made the passages' vectors.

        Raises:
            InputError: The index was made without one.
        """
        encoder = self._open_encoder()
        if not encoder.dimension:
            raise InputError(
                "this index was made with --encoder none, so it has no vectors; use the retriever bm25, pagerank or "
                "entity-graph, or make a new index with an encoder"
            )
        return encoder

    def encode_texts(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (n, d) for short texts, remembering them on disk."""
        return VectorStore(self._vectors).get_or_encode(texts, self.encoder, self._on_progress)

    def question_vectors(self, questions: Sequence[str]) -> "FloatArray":
        """Return unit rows (n, d) to search with; what UTF-8 cannot write is replaced, as everywhere in a question.

        Those of the last questions are remembered: an agent asks for the same ones at every step.
        """
        known = dict(self._questions)
        fresh = [question for question in dict.fromkeys(questions) if question not in known]
        if fresh:
            rows = self.encoder.encode_queries([question.encode(errors="replace").decode() for question in fresh])
            known |= dict(zip(fresh, rows, strict=True))
            self._questions.clear()
            self._questions.update(list(known.items())[-_REMEMBERED:])
        found = [known[question] for question in questions]
        return np.stack(found) if found else np.zeros((0, self.encoder.dimension), dtype=np.float32)

    @cached_property
    def triple_vectors(self) -> TripleVectors:
        """The vectors of the index's triples."""
        s, texts = self.scope.snapshot, self.text_vectors
        return TripleVectors(s.triples, texts.names(), texts.relations(), s.triple_passages, s.vectors)

    @cached_property
    def text_vectors(self) -> TextVectors:
        """The vectors of names and relations, made when first asked for and mapped after that.

        Raises:
            InputError: The index was made without an encoder.
        """
        s, encoder = self.scope.snapshot, self.encoder

        def of(kind: str, texts: Sequence[str]) -> "FloatArray":
            return self.kept(f"{kind}-{encoder.fingerprint}", lambda: self.encode_texts(list(texts)))

        names = lru_cache(maxsize=1)(lambda: of("names", s.entities))
        return TextVectors(names, lru_cache(maxsize=1)(lambda: of("relations", s.relations)), self.question_vectors)

    def encode_by(self, texts: Sequence[str], encoder: Encoder) -> "FloatArray":
        """Return rows (n, d) for short texts by another encoder than the index's, remembering them on disk."""
        place = self._vectors
        if encoder.fingerprint != self._open_encoder().fingerprint:
            place = place.with_name(f"vectors-{blake2b(encoder.fingerprint.encode(), digest_size=6).hexdigest()}.lance")
        return VectorStore(place).get_or_encode(texts, encoder, self._on_progress)

    def kept(self, name: str, make: "Callable[[], NDArray[Any]]") -> "NDArray[Any]":
        """Return an array that depends on this version of the index and on `name`, made once and kept on disk."""
        return kept_array(self._vectors.parent / "arrays" / self._folder.name / name, make)


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


def _dense(parts: Parts) -> DenseRetriever:
    return DenseRetriever(parts.scope, parts.encoder)


def _fused(parts: Parts) -> FusedRetriever:
    return FusedRetriever((BM25Retriever(parts.scope, parts.lexical), _dense(parts)))


def _gfm(parts: Parts) -> Retriever:
    from clew.retrievers.gfm_parts import gfm_retriever  # loads torch, which takes seconds

    return gfm_retriever(parts.surroundings(), parts.weights("gfm"), parts.options, parts.paths)


def _gcn_subgraph(parts: Parts) -> Retriever:
    from clew.retrievers.gcn_subgraph import gcn_subgraph_retriever

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
    "routed": _routed,
    "steiner": lambda parts: steiner_retriever(parts.graph_parts(), parts.text_vectors, parts.options),
    "sync-ge": _sync_ge,
    "title-links": lambda parts: TitleLinksRetriever(parts.scope, _fused(parts)),
}

WITHOUT_PASSAGES = ("frag", "frag-complex", "frag-simple", "gcn-subgraph", "steiner")
"""Retrievers that find paths in an imported graph alone."""

STEPWISE = {
    "gear": ("base", "reader", "steps"),
    "ircot": ("base", "reader", "steps"),
    "naive-ge": ("base",),
    "sync-ge": ("base", "reader"),
}
"""Retrievers over a base retriever, with the settings that the command line has options for."""


def with_options(names: Sequence[str], given: Mapping[str, str | int | None]) -> list[str]:
    """Return retrievers' names with the settings that each of them takes.

    Raises:
        InputError: None of them takes one that is given.
    """
    stated = {setting: value for setting, value in given.items() if value is not None}
    taken = [{s: v for s, v in stated.items() if s in STEPWISE.get(name.partition(":")[0], ())} for name in names]
    for setting in stated:
        if not any(setting in settings for settings in taken):
            able = ", ".join(name for name, settings in STEPWISE.items() if setting in settings)
            raise InputError(f"--{setting} is for the retrievers {able}, not {', '.join(names)}; leave it out")
    return [_with(name, settings) for name, settings in zip(names, taken, strict=True)]


def _with(retriever: str, given: Mapping[str, str | int | None]) -> str:
    name, _, settings = retriever.partition(":")
    together = ",".join(part for part in (settings, *(f"{key}={value}" for key, value in given.items())) if part)
    return f"{name}:{together}" if together else name


def make_retriever(name: str, parts: Parts) -> Retriever:
    """Return the retriever of a name, with settings after a colon: `gfm`, or `gfm:nodes=all,weights=FOLDER`.

    Raises:
        InputError: There is none of that name or setting, or it needs vectors that the index lacks.
    """
    called, _, settings = name.partition(":")
    if called not in RETRIEVERS:
        raise InputError(f"no retriever is called {called!r}; choose one of {', '.join(RETRIEVERS)}")
    options = Options(settings, called)
    if not len(parts.scope) and called not in WITHOUT_PASSAGES:
        return NoPassagesRetriever(parts.scope)  # some would read millions of triples before they found nothing
    made = RETRIEVERS[called](parts.told(options))
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
