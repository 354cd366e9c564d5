"""The network that selects subgraphs without torch: equal to torch's forward pass and to its likeliest selection."""

import numpy as np
import pytest
import torch

from clew.inference.subgraph_network import PRODUCT, SUM, NodeInput, SubgraphNetwork, likeliest_nodes
from clew_lab.nn.subgraph_policy import NodeBatch, SubgraphScorer, sample_without_replacement


@pytest.mark.parametrize("combination", [PRODUCT, SUM])
@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("edges", [0, 60])
def test_scores_are_those_of_torch(combination: str, stops: bool, layers: int, edges: int) -> None:
    torch.manual_seed(layers)
    model = SubgraphScorer(5, 6, layers, combination, stops=stops).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter))
    generator = np.random.default_rng(edges)
    count = 25
    nodes = NodeInput(
        generator.normal(size=(count, 5)).astype(np.float32),
        generator.integers(0, count, (edges, 2)).astype(np.int64),
        generator.normal(size=count).astype(np.float32),
        generator.normal(size=count).astype(np.float32),
        np.zeros(count, dtype=np.int64),
        1,
    )
    with torch.inference_mode():
        wanted, end = model(NodeBatch.from_input(nodes))
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    scores, own_end = SubgraphNetwork(arrays, layers, combination, stops=stops).scores(nodes)
    np.testing.assert_allclose(scores, wanted.numpy(), rtol=1e-5, atol=1e-5)
    assert own_end == pytest.approx(float(end[0].detach()))
    for budget in (1, 4, 40):
        selected = sample_without_replacement(wanted, end[0], budget, None)
        assert likeliest_nodes(wanted.numpy(), own_end, budget).tolist() == selected.tolist()
