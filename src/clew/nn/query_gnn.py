"""Question-conditioned graph neural network that scores the nodes of any knowledge graph.

With the default settings it is the published model of GFM-RAG, parameter by parameter, and with `fusion` that of its
second generation, G-reasoner, whose nodes have texts. Four more options: `features` of nodes as further seeds, a
`prior` that the scores start from, a learned transformation of relations into their inverses in place of a text for
each inverse, and other messages and aggregations.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.2.1; for
`fusion` the authors' code of G-reasoner (github.com/RManLuo/gfm-rag, commit 57e3e28), with u an embedding of a text, E,
Q and R its projections for nodes, questions and relations, s a seed's weight, F and P networks of two layers:

    h_v(0) = F[s_v Q(q), E(u_v)],     score of v = P[h_v(L), Q(q), E(u_v)],     h_v(l) as in GFM-RAG

Differs from the source: the four options; `forward` returns logits, without the last sigmoid.

Parameters of networks as numpy arrays, as they are stored and as the forward passes without torch read them.
"""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.inference.query_network import CHUNK_ROWS, QueryBatch, QueryGNNSettings, QueryNetwork, node_texts
from clew.nn.relational.conv import relational_conv
from clew.nn.relational.graph import RelationalGraph


def export_arrays(module: nn.Module) -> dict[str, FloatArray]:
    """Return copies of the parameters and buffers by name, in float32, each in the shape that it has in the module."""
    return {name: value.detach().cpu().float().numpy().copy() for name, value in sorted(module.state_dict().items())}


def load_arrays(module: nn.Module, arrays: Mapping[str, FloatArray]) -> None:
    """Set the parameters of a module to the arrays of their names, of the same shapes; other arrays are ignored."""
    module.load_state_dict({name: torch.tensor(arrays[name]) for name in module.state_dict()})


def to_tensor(array: FloatArray, device: torch.device) -> Tensor:
    """Return an array as a tensor of its shape on a device; a read-only one, such as a mapped file, is copied."""
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


class _Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(width)
        self.linear = nn.Linear(2 * width, width)
        self.relation_projection = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, states: Tensor, messages: Tensor, boundary: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            return self._update(states, messages + boundary)
        for start in range(0, len(states), CHUNK_ROWS):
            chunk = slice(start, start + CHUNK_ROWS)
            messages[chunk] = self._update(states[chunk], messages[chunk].add_(boundary[chunk]))
        return messages

    def _update(self, states: Tensor, messages: Tensor) -> Tensor:
        weight = self.linear.weight
        width = states.shape[1]
        # Two products instead of one of the concatenation, which is never materialised.
        mixed = functional.linear(states, weight[:, :width], self.linear.bias)
        mixed = torch.addmm(mixed, messages, weight[:, width:].T)
        return states + functional.relu(self.layer_norm(mixed))


def _two_layers(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


class _EntityModel(nn.Module):
    def __init__(self, settings: QueryGNNSettings) -> None:
        super().__init__()
        width = settings.width
        self.layers = nn.ModuleList([_Layer(width) for _ in range(settings.layers)])
        if not settings.fuses_late:
            self.mlp = _two_layers(2 * width, 2 * width, 1)

    def typed_layers(self) -> Iterator[_Layer]:
        for layer in self.layers:
            assert isinstance(layer, _Layer)
            yield layer


class QueryGNN(nn.Module):
    """The model; its modules have the names of published checkpoints."""

    def __init__(self, settings: QueryGNNSettings) -> None:
        super().__init__()
        self.settings = settings
        width = settings.width
        self.rel_mlp = nn.Linear(settings.text_width, width)
        self.question_mlp = nn.Linear(settings.text_width, width)
        self.entity_model = _EntityModel(settings)
        if settings.fusion:
            self.ent_mlp = nn.Linear(settings.text_width, width)
        if settings.fuses_early:
            self.early_fuse_mlp = _two_layers(2 * width, width, width)
        if settings.fuses_late:
            self.predict_mlp = _two_layers(3 * width, width, 1)
        if settings.learned_inverse:
            self.inverse_scale = nn.Parameter(torch.ones(settings.layers, width))
            self.inverse_shift = nn.Parameter(0.02 * torch.randn(settings.layers, width))
        if settings.features:
            self.feature_mlp = nn.Linear(settings.features, 2 * width)
        if settings.prior:
            self.prior_scale = nn.Parameter(torch.ones(()))
            # Before training the scores are the prior alone.
            last = self._scorer[-1]
            for parameter in last.parameters():
                nn.init.zeros_(parameter)

    @classmethod
    def from_network(cls, network: QueryNetwork) -> "QueryGNN":
        """Return the model of a trained network, in evaluation mode."""
        model = cls(network.settings)
        load_arrays(model, network.arrays)
        return model.eval()

    def network(self) -> QueryNetwork:
        """Return the model as it stands, to run without torch."""
        return QueryNetwork(self.settings, export_arrays(self))

    def project_relations(self, vectors: Tensor) -> Tensor:
        """Return the vector of each relation at each layer, (R, layers, width), from text embeddings (R, t).

        It depends on neither question nor graph, so callers compute it once.
        """
        start = self.rel_mlp(vectors)
        return torch.stack([layer.relation_projection(start) for layer in self.entity_model.typed_layers()], dim=1)

    def project_inverses(self, projected: Tensor) -> Tensor:
        """Return the projections (R, layers, width) of inverse relations; InputError without `learned_inverse`."""
        if not self.settings.learned_inverse:
            raise InputError("this model has no learned inverse: give it embeddings of the inverse relations' texts")
        return projected * self.inverse_scale + self.inverse_shift

    def forward(
        self,
        graph: RelationalGraph,
        relations: Tensor,
        questions: Tensor,
        owners: Tensor,
        seeds: Tensor,
        features: Tensor | None = None,
        prior: Tensor | None = None,
        edge_weights: Sequence[Tensor] | None = None,
        texts: Tensor | None = None,
    ) -> Tensor:
        """Return a logit for each node, (n,), of one or several questions without edges between their nodes.

        `relations` (R, layers, width) are projections of the graph's relations, `questions` (b, t) text embeddings,
        `owners` (n,) the index of the question of each node, and `seeds` (n,) the weight of a node that the question
        names, 0 for the others; `features` (n, f) and `prior` (n,) are read if the settings have them. `edge_weights`
        (m,) at each layer have gradients that explain scores; None for 1. `texts` (n, t) are text embeddings of the
        nodes, which a model with `fusion` needs.
        """
        question = self.question_mlp(questions)[owners]
        boundary = question * seeds[:, None]
        if features is not None and self.settings.features:
            gate, shift = self.feature_mlp(features).chunk(2, dim=1)
            boundary = boundary + gate * question + shift
        further = [question]
        if texts is not None and self.settings.fusion:
            projected = self.ent_mlp(texts)
            if self.settings.fuses_early:
                boundary = _by_chunks(self.early_fuse_mlp, [boundary, projected])
            if self.settings.fuses_late:
                further.append(projected)
        states, mean_code, device = boundary, self.settings.aggregate == "mean-code", boundary.device.type
        sizes = graph.inverse_sizes.to(boundary.dtype)[:, None] if mean_code else None
        for number, layer in enumerate(self.entity_model.typed_layers()):
            weights = None if edge_weights is None else edge_weights[number]
            # Under autocast, which does not know this product, it takes what matrices are multiplied in.
            kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
            messages = relational_conv(
                graph,
                states.to(kind),
                relations[:, number].to(kind).contiguous(),
                weights,
                message=self.settings.message,
                aggregate="sum" if mean_code else self.settings.aggregate,
            )
            if sizes is None:
                states = layer(states, messages, boundary)
            else:
                states = layer(states, messages * sizes, boundary * sizes)
        logits = _by_chunks(self._scorer, [states, *further])[:, 0]
        if torch.is_autocast_enabled(device):
            logits = logits.float()
        if prior is not None and self.settings.prior:
            logits = logits + self.prior_scale * prior
        return logits

    def run_batch(self, batch: QueryBatch, relations: Tensor) -> Tensor:
        """Return a logit for each node of a batch, (n,), on the model's device.

        `relations` are the projections (.., layers, width) of the batch's relations, on that device; without those of
        the inverses, which are their second half, where the model learns inverses.
        """
        if self.settings.learned_inverse:
            relations = torch.cat([relations, self.project_inverses(relations)])
        graph = RelationalGraph.from_sorted(batch.edges, relations.device)
        parts = (batch.questions, batch.owners, batch.seeds, batch.features, batch.prior)
        tensors = (torch.from_numpy(part).to(relations.device) for part in parts)
        texts = to_tensor(node_texts(batch), relations.device) if self.settings.fusion else None
        logits: Tensor = self(graph, relations, *tensors, texts=texts)
        return logits

    @property
    def _scorer(self) -> nn.Sequential:
        scorer = self.predict_mlp if self.settings.fuses_late else self.entity_model.mlp
        assert isinstance(scorer, nn.Sequential)
        return scorer


def _by_chunks(network: nn.Module, parts: Sequence[Tensor]) -> Tensor:
    """Return what a network makes of each row of parts (n, .), concatenated; in chunks where no gradient is needed."""
    if torch.is_grad_enabled():
        whole: Tensor = network(torch.cat(list(parts), dim=1))
        return whole
    starts = range(0, len(parts[0]), CHUNK_ROWS) or [0]
    chunks = (slice(start, start + CHUNK_ROWS) for start in starts)
    return torch.cat([network(torch.cat([part[chunk] for part in parts], dim=1)) for chunk in chunks])
