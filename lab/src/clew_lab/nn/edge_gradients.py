"""Exact gradients of a passage's score by the features of the edges between the passages of its pool.

Source: none; G-RAG explains no ranking. The effect of an edge is its features times their gradients: the first-order
part of what the score would lose without it.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clew.arrays import FloatArray
from clew.inference.document_network import DocumentInput, DocumentNetwork
from clew_lab.nn.document_gnn import DocumentBatch, DocumentGNN


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
