"""Puts the `gfm` retriever together: weights, the graph they were trained for, and the projections of its relations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from clew.errors import InputError
from clew.graph.snapshot.relational_edges import entity_graph, passage_graph, relation_texts
from clew.protocols import Encoder
from clew.query.graph_walk import GraphWalk
from clew.retrievers.gfm.entity_graphs import EntityGraphBuilder
from clew.retrievers.gfm.explanations import EdgePathBuilder
from clew.retrievers.gfm.passage_graphs import PassageGraphBuilder, QuestionGraphBuilder
from clew.retrievers.gfm.passage_ranking import PUBLISHED_ENTITIES, EntityRanker, PassageRanker, Ranker
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.gfm.weights import TrainedGNN, load_weights
from clew.retrievers.spec import Options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.nn.query_gnn import QueryGNN
    from clew.types import FloatArray

_PROJECTION_BATCH = 8192


@dataclass(frozen=True, slots=True)
class GFMContext:
    """What the retriever is given of an index.

    Attributes:
        graph_walk: Walks from questions through the index.
        encoder: The index's; None when it has no vectors.
        open_encoder: Gives the encoder of a network's own; unit rows or as they are.
        encode_texts: Gives the rows of short texts by an encoder, remembering them.
        cached_array: Gives the array of a name, made once a version of the index.
    """

    graph_walk: GraphWalk
    encoder: Encoder | None
    open_encoder: "Callable[[TrainedGNN], Encoder]"
    encode_texts: "Callable[[Sequence[str], Encoder], FloatArray]"
    cached_array: "Callable[[str, Callable[[], NDArray[Any]]], NDArray[Any]]"


def make_gfm_retriever(context: GFMContext, weights: Path, options: Options, paths: int = 1) -> GFMRetriever:
    """Return the retriever over one index.

    Args:
        context: The index.
        weights: A folder of weights.
        options: `nodes` (a number, or all), and for weights that score entities `ranker` (weighted or paper),
            `entities` (a number, or all) and `rarity` (yes or no).
        paths: How many paths explain each passage.

    Raises:
        InputError: The weights were trained with another encoder than the index was made with, or an option is wrong.
    """
    trained = load_weights(weights)
    snapshot = context.graph_walk.scope.snapshot
    own = context.encoder is not None and context.encoder.fingerprint == trained.encoder.fingerprint
    size = options.positive_or_all("nodes", trained.nodes)
    graphs: QuestionGraphBuilder
    ranker: Ranker
    if trained.targets == "passages":
        _check_encoder(trained, context.encoder)
        graphs, ranker = PassageGraphBuilder(passage_graph(snapshot), context.graph_walk, size), PassageRanker()
    else:
        near = None if context.encoder is None else make_passage_similarity(context.graph_walk, context.encoder)
        graphs = EntityGraphBuilder(entity_graph(snapshot), snapshot, size, near)
        ranker = EntityRanker(
            snapshot,
            weighted=options.text("ranker", "weighted", ("weighted", "paper")) == "weighted",
            entities=options.positive_or_all("entities", PUBLISHED_ENTITIES),
            rarity=options.text("rarity", "yes", ("yes", "no")) == "yes",
            same_encoder=own,
        )
    encoder = context.encoder if own and context.encoder is not None else context.open_encoder(trained)
    if encoder.dimension != trained.model.settings.text_width:
        raise InputError(
            f"the weights in {weights} read vectors of width {trained.model.settings.text_width}, and those of "
            f"{encoder.name} have {encoder.dimension}: their configuration names another encoder than theirs"
        )
    texts = relation_texts(snapshot, inverses=not trained.model.settings.learned_inverse)
    projected = context.cached_array(
        trained.key, lambda: project_all_relations(trained.model, context.encode_texts(texts, encoder))
    )
    reader = EdgePathBuilder(snapshot, graphs.edges, entities=trained.targets == "entities")
    scope = context.graph_walk.scope
    return GFMRetriever(scope, encoder, graphs, trained.model, projected, ranker, reader, paths, trained.key)


def make_passage_similarity(graph_walk: GraphWalk, encoder: Encoder) -> "Callable[[str], FloatArray]":
    """Return what gives the cosine (P,) of a question and the passages."""
    vectors = graph_walk.scope.snapshot.vectors

    def near(question: str) -> "FloatArray":
        row: FloatArray = vectors @ encoder.encode_queries([question.encode(errors="replace").decode()])[0]
        return row

    return near


def project_all_relations(model: "QueryGNN", vectors: "FloatArray") -> "NDArray[Any]":
    """Return what each relation (R, t) multiplies messages by at each layer, (R, layers, width).

    In half precision, unless the model is the published one, whose scores are kept to single precision.
    """
    shape = len(vectors), model.settings.layers, model.settings.width
    rows = np.empty(shape, dtype=np.float16 if model.settings.learned_inverse else np.float32)
    with torch.inference_mode():
        for start in range(0, len(vectors), _PROJECTION_BATCH):
            part = torch.from_numpy(vectors[start : start + _PROJECTION_BATCH])
            rows[start : start + len(part)] = model.project_relations(part).numpy()
    return rows


def _check_encoder(trained: TrainedGNN, encoder: Encoder | None) -> None:
    if encoder is None:
        raise InputError(
            "this index was made with --encoder none, so it has no vectors, which gfm needs; use the retriever "
            "bm25, pagerank or entity-graph, or make a new index with an encoder"
        )
    if trained.encoder.fingerprint != encoder.fingerprint:
        raise InputError(
            f"the weights of gfm read vectors of the encoder {trained.encoder.name} ({trained.encoder.fingerprint}), "
            f"and the index was made with {encoder.name} ({encoder.fingerprint}): use another retriever, train weights "
            f"for this encoder, or make a new index with --encoder {trained.encoder.name}"
        )
