"""Scores of retrieved passages by message passing over the graph that connects them. n passages, l edge features.

    h_v = g(x_v, mean over the neighbours u of f(x_u, e_uv)),     f(x_u, e_uv) = sum over m of e_uv(m) x_u
    e_v = g'(e_v, mean over the neighbours u of e_u),             s_v = y . h_v

x are embeddings of passages, e_uv the l features of an edge, normalised over both dimensions, e_v the features of all
edges of v, y the embedding of the question, projected to the width of h. Two layers.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), equations 7 to 11, and
table 5 for the other layers, which are PyTorch Geometric's.
Differs from the source: g is a linear layer of its two arguments, concatenated, with ReLU, and with `edge_rule` `gated`
g' multiplies a feature by twice a sigmoid of them (the paper leaves both open; a ReLU for g' sets all edges of one
network in six to 0, for good, since its bias decides over features of about 0.01); without `projection` the last layer
is linear; a passage without neighbours has a score; networks that read embeddings alone start near the cosine of
question and passage, as far as their layers preserve it (`_init_near_identity`). Our defaults divide features by the
square roots of the sums at both ends (`normalization`), divide weighted messages again by the number of neighbours
(`messages`), and project question and passages. Passages may have numeric features beside their embeddings or instead
of them; then scores start from a linear function of those numbers. `relational` is ours: each edge feature has its own
matrix, and layers are residual. The LSTM of `sage` reads neighbours in the order of the passages, where GraphSAGE
samples an order, and stops at a passage's last neighbour, where PyTorch Geometric continues over zero padding.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from clew.arrays import FloatArray
from clew.inference.document_network import GAT_HEADS, DocumentGNNSettings, DocumentInput, DocumentNetwork
from clew.nn.query_gnn import export_arrays, load_arrays

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
        if text and settings.projection:
            self.text_projection = nn.Linear(text, width)
            self.question_projection = nn.Linear(text, width)
            self.question_projection.load_state_dict(self.text_projection.state_dict())
        if numbers:
            self.number_projection = nn.Linear(numbers, width)
            self.number_score = nn.Linear(numbers, 1, bias=False)
            self.state_score = nn.Linear(width, 1)
            nn.init.zeros_(self.number_score.weight)
        layer_class = _LAYER_CLASSES.get(settings.network, _GeometricLayer)
        if settings.network == "mlp" and not settings.projection:
            layer_class = _PlainLayer
        last = replace(settings, edge_update=False)  # no layer follows that would read the updated edges
        each = [settings] * (settings.layers - 1) + [last]
        self.layers = nn.ModuleList(
            layer_class(own, before, after) for own, (before, after) in zip(each, settings.layer_widths(), strict=True)
        )

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
        settings = self.settings
        if settings.network == "g-rag" or settings.weighted:  # the others normalise by themselves, or read no weights
            edges = normalize_edges(edges, settings.normalization)
        states = self._initial_states(batch)
        for number, layer in enumerate(self.layers, 1):
            states, edges = layer(states, edges)
            # Without a projection the last layer is linear, like the question that its states are compared with.
            if settings.projection or number < len(self.layers):
                states = cast("nn.Module", layer.activate)(states)
            states = cast("nn.Module", layer.dropout)(states)
        return self._score(states, batch)

    def _initial_states(self, batch: DocumentBatch) -> Tensor:
        if not self.settings.projection:
            return self._scale(batch.vectors)
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
            question = self._scale(batch.questions)
            question = self.question_projection(question) if self.settings.projection else question
            scores = (states * question[:, None]).sum(-1)
        if self.settings.numbers:
            scores = scores + (self.state_score(states) + self.number_score(batch.numbers))[..., 0]
        return scores


def normalize_edges(edges: Tensor, normalization: str = "root") -> Tensor:
    """Normalise edge features (b, n, n, l) over both passage dimensions, by one of `NORMALIZATIONS`.

    Source of `doubly-stochastic`: Gong and Cheng, "Exploiting Edge Features for Graph Neural Networks" (2019).
    """
    if normalization != "root":
        rows = edges / edges.sum(2, keepdim=True).clamp_min(1e-9)
        columns = rows / rows.sum(1, keepdim=True).clamp_min(1e-9)
        return columns if normalization == "dimensions" else torch.einsum("bikm,bjkm->bijm", columns, rows)
    sums = edges.sum(1, keepdim=True).clamp_min(1e-9) * edges.sum(2, keepdim=True).clamp_min(1e-9)
    return edges / sums.sqrt()


class _GRAGLayer(nn.Module):
    """The source's layer: edge features weight messages and are updated themselves."""

    def __init__(self, settings: DocumentGNNSettings, before: int, after: int) -> None:
        super().__init__()
        self.divided, self.gated = settings.messages == "divided", settings.edge_rule == "gated"
        self.update = nn.Linear(2 * before, after)
        _init_near_identity(self.update.weight[:, :before])
        self.edge_update = nn.Linear(2 * settings.edges, settings.edges) if settings.edge_update else None
        self.dropout = nn.Dropout(settings.dropout)
        self.activate = nn.ReLU()

    def forward(self, states: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        adjacent = (edges > 0).any(-1)
        degree = adjacent.sum(-1, keepdim=True).clamp_min(1)
        messages = (edges.sum(-1) * adjacent) @ states
        messages = messages / degree if self.divided else messages
        updated = self.update(torch.cat([states, messages], -1))
        if self.edge_update is None:
            return updated, edges
        # The features of all edges of a passage as one row: (b, n, n * l).
        neighbours = (adjacent / degree) @ edges.flatten(2)
        both = torch.cat([edges, neighbours.view_as(edges)], -1)
        if self.gated:  # a factor above 0: no edge dies, and edges of different weights stay so
            return updated, edges * 2 * torch.sigmoid(self.edge_update(both * degree[..., None]))
        return updated, functional.relu(self.edge_update(both)) * adjacent[..., None]


class _ResidualLayer(nn.Module):
    """A residual layer without messages (`mlp`), or `relational`: with a matrix for each edge feature.

    A feature's weights over the neighbours of a passage sum to at most 1.
    """

    def __init__(self, settings: DocumentGNNSettings, before: int, after: int) -> None:
        super().__init__()
        self.own = nn.Linear(before, after)
        relational = settings.network == "relational"
        self.heard = nn.Linear(before, after * settings.edges, bias=False) if relational else None
        self.layer_norm = nn.LayerNorm(after)
        self.residual_dropout = nn.Dropout(settings.dropout)
        self.dropout = self.activate = nn.Identity()

    def forward(self, states: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        mixed = self.own(states)
        if self.heard is not None:
            messages = self.heard(states).view(*states.shape[:2], edges.shape[-1], states.shape[-1])
            shares = edges / edges.abs().sum(2, keepdim=True).clamp_min(1e-6)
            mixed = mixed + torch.einsum("bijl,bjlw->biw", shares, messages)
        return states + self.residual_dropout(functional.relu(self.layer_norm(mixed))), edges


class _PlainLayer(nn.Module):
    """A layer without messages, built like the layers of the source."""

    def __init__(self, settings: DocumentGNNSettings, before: int, after: int) -> None:
        super().__init__()
        self.own = nn.Linear(before, after)
        _init_near_identity(self.own.weight)
        self.dropout = nn.Dropout(settings.dropout)
        self.activate = nn.ReLU()

    def forward(self, states: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        return self.own(states), edges


class _GeometricLayer(nn.Module):
    """A layer of PyTorch Geometric, which reads whether two passages are adjacent, and with `weighted` their weights.

    `gcn` has the sum of an edge's features as its weight, `gat` the features as inputs of its attention; in `sage` and
    `gin` the sum weights the states that are aggregated.
    """

    def __init__(self, settings: DocumentGNNSettings, before: int, after: int) -> None:
        super().__init__()
        self.network, self.weighted = settings.network, settings.weighted
        self.convolution = _build_convolution(settings, before, after)
        self.dropout = nn.Dropout(settings.dropout)
        self.activate = nn.ReLU()

    def forward(self, states: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        adjacent = (edges > 0).any(-1)
        question, receiver, sender = adjacent.nonzero(as_tuple=True)  # sorted by receiver, as the LSTM requires
        size = states.shape[1]
        index = torch.stack([question * size + sender, question * size + receiver])
        flat = states.flatten(0, 1)
        if not self.weighted:
            return self.convolution(flat, index).view(*states.shape[:2], -1), edges
        features = edges[question, receiver, sender]
        updated = self._convolve(flat, index, features, features.sum(-1))
        return updated.view(*states.shape[:2], -1), edges

    def _convolve(self, states: Tensor, index: Tensor, features: Tensor, weights: Tensor) -> Tensor:
        layer = self.convolution
        if self.network == "gcn":
            return cast("Tensor", layer(states, index, edge_weight=weights))
        if self.network == "gat":
            return cast("Tensor", layer(states, index, edge_attr=features))
        messages = states[index[0]] * weights[:, None]
        aggregated = layer.aggr_module(messages, index[1], dim_size=len(states))
        if self.network == "sage":
            return cast("Tensor", layer.lin_l(aggregated) + layer.lin_r(states))
        return cast("Tensor", layer.nn((1 + layer.eps) * states + aggregated))


def _init_near_identity(weight: Tensor) -> None:
    """Move initial weights (after, before) near the identity, so that the layer starts by preserving states."""
    with torch.no_grad():
        weight.mul_(0.3).add_(torch.eye(*weight.shape))


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


def _build_convolution(settings: DocumentGNNSettings, before: int, after: int) -> Any:
    from torch_geometric import nn as geometric

    network = settings.network
    layer: Any
    if network == "gin":
        first, second = nn.Linear(before, after), nn.Linear(after, after)
        weights = [first.weight, second.weight]
        layer = geometric.GINConv(nn.Sequential(first, nn.ReLU(), second), aggr="mean", train_eps=True)
    elif network == "sage":
        layer = geometric.SAGEConv(before, after, aggr=_lstm_aggregation(before))
        weights = [layer.lin_r.weight]
    elif network == "gcn":
        layer = geometric.GCNConv(before, after)
        weights = [layer.lin.weight]
    else:
        features = settings.edges if settings.weighted else None
        layer = geometric.GATConv(before, after // GAT_HEADS, heads=GAT_HEADS, edge_dim=features)
        weights = [layer.lin.weight]
    for weight in weights:
        _init_near_identity(weight)
    return layer


_LAYER_CLASSES: dict[str, Any] = {"g-rag": _GRAGLayer, "relational": _ResidualLayer, "mlp": _ResidualLayer}


def parameter_shapes(settings: DocumentGNNSettings) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a network's parameters by name; it takes no memory for them, whatever the widths."""
    with torch.device("meta"):
        network = DocumentGNN(settings)
    return {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}


@dataclass(frozen=True, slots=True, eq=False)
class EdgeGradients:
    """Scores of n passages, and the gradient of one of them by the edges between all."""

    scores: FloatArray  # (n,)
    edges: FloatArray  # (n, n, l) features of edges
    gradient: FloatArray  # (n, n, l) of the score of one passage by each feature

    @property
    def effects(self) -> FloatArray:
        """Features times gradients for each unordered pair, (n, n, l), in the upper triangle; zeros elsewhere."""
        products = self.edges * self.gradient
        both = products + products.transpose(1, 0, 2)
        pairs: FloatArray = both * np.triu(np.ones(both.shape[:2], dtype=both.dtype), 1)[..., None]
        return pairs


def edge_gradients(network: DocumentNetwork, documents: DocumentInput, place: int) -> EdgeGradients:
    """Return the scores of a question's passages, and the gradient of that at a place (0 to n - 1)."""
    model = DocumentGNN.from_network(network)
    batch = DocumentBatch.from_inputs([documents])
    batch.edges.requires_grad_()
    # Recurrent layers have no gradient in evaluation mode on a GPU; this runs on the CPU.
    scores: Tensor = model(batch)[0]
    (gradient,) = torch.autograd.grad(scores[place], batch.edges, allow_unused=True)
    values = np.zeros_like(documents.edges) if gradient is None else gradient[0].numpy()
    return EdgeGradients(scores.detach().numpy(), documents.edges, values)
