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
from clew.retrievers.frag.hop_predictor import TERMS, WORDS, HopPredictor, load_hop_predictor
from clew.retrievers.frag.path_ranking import RelationPathRanker, TextPathRanker, TrainedPathRanker, load_path_ranker
from clew.retrievers.frag.path_search import SEARCHES
from clew.retrievers.frag.retriever import ENTITY_RANKERS, FragRetriever, FragSettings
from clew.retrievers.spec import Options
from clew.store.pretrained import CONFIG_FILE
from clew.text.bm25 import BM25Index, BM25Scorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray

TRAINED, BI_ENCODER, CROSS_ENCODER, BM25 = "trained", "bi-encoder", "cross-encoder", "bm25"
TEMPERATURES = {BI_ENCODER: 0.05, CROSS_ENCODER: 1.0, BM25: 1.0}
"""What scores are divided by to be logarithms of a likelihood; cosines of texts are near each other."""
_EXAMPLE_COUNT = 10  # names that stand for what is found at the end of a relation
_SAMPLE_SIZE = 500_000  # triples that they are counted in
_MAX_NAME_CHARACTERS = 60  # characters


@dataclass(frozen=True, slots=True)
class GraphSearchContext:
    """What of an index FRAG is given.

    Attributes:
        scope: The snapshot and its filters.
        lexical: The words of its passages.
        encoder: The index's; None where it has none.
        cached_array: Keeps an array that is made of this version of the index.
        weights_folder: Gives the folder of weights by their name: `router`, `router-terms` or `paths`.
    """

    scope: Scope
    lexical: BM25Index
    encoder: Encoder | None
    cached_array: "Callable[[str, Callable[[], NDArray[Any]]], NDArray[Any]]"
    weights_folder: Callable[[str], Path]

    def load_fact_graph(self) -> FactGraph:
        """Return the facts of the index as a graph; kept on disk after the first time."""
        made: list[FactGraph] = []

        def part(name: str) -> "NDArray[Any]":
            def make() -> "NDArray[Any]":
                if not made:
                    made.append(fact_graph(self.scope.snapshot.triples, len(self.scope.snapshot.entities)))
                return np.asarray(getattr(made[0], name))

            return self.cached_array(f"facts-{name}", make)

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
            lru_cache(maxsize=None)(_end_examples(self.scope.snapshot)),
            self.encoder.encode,
            self.encoder.encode_queries,
        )


def make_frag_retriever(context: GraphSearchContext, options: Options, always: str = "") -> FragRetriever:
    """Return the retriever as the options say.

    Args:
        context: Of the index.
        options: `paths`, `entities`, `relations`, `hops`, `search`, `delta`, `grm`, `ranker`, `relations_by`,
            `lengths`, `router`, `router_weights` and `path_weights`.
        always: `simple` or `complex` for the variants that ask no router.

    Raises:
        InputError: An option's value is none, or the index has no encoder for it.
    """
    settings = _parse_settings(options, always)
    notes: list[str] = []
    texts = lru_cache(maxsize=1)(context.relation_texts)
    router = None if always else _make_hop_predictor(context, options, texts, notes)
    relations_by = options.text("relations_by", BM25 if context.encoder is None else BI_ENCODER)
    relation_ranker = _make_text_scorer(relations_by, texts)
    ranker = _make_path_ranker(context, options, texts, notes)
    graph = lru_cache(maxsize=1)(context.load_fact_graph)
    return FragRetriever(context.scope, context.lexical, graph, router, relation_ranker, ranker, settings, notes)


def _parse_settings(options: Options, always: str) -> FragSettings:
    plain = FragSettings()
    search = options.text("search", "", ("", *SEARCHES))
    simple, far = plain.simple, plain.complex
    kinds = (search or simple[0], search or far[0])
    asked = options.integer("hops", 0)
    near = asked if always == "simple" and asked else min(asked or simple[1].hops, simple[1].hops)
    return replace(
        plain,
        always=always,
        delta=options.integer("delta", plain.delta),
        simple=(kinds[0], replace(simple[1], hops=near)),
        complex=(kinds[1], replace(far[1], hops=asked or far[1].hops)),
        entities=options.integer("entities", plain.entities),
        relations=options.integer("relations", plain.relations),
        paths=options.integer("paths", plain.paths),
        ends=options.integer("ends", plain.ends),
        edges=options.integer("edges", plain.edges),
        entity_ranker=options.text("grm", plain.entity_ranker, ENTITY_RANKERS),
        lengths=bool(always) or options.text("lengths", "yes", ("yes", "no")) == "yes",
    )


def _make_hop_predictor(
    context: GraphSearchContext, options: Options, texts: Callable[[], RelationTexts], notes: list[str]
) -> HopPredictor:
    given = options.text("router_weights", "")
    kind = options.text("router", "", ("", WORDS, TERMS))
    if given:
        weights = load_hop_predictor(_existing_weights(given, "router_weights"))
    else:
        weights = load_hop_predictor(context.weights_folder("router-terms" if kind == TERMS else "router"))
        if not kind and not _is_same_encoder(weights.encoder, context.encoder):
            notes.append("the router counts words by tf-idf: its network reads another encoder than the index's")
            weights = load_hop_predictor(context.weights_folder("router-terms"))
    if weights.kind == TERMS:
        return HopPredictor(weights)
    if not _is_same_encoder(weights.encoder, context.encoder):
        raise InputError("frag: the router's network reads another encoder than the index's; give router=tf-idf")
    return HopPredictor(weights, texts().word_memory)


def _make_path_ranker(
    context: GraphSearchContext, options: Options, texts: Callable[[], RelationTexts], notes: list[str]
) -> RelationPathRanker:
    given = options.text("path_weights", "")
    name = options.text("ranker", "")
    if name in ("", TRAINED):
        trained = load_path_ranker(
            _existing_weights(given, "path_weights") if given else context.weights_folder("paths")
        )
        if _is_same_encoder(trained.encoder, context.encoder):
            return TrainedPathRanker(trained, texts())
        if name or given:
            raise InputError(
                "frag: the path ranker's head reads another encoder than the index's; give ranker=bi-encoder"
            )
        name = BM25 if context.encoder is None else BI_ENCODER
        notes.append(f"paths are ranked by {name}: the trained head reads another encoder than the index's")
    kind = name.partition(":")[0]
    scorer = _make_text_scorer(name, texts)
    plain = texts() if context.encoder is not None else _relation_names_only(context.scope.snapshot)
    return TextPathRanker(scorer, plain, options.float_("temperature", TEMPERATURES[kind]), name)


def _make_text_scorer(name: str, texts: Callable[[], RelationTexts]) -> TextScorer:
    kind, _, model = name.partition(":")
    if kind == BM25 and not model:
        return BM25Scorer()
    if kind == CROSS_ENCODER and model:
        return CrossEncoderScorer(model)
    if kind == BI_ENCODER and not model:
        return BiEncoderScorer(texts().text_memory, texts().word_memory)
    raise InputError(f"frag: a ranker is {name!r}; wanted trained (of paths), bi-encoder, bm25 or cross-encoder:NAME")


def _existing_weights(given: str, setting: str) -> Path:
    """Return a folder of weights that a user names.

    Raises:
        InputError: There is none.
    """
    folder = Path(given).expanduser()
    if not (folder / CONFIG_FILE).is_file():
        raise InputError(
            f"frag: {setting} is {given!r}, which holds no {CONFIG_FILE}; give a folder that clew train made"
        )
    return folder


def _is_same_encoder(fingerprint: str, encoder: Encoder | None) -> bool:
    return encoder is not None and encoder.fingerprint == fingerprint


def _relation_names_only(snapshot: Snapshot) -> RelationTexts:
    def absent(texts: Sequence[str]) -> "FloatArray":
        return np.zeros((len(texts), 1), dtype=np.float32)

    return RelationTexts(snapshot.relations.__getitem__, lambda _: "", absent, absent)


def _end_examples(snapshot: Snapshot) -> Callable[[int], str]:
    """Return what gives for a relation code the commonest names where such a step ends, of a sample of the triples."""
    sample = snapshot.triples[:: max(1, len(snapshot.triples) // _SAMPLE_SIZE)]

    def of(code: int) -> str:
        ends = sample[sample[:, 1] == code >> 1, 0 if code & 1 else 2]
        common = sorted(Counter(ends.tolist()).items(), key=lambda item: (-item[1], item[0]))[:_EXAMPLE_COUNT]
        return ", ".join(snapshot.entities[entity][:_MAX_NAME_CHARACTERS] for entity, _ in common)

    return of
