"""GCN-Retriever: the nodes of a question graph that a trained graph convolutional network finds likeliest.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024),
section 3.3.
Differs from the source: see `nn/subgraph_policy.py` and `node_inputs.py`; with the settings `inputs=text` and
`combination=product`, nothing.
"""

from collections.abc import Sequence
from typing import final

import torch

from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph, induced_subgraph
from clew.nn.subgraph_policy import sample_without_replacement
from clew.retrievers.subgraph.gcn_weights import TrainedScorer, make_node_batch
from clew.retrievers.subgraph.selectors import check_budget


@final
class GCNSelector:
    """Selects the likeliest nodes, equal ones by position, and all edges among them.

    Args:
        trained: The network.
    """

    name = "gcn"

    def __init__(self, trained: TrainedScorer) -> None:
        self._trained = trained

    @property
    def fingerprint(self) -> str:
        """The weights."""
        return self._trained.fingerprint

    def select(self, queries: Sequence[GraphQuery], budget: int) -> list[Subgraph]:
        """Return for each question its likeliest nodes (see `SubgraphSelector`).

        Graphs are taken one by one, so a selection is the same bit for bit whatever it is asked together with.
        """
        check_budget(budget)
        return [self._select_one(one, budget) for one in queries]

    def _select_one(self, asked: GraphQuery, budget: int) -> Subgraph:
        if not len(asked.graph.node_vectors):
            return induced_subgraph(asked.graph.graph, [])
        with torch.inference_mode():
            scores, end = self._trained.model(make_node_batch([asked], self._trained.settings))
            nodes = sample_without_replacement(scores, end[0], budget, None)
        return induced_subgraph(asked.graph.graph, nodes.tolist())
