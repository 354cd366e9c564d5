"""Gradients by edges, against finite differences in double precision, for every network."""

import numpy as np
import pytest
import torch

from clew.inference.document_network import DocumentGNNSettings, DocumentInput
from clew_lab.nn.document_gnn import DocumentBatch, DocumentGNN, edge_gradients

N, TEXT, FEATURES = 5, 8, 2


def make_input() -> DocumentInput:
    random = np.random.default_rng(4)
    edges = random.uniform(0.5, 2.0, (N, N, FEATURES)).astype(np.float32)
    edges[0, 3] = edges[3, 0] = edges[np.arange(N), np.arange(N)] = 0.0
    vectors = random.normal(size=(N + 1, TEXT)).astype(np.float32)
    return DocumentInput(vectors[:N], np.zeros((N, 0), np.float32), edges, vectors[N])


@pytest.mark.parametrize(
    "settings",
    [
        DocumentGNNSettings(TEXT, edges=FEATURES, network="relational", width=8),
        DocumentGNNSettings(TEXT, edges=FEATURES, network="g-rag", width=8, edge_rule="gated", messages="weighted"),
        DocumentGNNSettings(
            TEXT, edges=FEATURES, network="g-rag", width=8, normalization="dimensions", edge_rule="gated"
        ),
        DocumentGNNSettings(TEXT, edges=FEATURES, network="gcn", width=8, weighted=True),
        DocumentGNNSettings(TEXT, edges=FEATURES, network="mlp", width=8),
    ],
    ids=lambda settings: f"{settings.network}-{settings.normalization}",
)
def test_gradients_are_those_of_finite_differences(settings: DocumentGNNSettings) -> None:
    torch.manual_seed(2)
    network, documents, place = DocumentGNN(settings).network(), make_input(), 2
    found = edge_gradients(network, documents, place)
    model = DocumentGNN.from_network(network).double()
    batch = DocumentBatch.from_inputs([documents])

    def score(edges: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        parts = batch.vectors.double(), batch.numbers.double(), torch.from_numpy(edges)[None]
        torch.set_default_dtype(torch.float64)
        try:
            with torch.inference_mode():
                return float(model(DocumentBatch(*parts, batch.questions.double(), batch.present))[0, place])
        finally:
            torch.set_default_dtype(torch.float32)

    step = 1e-6
    start = documents.edges.astype(np.float64)
    wanted = np.zeros_like(start)
    for at in zip(*np.nonzero(start), strict=True):
        up, down = start.copy(), start.copy()
        up[at] += step
        down[at] -= step
        wanted[at] = (score(up) - score(down)) / (2 * step)
    present = start > 0
    np.testing.assert_allclose(found.gradient[present], wanted[present], atol=2e-4)
    assert bool(np.abs(wanted).max() > 1e-3) == (settings.network != "mlp")
    effects = found.effects
    for i in range(N):
        for j in range(N):
            pair = start[i, j] * wanted[i, j] + start[j, i] * wanted[j, i] if i < j else np.zeros(FEATURES)
            np.testing.assert_allclose(effects[i, j], pair, atol=1e-3)
