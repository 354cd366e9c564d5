"""Scores of the passages found for a question, by messages over the graph that connects them. n passages, l features.

    h_v = g(x_v, mean over the neighbours u of f(x_u, e_uv)),     f(x_u, e_uv) = sum over m of e_uv(m) x_u
    e_v = g'(e_v, mean over the neighbours u of e_u),             s_v = y . h_v

x are vectors of passages, e_uv the l features of an edge, normalised over both dimensions, e_v the features of all
edges of v, y the vector of the question, projected to the width of h. Two layers.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), equations 7 to 11, and
table 5 for the other layers, which are PyTorch Geometric's.
Differs from the source: features are divided by the roots of the sums at both ends, where the paper does not say how;
g is one linear layer of both its arguments together with ReLU after it, which the paper leaves
open; a passage without neighbours keeps a score; networks that read texts alone begin with what the cosine of question
and passage says, as far as their layers leave it (`_pass_on`). Passages may bring numbers beside their vectors or in
their stead; then scores start from a line through those numbers. `relational` is ours: every feature of an edge has a
matrix of its own, and states keep what they had. The LSTM of `sage` reads neighbours in the order in which passages are
given, where GraphSAGE draws one, and stops at a passage's last neighbour, where PyTorch Geometric reads on over the
zeros that make all rows as long as the longest.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import torch
from torch import nn
from torch.nn import functional

from clew.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

NETWORKS = ("relational", "g-rag", "gcn", "gat", "sage", "gin", "mlp")
"""What can pass messages: ours, the source's, four of PyTorch Geometric's, and nothing at all."""

ARCHITECTURE_VERSION = 2
"""Of what a network makes of its weights, and begins with; runs of another one are begun anew."""

_GAT_HEADS = 8  # of attention, as in the source's table 5


@final
@dataclass(frozen=True, slots=True)
class DocumentGNNSettings:
    """The shape of a network.

    Attributes:
        text: Width of the vectors of passages and questions; 0 where numbers alone are read.
        numbers: How many numbers a passage brings; 0 where its vector alone is read, as in the source.
        edges: How many features an edge has.
        network: One of `NETWORKS`.
        width: Of a passage's state.
        layers: How many steps a message goes.
        dropout: Share of a state that is left out in training.
        edge_update: Whether edges' features hear of each other between the layers; `g-rag` only.

    Raises:
        InputError: A value makes no network.
    """

    text: int
    numbers: int = 0
    edges: int = 2
    network: str = "relational"
    width: int = 64
    layers: int = 2
    dropout: float = 0.1
    edge_update: bool = True

    def __post_init__(self) -> None:
        if self.network not in NETWORKS:
            raise InputError(f"the network is {self.network!r}; wanted one of {', '.join(NETWORKS)}")
        if min(self.text, self.numbers) < 0 or self.text + self.numbers < 1:
            raise InputError(
                f"a passage brings {self.text} wide vectors and {self.numbers} numbers; wanted one of both"
            )
        for name, value in (("features of edges", self.edges), ("width", self.width), ("layers", self.layers)):
            if value < 1:
                raise InputError(f"{name}: {value}; wanted at least 1")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout: {self.dropout}; wanted at least 0 and below 1")
        if self.network == "gat" and self.width % _GAT_HEADS:
            raise InputError(
                f"the width is {self.width}; gat has {_GAT_HEADS} heads, so give a multiple of {_GAT_HEADS}"
            )


@final
@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """Questions with their passages, filled up with zeros to n. b questions.

    Attributes:
        vectors: (b, n, text) of passages.
        numbers: (b, n, numbers) of passages.
        edges: (b, n, n, l) features of the edge that the first passage hears of the second by; 0 where there is none.
        questions: (b, text).
        present: (b, n) bool, whether there is a passage.
    """

    vectors: "Tensor"
    numbers: "Tensor"
    edges: "Tensor"
    questions: "Tensor"
    present: "Tensor"

    def to(self, device: torch.device) -> "DocumentBatch":
        """Return the batch on a device."""
        there = (part.to(device) for part in (self.vectors, self.numbers, self.edges, self.questions, self.present))
        return DocumentBatch(*there)


class DocumentGNN(nn.Module):
    """The network; its weights are drawn from torch's own generator, to be seeded before.

    Args:
        settings: Its shape.
    """

    def __init__(self, settings: DocumentGNNSettings) -> None:
        super().__init__()
        self.settings = settings
        text, numbers, width = settings.text, settings.numbers, settings.width
        if text:
            self.text_projection = nn.Linear(text, width)
            self.question_projection = nn.Linear(text, width)
            self.question_projection.load_state_dict(self.text_projection.state_dict())
        if numbers:
            self.number_projection = nn.Linear(numbers, width)
            self.number_score = nn.Linear(numbers, 1, bias=False)
            self.state_score = nn.Linear(width, 1)
            nn.init.zeros_(self.number_score.weight)
        made = _LAYER_CLASSES.get(settings.network, _GeometricLayer)
        last = replace(settings, edge_update=False)  # nobody would hear of what edges become in it
        self.layers = nn.ModuleList(made(each) for each in [settings] * (settings.layers - 1) + [last])

    def forward(self, batch: DocumentBatch) -> "Tensor":
        """Return scores (b, n); those of passages that are not there mean nothing.

        A question's scores depend on its own passages only, and follow them in whatever order they are given; but
        `sage` hears passages in their order, and so depends on it.
        """
        edges = batch.edges * (batch.present[:, :, None] & batch.present[:, None])[..., None]
        edges = normalize_edges(edges) if self.settings.network == "g-rag" else edges
        states = self._initial_states(batch)
        for layer in self.layers:
            states, edges = layer(states, edges)
        return self._score(states, batch)

    def _initial_states(self, batch: DocumentBatch) -> "Tensor":
        read: list[Tensor] = []
        if self.settings.text:
            read.append(self.text_projection(self._scale(batch.vectors)))
        if self.settings.numbers:
            read.append(functional.relu(self.number_projection(batch.numbers)))
        return torch.stack(read).sum(0)

    def _scale(self, vectors: "Tensor") -> "Tensor":
        """Return unit vectors with entries of about 1 where nothing else is read; beside numbers they stay small."""
        return vectors if self.settings.numbers else vectors * math.sqrt(self.settings.text)

    def _score(self, states: "Tensor", batch: DocumentBatch) -> "Tensor":
        scores = torch.zeros_like(states[..., 0])
        if self.settings.text:
            question = self.question_projection(self._scale(batch.questions))
            scores = (states * question[:, None]).sum(-1)
        if self.settings.numbers:
            scores = scores + (self.state_score(states) + self.number_score(batch.numbers))[..., 0]
        return scores


def normalize_edges(edges: "Tensor") -> "Tensor":
    """Return features of edges (b, n, n, l), each divided by the roots of the sums over either dimension."""
    sums = edges.sum(1, keepdim=True).clamp_min(1e-9) * edges.sum(2, keepdim=True).clamp_min(1e-9)
    return edges / sums.sqrt()


class _GRAGLayer(nn.Module):
    """The source's layer: features of edges are weights, and hear of each other."""

    def __init__(self, settings: DocumentGNNSettings) -> None:
        super().__init__()
        self.update = nn.Linear(2 * settings.width, settings.width)
        _init_near_identity(self.update.weight[:, : settings.width])
        self.edge_update = nn.Linear(2 * settings.edges, settings.edges) if settings.edge_update else None
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: "Tensor", edges: "Tensor") -> "tuple[Tensor, Tensor]":
        near = (edges > 0).any(-1)
        count = near.sum(-1, keepdim=True).clamp_min(1)
        heard = (edges.sum(-1) * near) @ states / count
        updated = self.dropout(functional.relu(self.update(torch.cat([states, heard], -1))))
        if self.edge_update is None:
            return updated, edges
        # The features of all edges of a passage, as one row a passage: (b, n, n * l).
        around = (near / count) @ edges.flatten(2)
        changed = functional.relu(self.edge_update(torch.cat([edges, around.view_as(edges)], -1)))
        return updated, changed * near[..., None]


class _RelationalLayer(nn.Module):
    """A matrix for each feature of an edge, whose weights over the neighbours of a passage sum to at most 1."""

    def __init__(self, settings: DocumentGNNSettings) -> None:
        super().__init__()
        self.own = nn.Linear(settings.width, settings.width)
        self.heard = nn.Linear(settings.width, settings.width * settings.edges, bias=False)
        self.layer_norm = nn.LayerNorm(settings.width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: "Tensor", edges: "Tensor") -> "tuple[Tensor, Tensor]":
        messages = self.heard(states).view(*states.shape[:2], edges.shape[-1], states.shape[-1])
        shares = edges / edges.abs().sum(2, keepdim=True).clamp_min(1e-6)
        mixed = self.own(states) + torch.einsum("bijl,bjlw->biw", shares, messages)
        return states + self.dropout(functional.relu(self.layer_norm(mixed))), edges


class _MLPLayer(nn.Module):
    """No messages."""

    def __init__(self, settings: DocumentGNNSettings) -> None:
        super().__init__()
        self.own = nn.Linear(settings.width, settings.width)
        self.layer_norm = nn.LayerNorm(settings.width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: "Tensor", edges: "Tensor") -> "tuple[Tensor, Tensor]":
        return states + self.dropout(functional.relu(self.layer_norm(self.own(states)))), edges


class _GeometricLayer(nn.Module):
    """A layer of PyTorch Geometric, which sees whether two passages are joined and nothing else of the edge."""

    def __init__(self, settings: DocumentGNNSettings) -> None:
        super().__init__()
        self.convolution = _build_convolution(settings.network, settings.width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: "Tensor", edges: "Tensor") -> "tuple[Tensor, Tensor]":
        near = (edges > 0).any(-1)
        question, receiver, sender = near.nonzero(as_tuple=True)  # sorted by receiver, as an LSTM over neighbours wants
        size = states.shape[1]
        index = torch.stack([question * size + sender, question * size + receiver])
        heard = self.convolution(states.flatten(0, 1), index).view_as(states)
        return self.dropout(functional.relu(heard)), edges


def _init_near_identity(weight: "Tensor") -> None:
    """Let drawn weights (width, width) begin near the identity, so that a layer begins by passing a state on."""
    with torch.no_grad():
        weight.mul_(0.3).add_(torch.eye(len(weight)))


def _lstm_aggregation(width: int) -> Any:
    """Return an LSTM over each receiver's neighbours whose result is its state after the last of them, else zeros."""
    from torch_geometric.nn.aggr import LSTMAggregation

    class ToTheLast(LSTMAggregation):  # type: ignore[misc]
        def forward(
            self,
            x: "Tensor",
            index: "Tensor",
            ptr: Any = None,
            dim_size: int | None = None,
            dim: int = -2,
            max_num_elements: int | None = None,
        ) -> "Tensor":
            rows, there = self.to_dense_batch(x, index, ptr, dim_size, dim, max_num_elements=max_num_elements)
            if not rows.shape[1]:
                return x.new_zeros(len(rows), self.out_channels)
            count = there.sum(1)
            last = (count - 1).clamp_min(0)[:, None, None].expand(-1, 1, self.out_channels)
            states: Tensor = self.lstm(rows)[0].gather(1, last)[:, 0]
            return states.where((count > 0)[:, None], 0.0)

    return ToTheLast(width, width)


def _build_convolution(network: str, width: int) -> Any:
    from torch_geometric import nn as geometric

    made: Any
    if network == "gin":
        first, second = nn.Linear(width, width), nn.Linear(width, width)
        own = [first.weight, second.weight]
        made = geometric.GINConv(nn.Sequential(first, nn.ReLU(), second), aggr="mean", train_eps=True)
    elif network == "sage":
        made = geometric.SAGEConv(width, width, aggr=_lstm_aggregation(width))
        own = [made.lin_r.weight]
    else:
        gcn = network == "gcn"
        made = (
            geometric.GCNConv(width, width) if gcn else geometric.GATConv(width, width // _GAT_HEADS, heads=_GAT_HEADS)
        )
        own = [made.lin.weight]
    for weight in own:
        _init_near_identity(weight)
    return made


_LAYER_CLASSES: dict[str, Any] = {"g-rag": _GRAGLayer, "relational": _RelationalLayer, "mlp": _MLPLayer}
