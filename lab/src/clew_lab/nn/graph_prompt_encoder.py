"""Soft tokens for a language model, computed from a textual graph by a graph transformer.

Source: He et al., "G-Retriever" (2024), section 5.4, and the authors' code: four layers of the graph transformer of Shi
et al. (2021), the mean over the nodes of the selected subgraph, two linear layers with a sigmoid between them, one
token. Perozzi et al., "Let Your Graph Do the Talking" (2024): the whole graph, several tokens.
The networks `gcn`, `gin`, `gat` and `mean` are those of Kipf and Welling (2017), Xu et al. (2019), Velickovic et al.
(2018) and Hamilton et al. (2017); Perozzi et al. compare such encoders.
Differs from the source: layer norm instead of batch norm, so that a graph's tokens do not depend on its batch; nodes
have the vectors of their texts unless other features are chosen, which those of Perozzi et al. have. Edges of the
networks without edge texts (all but `transformer` and `gat`) are read in both directions.

Features that say where a node stands in its graph, in place of its text:

    laplacian    eigenvectors of the undirected graph's normalised Laplacian, of the least eigenvalues but the first
    random-walk  probabilities of a random walk to be back where it began after 1, 2, ... steps
    identity     the place of a node in the graph's order, as a unit vector
    learned      a trainable vector of that place

Source: Dwivedi et al., "Benchmarking Graph Neural Networks" (2020), for `laplacian`, and "Graph Neural Networks with
Learnable Structural and Positional Representations" (2022), for `random-walk`.
Differs from the source: of an eigenvector, the first number of at least half the greatest size is positive, in place of
a random sign at every step of the training, so that a graph always has the same features; how many features there are
is ours; nodes after the last place that has a vector share that vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv

from clew.arrays import DoubleArray, FloatArray, IntArray, LongArray
from clew.errors import InputError
from clew_lab.graph.reader_context import GraphContext

NodeFeatures = Literal["text", "laplacian", "random-walk", "identity", "learned"]
EIGENVECTORS, WALK_STEPS, PLACES = 8, 16, 512
"""Numbers of a node by `laplacian`, by `random-walk`, and by `identity` and `learned`."""


def feature_width(features: NodeFeatures, text_width: int) -> int:
    """Return how many numbers a node has; `text_width` are those of its text's vector."""
    widths = {"laplacian": EIGENVECTORS, "random-walk": WALK_STEPS, "identity": PLACES, "learned": PLACES}
    return widths.get(features, text_width)


def node_features(features: NodeFeatures, places: IntArray, edges: LongArray) -> FloatArray:
    """Return features (n, `feature_width`) of nodes without texts.

    `places` (n,) are the nodes' places in their whole graph; `edges` (2, m) are positions among the n nodes.
    """
    if features in ("identity", "learned"):
        return np.eye(PLACES, dtype=np.float32)[np.minimum(places, PLACES - 1)]
    return _structure_features(features, len(places), np.ascontiguousarray(edges).tobytes())


@lru_cache(maxsize=1024)
def _structure_features(features: NodeFeatures, count: int, edge_bytes: bytes) -> FloatArray:
    """Return `laplacian` or `random-walk` of a graph, once for the epochs of a training; the edges are as bytes."""
    adjacency = _adjacency(count, np.frombuffer(edge_bytes, dtype=np.int64).reshape(2, -1))
    numbers = _eigenvectors(adjacency) if features == "laplacian" else _return_probabilities(adjacency)
    return numbers.astype(np.float32)


def _adjacency(count: int, edges: LongArray) -> DoubleArray:
    """Return which nodes are joined, in either direction and without loops (n, n)."""
    joined = np.zeros((count, count))
    joined[edges[0], edges[1]] = joined[edges[1], edges[0]] = 1.0
    np.fill_diagonal(joined, 0.0)
    return joined


def _eigenvectors(adjacency: DoubleArray) -> DoubleArray:
    """Return eigenvectors as columns (n, EIGENVECTORS), 0 where a graph has fewer."""
    filled = np.zeros((len(adjacency), EIGENVECTORS))
    if not len(adjacency):
        return filled
    degrees = adjacency.sum(axis=1)
    roots = 1.0 / np.sqrt(np.where(degrees > 0, degrees, np.inf))
    _, vectors = np.linalg.eigh(np.diag((degrees > 0).astype(np.float64)) - roots[:, None] * adjacency * roots)
    chosen = vectors[:, 1 : EIGENVECTORS + 1]
    sizes = np.abs(chosen)
    firsts = (2 * sizes >= sizes.max(axis=0)).argmax(axis=0)
    filled[:, : chosen.shape[1]] = np.where(np.take_along_axis(chosen, firsts[None, :], axis=0) < 0, -chosen, chosen)
    return filled


def _return_probabilities(adjacency: DoubleArray) -> DoubleArray:
    """Return for each node the probability (n, WALK_STEPS) to be back after each number of steps."""
    step = adjacency / np.maximum(adjacency.sum(axis=1, keepdims=True), 1.0)
    walked, numbers = np.eye(len(adjacency)), []
    for _ in range(WALK_STEPS):
        walked = walked @ step
        numbers.append(walked.diagonal())
    return np.stack(numbers, axis=1)


GraphEncoderName = Literal["transformer", "gcn", "gin", "gat", "mean"]


@dataclass(frozen=True, slots=True)
class GraphTokenSettings:
    """Shape of a `GraphToken`; a number below 1, or a width that is no multiple of `heads`, is an InputError."""

    inputs: int  # width of the embeddings of nodes and relations
    outputs: int  # width of the reader's token embeddings
    width: int = 1024  # of the hidden layers; a multiple of `heads`
    layers: int = 4
    heads: int = 4  # number of attention heads
    tokens: int = 1  # per graph
    pool: Literal["part", "whole"] = "part"  # nodes and edges averaged: the selected (G-Retriever), or all (GraphToken)
    # not part of the text form, by which runs of before are known: the weights' names and shapes differ
    encoder: GraphEncoderName = field(default="transformer", repr=False)
    features: NodeFeatures = field(default="text", repr=False)  # of nodes; edges have the vectors of their texts

    def __post_init__(self) -> None:
        numbers = (self.inputs, self.outputs, self.width, self.layers, self.heads, self.tokens)
        if min(numbers) < 1 or self.width % self.heads:
            raise InputError(f"{self} is invalid: wanted numbers of at least 1, and a width divisible by the heads")


class GraphToken(nn.Module):
    """Computes the soft tokens of graphs; initial weights come from torch's global generator: the caller seeds it."""

    def __init__(self, settings: GraphTokenSettings) -> None:
        super().__init__()
        self.settings = settings
        width, numbers = settings.width, feature_width(settings.features, settings.inputs)
        learned = settings.features == "learned"
        self.places = nn.Linear(numbers, settings.inputs, bias=False) if learned else nn.Identity()
        starts = [settings.inputs if learned else numbers, *[width] * (settings.layers - 1)]
        self.layers = nn.ModuleList(_layer(settings, start) for start in starts)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in starts[1:])
        self.projector = nn.Sequential(
            nn.Linear(width, 2 * width), nn.Sigmoid(), nn.Linear(2 * width, settings.tokens * settings.outputs)
        )

    def forward(self, contexts: Sequence[GraphContext]) -> Tensor:
        """Return (n, tokens, outputs); a row depends on its own graph only, and an empty subgraph has tokens too.

        Embeddings of another width than `inputs` are an InputError.
        """
        device = next(self.parameters()).device
        nodes, edges, relations, owners = (torch.from_numpy(array).to(device) for array in _collate(self, contexts))
        states = self.places(nodes)
        reads_relations = self.settings.encoder in ("transformer", "gat")
        if not reads_relations:
            edges = torch.cat([edges, edges.flip(0)], dim=1)
        for number, layer in enumerate(self.layers):
            states = layer(states, edges, relations) if reads_relations else layer(states, edges)
            if number < len(self.norms):
                states = functional.relu(self.norms[number](states))
        sums = states.new_zeros(len(contexts), self.settings.width).index_add(0, owners, states)
        counts = torch.bincount(owners, minlength=len(contexts)).clamp_min(1)
        tokens: Tensor = self.projector(sums / counts[:, None])
        return tokens.view(len(contexts), self.settings.tokens, self.settings.outputs)


def _layer(settings: GraphTokenSettings, start: int) -> nn.Module:
    """Return one step of message passing from states of a width to those of the hidden layers."""
    width, heads = settings.width, settings.heads
    layer: nn.Module
    match settings.encoder:
        case "gcn":
            layer = GCNConv(start, width)
        case "gin":
            layer = GINConv(nn.Sequential(nn.Linear(start, width), nn.ReLU(), nn.Linear(width, width)))
        case "gat":
            layer = GATConv(start, width // heads, heads=heads, edge_dim=settings.inputs)
        case "mean":
            layer = SAGEConv(start, width)
        case _:
            layer = TransformerConv(start, width // heads, heads=heads, edge_dim=settings.inputs)
    return layer


def _collate(
    module: GraphToken, contexts: Sequence[GraphContext]
) -> tuple[FloatArray, LongArray, FloatArray, LongArray]:
    """Concatenate graphs into nodes (n, d), edges (2, m), relations (m, d) and the graph of each node (n,)."""
    width, features, start = module.settings.inputs, module.settings.features, 0
    nodes = [np.zeros((0, feature_width(features, width)), np.float32)]
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
        joined = np.searchsorted(chosen, encoded.graph.edges.reshape(-1, 2)[between].T)
        if features == "text":
            nodes.append(encoded.node_vectors.reshape(-1, width)[chosen])
        else:
            nodes.append(node_features(features, chosen, joined))
        edges.append(joined + start)
        relations.append(encoded.relation_vectors.reshape(-1, width)[encoded.edge_relations[between]])
        owners.append(np.full(len(chosen), place, dtype=np.int64))
        start += len(chosen)
    return np.concatenate(nodes), np.concatenate(edges, axis=1), np.concatenate(relations), np.concatenate(owners)
