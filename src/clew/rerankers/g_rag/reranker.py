"""Listwise reranking by a graph neural network over the document graph of a question's passages.

A passage that shares nothing with the question rises if relevant passages are connected with it. So the second passage
of a chain is not lost, unlike with rerankers that score each passage on its own.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024).
Differs from the source: see `document_graph` and `clew.inference.document_network`; a passage without edges is ranked
with the others; a pool in which no passage has the AMR graph that the network reads keeps its order.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import final

from clew.arrays import FloatArray
from clew.inference.document_network import DocumentInput
from clew.protocols import check_lengths, fingerprint_of
from clew.rerankers.g_rag.document_graph import DocumentGraphBuilder
from clew.rerankers.g_rag.weights import FeatureColumns, TrainedDocumentGNN
from clew.rerankers.ordering import sort_by_score
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
