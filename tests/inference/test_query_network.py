"""The graph network without torch: equal to torch's forward pass, and its explanation to autograd."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from clew.arrays import FloatArray
from clew.inference.query_network import QueryBatch, QueryGNNSettings, QueryNetwork
from clew.inference.relational_sums import SortedEdges
from clew.nn.query_gnn import QueryGNN
from clew.nn.relational.graph import RelationalGraph

SHAPES = {
    "published": QueryGNNSettings(width=16, text_width=12, layers=3),
    "ours": QueryGNNSettings(16, 12, 3, features=4, prior=True, learned_inverse=True),
    "transe, mean": QueryGNNSettings(8, 12, 2, message="transe", aggregate="mean"),
    "mean of the code": QueryGNNSettings(8, 12, 3, aggregate="mean-code"),
    "one layer": QueryGNNSettings(8, 12, 1, features=2, prior=True),
    "G-reasoner": QueryGNNSettings(8, 12, 3, fusion="early-late"),
    "texts early": QueryGNNSettings(8, 12, 2, fusion="early"),
    "texts late": QueryGNNSettings(8, 12, 2, fusion="late"),
}


def make_case(
    settings: QueryGNNSettings, seed: int, nodes: int = 40, edges: int = 150
) -> tuple[QueryGNN, QueryNetwork, QueryBatch, FloatArray]:
    generator = np.random.default_rng(seed)
    torch.manual_seed(seed)
    model = QueryGNN(settings).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    senders, relations, receivers = (generator.integers(0, limit, edges) for limit in (nodes, 5, nodes))
    batch = QueryBatch(
        SortedEdges(senders, relations, receivers, nodes, 5),
        generator.normal(size=(2, settings.text_width)).astype(np.float32),
        np.repeat([0, 1], nodes // 2),
        (generator.random(nodes) < 0.2).astype(np.float32),
        generator.normal(size=(nodes, settings.features)).astype(np.float32),
        generator.normal(size=nodes).astype(np.float32),
        generator.normal(size=(nodes, settings.text_width)).astype(np.float32) if settings.fusion else None,
    )
    projected = generator.normal(size=(5, settings.layers, settings.width)).astype(np.float32)
    return model, model.network(), batch, projected


def torch_logits(
    model: QueryGNN, batch: QueryBatch, relations: FloatArray, weights: Sequence[torch.Tensor] | None = None
) -> torch.Tensor:
    edges = batch.edges
    senders, kinds, receivers = (torch.from_numpy(e) for e in (edges.senders, edges.relations, edges.receivers))
    graph = RelationalGraph((senders, kinds, receivers), edges.node_count, edges.relation_count)
    assert (graph.order == torch.arange(graph.edge_count)).all()
    inputs = (batch.questions, batch.owners, batch.seeds, batch.features, batch.prior)
    tensors = (torch.from_numpy(part) for part in inputs)
    texts = None if batch.texts is None else torch.from_numpy(batch.texts)
    logits: torch.Tensor = model(graph, torch.from_numpy(relations), *tensors, edge_weights=weights, texts=texts)
    return logits


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_logits_are_those_of_torch(shape: str, seed: int) -> None:
    model, network, batch, relations = make_case(SHAPES[shape], seed)
    with torch.inference_mode():
        wanted = torch_logits(model, batch, relations).numpy()
    np.testing.assert_allclose(network.logits(batch, relations), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_importances_are_the_gradients_of_autograd(shape: str) -> None:
    model, network, batch, relations = make_case(SHAPES[shape], 7)
    targets = [3, 0, 39]
    weights = [torch.ones(batch.edges.edge_count, requires_grad=True) for _ in range(SHAPES[shape].layers)]
    logits = torch_logits(model, batch, relations, weights)
    for target, importance in zip(targets, network.edge_importances(batch, relations, targets), strict=True):
        gradients = torch.autograd.grad(logits[target], weights, retain_graph=True, allow_unused=True)
        wanted = np.stack([np.zeros(len(weights[0])) if g is None else g.numpy() for g in gradients])
        np.testing.assert_allclose(importance, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", ["published", "ours"])
def test_projections_are_those_of_torch(shape: str) -> None:
    model, network, _, _ = make_case(SHAPES[shape], 1)
    vectors = np.random.default_rng(0).normal(size=(9, 12)).astype(np.float32)
    with torch.inference_mode():
        wanted = model.project_relations(torch.from_numpy(vectors))
        np.testing.assert_allclose(network.project_relations(vectors), wanted.numpy(), rtol=1e-5, atol=1e-5)
        if SHAPES[shape].learned_inverse:
            inverse = model.project_inverses(wanted).numpy()
            np.testing.assert_allclose(network.project_inverses(wanted.numpy()), inverse, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shapes_of_the_arrays_are_those_of_the_torch_model(shape: str) -> None:
    settings = SHAPES[shape]
    wanted = {name: tuple(value.shape) for name, value in QueryGNN(settings).state_dict().items()}
    assert settings.shapes() == wanted


def test_a_graph_of_several_chunks_has_the_same_bits_for_any_number_of_workers() -> None:
    _, network, batch, relations = make_case(SHAPES["ours"], 2, nodes=10_000, edges=30_000)
    one, many = (network.logits(batch, relations, workers) for workers in (1, 3))
    assert one.tobytes() == many.tobytes()


def test_a_graph_without_edges_is_scored() -> None:
    model, network, batch, relations = make_case(SHAPES["ours"], 3, edges=0)
    with torch.inference_mode():
        wanted = torch_logits(model, batch, relations).numpy()
    np.testing.assert_allclose(network.logits(batch, relations), wanted, rtol=1e-5, atol=1e-5)
    assert network.edge_importances(batch, relations, [0])[0].shape == (3, 0)
