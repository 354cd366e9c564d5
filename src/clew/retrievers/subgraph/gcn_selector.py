"""GCN-Retriever: the nodes of a question graph that a trained graph convolutional network finds likeliest.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024),
section 3.3.
Differs from the source: see `nn/subgraph_policy.py` and `node_inputs.py`; with the settings `inputs=text` and
`combination=product`, nothing.
"""

from collections.abc import Sequence
from typing import final

import torch

from clew.graph.subgraphs.textual_graph import AskedGraph, Subgraph, induced
from clew.nn.subgraph_policy import drawn
from clew.retrievers.subgraph.gcn_weights import TrainedScorer, batch_of
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

    def select(self, asked: Sequence[AskedGraph], budget: int) -> list[Subgraph]:
        """Return for each question its likeliest nodes (see `SubgraphSelector`).

        Graphs are taken one by one, so a selection is the same bit for bit whatever it is asked together with.
        """
        check_budget(budget)
        return [self._selected(one, budget) for one in asked]

    def _selected(self, asked: AskedGraph, budget: int) -> Subgraph:
        if not len(asked.graph.nodes):
            return induced(asked.graph.graph, [])
        with torch.inference_mode():
            scores, end = self._trained.model(batch_of([asked], self._trained.settings))
            nodes = drawn(scores, end[0], budget, None)
        return induced(asked.graph.graph, nodes.tolist())
