"""GCN-Retriever: the likeliest nodes of a question graph by a trained graph convolutional network.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024),
section 3.3.
Differs from the source: see `nn/subgraph_policy.py` and `node_inputs.py`; with the settings `inputs=text` and
`combination=product`, nothing.
"""

from typing import final

import torch

from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph, induced_subgraph
from clew.nn.subgraph_policy import sample_without_replacement
from clew.retrievers.subgraph.gcn_weights import TrainedScorer, make_node_batch
from clew.retrievers.subgraph.selectors import PerGraphSelector


@final
class GCNSelector(PerGraphSelector):
    """Selects the likeliest nodes, ties by position, and all edges among them."""

    name = "gcn"

    def __init__(self, trained: TrainedScorer) -> None:
        self._trained = trained

    @property
    def fingerprint(self) -> str:
        """Identifier of the weights."""
        return self._trained.fingerprint

    def select_one(self, query: GraphQuery, budget: int) -> Subgraph:
        """Return the likeliest nodes, ties by position."""
        if not len(query.graph.node_vectors):
            return induced_subgraph(query.graph.graph, [])
        with torch.inference_mode():
            scores, end = self._trained.model(make_node_batch([query], self._trained.settings))
            nodes = sample_without_replacement(scores, end[0], budget, None)
        return induced_subgraph(query.graph.graph, nodes.tolist())
