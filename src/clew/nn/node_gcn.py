"""How much every node of a small graph matters, by a graph convolutional network over the texts of nodes.

    H1 = ReLU(A X W0),   H2 = A H1 W1,   S = softmax over the nodes of a graph of C * H2

A is the adjacency with a loop at every node, divided by the roots of the degrees of both ends; X are the vectors of
the nodes' texts, C their cosines with the question. H2 is one number a node.

Source: GCN-Retriever, equations 1 to 3; Kipf and Welling, "Semi-supervised classification with graph convolutional
networks" (2017), for A.
Differs from the source: several edges between two nodes add up, as PyTorch Geometric has it; there can be more layers,
with ReLU between them, and biases.
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
        input_width: Width of the nodes' vectors.
        width: Of the hidden layers.
        layers: At least 2; the last gives one number a node.
        bias: Whether layers have one; the source's have none.

    Raises:
        InputError: There are fewer than 2 layers, or a width below 1.
    """

    def __init__(self, input_width: int, width: int = 64, layers: int = 2, *, bias: bool = False) -> None:
        super().__init__()
        if layers < 2 or min(input_width, width) < 1:
            raise InputError(
                f"a GCN of {layers} layers from {input_width} to {width} numbers: wanted 2 layers or more, of 1 or more"
            )
        widths = [input_width, *[width] * (layers - 1), 1]
        self.layers = nn.ModuleList(GCNConv(a, b, bias=bias) for a, b in pairwise(widths))

    def forward(self, nodes: "Tensor", edges: "Tensor") -> "Tensor":
        """Return importances (n,).

        Graphs are batched by putting them side by side: their nodes one after another, their edges moved along.

        Args:
            nodes: (n, inputs).
            edges: (m, 2) int64 positions of nodes; loops are left out, since every node has one of weight 1.
        """
        proper = edges[:, 0] != edges[:, 1]
        one_way = edges[proper].T
        both_ways = torch.cat([one_way, one_way.flip(0)], dim=1)
        hidden = nodes
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden if number == 0 else hidden.relu(), both_ways)
        return hidden[:, 0]


def edge_log_probabilities(node_log_probabilities: "Tensor", edges: "Tensor") -> "Tensor":
    """Return the logarithm (m,) of the probability of every edge of a graph.

    An edge is as likely as its ends are together: their product, divided by the sum over the edges.

    Args:
        node_log_probabilities: (n,).
        edges: (m, 2) int64 positions of nodes.
    """
    return torch.log_softmax(node_log_probabilities[edges].sum(dim=1), 0)
