"""Policy that selects nodes of question graphs: scores of the nodes, sampling, and the probability of a selection.

The importance of a node comes from a graph convolutional network over the nodes' texts:

    H1 = ReLU(A X W0),   H2 = A H1 W1,   S = softmax over the nodes of a graph of C * H2

A is the adjacency with self-loops, divided by the square roots of the degrees of both ends; X are the embeddings of the
nodes' texts, C their cosines with the question. H2 is one number per node.

Nodes are sampled without replacement, from a softmax over the remaining nodes and, where a selection may end early, one
more entry that ends it (Plackett-Luce model). So a selection has a probability, and the score of a node does not depend
on the nodes sampled before it.

Source: GCN-Retriever (Engel and Park, 2024), equations 1 to 3, of which 3 is `product`; Kipf and Welling,
"Semi-supervised classification with graph convolutional networks" (2017), for A; Kool, van Hoof and Welling,
"Stochastic Beams and Where to Find Them" (2019), for sampling by perturbed scores.
Differs from the source: parallel edges add up, as in PyTorch Geometric; there can be more layers, with ReLU between
them, and biases; `sum` adds the log share of an untrained random walk from the question to the importance, so that the
first samples are informed; a selection may end before the budget is spent.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from clew.inference.subgraph_network import PRODUCT, SUM, NodeInput
from clew.retrievers.subgraph.gcn_features import feature_width
from clew.retrievers.subgraph.settings import ScorerSettings


@final
class NodeGCN(nn.Module):
    """Importance of nodes in a graph whose edges are read in both directions.

    There are 2 `layers` or more, the last returns one number per node, and the source's have no bias.
    """

    def __init__(self, input_width: int, width: int = 64, layers: int = 2, *, bias: bool = False) -> None:
        super().__init__()
        widths = [input_width, *[width] * (layers - 1), 1]
        self.layers = nn.ModuleList(GCNConv(a, b, bias=bias) for a, b in pairwise(widths))

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Return importances (n,) from embeddings of nodes (n, input_width) and edges (m, 2), int64 indices of nodes.

        Self-loops are ignored, since every node has one of weight 1. Several graphs are batched by concatenating their
        nodes and offsetting their edges.
        """
        forward = edges[edges[:, 0] != edges[:, 1]].T
        both = torch.cat([forward, forward.flip(0)], dim=1)
        hidden = nodes
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden if number == 0 else hidden.relu(), both)
        return hidden[:, 0]


def edge_log_probabilities(node_log_probabilities: Tensor, edges: Tensor) -> Tensor:
    """Return log probabilities (m,) of edges (m, 2): the products of those of their ends (n,), normalised over them."""
    return torch.log_softmax(node_log_probabilities[edges].sum(dim=1), 0)


@dataclass(frozen=True, slots=True, eq=False)
class NodeBatch:
    """b question graphs, concatenated to n nodes and m edges."""

    inputs: Tensor  # (n, f) features of the nodes
    edges: Tensor  # (m, 2) int64 indices of nodes
    cosines: Tensor  # (n,) cosines with the question of the node's graph
    prior: Tensor  # (n,) log share of a random walk from the question at the node
    graph_of: Tensor  # (n,) int64 index of the node's graph, ascending
    graph_count: int  # b

    @classmethod
    def from_input(cls, nodes: NodeInput, device: torch.device | str = "cpu") -> "NodeBatch":
        """Return the graphs as tensors on a device."""
        floats = (torch.from_numpy(part).to(device) for part in (nodes.inputs, nodes.cosines, nodes.prior))
        inputs, cosines, prior = floats
        edges, graph_of = (torch.from_numpy(part).to(device) for part in (nodes.edges, nodes.graph_of))
        return cls(inputs, edges, cosines, prior, graph_of, nodes.graph_count)


@final
class SubgraphScorer(nn.Module):
    """Logits of the nodes, and of ending a selection; `width` and `layers` are those of the hidden layers of the GCN.

    `combination` is `product` of cosine and importance, or `sum` of importance, cosine and prior; `stops` tells whether
    a selection may end before the budget is spent.
    """

    def __init__(self, input_width: int, width: int, layers: int, combination: str, *, stops: bool) -> None:
        super().__init__()
        self.gcn = NodeGCN(input_width, width, layers, bias=combination == SUM)
        self.combination = combination
        self.stops = stops
        self.weights = nn.Parameter(torch.tensor([1.0, 1.0]))
        self.end = nn.Parameter(torch.tensor([-4.0]))
        if combination == SUM:  # scores start from prior and cosine alone
            for parameter in self.gcn.layers[-1].parameters():
                nn.init.zeros_(parameter)

    def forward(self, batch: NodeBatch) -> tuple[Tensor, Tensor]:
        """Return logits of the nodes (n,), and of ending each selection (b,), minus infinity where it may not end."""
        importance = self.gcn(batch.inputs, batch.edges)
        if self.combination == PRODUCT:
            scores = batch.cosines * importance
        else:
            scores = importance + self.weights[0] * batch.prior + self.weights[1] * batch.cosines
        end = self.end.expand(batch.graph_count) if self.stops else scores.new_full((batch.graph_count,), -torch.inf)
        return scores, end


def sample_without_replacement(scores: Tensor, end: Tensor, budget: int, generator: torch.Generator | None) -> Tensor:
    """Return the indices (k,) of the selected nodes of one graph, in the order of sampling: 1 to `budget`.

    `scores` are logits (n,) of the nodes, `end` is that of ending the selection (); without a generator the most likely
    entry is taken at every step.
    """
    perturbed, ends = scores.detach(), end.detach()
    if generator is not None:
        noise = -torch.rand(len(scores) + 1, generator=generator).clamp(1e-9, 1 - 1e-7).log()
        perturbed = perturbed - noise[:-1].log()
        # Ending is possible from the second sample on, so its perturbed score is capped by that of the first node.
        ends = -((-perturbed.max()).exp() + (-ends).exp() * noise[-1]).log()
    order = torch.argsort(perturbed, descending=True, stable=True)[:budget]
    return order[: max(1, int((perturbed[order] > ends).sum()))]


def selection_log_probability(scores: Tensor, end: Tensor, order: Tensor, budget: int) -> Tensor:
    """Return the log probability () of selecting nodes in an order (k,) of distinct indices, and no others.

    `scores` are logits (n,) of the nodes of one graph, `end` is that of ending the selection, possible after the first
    node; `budget` is the maximum number of nodes, at least k.
    """
    remaining = torch.ones(len(scores), dtype=torch.bool, device=scores.device)
    remaining[order] = False
    others = torch.logsumexp(scores[remaining], 0) if bool(remaining.any()) else scores.new_tensor(-torch.inf)
    chosen = scores[order]
    # Logsumexp of the nodes available before each sample: those sampled later, and those never sampled.
    tail = torch.cat([others[None], chosen.flip(0)]).logcumsumexp(0).flip(0)
    first, later = chosen[0] - tail[0], chosen[1:] - torch.logaddexp(tail[1:-1], end.expand(len(chosen) - 1))
    stop = torch.zeros_like(end)
    if bool(torch.isfinite(end)) and len(order) < min(budget, len(scores)):
        stop = end - torch.logaddexp(tail[-1], end)
    return first + later.sum() + stop


def build_scorer(settings: ScorerSettings, dimension: int, seed: int) -> SubgraphScorer:
    """Return an untrained network for vectors of some dimension; equal seeds give equal ones."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        inputs = feature_width(settings.inputs, dimension)
        return SubgraphScorer(inputs, settings.width, settings.layers, settings.combination, stops=settings.stops)
