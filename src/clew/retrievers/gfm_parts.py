"""Puts the `gfm` retriever together: weights, the graph of passages, and the projections of its relations."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from clew.errors import InputError
from clew.graph.relations import passage_graph, relation_texts
from clew.protocols import Encoder
from clew.retrievers.gfm import GFMRetriever
from clew.retrievers.gfm_weights import SHIPPED, load_weights
from clew.retrievers.question_walk import Walker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.nn.query_gnn import QueryGNN
    from clew.types import FloatArray

_PROJECTED_AT_ONCE = 8192


def gfm_retriever(
    walker: Walker,
    encoder: Encoder,
    encode_texts: "Callable[[Sequence[str]], FloatArray]",
    kept: "Callable[[str, Callable[[], NDArray[Any]]], NDArray[Any]]",
    weights: Path = SHIPPED,
    size: int | None = 0,
    paths: int = 1,
) -> GFMRetriever:
    """Return the retriever over one index.

    Args:
        walker: Walks from questions through the index.
        encoder: The index's.
        encode_texts: Gives unit rows for short texts, remembering them.
        kept: Gives the array of a name, made once a version of the index.
        weights: A folder of weights.
        size: Nodes of a question's graph; 0 for as many as the weights were trained on, None for the whole graph.
        paths: How many paths explain each passage.

    Raises:
        InputError: The weights were trained with another encoder than the index was made with.
    """
    trained = load_weights(weights)
    if trained.encoder != encoder.fingerprint:
        raise InputError(
            f"the weights of gfm read vectors of the encoder {trained.encoder}, and the index was made with "
            f"{encoder.name} ({encoder.fingerprint}): use another retriever, train weights for this encoder, or make a "
            "new index with --encoder all-MiniLM-L6-v2"
        )
    snapshot = walker.scope.snapshot
    projected = kept(trained.key, lambda: projections(trained.model, encode_texts(relation_texts(snapshot))))
    nodes = trained.nodes if size == 0 else size
    return GFMRetriever(walker, encoder, passage_graph(snapshot), trained.model, projected, nodes, paths)


def projections(model: "QueryGNN", vectors: "FloatArray") -> "NDArray[np.float16]":
    """Return what each relation (R, t) multiplies messages by at each layer, (R, layers, width), in half precision."""
    shape = len(vectors), model.settings.layers, model.settings.width
    rows = np.empty(shape, dtype=np.float16)
    with torch.inference_mode():
        for start in range(0, len(vectors), _PROJECTED_AT_ONCE):
            part = torch.from_numpy(vectors[start : start + _PROJECTED_AT_ONCE])
            rows[start : start + len(part)] = model.project_relations(part).numpy()
    return rows
