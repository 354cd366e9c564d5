"""Forward pass of the question-conditioned graph network, and the gradient that explains its scores, without torch.

Equal to `clew.nn.query_gnn.QueryGNN`, where the network is described and trained.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import FloatArray, LongArray
from clew.errors import InputError
from clew.inference.layers import add_normalised, linear, normalised_gradient, relu
from clew.inference.relational_sums import FIRST, PRODUCT, SUM, SortedEdges, edge_inner_products, sum_messages

FUSIONS = ("", "early", "late", "early-late")
"""Where the vectors of nodes' texts enter: nowhere, in the states that nodes start from, in the scores, or in both."""

CHUNK_ROWS = 4096  # intermediate results fit the processor's cache, and large graphs the memory


@final
@dataclass(frozen=True, slots=True)
class QueryGNNSettings:
    """Shape of a model."""

    width: int = 512  # width of a node's state
    text_width: int = 768  # width of question and relation embeddings
    layers: int = 6  # number of layers
    features: int = 0  # number of node features beside the seed weight; 0 for the published model
    prior: bool = False  # whether the scores start from given ones
    # whether the inverse of a relation is computed from the relation by a learned scale and shift; else it has an
    # embedding of its own
    learned_inverse: bool = False
    message: str = "distmult"  # "distmult" or "transe"
    # "sum", "mean" of the messages, or "mean-code": of the messages and the boundary, as in GFM-RAG's code
    aggregate: str = "sum"
    fusion: str = ""  # one of `FUSIONS`; "early-late" for the published G-reasoner

    @property
    def fuses_early(self) -> bool:
        """Whether the states that nodes start from are computed from their texts too."""
        return self.fusion in ("early", "early-late")

    @property
    def fuses_late(self) -> bool:
        """Whether scores are computed from the nodes' texts too."""
        return self.fusion in ("late", "early-late")

    @property
    def scorer(self) -> str:
        """Name of the arrays of the two layers that score a node."""
        return "predict_mlp" if self.fuses_late else "entity_model.mlp"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of a model's arrays by their names in published checkpoints."""
        width = self.width
        linears = {
            "rel_mlp": (width, self.text_width),
            "question_mlp": (width, self.text_width),
        }
        if self.fuses_late:
            linears |= {"predict_mlp.0": (width, 3 * width), "predict_mlp.2": (1, width)}
        else:
            linears |= {"entity_model.mlp.0": (2 * width, 2 * width), "entity_model.mlp.2": (1, 2 * width)}
        if self.fusion:
            linears["ent_mlp"] = (width, self.text_width)
        if self.fuses_early:
            linears |= {"early_fuse_mlp.0": (width, 2 * width), "early_fuse_mlp.2": (width, width)}
        shapes: dict[str, tuple[int, ...]] = {}
        for layer in (f"entity_model.layers.{number}" for number in range(self.layers)):
            shapes |= {f"{layer}.layer_norm.weight": (width,), f"{layer}.layer_norm.bias": (width,)}
            linears |= {f"{layer}.linear": (width, 2 * width)}
            linears |= {f"{layer}.relation_projection.{place}": (width, width) for place in (0, 2)}
        if self.features:
            linears["feature_mlp"] = (2 * width, self.features)
        for name, (rows, columns) in linears.items():
            shapes |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
        if self.learned_inverse:
            shapes |= dict.fromkeys(("inverse_scale", "inverse_shift"), (self.layers, width))
        if self.prior:
            shapes["prior_scale"] = ()
        return shapes


@dataclass(frozen=True, slots=True, eq=False)
class QueryBatch:
    """Graphs of b questions, without edges between them: n nodes in all."""

    edges: SortedEdges
    questions: FloatArray  # (b, t) text embeddings
    owners: LongArray  # (n,) index of the question of each node
    seeds: FloatArray  # (n,) weight of a node that the question names, 0 for the others
    features: FloatArray  # (n, f); read if the model has features
    prior: FloatArray  # (n,); read if the model has a prior
    texts: FloatArray | None = None  # (n, t) text embeddings of the nodes; read if the model fuses them


def node_texts(batch: QueryBatch) -> FloatArray:
    """Return the text embeddings (n, t) of a batch's nodes; raises InputError where it has none."""
    if batch.texts is None:
        raise InputError("the network reads the texts of nodes, and none were given: give the graph's text vectors")
    return batch.texts


@final
class QueryNetwork:
    """A trained model, with float32 arrays by name, of `settings.shapes()`."""

    def __init__(self, settings: QueryGNNSettings, arrays: Mapping[str, FloatArray]) -> None:
        self.settings = settings
        self.arrays = arrays
        # The two halves of a layer's matrix act on states and messages; a product wants each in one piece.
        self._halves = {
            layer: [np.ascontiguousarray(half) for half in np.split(arrays[f"{layer}.linear.weight"], 2, axis=1)]
            for layer in self._layer_names()
        }

    def project_relations(self, vectors: FloatArray) -> FloatArray:
        """Return the vector of each relation at each layer, (R, layers, width), from text embeddings (R, t).

        It depends on neither question nor graph, so callers compute it once.
        """
        start = linear(self.arrays, "rel_mlp", vectors)
        rows = np.empty((len(vectors), self.settings.layers, self.settings.width), dtype=np.float32)
        for number, layer in enumerate(self._layer_names()):
            hidden = relu(linear(self.arrays, f"{layer}.relation_projection.0", start))
            rows[:, number] = linear(self.arrays, f"{layer}.relation_projection.2", hidden)
        return rows

    def project_inverses(self, projected: FloatArray) -> FloatArray:
        """Return the projections (R, layers, width) of the inverses of relations, with `learned_inverse`.

        Raises InputError where the model has no learned inverse.
        """
        if not self.settings.learned_inverse:
            raise InputError("this model has no learned inverse: give it embeddings of the inverse relations' texts")
        return projected * self.arrays["inverse_scale"] + self.arrays["inverse_shift"]

    def with_inverses(self, projected: FloatArray) -> FloatArray:
        """Return projections (R, layers, width); (2R, layers, width), with inverses last, if the model learns these."""
        learned = self.settings.learned_inverse
        return np.concatenate([projected, self.project_inverses(projected)]) if learned else projected

    def logits(self, batch: QueryBatch, relations: FloatArray, workers: int = 1) -> FloatArray:
        """Return a logit for each node, (n,), by the projections (R, layers, width) of the batch's relations.

        `workers` is the number of threads, for large graphs; the result does not depend on it.
        """
        question, texts, boundary = self._boundary(batch)
        states = boundary
        for number, layer in enumerate(self._layer_names()):
            messages = self._messages(batch, states, relations, number, boundary)
            states = self._update(layer, states, messages, workers)
        return self._score(batch, states, [question, *texts])

    def edge_importances(self, batch: QueryBatch, relations: FloatArray, targets: Sequence[int]) -> list[FloatArray]:
        """Return for each target node the gradient (layers, m) of its logit in the weights, all 1, of the edges.

        `relations` (R, layers, width) are projections of the batch's relations.
        """
        question, texts, boundary = self._boundary(batch)
        states, mixed = [boundary], []
        for number, layer in enumerate(self._layer_names()):
            messages = self._messages(batch, states[-1], relations, number, boundary)
            mixed.append(self._mix(layer, states[-1], messages))
            states.append(add_normalised(states[-1], mixed[-1], self.arrays, f"{layer}.layer_norm"))
        further = [question, *texts]
        return [self._importance(batch, relations, states, mixed, further, target) for target in targets]

    def _layer_names(self) -> list[str]:
        return [f"entity_model.layers.{number}" for number in range(self.settings.layers)]

    def _boundary(self, batch: QueryBatch) -> tuple[FloatArray, list[FloatArray], FloatArray]:
        """Return of each node (n, width) the projected question, the projected text, and the state it starts from.

        The texts are those that the scores read: one array of them, or none.
        """
        question = linear(self.arrays, "question_mlp", batch.questions)[batch.owners]
        boundary = question * batch.seeds[:, None]
        if self.settings.features:
            gate, shift = np.split(linear(self.arrays, "feature_mlp", batch.features), 2, axis=1)
            boundary += gate * question + shift
        if not self.settings.fusion:
            return question, [], boundary
        texts = linear(self.arrays, "ent_mlp", node_texts(batch))
        if self.settings.fuses_early:
            for start in range(0, len(boundary), CHUNK_ROWS):
                rows = slice(start, start + CHUNK_ROWS)
                hidden = relu(linear(self.arrays, "early_fuse_mlp.0", np.hstack([boundary[rows], texts[rows]])))
                boundary[rows] = linear(self.arrays, "early_fuse_mlp.2", hidden)
        return question, [texts] if self.settings.fuses_late else [], boundary

    def _messages(
        self, batch: QueryBatch, states: FloatArray, relations: FloatArray, number: int, boundary: FloatArray
    ) -> FloatArray:
        """Return the aggregated messages (n, width) of a layer, with the boundary."""
        kind = PRODUCT if self.settings.message == "distmult" else SUM
        weights = batch.edges.inverse_degrees if self.settings.aggregate == "mean" else None
        vectors = np.ascontiguousarray(relations[:, number])
        messages = sum_messages(batch.edges.by_receiver, weights, states, vectors, kind)
        messages += boundary
        if self.settings.aggregate == "mean-code":
            messages *= batch.edges.inverse_sizes[:, None]
        return messages

    def _edge_scale(self, edges: SortedEdges) -> FloatArray | None:
        """Return what each edge's message is multiplied by, (m,); None for 1."""
        if self.settings.aggregate == "sum":
            return None
        is_mean = self.settings.aggregate == "mean"
        return edges.inverse_degrees if is_mean else edges.inverse_sizes[edges.receivers]

    def _mix(self, layer: str, states: FloatArray, messages: FloatArray) -> FloatArray:
        of_states, of_messages = self._halves[layer]
        mixed: FloatArray = states @ of_states.T
        mixed += messages @ of_messages.T
        mixed += self.arrays[f"{layer}.linear.bias"]
        return mixed

    def _update(self, layer: str, states: FloatArray, messages: FloatArray, workers: int) -> FloatArray:
        """Return new states; overwrites the messages."""

        def update(start: int) -> None:
            rows = slice(start, start + CHUNK_ROWS)
            mixed = self._mix(layer, states[rows], messages[rows])
            messages[rows] = add_normalised(states[rows], mixed, self.arrays, f"{layer}.layer_norm")

        starts = range(0, len(states), CHUNK_ROWS)
        if workers == 1 or len(starts) < 2:
            for start in starts:
                update(start)
        else:
            with ThreadPoolExecutor(workers) as threads:
                list(threads.map(update, starts))
        return messages

    def _score(self, batch: QueryBatch, states: FloatArray, further: Sequence[FloatArray]) -> FloatArray:
        logits, scorer = np.empty(len(states), dtype=np.float32), self.settings.scorer
        for start in range(0, len(states), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            inputs = np.hstack([states[rows], *(each[rows] for each in further)])
            hidden = relu(linear(self.arrays, f"{scorer}.0", inputs))
            logits[rows] = linear(self.arrays, f"{scorer}.2", hidden)[:, 0]
        if self.settings.prior:
            logits += self.arrays["prior_scale"] * batch.prior
        return logits

    def _importance(
        self,
        batch: QueryBatch,
        relations: FloatArray,
        states: list[FloatArray],
        mixed: list[FloatArray],
        further: Sequence[FloatArray],
        target: int,
    ) -> FloatArray:
        """Return the gradient (layers, m) of one logit, from the states before and after each layer."""
        arrays, edges, width = self.arrays, batch.edges, self.settings.width
        scorer = self.settings.scorer
        inputs = np.concatenate([states[-1][target], *(each[target] for each in further)])
        hidden = linear(arrays, f"{scorer}.0", inputs[None])
        passed = np.where(hidden > 0, arrays[f"{scorer}.2.weight"], np.float32(0.0))
        gradient = np.zeros_like(states[-1])
        gradient[target] = (passed @ arrays[f"{scorer}.0.weight"])[0, :width]
        is_product = self.settings.message == "distmult"
        scale = self._edge_scale(edges)
        importance = np.empty((self.settings.layers, edges.edge_count), dtype=np.float32)
        for number, layer in reversed(list(enumerate(self._layer_names()))):
            vectors = np.ascontiguousarray(relations[:, number])
            to_mixed = normalised_gradient(gradient, mixed[number], arrays, f"{layer}.layer_norm")
            of_states, of_messages = self._halves[layer]
            to_messages = to_mixed @ of_messages
            ends = edges.receivers, edges.senders, edges.relations
            products = edge_inner_products(ends, to_messages, states[number], vectors, is_product)
            importance[number] = products if scale is None else products * scale
            if number:
                kind = PRODUCT if is_product else FIRST
                gradient = gradient + to_mixed @ of_states
                gradient += sum_messages(edges.by_sender, scale, to_messages, vectors, kind)
        return importance
