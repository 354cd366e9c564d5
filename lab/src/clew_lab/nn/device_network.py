"""A trained graph network run by torch on a device: for whole graphs, which are too large for milliseconds on a CPU."""

from collections.abc import Sequence
from typing import final
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from clew.arrays import FloatArray
from clew.inference.query_network import QueryBatch, QueryGNNSettings, QueryNetwork, node_texts
from clew.inference.relational_sums import SortedEdges
from clew.nn.query_gnn import QueryGNN, to_tensor
from clew.nn.relational.graph import RelationalGraph


@final
class DeviceQueryNetwork:
    """The network of `QueryNetwork` on a torch device; what questions share stays there.

    On a CUDA device it computes in bfloat16 and sums messages in float32, else in float32.
    """

    def __init__(self, network: QueryNetwork, device: str) -> None:
        self.settings: QueryGNNSettings = network.settings
        self._network = network
        self._device = torch.device(device)
        self._dtype = torch.bfloat16 if self._device.type == "cuda" else torch.float32
        self._model = QueryGNN.from_network(network).to(self._device, self._dtype)
        # By the edges of a graph, which questions about a whole graph share.
        self._graphs: WeakKeyDictionary[SortedEdges, tuple[RelationalGraph, Tensor, Tensor | None]] = (
            WeakKeyDictionary()
        )

    def with_inverses(self, projected: FloatArray) -> FloatArray:
        """Return projections (R, layers, width) or (2R, layers, width), as `QueryNetwork.with_inverses` does."""
        return self._network.with_inverses(projected)

    def logits(self, batch: QueryBatch, relations: FloatArray, workers: int = 1) -> FloatArray:
        """Return a logit for each node, (n,), as `QueryNetwork.logits` does from projections (R, layers, width)."""
        del workers  # of a processor
        with torch.no_grad():  # not inference mode, whose tensors on the device could not explain a score later
            logits: FloatArray = self._run(batch, relations, None).float().cpu().numpy()
        return logits

    def edge_importances(self, batch: QueryBatch, relations: FloatArray, targets: Sequence[int]) -> list[FloatArray]:
        """Return for each target node the gradient (layers, m) of its logit in the weights, all 1, of the edges.

        `relations` (R, layers, width) are projections of the batch's relations.
        """
        count = batch.edges.edge_count
        weights = [torch.ones(count, device=self._device, requires_grad=True) for _ in range(self.settings.layers)]
        scores = self._run(batch, relations, weights)
        importances = []
        for place, target in enumerate(targets):
            gradients = torch.autograd.grad(
                scores[target], weights, retain_graph=place + 1 < len(targets), allow_unused=True
            )
            rows = [np.zeros(count, np.float32) if g is None else g.float().cpu().numpy() for g in gradients]
            importances.append(np.stack(rows))
        return importances

    def _run(self, batch: QueryBatch, relations: FloatArray, weights: list[Tensor] | None) -> Tensor:
        if batch.edges not in self._graphs:
            vectors = torch.from_numpy(relations).to(self._device, self._dtype)
            read = node_texts(batch) if self.settings.fusion else None
            texts = None if read is None else to_tensor(read, self._device).to(self._dtype)
            self._graphs[batch.edges] = RelationalGraph.from_sorted(batch.edges, self._device), vectors, texts
        graph, vectors, texts = self._graphs[batch.edges]
        floats = (batch.seeds, batch.features, batch.prior)
        questions = torch.from_numpy(batch.questions).to(self._device, self._dtype)
        owners = torch.from_numpy(batch.owners).to(self._device)
        inputs = [torch.from_numpy(part).to(self._device, self._dtype) for part in floats]
        logits: Tensor = self._model(graph, vectors, questions, owners, *inputs, weights, texts)
        return logits
