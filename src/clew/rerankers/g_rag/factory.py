"""Builds the reranker `g-rag` over one index: weights and document graphs."""

from pathlib import Path

from clew.errors import InputError
from clew.models.encoders.compatibility import reads_vectors_of
from clew.protocols import Encoder
from clew.query.context import IndexContext
from clew.rerankers.g_rag.document_graph import CHAIN_EDGE_FEATURES, CHAIN_NODE_FEATURES, IndexDocumentGraphBuilder
from clew.rerankers.g_rag.reranker import DocumentGraphReranker
from clew.rerankers.g_rag.settings import GRag
from clew.rerankers.g_rag.weights import Shapes, TrainedDocumentGNN, load_reranker
from clew.store.weights_io import CONFIG_FILE, PRETRAINED_FOLDER

CHAIN_INPUTS = (*CHAIN_NODE_FEATURES, *CHAIN_EDGE_FEATURES)
"""Features for which the chains of sentences of a question are searched."""


def build_g_rag(context: IndexContext, settings: GRag) -> DocumentGraphReranker:
    """Return the reranker over one index.

    Raises InputError where the folder holds no weights, or they read another encoder than the index's, or AMR.
    """
    folder = PRETRAINED_FOLDER / "g-rag" if settings.weights is None else settings.weights.expanduser()
    trained = load_weights(folder, context.encoder)
    if trained.kind != "index":
        raise InputError(
            f"g-rag: the network in {str(folder)!r} reads graphs of {trained.kind.upper()}: use g-rag-amr, which the "
            "package clew-lab adds"
        )
    chains = any(name in trained.node_features + trained.edge_features for name in CHAIN_INPUTS)
    graphs = make_index_graphs(context, text=trained.model.settings.text > 0, chains=chains)
    return DocumentGraphReranker(graphs, trained)


def load_weights(folder: Path, encoder: Encoder, shapes: Shapes | None = None) -> TrainedDocumentGNN:
    """Return a network of a folder; raises InputError where there is none, or it reads vectors of another encoder."""
    if not (folder / CONFIG_FILE).is_file():
        raise InputError(
            f"g-rag: {str(folder)!r} holds no {CONFIG_FILE}; give a folder that `clew train reranker` made"
        )
    trained = load_reranker(folder, shapes)
    if trained.model.settings.text and not reads_vectors_of(trained.encoder, encoder.fingerprint):
        raise InputError(
            f"g-rag: the passages have the encoder {encoder.name}, and the network reads another's vectors: give "
            "weights of this encoder (clew train reranker, of clew-lab), or the network's encoder to a new index"
        )
    return trained


def make_index_graphs(context: IndexContext, *, text: bool = False, chains: bool = False) -> IndexDocumentGraphBuilder:
    """Return the builder of document graphs of an index.

    Passage embeddings (`text`) and chains of sentences are features.
    """
    return IndexDocumentGraphBuilder(
        context.scope.snapshot,
        context.lexical,
        context.encode_questions,
        context.text_vectors.relation_vectors,
        vectors=text,
        linker=context.scope.linker,
        chains=context.chain_search() if chains else None,
    )
