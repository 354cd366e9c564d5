"""Settings and builders of `frag`, `frag-simple` and `frag-complex`."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.models.encoders.registry import open_encoder
from clew.plugins.records import SettingsRecord, WholeNumber, setting
from clew.protocols import Encoder
from clew.query.context import IndexContext
from clew.query.relation_matching import RelationTexts, mediators_setting, open_mediators
from clew.retrievers.frag.hop_predictor import (
    CLASSIFIER,
    TERMS,
    TUNED_FOLDER,
    HopPredictor,
    HopPredictorWeights,
    load_hop_predictor,
)
from clew.retrievers.frag.path_ranking import (
    RelationPathRanker,
    TextPathRanker,
    TrainedPathRanker,
    WholePathRanker,
    load_path_ranker,
)
from clew.retrievers.frag.path_search import SearchBounds
from clew.retrievers.frag.retriever import FragRetriever, FragSettings, KindSettings
from clew.retrievers.frag.text_rankers import BI_ENCODER, BM25, RANKERS, TEMPERATURES, make_text_scorer
from clew.store.weights_io import existing_weights

Search = Literal["bfs", "shortest", "cheapest", "chains"]


class Frag(SettingsRecord):
    """Settings of `frag`; `frag-simple` and `frag-complex` fix `complexity`."""

    label: ClassVar[str] = "frag"
    PAPER: ClassVar[Mapping[str, Any]] = {
        "simple_search": "bfs",
        "complex_search": "shortest",
        "rank": "paths",
        "question": "whole",
        "ranker": "bi-encoder",
        "lengths": False,
    }
    """Values of `preset=paper`; a setting that is given beside it counts."""

    preset: Literal["ours", "paper"] = setting(
        "ours", "default of all other settings: what is best here, or the published form with the index's encoder"
    )
    complexity: Literal["auto", "simple", "complex"] = setting("auto", "`auto` asks the hop predictor", "FRAG")
    search: Search | None = setting(None, "path search", "docs/graphs.md", "chains")
    simple_search: Search | None = setting(None, "path search for simple questions; bfs as published", unset="search")
    complex_search: Search | None = setting(
        None, "path search for complex questions; shortest as published", unset="search"
    )
    hops: WholeNumber | None = setting(None, "hops of a path, at most", unset="2 for simple questions, 4 for complex")
    simple_hops: WholeNumber | None = setting(None, "hops for simple questions (k)", "FRAG: 2", "hops, at most 2")
    complex_hops: WholeNumber | None = setting(None, "hops for complex questions (k)", "FRAG: 4", "hops")
    delta: WholeNumber = setting(2, "hops beyond which a question is complex", "FRAG")
    entities: WholeNumber = setting(2000, "entities that the entity ranking keeps", "FRAG: n = 2000")
    relations: WholeNumber = setting(64, "relations that the relation ranking keeps", "FRAG: m = 64")
    paths: WholeNumber = setting(32, "paths that the path ranking keeps", "FRAG: u = 32")
    simple_entities: WholeNumber | None = setting(None, "entities kept for simple questions", unset="entities")
    complex_entities: WholeNumber | None = setting(None, "entities kept for complex questions", unset="entities")
    simple_relations: WholeNumber | None = setting(None, "relations kept for simple questions", unset="relations")
    complex_relations: WholeNumber | None = setting(None, "relations kept for complex questions", unset="relations")
    simple_paths: WholeNumber | None = setting(None, "paths kept for simple questions", unset="paths")
    complex_paths: WholeNumber | None = setting(None, "paths kept for complex questions", unset="paths")
    rank: Literal["relations", "paths"] = setting(
        "relations", "what the path ranker reads: names of relations, or whole paths with their entities", "FRAG: paths"
    )
    question: Literal["masked", "whole"] = setting(
        "masked", "the question that relations and paths are ranked against: masked is without its names", "FRAG: whole"
    )
    directed: bool = setting(default=False, description="whether facts are followed from head to tail alone")
    mediators: str | None = mediators_setting()
    ends: WholeNumber = setting(8, "ends of one relation path that rank before those of the next")
    edges: WholeNumber = setting(300_000, "edges read for the neighbourhood, at most")
    grm: Literal["ppr", "rwr", "nibble"] = setting("ppr", "entity ranking", "FRAG")
    lengths: bool = setting(
        default=True, description="whether the predicted number of hops adds to the ranking of paths"
    )
    router: Literal["words", "tf-idf"] | None = setting(
        None, "kind of hop predictor", unset="words, or tf-idf for another encoder"
    )
    router_weights: Path | None = setting(
        None, "hop predictor that `clew train router` made", unset="the index's, else the package's"
    )
    ranker: str | None = setting(
        None,
        "path ranker: trained, bi-encoder, bi-encoder:NAME, bm25, cross-encoder:NAME, late-interaction or llm:MODEL",
        unset="trained, or bi-encoder for another encoder, or bm25 without one",
    )
    path_weights: Path | None = setting(
        None, "path ranker that `clew train paths` made", unset="the index's, else the package's"
    )
    temperature: Annotated[float, Field(ge=0.001, le=1000.0)] | None = setting(
        None, "divides the scores of an untrained path ranker", unset="0.05 for bi-encoder, else 1"
    )
    relations_by: str | None = setting(
        None, "relation ranker: as ranker, but trained", unset="bi-encoder, or bm25 without an encoder"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("preset") != "paper":
            return values
        search = {} if values.get("search") is None else dict.fromkeys(("simple_search", "complex_search"))
        return {**cls.PAPER, **search, **values}


TRAINED = "trained"
_SEARCH, _SIMPLE_HOPS, _COMPLEX_HOPS = "chains", 2, 4  # what `Frag` names where a setting is not given


def build_frag(context: IndexContext, settings: Frag) -> FragRetriever:
    """Return the retriever; raises InputError where a ranker is unknown, or reads another encoder than the index's."""
    notes: list[str] = []
    texts = lru_cache(maxsize=1)(context.relation_texts)
    fixed = settings.complexity != "auto"
    hop_predictor = None if fixed else _make_hop_predictor(context, settings, texts, notes)
    relations_by = settings.relations_by or (BM25 if context.index_encoder is None else BI_ENCODER)
    relation_ranker = make_text_scorer(relations_by, context, texts, setting="relations_by")
    whole_paths = _make_whole_path_ranker(context, settings, texts, notes)
    path_ranker = make_path_ranker(context, settings, texts, notes)
    graph = lru_cache(maxsize=1)(context.load_fact_graph)
    return FragRetriever(
        context.scope,
        context.lexical,
        graph,
        hop_predictor,
        relation_ranker,
        path_ranker,
        frag_settings(settings),
        notes,
        whole_paths,
        open_mediators(context.scope.snapshot, settings.mediators),
    )


def frag_settings(settings: Frag) -> FragSettings:
    """Return what a search reads of settings, with all defaults filled in."""
    hops = settings.hops
    capped = _SIMPLE_HOPS if hops is None else min(hops, _SIMPLE_HOPS)
    simple = KindSettings(
        settings.simple_search or settings.search or _SEARCH,
        SearchBounds(settings.simple_hops or (hops if settings.complexity == "simple" and hops else capped)),
        settings.simple_entities or settings.entities,
        settings.simple_relations or settings.relations,
        settings.simple_paths or settings.paths,
    )
    complex_ = KindSettings(
        settings.complex_search or settings.search or _SEARCH,
        SearchBounds(settings.complex_hops or hops or _COMPLEX_HOPS),
        settings.complex_entities or settings.entities,
        settings.complex_relations or settings.relations,
        settings.complex_paths or settings.paths,
    )
    return FragSettings(
        always="" if settings.complexity == "auto" else settings.complexity,
        delta=settings.delta,
        simple=simple,
        complex=complex_,
        entity_ranker=settings.grm,
        lengths=settings.complexity != "auto" or settings.lengths,
        edges=settings.edges,
        ends=settings.ends,
        whole_question=settings.question == "whole",
        directed=settings.directed,
    )


def _make_whole_path_ranker(
    context: IndexContext, settings: Frag, texts: Callable[[], RelationTexts], notes: list[str]
) -> WholePathRanker | None:
    """Return the ranker of whole paths, None where relations are ranked."""
    if settings.rank == "relations":
        return None
    name = settings.ranker or BI_ENCODER
    if name == TRAINED or settings.path_weights is not None:
        raise InputError(f"frag: the trained ranker reads relations: give rank=relations, or a ranker of {RANKERS}")
    if name == BI_ENCODER and context.index_encoder is None:
        notes.append("paths are ranked by bm25: the index has no encoder")
        name = BM25
    temperature = TEMPERATURES[name.partition(":")[0]] if settings.temperature is None else settings.temperature
    return WholePathRanker(make_text_scorer(name, context, texts), temperature, name)


def _make_hop_predictor(
    context: IndexContext, settings: Frag, texts: Callable[[], RelationTexts], notes: list[str]
) -> HopPredictor:
    kind = settings.router
    if settings.router_weights is not None:
        folder = existing_weights(settings.router_weights, "frag: router_weights")
        weights = load_hop_predictor(folder)
        if kind is not None and weights.kind != kind:
            raise InputError(
                f"frag: router is {kind!r}, and the hop predictor in {str(folder)!r} is of the kind {weights.kind}: "
                "leave router out, or give other router_weights"
            )
        if weights.kind == CLASSIFIER:
            return _make_classifier(context, settings, weights, folder)
    else:
        weights = load_hop_predictor(context.weights_folder("router-terms" if kind == TERMS else "router", None))
        if kind is None and not _reads_vectors_of(weights.encoder, context.index_encoder):
            notes.append("the router counts words by tf-idf: its network reads another encoder than the index's")
            weights = load_hop_predictor(context.weights_folder("router-terms", None))
    if weights.kind == TERMS:
        return HopPredictor(weights)
    if not _reads_vectors_of(weights.encoder, context.index_encoder):
        raise InputError("frag: the router's network reads another encoder than the index's; give router=tf-idf")
    return HopPredictor(weights, texts().word_memory)


def _make_classifier(context: IndexContext, settings: Frag, weights: HopPredictorWeights, folder: Path) -> HopPredictor:
    """Return a classifier with its own encoder, tuned or named."""
    if (delta := int(weights.about["delta"])) != settings.delta:
        raise InputError(
            f"frag: delta is {settings.delta}, and the classifier learned {delta}: give delta={delta}, or train another"
        )
    tuned = folder / TUNED_FOLDER
    name = str(tuned) if tuned.is_dir() else str(weights.about["encoder"])
    encoder = open_encoder(name, device=context.device)
    if encoder.fingerprint != weights.encoder:
        raise InputError(f"frag: the classifier reads another encoder than {name} is now: train it again")
    return HopPredictor(weights, encoder.encode)


def make_path_ranker(
    context: IndexContext, settings: Frag, texts: Callable[[], RelationTexts], notes: list[str], label: str = "frag"
) -> RelationPathRanker:
    """Return the ranker of relation paths that settings of the retriever `label` name.

    What is noted in `notes` is that another one stands for it.

    Raises InputError where it is unknown, or reads another encoder than the index's.
    """
    name, given = settings.ranker or "", settings.path_weights
    if settings.rank == "paths":  # relations alone are ranked within the search `chains` and `cheapest`
        name = BM25 if context.index_encoder is None else BI_ENCODER
    if name in ("", TRAINED):
        folder = (
            context.weights_folder("paths", None) if given is None else existing_weights(given, "frag: path_weights")
        )
        trained = load_path_ranker(folder)
        if _reads_vectors_of(trained.encoder, context.index_encoder):
            return TrainedPathRanker(trained, texts())
        if name or given is not None:
            raise InputError(
                f"{label}: the path ranker's head reads another encoder than the index's; give ranker=bi-encoder"
            )
        name = BM25 if context.index_encoder is None else BI_ENCODER
        notes.append(f"paths are ranked by {name}: the trained head reads another encoder than the index's")
    scorer = make_text_scorer(name, context, texts, label, more=f"{TRAINED} (of relation paths), ")
    relation_texts = texts() if context.index_encoder is not None else _relation_names_only(context.scope.snapshot)
    temperature = TEMPERATURES[name.partition(":")[0]] if settings.temperature is None else settings.temperature
    return TextPathRanker(scorer, relation_texts, temperature, name)


def _reads_vectors_of(trained: str, encoder: Encoder | None) -> bool:
    return encoder is not None and trained == encoder.fingerprint


def _relation_names_only(snapshot: Snapshot) -> RelationTexts:
    def encode_nothing(texts: Sequence[str]) -> FloatArray:
        return np.zeros((len(texts), 1), dtype=np.float32)

    return RelationTexts(snapshot.relations.__getitem__, lambda _: "", encode_nothing, encode_nothing)
