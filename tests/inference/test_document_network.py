"""The reranking network without torch: equal to torch's forward pass."""

import numpy as np
import pytest
import torch

from clew.inference.document_network import NUMPY_NETWORKS, DocumentGNNSettings, DocumentInput
from clew_lab.nn.document_gnn import DocumentGNN

INPUTS = {"texts and numbers": (6, 3), "texts": (6, 0), "numbers": (0, 3)}


def make_settings(network: str, inputs: str, layers: int) -> DocumentGNNSettings:
    text, numbers = INPUTS[inputs]
    return DocumentGNNSettings(text, numbers, 4, network, 8, layers)


@pytest.mark.parametrize("network", NUMPY_NETWORKS)
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 17])
def test_scores_are_those_of_torch(network: str, inputs: str, layers: int, count: int) -> None:
    settings = make_settings(network, inputs, layers)
    torch.manual_seed(layers)
    model = DocumentGNN(settings).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4)
    generator = np.random.default_rng(count)
    edges = generator.random((count, count, 4)).astype(np.float32)
    edges[generator.random((count, count)) < 0.6] = 0.0
    documents = DocumentInput(
        generator.normal(size=(count, settings.text)).astype(np.float32),
        generator.normal(size=(count, settings.numbers)).astype(np.float32),
        edges,
        generator.normal(size=settings.text).astype(np.float32),
    )
    trained = model.network()
    assert settings.shapes() == {name: value.shape for name, value in trained.arrays.items()}
    scores = trained.scores(documents)
    np.testing.assert_allclose(scores, model.scores(documents), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(DocumentGNN.from_network(trained).scores(documents), model.scores(documents))
