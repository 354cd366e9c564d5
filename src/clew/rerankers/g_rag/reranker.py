"""Reranks the passages found for a question by a network over the graph that connects them.

A passage that says nothing of the question itself rises where passages that do are connected with it, so the second
passage of a chain is not lost, as it is to rerankers that read each passage alone.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024).
Differs from the source: see `document_graph`, `meaning_graphs` and `clew.nn.document_gnn`; a passage without edges is
ranked with the others.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, final

import torch

from clew.protocols import fingerprint_of
from clew.rerankers.g_rag.document_graph import DocumentGraphBuilder
from clew.rerankers.g_rag.weights import FeatureColumns, TrainedDocumentGNN, collate_graphs
from clew.rerankers.ordering import check_lengths, sort_by_score
from clew.types import Evidence

if TYPE_CHECKING:
    from clew.rerankers.g_rag.document_graph import DocumentGraph
    from clew.types import FloatArray


@final
class DocumentGraphReranker:
    """Ranks each question's passages together.

    Args:
        graphs: Makes the graph of a question's passages.
        trained: The network.

    Raises:
        InputError: The network reads what the graphs do not have.
    """

    def __init__(self, graphs: DocumentGraphBuilder, trained: TrainedDocumentGNN) -> None:
        self._graphs = graphs
        self._trained = trained
        self._columns = FeatureColumns.locate(
            (trained.node_features, trained.edge_features), (graphs.node_features, graphs.edge_features)
        )

    @property
    def fingerprint(self) -> str:
        """Those of the network and of what makes the graphs."""
        return fingerprint_of(self._trained, self._graphs)

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return the same passages of each question by descending score; those of one score keep their order.

        Raises:
            InputError: There are not as many questions as pieces of evidence.
        """
        check_lengths(questions, evidence)
        ranked = list(evidence)
        places = [place for place, found in enumerate(evidence) if found.passages]
        if not places:
            return ranked
        graphs = self._graphs.build([questions[i] for i in places], [evidence[i].passages for i in places])
        for place, graph in zip(places, graphs, strict=True):
            found = sort_by_score(evidence[place], self._scores(graph).tolist())
            ranked[place] = replace(found, notes=(*found.notes, *graph.notes))
        return ranked

    def _scores(self, graph: "DocumentGraph") -> "FloatArray":
        """Return the score of each passage (n,): questions one by one, so that none depends on its company."""
        model = self._trained.model
        with torch.inference_mode():
            scores: FloatArray = model(collate_graphs([graph], self._columns, text=model.settings.text > 0))[0].numpy()
        return scores
