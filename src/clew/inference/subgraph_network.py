"""Forward pass of the network that scores the nodes of a question's graph, without torch.

Equal to `clew_lab.nn.subgraph_policy.SubgraphScorer`, where the network is described, on one graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from clew.arrays import FloatArray, LongArray
from clew.inference.layers import relu
from clew.inference.relational_sums import FIRST, EdgeGroups, sum_messages

PRODUCT: Final = "product"
SUM: Final = "sum"


@dataclass(frozen=True, slots=True, eq=False)
class NodeInput:
    """b question graphs, concatenated to n nodes and m edges."""

    inputs: FloatArray  # (n, f) features of the nodes
    edges: LongArray  # (m, 2) indices of nodes
    cosines: FloatArray  # (n,) cosines with the question of the node's graph
    prior: FloatArray  # (n,) log share of a random walk from the question at the node
    graph_of: LongArray  # (n,) index of the node's graph, ascending
    graph_count: int  # b


@final
class SubgraphNetwork:
    """A trained network, with float32 arrays by their names in `SubgraphScorer`.

    `layers` are those of the graph convolution; `combination` is `PRODUCT` of cosine and importance, or `SUM` of
    importance, cosine and prior; `stops` tells whether a selection may end before the budget is spent.
    """

    def __init__(self, arrays: Mapping[str, FloatArray], layers: int, combination: str, *, stops: bool) -> None:
        self.arrays = arrays
        self._layers = layers
        self._combination = combination
        self._stops = stops

    def scores(self, nodes: NodeInput) -> tuple[FloatArray, float]:
        """Return logits of the nodes (n,), and of ending a selection, minus infinity where it may not end."""
        importance = self._importance(nodes)
        end = float(self.arrays["end"][0]) if self._stops else -np.inf
        if self._combination == PRODUCT:
            return nodes.cosines * importance, end
        weights = self.arrays["weights"]
        return importance + weights[0] * nodes.prior + weights[1] * nodes.cosines, end

    def _importance(self, nodes: NodeInput) -> FloatArray:
        groups, weights = normalised_adjacency(nodes.edges, len(nodes.inputs))
        hidden = nodes.inputs
        for number in range(self._layers):
            name = f"gcn.layers.{number}"
            terms = (hidden if number == 0 else relu(hidden)) @ self.arrays[f"{name}.lin.weight"].T
            hidden = sum_messages(groups, weights, terms, terms, FIRST)
            if (bias := self.arrays.get(f"{name}.bias")) is not None:
                hidden = hidden + bias
        return hidden[:, 0]


def normalised_adjacency(edges: LongArray, count: int) -> tuple[EdgeGroups[LongArray], FloatArray]:
    """Return both directions of edges (m, 2) and a loop at each of n nodes, grouped by node, and their weights.

    A weight is 1 over the roots of both ends' degrees, (2 m' + n,) for the m' edges that are no loops.
    """
    proper = edges[edges[:, 0] != edges[:, 1]]
    own = np.arange(count)
    rows = np.concatenate([proper[:, 0], proper[:, 1], own])
    columns = np.concatenate([proper[:, 1], proper[:, 0], own])
    roots = np.sqrt(np.bincount(columns, minlength=count).astype(np.float32))
    order = np.lexsort((rows, columns))
    ends = rows[order].astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=count))]).astype(np.int64)
    weights = (1 / (roots[rows] * roots[columns])).astype(np.float32)[order]
    return EdgeGroups(indptr, np.arange(len(ends)), ends, ends), weights


def likeliest_nodes(scores: FloatArray, end: float, budget: int) -> LongArray:
    """Return the indices (k,) of the selected nodes, likeliest first, ties by position; at least one, at most `budget`.

    `scores` (n,) are the logits of the nodes, `end` that of ending the selection.
    """
    order = np.argsort(-scores, kind="stable")[:budget]
    return order[: max(1, int((scores[order] > end).sum()))]
