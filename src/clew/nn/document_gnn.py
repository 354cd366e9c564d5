"""Scores of retrieved passages by message passing over the graph that connects them. n passages, l edge features.

    h_v = g(x_v, mean over the neighbours u of f(x_u, e_uv)),     f(x_u, e_uv) = sum over m of e_uv(m) x_u
    e_v = g'(e_v, mean over the neighbours u of e_u),             s_v = y . h_v

x are embeddings of passages, e_uv the l features of an edge, normalised over both dimensions, e_v the features of all
edges of v, y the embedding of the question, projected to the width of h. Two layers.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), equations 7 to 11, and
table 5 for the other layers, which are PyTorch Geometric's.
Differs from the source: features are divided by the square roots of the sums at both ends (the paper does not say how);
g is a linear layer of its two arguments, concatenated, with ReLU (the paper leaves it open); a passage without
neighbours has a score; networks that read embeddings alone start near the cosine of question and passage, as far as
their layers preserve it (`_init_near_identity`). Passages may have numeric features beside their embeddings or instead
of them; then scores start from a linear function of those numbers. `relational` is ours: each edge feature has its own
matrix, and layers are residual. The LSTM of `sage` reads neighbours in the order of the passages, where GraphSAGE
samples an order, and stops at a passage's last neighbour, where PyTorch Geometric continues over zero padding.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from clew.arrays import FloatArray
from clew.inference.document_network import GAT_HEADS, DocumentGNNSettings, DocumentInput, DocumentNetwork
from clew.nn.arrays import export_arrays, load_arrays

ARCHITECTURE_VERSION = 2
"""Version of the computation and of the initial weights; training runs of another version start again."""


@final
@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """b questions with their passages, padded with zeros to n."""

    vectors: Tensor  # (b, n, text) embeddings of passages
    numbers: Tensor  # (b, n, numbers) numeric features of passages
    edges: Tensor  # (b, n, n, l) features of the edge from the second passage to the first; 0 where there is none
    questions: Tensor  # (b, text) embeddings of questions
    present: Tensor  # (b, n) bool, False for padding

    @classmethod
    def from_inputs(cls, inputs: Sequence[DocumentInput]) -> "DocumentBatch":
        """Pad the inputs of at least one question, one of them with a passage, to one batch."""
        most = max(len(each.edges) for each in inputs)
        rows: list[list[Tensor]] = []
        for each in inputs:
            gap = most - len(each.edges)
            vectors, numbers, edges = (torch.from_numpy(part) for part in (each.vectors, each.numbers, each.edges))
            present = torch.arange(most) < len(each.edges)
            question = torch.from_numpy(each.question)
            padded = functional.pad(vectors, (0, 0, 0, gap)), functional.pad(numbers, (0, 0, 0, gap))
            rows.append([*padded, functional.pad(edges, (0, 0, 0, gap, 0, gap)), question, present])
        return cls(*(torch.stack(parts) for parts in zip(*rows, strict=True)))

    def to(self, device: torch.device) -> "DocumentBatch":
        """Return the batch on a device."""
        tensors = (self.vectors, self.numbers, self.edges, self.questions, self.present)
        return DocumentBatch(*(tensor.to(device) for tensor in tensors))


class DocumentGNN(nn.Module):
    """Scores passages; initial weights come from torch's global generator, which the caller seeds."""

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
        layer_class = _LAYER_CLASSES.get(settings.network, _GeometricLayer)
        last = replace(settings, edge_update=False)  # no layer follows that would read the updated edges
        self.layers = nn.ModuleList(layer_class(each) for each in [settings] * (settings.layers - 1) + [last])

    @classmethod
    def from_network(cls, network: DocumentNetwork) -> "DocumentGNN":
        """Return the model of a trained network, in evaluation mode."""
        with torch.random.fork_rng(devices=[]):
            model = cls(network.settings)
        load_arrays(model, network.arrays)
        return model.eval()

    def network(self) -> DocumentNetwork:
        """Return the model as it stands."""
        return DocumentNetwork(self.settings, export_arrays(self))

    def scores(self, documents: DocumentInput) -> FloatArray:
        """Return the scores (n,) of one question's passages."""
        with torch.inference_mode():
            scores: FloatArray = self(DocumentBatch.from_inputs([documents]))[0].numpy()
        return scores

    def forward(self, batch: DocumentBatch) -> Tensor:
        """Return scores (b, n); those of padding are undefined.

        A question's scores depend on its own passages only and are equivariant to their order, except for `sage`, which
        reads neighbours in the order given.
        """
        edges = batch.edges * (batch.present[:, :, None] & batch.present[:, None])[..., None]
        edges = normalize_edges(edges) if self.settings.network == "g-rag" else edges
        states = self._initial_states(batch)
        for layer in self.layers:
            states, edges = layer(states, edges)
        return self._score(states, batch)

    def _initial_states(self, batch: DocumentBatch) -> Tensor:
        parts: list[Tensor] = []
        if self.settings.text:
            parts.append(self.text_projection(self._scale(batch.vectors)))
        if self.settings.numbers:
            parts.append(functional.relu(self.number_projection(batch.numbers)))
        return torch.stack(parts).sum(0)

    def _scale(self, vectors: Tensor) -> Tensor:
        """Scale unit vectors to entries of about 1 where they are the only input; beside numbers they stay small."""
        return vectors if self.settings.numbers else vectors * math.sqrt(self.settings.text)

    def _score(self, states: Tensor, batch: DocumentBatch) -> Tensor:
        scores = torch.zeros_like(states[..., 0])
        if self.settings.text:
            question = self.question_projection(self._scale(batch.questions))
            scores = (states * question[:, None]).sum(-1)
        if self.settings.numbers:
            scores = scores + (self.state_score(states) + self.number_score(batch.numbers))[..., 0]
        return scores


def normalize_edges(edges: Tensor) -> Tensor:
    """Divide edge features (b, n, n, l) by the square roots of their sums over each of the two passage dimensions."""
    sums = edges.sum(1, keepdim=True).clamp_min(1e-9) * edges.sum(2, keepdim=True).clamp_min(1e-9)
    return edges / sums.sqrt()


class _GRAGLayer(nn.Module):
    """The source's layer: edge features weight messages and are updated themselves."""

    def __init__(self, settings: DocumentGNNSettings) -> None:
        super().__init__()
        self.update = nn.Linear(2 * settings.width, settings.width)
        _init_near_identity(self.update.weight[:, : settings.width])
        self.edge_update = nn.Linear(2 * settings.edges, settings.edges) if settings.edge_update else None
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        adjacent = (edges > 0).any(-1)
        degree = adjacent.sum(-1, keepdim=True).clamp_min(1)
        messages = (edges.sum(-1) * adjacent) @ states / degree
        updated = self.dropout(functional.relu(self.update(torch.cat([states, messages], -1))))
        if self.edge_update is None:
            return updated, edges
        # The features of all edges of a passage as one row: (b, n, n * l).
        neighbours = (adjacent / degree) @ edges.flatten(2)
        changed = functional.relu(self.edge_update(torch.cat([edges, neighbours.view_as(edges)], -1)))
        return updated, changed * adjacent[..., None]


class _RelationalLayer(nn.Module):
    """A matrix for each edge feature; a feature's weights over the neighbours of a passage sum to at most 1."""

    def __init__(self, settings: DocumentGNNSettings) -> None:
        super().__init__()
        self.own = nn.Linear(settings.width, settings.width)
        self.heard = nn.Linear(settings.width, settings.width * settings.edges, bias=False)
        self.layer_norm = nn.LayerNorm(settings.width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        messages = self.heard(states).view(*states.shape[:2], edges.shape[-1], states.shape[-1])
        shares = edges / edges.abs().sum(2, keepdim=True).clamp_min(1e-6)
        mixed = self.own(states) + torch.einsum("bijl,bjlw->biw", shares, messages)
        return states + self.dropout(functional.relu(self.layer_norm(mixed))), edges


class _MLPLayer(nn.Module):
    """A residual layer without messages."""

    def __init__(self, settings: DocumentGNNSettings) -> None:
        super().__init__()
        self.own = nn.Linear(settings.width, settings.width)
        self.layer_norm = nn.LayerNorm(settings.width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        return states + self.dropout(functional.relu(self.layer_norm(self.own(states)))), edges


class _GeometricLayer(nn.Module):
    """A layer of PyTorch Geometric, which reads whether two passages are adjacent but no edge features."""

    def __init__(self, settings: DocumentGNNSettings) -> None:
        super().__init__()
        self.convolution = _build_convolution(settings.network, settings.width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        adjacent = (edges > 0).any(-1)
        question, receiver, sender = adjacent.nonzero(as_tuple=True)  # sorted by receiver, as the LSTM requires
        size = states.shape[1]
        index = torch.stack([question * size + sender, question * size + receiver])
        updated = self.convolution(states.flatten(0, 1), index).view_as(states)
        return self.dropout(functional.relu(updated)), edges


def _init_near_identity(weight: Tensor) -> None:
    """Move initial weights (width, width) near the identity, so that the layer starts by preserving states."""
    with torch.no_grad():
        weight.mul_(0.3).add_(torch.eye(len(weight)))


def _lstm_aggregation(width: int) -> Any:
    """Build an LSTM over each receiver's neighbours that returns its last state; zeros without neighbours."""
    from torch_geometric.nn.aggr import LSTMAggregation

    class LastStateLSTM(LSTMAggregation):  # type: ignore[misc]
        def forward(
            self,
            x: Tensor,
            index: Tensor,
            ptr: Any = None,
            dim_size: int | None = None,
            dim: int = -2,
            max_num_elements: int | None = None,
        ) -> Tensor:
            rows, mask = self.to_dense_batch(x, index, ptr, dim_size, dim, max_num_elements=max_num_elements)
            if not rows.shape[1]:
                return x.new_zeros(len(rows), self.out_channels)
            count = mask.sum(1)
            last = (count - 1).clamp_min(0)[:, None, None].expand(-1, 1, self.out_channels)
            states: Tensor = self.lstm(rows)[0].gather(1, last)[:, 0]
            return states.where((count > 0)[:, None], 0.0)

    return LastStateLSTM(width, width)


def _build_convolution(network: str, width: int) -> Any:
    from torch_geometric import nn as geometric

    layer: Any
    if network == "gin":
        first, second = nn.Linear(width, width), nn.Linear(width, width)
        weights = [first.weight, second.weight]
        layer = geometric.GINConv(nn.Sequential(first, nn.ReLU(), second), aggr="mean", train_eps=True)
    elif network == "sage":
        layer = geometric.SAGEConv(width, width, aggr=_lstm_aggregation(width))
        weights = [layer.lin_r.weight]
    else:
        heads = GAT_HEADS
        gcn = network == "gcn"
        layer = geometric.GCNConv(width, width) if gcn else geometric.GATConv(width, width // heads, heads=heads)
        weights = [layer.lin.weight]
    for weight in weights:
        _init_near_identity(weight)
    return layer


_LAYER_CLASSES: dict[str, Any] = {"g-rag": _GRAGLayer, "relational": _RelationalLayer, "mlp": _MLPLayer}
