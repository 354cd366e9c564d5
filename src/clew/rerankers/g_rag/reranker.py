"""Listwise reranking by a graph neural network over the document graph of a question's passages.

A passage that shares nothing with the question rises if relevant passages are connected with it. So the second passage
of a chain is not lost, unlike with rerankers that score each passage on its own.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024).
Differs from the source: see `document_graph` and `clew.inference.document_network`; a passage without edges is ranked
with the others; a pool in which no passage has the AMR graph that the network reads keeps its order.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, final

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.inference.document_network import DocumentInput
from clew.plugins.records import SettingsRecord, setting
from clew.protocols import Encoder, check_lengths, fingerprint_of
from clew.query.context import IndexContext
from clew.rerankers.g_rag.document_graph import (
    CHAIN_EDGE_FEATURES,
    CHAIN_NODE_FEATURES,
    DocumentGraphBuilder,
    IndexDocumentGraphBuilder,
)
from clew.rerankers.g_rag.weights import FeatureColumns, Shapes, TrainedDocumentGNN, load_reranker
from clew.rerankers.text_scorer import sort_by_score
from clew.store.weights_io import CONFIG_FILE, PRETRAINED_FOLDER
from clew.types import Evidence, Passage, Scored

UNRANKED_NOTE = (
    "no passage has the AMR graph that g-rag reads here, so the pool keeps its order: give amr=local or amr=file:PATH "
    "with an index, or candidates that bring AMR"
)
"""Note on a pool without AMR graphs."""


@final
class DocumentGraphReranker:
    """Ranks each question's passages jointly; raises InputError where the graphs lack a feature of the network.

    `scores` is a function from the inputs of a question with n passages to their scores (n,); by default the network's.
    """

    def __init__(
        self,
        graphs: DocumentGraphBuilder,
        trained: TrainedDocumentGNN,
        scores: Callable[[DocumentInput], FloatArray] | None = None,
    ) -> None:
        self._graphs = graphs
        self._trained = trained
        self._scores = trained.model.scores if scores is None else scores
        self._columns = FeatureColumns.locate(
            (trained.node_features, trained.edge_features), (graphs.node_features, graphs.edge_features)
        )

    @property
    def fingerprint(self) -> str:
        """Fingerprints of the network and the graph builder."""
        return fingerprint_of(self._trained, self._graphs)

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return the passages of each question by descending score; ties, and pools without AMR, keep their order."""
        check_lengths(questions, evidence)
        ranked = list(evidence)
        places = [place for place, item in enumerate(evidence) if item.passages]
        if not places:
            return ranked
        graphs = self._graphs.build([questions[i] for i in places], [evidence[i].passages for i in places])
        text = self._trained.model.settings.text > 0
        for place, graph in zip(places, graphs, strict=True):
            if graph.lacks_amr:  # the network would rank passages without edges, which it has not learned
                ranked[place] = replace(evidence[place], notes=(*evidence[place].notes, *graph.notes, UNRANKED_NOTE))
                continue
            # One question at a time, so that scores do not depend on the batch.
            scores = self._scores(self._columns.select(graph, text=text))
            item = sort_by_score(evidence[place], scores.tolist())
            ranked[place] = replace(item, notes=(*item.notes, *graph.notes))
        return ranked

    def network_input(self, question: str, passages: Sequence[Scored[Passage]]) -> DocumentInput:
        """Return what the network reads of a question and its pool of passages."""
        (graph,) = self._graphs.build([question], [passages])
        return self._columns.select(graph, text=self._trained.model.settings.text > 0)

    @property
    def weights(self) -> TrainedDocumentGNN:
        """The trained network."""
        return self._trained

    def shared_parts(
        self, question: str, passages: Sequence[Scored[Passage]], first: int, second: int
    ) -> dict[str, tuple[str, ...]]:
        """Return what joins two passages of a pool, given by their places, by kind."""
        return self._graphs.shared_parts(question, passages, first, second)


class GRag(SettingsRecord):
    """Settings of the reranker `g-rag`."""

    label: ClassVar[str] = "g-rag"

    weights: Path | None = setting(None, "weights that `clew train reranker` made", unset="the package's")


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
    if trained.model.settings.text and trained.encoder != encoder.fingerprint:
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
