"""How much every node of a small graph matters, by a graph convolutional network over the texts of nodes.

    H1 = ReLU(A X W0),   H2 = A H1 W1,   S = softmax over the nodes of a graph of C * H2

A is the adjacency with a loop at every node, divided by the roots of the degrees of both ends; X are the vectors of
the nodes' texts, C their cosines with the question. H2 is one number a node.

Source: GCN-Retriever, equations 1 to 3; Kipf and Welling, "Semi-supervised classification with graph convolutional
networks" (2017), for A.
Differs from the source: several edges between two nodes add up, as PyTorch Geometric has it; edges can be weighted;
there can be more layers, with ReLU between them, and biases.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, final

import torch
from torch import nn
from torch_geometric.nn import GCNConv

from clew.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


@final
class NodeGCN(nn.Module):
    """Importances of nodes; edges go both ways, whichever way they are given.

    Args:
        inputs: Width of the nodes' vectors.
        width: Of the hidden layers.
        layers: At least 2; the last gives one number a node.
        bias: Whether layers have one; the source's have none.

    Raises:
        InputError: There are fewer than 2 layers, or a width below 1.
    """

    def __init__(self, inputs: int, width: int = 64, layers: int = 2, *, bias: bool = False) -> None:
        super().__init__()
        if layers < 2 or min(inputs, width) < 1:
            raise InputError(
                f"a GCN of {layers} layers from {inputs} to {width} numbers: wanted 2 layers or more, of 1 or more"
            )
        widths = [inputs, *[width] * (layers - 1), 1]
        self.layers = nn.ModuleList(GCNConv(a, b, bias=bias) for a, b in pairwise(widths))

    def forward(self, nodes: "Tensor", edges: "Tensor", weights: "Tensor | None" = None) -> "Tensor":
        """Return importances (n,).

        Graphs are batched by putting them side by side: their nodes one after another, their edges moved along.

        Args:
            nodes: (n, inputs).
            edges: (m, 2) int64 positions of nodes; loops are left out, since every node has one of weight 1.
            weights: (m,) of edges, at least 0; 1 each for None.
        """
        proper = edges[:, 0] != edges[:, 1]
        one_way = edges[proper].T
        both_ways = torch.cat([one_way, one_way.flip(0)], dim=1)
        given = nodes.new_ones(one_way.shape[1]) if weights is None else weights[proper].to(nodes.dtype)
        hidden, doubled = nodes, torch.cat([given, given])
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden if number == 0 else hidden.relu(), both_ways, doubled)
        return hidden[:, 0]


def node_scores(cosines: "Tensor", importance: "Tensor", graph_of: "Tensor") -> "Tensor":
    """Return the probability (n,) of every node among those of its graph: the softmax of cosine times importance.

    Args:
        cosines: (n,) of nodes with their graph's question.
        importance: (n,).
        graph_of: (n,) int64 number of each node's graph, from 0 on.
    """
    return node_log_scores(cosines, importance, graph_of).exp()


def node_log_scores(cosines: "Tensor", importance: "Tensor", graph_of: "Tensor") -> "Tensor":
    """Return the logarithms (n,) of the same, which a very unlikely node has too."""
    return _log_softmax(cosines * importance, graph_of)


def edge_log_probabilities(node_log_probabilities: "Tensor", edges: "Tensor", graph_of_edge: "Tensor") -> "Tensor":
    """Return the logarithm (m,) of the probability of every edge among those of its graph.

    An edge is as likely as its ends are together: their product, divided by the sum over the edges of the graph.

    Args:
        node_log_probabilities: (n,).
        edges: (m, 2) int64 positions of nodes.
        graph_of_edge: (m,) int64 number of each edge's graph, from 0 on.
    """
    return _log_softmax(node_log_probabilities[edges].sum(dim=1), graph_of_edge)


def _log_softmax(values: "Tensor", group_of: "Tensor") -> "Tensor":
    """Return values (n,) less the logarithm of the sum of exponentials over their group."""
    if not len(values):
        return values
    groups = int(group_of.max()) + 1
    # The greatest is taken off so that nothing overflows; it cancels out, so no gradient passes through it.
    greatest = values.detach().new_full((groups,), -torch.inf).scatter_reduce(0, group_of, values.detach(), "amax")
    moved = values - greatest[group_of]
    sums = moved.new_zeros(groups).index_add(0, group_of, moved.exp())
    # A group may be empty; its sum is never looked at, but must not make a gradient that is not a number.
    return moved - sums[group_of].log()
