"""Tokens that a language model reads as vectors, made from a textual graph by a graph transformer.

Source: He et al., "G-Retriever" (2024), section 5.4, and the authors' code: four layers of the graph
transformer of Shi et al. (2021), the mean over the nodes of the selected part, two linear layers with a sigmoid between
them, one token. Perozzi et al., "Let Your Graph Do the Talking" (2024): the whole graph, several tokens.
Differs from the source: layer norm in place of batch norm, so that a graph's tokens do not depend on the batch it is
in; Perozzi et al. try several networks, and their nodes have no texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch_geometric.nn import TransformerConv

from clew.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from clew.graph.subgraphs.textual_graph import GraphContext
    from clew.types import FloatArray, LongArray


@dataclass(frozen=True, slots=True)
class GraphTokenSettings:
    """The shape of the module.

    Attributes:
        inputs: Width of the vectors of nodes and relations.
        outputs: Width of the tokens that the reader reads.
        width: Of the layers between; a multiple of `heads`.
        layers: At least 1.
        heads: Of attention.
        tokens: How many tokens a graph becomes.
        pool: Whose nodes and edges are read, and the nodes taken the mean of: the selected "part" (G-Retriever), or
            the "whole" graph, whatever was selected (GraphToken).

    Raises:
        InputError: A number is below 1, or `width` is no multiple of `heads`.
    """

    inputs: int
    outputs: int
    width: int = 1024
    layers: int = 4
    heads: int = 4
    tokens: int = 1
    pool: Literal["part", "whole"] = "part"

    def __post_init__(self) -> None:
        least = min(self.inputs, self.outputs, self.width, self.layers, self.heads, self.tokens)
        if least < 1 or self.width % self.heads:
            raise InputError(f"{self} has a number below 1 or a width that {self.heads} heads cannot share; change it")


class GraphToken(nn.Module):
    """The module; its weights are drawn from torch's own generator, to be seeded before.

    Args:
        settings: Its shape.
    """

    def __init__(self, settings: GraphTokenSettings) -> None:
        super().__init__()
        self.settings = settings
        width, heads = settings.width, settings.heads
        starts = [settings.inputs, *[width] * (settings.layers - 1)]
        self.layers = nn.ModuleList(
            TransformerConv(start, width // heads, heads=heads, edge_dim=settings.inputs) for start in starts
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in starts[1:])
        self.projector = nn.Sequential(
            nn.Linear(width, 2 * width), nn.Sigmoid(), nn.Linear(2 * width, settings.tokens * settings.outputs)
        )

    def forward(self, contexts: Sequence["GraphContext"]) -> "Tensor":
        """Return (n, tokens, outputs); a row depends on its own graph only, and an empty part has a token too.

        Args:
            contexts: n graphs, with vectors of `inputs` numbers.

        Raises:
            InputError: Vectors have another width.
        """
        device = next(self.parameters()).device
        nodes, edges, relations, owners = (torch.from_numpy(array).to(device) for array in _collate(self, contexts))
        states = nodes
        for number, layer in enumerate(self.layers):
            states = layer(states, edges, relations)
            if number < len(self.norms):
                states = functional.relu(self.norms[number](states))
        sums = states.new_zeros(len(contexts), self.settings.width).index_add(0, owners, states)
        counts = torch.bincount(owners, minlength=len(contexts)).clamp_min(1)
        tokens: Tensor = self.projector(sums / counts[:, None])
        return tokens.view(len(contexts), self.settings.tokens, self.settings.outputs)


def _collate(
    module: GraphToken, contexts: Sequence["GraphContext"]
) -> "tuple[FloatArray, LongArray, FloatArray, LongArray]":
    """Return graphs side by side: nodes (n, d), edges (2, m), relations (m, d) and the graph of each node (n,)."""
    width, start = module.settings.inputs, 0
    nodes = [np.zeros((0, width), np.float32)]
    edges = [np.zeros((2, 0), np.int64)]
    relations = [np.zeros((0, width), np.float32)]
    owners = [np.zeros(0, np.int64)]
    for place, context in enumerate(contexts):
        encoded = context.query.graph
        if encoded.node_vectors.size and encoded.node_vectors.shape[1] != width:
            raise InputError(
                f"the graph's vectors have {encoded.node_vectors.shape[1]} numbers; the graph token reads {width}"
            )
        chosen, between = context.subgraph.nodes, context.subgraph.edges
        if module.settings.pool == "whole":
            chosen = np.arange(len(encoded.node_vectors), dtype=np.int32)
            between = np.arange(len(encoded.edge_relations), dtype=np.int32)
        nodes.append(encoded.node_vectors.reshape(-1, width)[chosen])
        edges.append(np.searchsorted(chosen, encoded.graph.edges.reshape(-1, 2)[between].T) + start)
        relations.append(encoded.relation_vectors.reshape(-1, width)[encoded.edge_relations[between]])
        owners.append(np.full(len(chosen), place, dtype=np.int64))
        start += len(chosen)
    return np.concatenate(nodes), np.concatenate(edges, axis=1), np.concatenate(relations), np.concatenate(owners)
