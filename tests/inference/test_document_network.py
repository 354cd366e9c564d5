"""The reranking network without torch: equal to torch's forward pass."""

import numpy as np
import pytest
import torch

from clew.inference.document_network import NUMPY_NETWORKS, DocumentGNNSettings, DocumentInput, DocumentNetwork
from clew.nn.document_gnn import DocumentBatch, DocumentGNN

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
    parts = (documents.vectors, documents.numbers, documents.edges, documents.question)
    batch = DocumentBatch(*(torch.from_numpy(part)[None] for part in parts), torch.ones(1, count, dtype=torch.bool))
    with torch.inference_mode():
        wanted = model(batch)[0].numpy()
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    assert settings.shapes() == {name: value.shape for name, value in arrays.items()}
    scores = DocumentNetwork(settings, arrays).scores(documents)
    np.testing.assert_allclose(scores, wanted, rtol=1e-5, atol=1e-5)
