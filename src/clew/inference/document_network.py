"""Forward pass of the networks over document graphs that need no package of graph layers, without torch.

Equal to `clew_lab.nn.document_gnn.DocumentGNN` for the networks in `NUMPY_NETWORKS`, on one question.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import final

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.errors import InputError
from clew.inference.layers import add_normalised, linear, relu

NETWORKS = ("relational", "g-rag", "gcn", "gat", "sage", "gin", "mlp")
"""Layer types: ours, the source's, four of PyTorch Geometric's, and one without messages."""
NORMALIZATIONS = ("root", "doubly-stochastic", "dimensions")
"""Normalizations of edge features: by the roots of the sums at both ends; by the doubly stochastic form that the source
cites; by the sums over the first dimension, then over the second."""
MESSAGES = ("divided", "weighted")
"""Aggregations: the mean of the weighted states, as equation 8 stands, which divides normalised weights once more by
the number of neighbours; or their sum, a weighted mean."""
EDGE_RULES = ("relu", "gated")
"""Updates of edge features: ReLU of a linear layer, whose edges can all become 0 and stay so; or a factor in 0 to 2."""
NUMPY_NETWORKS = ("relational", "g-rag", "mlp")
"""Layer types that run without torch."""
GAT_HEADS = 8  # as in the source's table 5


@final
@dataclass(frozen=True, slots=True)
class DocumentGNNSettings:
    """Shape of a network; raises InputError where a value is invalid."""

    text: int  # width of the embeddings of passages and questions; 0 where only numbers are read
    numbers: int = 0  # number of numeric features of a passage; 0 where only its embedding is read, as in the source
    edges: int = 2  # number of features of an edge
    network: str = "relational"  # one of `NETWORKS`
    width: int = 64  # width of a passage's state
    layers: int = 2  # number of layers
    dropout: float = 0.1  # dropout rate of states in training
    edge_update: bool = True  # whether edge features are updated between the layers; `g-rag` only
    # The defaults below are those of weights stored before these could be chosen.
    normalization: str = "root"  # one of `NORMALIZATIONS`; of `g-rag`, and of networks with `weighted`
    messages: str = "divided"  # one of `MESSAGES`; `g-rag` only
    edge_rule: str = "relu"  # one of `EDGE_RULES`; `g-rag` only
    # whether question and passages are projected to the width of the states; else the question stays as it is, and the
    # last layer is as wide as it, as in the source
    projection: bool = True
    weighted: bool = False  # whether the networks of PyTorch Geometric read weights of edges, and not only if there are

    def __post_init__(self) -> None:
        if self.network not in NETWORKS:
            raise InputError(f"the network is {self.network!r}; wanted one of {', '.join(NETWORKS)}")
        if min(self.text, self.numbers) < 0 or self.text + self.numbers < 1:
            raise InputError(
                f"a passage has {self.text} wide vectors and {self.numbers} numbers; wanted at least one of the two"
            )
        for name, choice, known in (
            ("normalization", self.normalization, NORMALIZATIONS),
            ("aggregation", self.messages, MESSAGES),
            ("edge update", self.edge_rule, EDGE_RULES),
        ):
            if choice not in known:
                raise InputError(f"the {name} is {choice!r}; wanted one of {', '.join(known)}")
        if not self.projection and (self.numbers or not self.text or self.network == "relational"):
            raise InputError(
                "without a projection the network reads vectors of passages alone, and is none of `relational`: give "
                "the projection, or --text --no-numbers and another network"
            )
        if self.weighted and self.network in ("relational", "mlp", "g-rag"):
            raise InputError(
                f"weighted is for the networks of PyTorch Geometric, and this is {self.network}: leave it out"
            )
        for name, value in (("features of edges", self.edges), ("width", self.width), ("layers", self.layers)):
            if value < 1:
                raise InputError(f"{name}: {value}; wanted at least 1")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout: {self.dropout}; wanted at least 0 and below 1")
        if self.network == "gat" and (wrong := [end for _, end in self.layer_widths() if end % GAT_HEADS]):
            raise InputError(f"the width is {wrong[0]}; gat has {GAT_HEADS} heads, so give a multiple of {GAT_HEADS}")

    def layer_widths(self) -> list[tuple[int, int]]:
        """Return the widths of the states before and after each layer."""
        ends = self.width if self.projection else self.text
        widths = [ends, *[self.width] * (self.layers - 1), ends]
        return list(pairwise(widths))

    def stored_settings(self) -> dict[str, object]:
        """Return the settings, without those that weights stored before they could be chosen do not name."""
        later = ("normalization", "messages", "edge_rule", "projection", "weighted")
        defaults = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in asdict(self).items() if name not in later or value != defaults[name]}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of a network's arrays by name, for `NUMPY_NETWORKS`."""
        edges = self.edges
        width = self.width
        shapes: dict[str, tuple[int, ...]] = {}

        def add(name: str, rows: int, columns: int, *, bias: bool = True) -> None:
            shapes[f"{name}.weight"] = (rows, columns)
            if bias:
                shapes[f"{name}.bias"] = (rows,)

        if self.text and self.projection:
            add("text_projection", width, self.text)
            add("question_projection", width, self.text)
        if self.numbers:
            add("number_projection", width, self.numbers)
            add("number_score", 1, self.numbers, bias=False)
            add("state_score", 1, width)
        for number, (before, after) in enumerate(self.layer_widths()):
            layer = f"layers.{number}"
            if not self.projection and self.network == "mlp":
                add(f"{layer}.own", after, before)
                continue
            if self.network == "g-rag":
                add(f"{layer}.update", after, 2 * before)
                if self.edge_update and number + 1 < self.layers:
                    add(f"{layer}.edge_update", edges, 2 * edges)
                continue
            add(f"{layer}.own", width, width)
            shapes |= {f"{layer}.layer_norm.weight": (width,), f"{layer}.layer_norm.bias": (width,)}
            if self.network == "relational":
                add(f"{layer}.heard", width * edges, width, bias=False)
        return shapes


@dataclass(frozen=True, slots=True, eq=False)
class DocumentInput:
    """A question with its n passages."""

    vectors: FloatArray  # (n, text) embeddings of passages
    numbers: FloatArray  # (n, numbers) numeric features of passages
    edges: FloatArray  # (n, n, l) features of the edge from the second passage to the first; 0 where there is none
    question: FloatArray  # (text,) embedding of the question


@final
class DocumentNetwork:
    """A trained network of `NUMPY_NETWORKS`, with float32 arrays by name, of `settings.shapes()`."""

    def __init__(self, settings: DocumentGNNSettings, arrays: Mapping[str, FloatArray]) -> None:
        self.settings = settings
        self.arrays = arrays

    def scores(self, documents: DocumentInput) -> FloatArray:
        """Return a score for each passage, (n,)."""
        settings, arrays = self.settings, self.arrays
        # Unit vectors are scaled to entries of about 1 where they are the only input.
        scale = np.float32(1.0 if settings.numbers else math.sqrt(settings.text))
        if not settings.projection:
            states = self._run_layers(documents.vectors * scale, documents.edges)
            return np.asarray(states @ documents.question * scale, dtype=np.float32)
        states = np.zeros((len(documents.edges), settings.width), dtype=np.float32)
        if settings.text:
            states += linear(arrays, "text_projection", documents.vectors * scale)
        if settings.numbers:
            states += relu(linear(arrays, "number_projection", documents.numbers))
        states = self._run_layers(states, documents.edges)
        scores = np.zeros(len(states), dtype=np.float32)
        if settings.text:
            scores += states @ linear(arrays, "question_projection", documents.question * scale)
        if settings.numbers:
            scores += linear(arrays, "state_score", states)[:, 0]
            scores += linear(arrays, "number_score", documents.numbers)[:, 0]
        return scores

    def _run_layers(self, states: FloatArray, edges: FloatArray) -> FloatArray:
        names = [f"layers.{number}" for number in range(self.settings.layers)]
        if self.settings.network == "g-rag":
            edges = normalise_edges(edges, self.settings.normalization)
            for name in names:
                states, edges = self._g_rag_layer(name, states, edges)
            return states
        if not self.settings.projection:
            for name in names:
                states = self._activate(name, linear(self.arrays, f"{name}.own", states))
            return states
        shares = edges / np.maximum(np.abs(edges).sum(1, keepdims=True), np.float32(1e-6))
        by_feature = np.ascontiguousarray(shares.transpose(0, 2, 1))  # (n, l, n)
        for name in names:
            mixed = linear(self.arrays, f"{name}.own", states)
            if self.settings.network == "relational":
                mixed += self._relational_messages(name, states, by_feature)
            states = add_normalised(states, mixed, self.arrays, f"{name}.layer_norm")
        return states

    def _relational_messages(self, name: str, states: FloatArray, shares: FloatArray) -> FloatArray:
        """Return for each passage the sum over features and neighbours of share times the feature's matrix, (n, d)."""
        count, width = states.shape
        # First the neighbours' mean states for each feature, then one product with all matrices side by side.
        means: FloatArray = (shares.reshape(-1, count) @ states).reshape(count, -1)
        matrices = self.arrays[f"{name}.heard.weight"].reshape(-1, width, width)
        return np.asarray(means @ matrices.transpose(0, 2, 1).reshape(-1, width), dtype=np.float32)

    def _g_rag_layer(self, name: str, states: FloatArray, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
        adjacent: BoolArray = np.any(edges > 0, axis=-1)
        degree = np.maximum(adjacent.sum(-1, keepdims=True), 1).astype(np.float32)
        messages = (edges.sum(-1) * adjacent) @ states
        messages = messages / degree if self.settings.messages == "divided" else messages
        updated = self._activate(name, linear(self.arrays, f"{name}.update", np.hstack([states, messages])))
        if f"{name}.edge_update.weight" not in self.arrays:
            return updated, edges
        # The features of all edges of a passage as one row, (n, n * l).
        neighbours = ((adjacent / degree) @ edges.reshape(len(edges), -1)).reshape(edges.shape)
        both = np.concatenate([edges, neighbours], axis=-1)
        if self.settings.edge_rule == "gated":
            logits = linear(self.arrays, f"{name}.edge_update", both * degree[..., None])
            return updated, np.asarray(edges * 2.0 / (1.0 + np.exp(-logits)), dtype=np.float32)
        return updated, relu(linear(self.arrays, f"{name}.edge_update", both)) * adjacent[..., None]

    def _activate(self, name: str, values: FloatArray) -> FloatArray:
        """Return ReLU of a layer's output; without a projection the last layer is linear, as the question is."""
        is_last = name == f"layers.{self.settings.layers - 1}"
        return values if is_last and not self.settings.projection else relu(values)


def normalise_edges(edges: FloatArray, normalization: str = "root") -> FloatArray:
    """Normalise edge features (n, n, l) over both passage dimensions, by one of `NORMALIZATIONS`."""
    least = np.float32(1e-9)
    if normalization != "root":
        rows = edges / np.maximum(edges.sum(1, keepdims=True), least)
        columns = rows / np.maximum(rows.sum(0, keepdims=True), least)
        if normalization == "dimensions":
            return np.asarray(columns, dtype=np.float32)
        return np.asarray(np.einsum("ikm,jkm->ijm", columns, rows), dtype=np.float32)
    sums = np.maximum(edges.sum(0, keepdims=True), least) * np.maximum(edges.sum(1, keepdims=True), least)
    scaled: FloatArray = edges / np.sqrt(sums)
    return scaled
