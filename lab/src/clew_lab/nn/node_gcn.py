"""Importance of every node of a small graph, by a graph convolutional network over the nodes' texts.

    H1 = ReLU(A X W0),   H2 = A H1 W1,   S = softmax over the nodes of a graph of C * H2

A is the adjacency with self-loops, divided by the square roots of the degrees of both ends; X are the embeddings of the
nodes' texts, C their cosines with the question. H2 is one number per node.

Source: GCN-Retriever, equations 1 to 3; Kipf and Welling, "Semi-supervised classification with graph convolutional
networks" (2017), for A.
Differs from the source: parallel edges add up, as in PyTorch Geometric; there can be more layers, with ReLU between
them, and biases.
"""

from itertools import pairwise
from typing import final

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from clew.errors import InputError


@final
class NodeGCN(nn.Module):
    """Importance of nodes in a graph whose edges are read in both directions.

    There are 2 `layers` or more, the last returns one number per node, and the source's have no bias. Fewer layers, or
    a width below 1, are an InputError.
    """

    def __init__(self, input_width: int, width: int = 64, layers: int = 2, *, bias: bool = False) -> None:
        super().__init__()
        if layers < 2 or min(input_width, width) < 1:
            raise InputError(
                f"{layers} layers of widths {input_width} and {width}; wanted 2 layers or more, of width 1 or more"
            )
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
