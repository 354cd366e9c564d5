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
from clew.query.graph_walk import Walker
from clew.retrievers.gfm.entity_graphs import EntityQuestionGraphs
from clew.retrievers.gfm.explanations import PathReader
from clew.retrievers.gfm.passage_graphs import GraphSource, QuestionGraphs
from clew.retrievers.gfm.passage_ranking import PUBLISHED_ENTITIES, EntityRanker, PassageRanker, Ranker
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.gfm.weights import TrainedGNN, load_weights
from clew.retrievers.spec import Options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.nn.query_gnn import QueryGNN
    from clew.types import FloatArray

_PROJECTED_AT_ONCE = 8192


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the retriever is given of an index.

    Attributes:
        walker: Walks from questions through the index.
        encoder: The index's; None when it has no vectors.
        open_encoder: Gives the encoder of a network's own; unit rows or as they are.
        encode_texts: Gives the rows of short texts by an encoder, remembering them.
        kept: Gives the array of a name, made once a version of the index.
    """

    walker: Walker
    encoder: Encoder | None
    open_encoder: "Callable[[TrainedGNN], Encoder]"
    encode_texts: "Callable[[Sequence[str], Encoder], FloatArray]"
    kept: "Callable[[str, Callable[[], NDArray[Any]]], NDArray[Any]]"


def gfm_retriever(around: Surroundings, weights: Path, options: Options, paths: int = 1) -> GFMRetriever:
    """Return the retriever over one index.

    Args:
        around: The index.
        weights: A folder of weights.
        options: `nodes` (a number, or all), and for weights that score entities `ranker` (weighted or paper),
            `entities` (a number, or all) and `rarity` (yes or no).
        paths: How many paths explain each passage.

    Raises:
        InputError: The weights were trained with another encoder than the index was made with, or an option is wrong.
    """
    trained = load_weights(weights)
    snapshot = around.walker.scope.snapshot
    own = around.encoder is not None and around.encoder.fingerprint == trained.encoder.fingerprint
    size = options.count("nodes", trained.nodes)
    graphs: GraphSource
    ranker: Ranker
    if trained.targets == "passages":
        _check_encoder(trained, around.encoder)
        graphs, ranker = QuestionGraphs(passage_graph(snapshot), around.walker, size), PassageRanker()
    else:
        near = None if around.encoder is None else similarity(around.walker, around.encoder)
        graphs = EntityQuestionGraphs(entity_graph(snapshot), snapshot, size, near)
        ranker = EntityRanker(
            snapshot,
            weighted=options.text("ranker", "weighted", ("weighted", "paper")) == "weighted",
            entities=options.count("entities", PUBLISHED_ENTITIES),
            rarity=options.text("rarity", "yes", ("yes", "no")) == "yes",
            similar=own,
        )
    encoder = around.encoder if own and around.encoder is not None else around.open_encoder(trained)
    if encoder.dimension != trained.model.settings.text_width:
        raise InputError(
            f"the weights in {weights} read vectors of width {trained.model.settings.text_width}, and those of "
            f"{encoder.name} have {encoder.dimension}: their configuration names another encoder than theirs"
        )
    texts = relation_texts(snapshot, inverses=not trained.model.settings.learned_inverse)
    projected = around.kept(trained.key, lambda: projections(trained.model, around.encode_texts(texts, encoder)))
    reader = PathReader(snapshot, graphs.edges, entities=trained.targets == "entities")
    scope = around.walker.scope
    return GFMRetriever(scope, encoder, graphs, trained.model, projected, ranker, reader, paths, trained.key)


def similarity(walker: Walker, encoder: Encoder) -> "Callable[[str], FloatArray]":
    """Return what gives the cosine (P,) of a question and the passages."""
    vectors = walker.scope.snapshot.vectors

    def near(question: str) -> "FloatArray":
        row: FloatArray = vectors @ encoder.encode_queries([question.encode(errors="replace").decode()])[0]
        return row

    return near


def projections(model: "QueryGNN", vectors: "FloatArray") -> "NDArray[Any]":
    """Return what each relation (R, t) multiplies messages by at each layer, (R, layers, width).

    In half precision, unless the model is the published one, whose scores are kept to single precision.
    """
    shape = len(vectors), model.settings.layers, model.settings.width
    rows = np.empty(shape, dtype=np.float16 if model.settings.learned_inverse else np.float32)
    with torch.inference_mode():
        for start in range(0, len(vectors), _PROJECTED_AT_ONCE):
            part = torch.from_numpy(vectors[start : start + _PROJECTED_AT_ONCE])
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
