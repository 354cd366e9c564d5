"""What FRAG is made of, as the options say."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.subgraphs.fact_graph import FactGraph, fact_graph
from clew.models.text_scorers import BiEncoderScorer, CrossEncoderScorer
from clew.protocols import Encoder, TextScorer
from clew.retrievers.evidence import Scope
from clew.retrievers.frag.chain_features import RelationTexts
from clew.retrievers.frag.hop_predictor import TERMS, WORDS, HopRouter, load_router
from clew.retrievers.frag.path_ranking import ChainRanker, TextChainRanker, TrainedChainRanker, load_paths
from clew.retrievers.frag.path_search import SEARCHES
from clew.retrievers.frag.retriever import ENTITY_RANKERS, FragRetriever, FragSettings
from clew.retrievers.spec import Options
from clew.store.pretrained import CONFIG
from clew.text.bm25 import BM25Scorer, LexicalIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray

TRAINED, BI_ENCODER, CROSS_ENCODER, BM25 = "trained", "bi-encoder", "cross-encoder", "bm25"
TEMPERATURES = {BI_ENCODER: 0.05, CROSS_ENCODER: 1.0, BM25: 1.0}
"""What scores are divided by to be logarithms of a likelihood; cosines of texts are near each other."""
_EXAMPLES = 10  # names that stand for what is found at the end of a relation
_SAMPLE = 500_000  # triples that they are counted in
_LONGEST_NAME = 60  # characters


@dataclass(frozen=True, slots=True)
class GraphParts:
    """What of an index FRAG is given.

    Attributes:
        scope: The snapshot and its filters.
        lexical: The words of its passages.
        encoder: The index's; None where it has none.
        kept: Keeps an array that is made of this version of the index.
        weights: Gives the folder of weights by their name: `router`, `router-terms` or `paths`.
    """

    scope: Scope
    lexical: LexicalIndex
    encoder: Encoder | None
    kept: "Callable[[str, Callable[[], NDArray[Any]]], NDArray[Any]]"
    weights: Callable[[str], Path]

    def graph(self) -> FactGraph:
        """Return the facts of the index as a graph; kept on disk after the first time."""
        made: list[FactGraph] = []

        def part(name: str) -> "NDArray[Any]":
            def make() -> "NDArray[Any]":
                if not made:
                    made.append(fact_graph(self.scope.snapshot.triples, len(self.scope.snapshot.entities)))
                return np.asarray(getattr(made[0], name))

            return self.kept(f"facts-{name}", make)

        return FactGraph(*(part(name) for name in ("indptr", "neighbours", "edges")))

    def relation_texts(self) -> RelationTexts:
        """Return the relations in words.

        Raises:
            InputError: The index has no encoder.
        """
        if self.encoder is None:
            raise InputError(
                "this index was made with --encoder none, so relations cannot be compared with questions by meaning; "
                "give frag:ranker=bm25,relations_by=bm25,router=tf-idf, or make a new index with an encoder"
            )
        return RelationTexts(
            self.scope.snapshot.relations.__getitem__,
            lru_cache(maxsize=None)(_examples(self.scope.snapshot)),
            self.encoder.encode,
            self.encoder.encode_queries,
        )


def frag_retriever(parts: GraphParts, options: Options, always: str = "") -> FragRetriever:
    """Return the retriever as the options say.

    Args:
        parts: Of the index.
        options: `paths`, `entities`, `relations`, `hops`, `search`, `delta`, `grm`, `ranker`, `relations_by`,
            `lengths`, `router`, `router_weights` and `path_weights`.
        always: `simple` or `complex` for the variants that ask no router.

    Raises:
        InputError: An option's value is none, or the index has no encoder for it.
    """
    settings = _settings(options, always)
    notes: list[str] = []
    texts = lru_cache(maxsize=1)(parts.relation_texts)
    router = None if always else _router(parts, options, texts, notes)
    relations_by = options.text("relations_by", BM25 if parts.encoder is None else BI_ENCODER)
    relation_ranker = _text_scorer(relations_by, texts)
    ranker = _ranker(parts, options, texts, notes)
    graph = lru_cache(maxsize=1)(parts.graph)
    return FragRetriever(parts.scope, parts.lexical, graph, router, relation_ranker, ranker, settings, notes)


def _settings(options: Options, always: str) -> FragSettings:
    plain = FragSettings()
    search = options.text("search", "", ("", *SEARCHES))
    simple, far = plain.simple, plain.complex
    kinds = (search or simple[0], search or far[0])
    asked = options.whole("hops", 0)
    near = asked if always == "simple" and asked else min(asked or simple[1].hops, simple[1].hops)
    return replace(
        plain,
        always=always,
        delta=options.whole("delta", plain.delta),
        simple=(kinds[0], replace(simple[1], hops=near)),
        complex=(kinds[1], replace(far[1], hops=asked or far[1].hops)),
        entities=options.whole("entities", plain.entities),
        relations=options.whole("relations", plain.relations),
        paths=options.whole("paths", plain.paths),
        ends=options.whole("ends", plain.ends),
        edges=options.whole("edges", plain.edges),
        entity_ranker=options.text("grm", plain.entity_ranker, ENTITY_RANKERS),
        lengths=bool(always) or options.text("lengths", "yes", ("yes", "no")) == "yes",
    )


def _router(parts: GraphParts, options: Options, texts: Callable[[], RelationTexts], notes: list[str]) -> HopRouter:
    given = options.text("router_weights", "")
    kind = options.text("router", "", ("", WORDS, TERMS))
    if given:
        weights = load_router(_folder(given, "router_weights"))
    else:
        weights = load_router(parts.weights("router-terms" if kind == TERMS else "router"))
        if not kind and not _reads(weights.encoder, parts.encoder):
            notes.append("the router counts words by tf-idf: its network reads another encoder than the index's")
            weights = load_router(parts.weights("router-terms"))
    if weights.kind == TERMS:
        return HopRouter(weights)
    if not _reads(weights.encoder, parts.encoder):
        raise InputError("frag: the router's network reads another encoder than the index's; give router=tf-idf")
    return HopRouter(weights, texts().words)


def _ranker(parts: GraphParts, options: Options, texts: Callable[[], RelationTexts], notes: list[str]) -> ChainRanker:
    given = options.text("path_weights", "")
    name = options.text("ranker", "")
    if name in ("", TRAINED):
        trained = load_paths(_folder(given, "path_weights") if given else parts.weights("paths"))
        if _reads(trained.encoder, parts.encoder):
            return TrainedChainRanker(trained, texts())
        if name or given:
            raise InputError(
                "frag: the path ranker's head reads another encoder than the index's; give ranker=bi-encoder"
            )
        name = BM25 if parts.encoder is None else BI_ENCODER
        notes.append(f"paths are ranked by {name}: the trained head reads another encoder than the index's")
    kind = name.partition(":")[0]
    scorer = _text_scorer(name, texts)
    plain = texts() if parts.encoder is not None else _names_alone(parts.scope.snapshot)
    return TextChainRanker(scorer, plain, options.number("temperature", TEMPERATURES[kind]), name)


def _text_scorer(name: str, texts: Callable[[], RelationTexts]) -> TextScorer:
    kind, _, model = name.partition(":")
    if kind == BM25 and not model:
        return BM25Scorer()
    if kind == CROSS_ENCODER and model:
        return CrossEncoderScorer(model)
    if kind == BI_ENCODER and not model:
        return BiEncoderScorer(texts().kept, texts().words)
    raise InputError(f"frag: a ranker is {name!r}; wanted trained (of paths), bi-encoder, bm25 or cross-encoder:NAME")


def _folder(given: str, setting: str) -> Path:
    """Return a folder of weights that a user names.

    Raises:
        InputError: There is none.
    """
    folder = Path(given).expanduser()
    if not (folder / CONFIG).is_file():
        raise InputError(f"frag: {setting} is {given!r}, which holds no {CONFIG}; give a folder that clew train made")
    return folder


def _reads(fingerprint: str, encoder: Encoder | None) -> bool:
    return encoder is not None and encoder.fingerprint == fingerprint


def _names_alone(snapshot: Snapshot) -> RelationTexts:
    def absent(texts: Sequence[str]) -> "FloatArray":
        return np.zeros((len(texts), 1), dtype=np.float32)

    return RelationTexts(snapshot.relations.__getitem__, lambda _: "", absent, absent)


def _examples(snapshot: Snapshot) -> Callable[[int], str]:
    """Return what gives for a relation code the commonest names where such a step ends, of a sample of the triples."""
    sample = snapshot.triples[:: max(1, len(snapshot.triples) // _SAMPLE)]

    def of(code: int) -> str:
        ends = sample[sample[:, 1] == code >> 1, 0 if code & 1 else 2]
        common = sorted(Counter(ends.tolist()).items(), key=lambda item: (-item[1], item[0]))[:_EXAMPLES]
        return ", ".join(snapshot.entities[entity][:_LONGEST_NAME] for entity, _ in common)

    return of
