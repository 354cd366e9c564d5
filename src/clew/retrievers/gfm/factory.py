"""Puts the `gfm` retriever together: weights, the graph they were trained for, and the projections of its relations."""

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.graph.snapshot.relation_vectors import frequent_relations, shared_vectors, vector_rows
from clew.graph.snapshot.relational_edges import relation_texts
from clew.inference.query_network import QueryNetwork
from clew.protocols import Encoder
from clew.query.context import IndexContext
from clew.retrievers.evidence import ChainQuoter
from clew.retrievers.gfm.explanations import EdgePathBuilder
from clew.retrievers.gfm.passage_graphs import PassageGraphBuilder
from clew.retrievers.gfm.passage_ranking import PassageRanker
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.gfm.settings import GFM
from clew.retrievers.gfm.weights import TrainedGNN, load_weights

_PROJECTION_BATCH = 8192


def build_gfm(context: IndexContext, settings: GFM) -> GFMRetriever:
    """Return the retriever over one index.

    Raises InputError where the weights read another encoder than the index was made with, or do not score passages.
    """
    folder = context.weights_folder("gfm", settings.weights)
    trained = load_weights(folder)
    if trained.targets != "passages":
        raise InputError(
            f"the weights in {folder} score {trained.targets}, and gfm reads those that score passages: use "
            "--retriever gfm-paper, which the package clew-lab adds"
        )
    encoder = check_encoder(trained, context.index_encoder)
    linking = settings.resolve_linking(context.linking, trained.form.linker)
    if linking != context.linking:
        context = context.with_linker(linking)
    snapshot = context.scope.snapshot
    nodes = trained.nodes if settings.nodes is None else settings.nodes
    graphs = PassageGraphBuilder(
        context.load_passage_graph(),
        context.graph_walk(),
        None if nodes == "all" else nodes,
        context.similar_passages(),
        context.chain_search() if trained.chains else None,
    )
    texts, encode = relation_texts(snapshot), partial(context.encode_texts_with, encoder=encoder)
    frequent = lru_cache(maxsize=1)(partial(frequent_relations, graphs.edges, texts))
    rows = context.cached_array("relation-rows", lambda: vector_rows(texts, frequent()))
    projected = context.cached_array(
        trained.key, lambda: project_all_relations(trained.model, shared_vectors(texts, frequent(), encode))
    )
    quoter = ChainQuoter(snapshot, context.lexical, snapshot.sentences) if context.paths_per_passage else None
    return GFMRetriever(
        context.scope,
        encoder,
        graphs,
        trained.model,
        projected,
        rows,
        PassageRanker(),
        EdgePathBuilder(snapshot, graphs.edges),
        context.paths_per_passage,
        trained.key,
        quoter if trained.chains else None,
    )


def project_all_relations(model: QueryNetwork, vectors: FloatArray) -> NDArray[Any]:
    """Return what each of n vectors of relations (n, t) multiplies messages by at each layer, (n, layers, width).

    In half precision, unless the model is the published one, whose scores are kept to single precision.
    """
    shape = len(vectors), model.settings.layers, model.settings.width
    rows = np.empty(shape, dtype=np.float16 if model.settings.learned_inverse else np.float32)
    for start in range(0, len(vectors), _PROJECTION_BATCH):
        part = vectors[start : start + _PROJECTION_BATCH]
        rows[start : start + len(part)] = model.project_relations(part)
    return rows


def check_encoder(trained: TrainedGNN, encoder: Encoder | None) -> Encoder:
    """Return the encoder of an index; raises InputError where there is none, or weights read another's vectors."""
    if encoder is None:
        raise InputError(
            "this index was made with --encoder none, so it has no vectors, which gfm needs; use the retriever "
            "bm25, pagerank or chains, or make a new index with an encoder"
        )
    if trained.encoder.fingerprint != encoder.fingerprint:
        raise InputError(
            f"the weights of gfm read vectors of the encoder {trained.encoder.name} ({trained.encoder.fingerprint}), "
            f"and the index was made with {encoder.name} ({encoder.fingerprint}): use another retriever, train weights "
            f"for this encoder, or make a new index with --encoder {trained.encoder.name}"
        )
    return encoder
