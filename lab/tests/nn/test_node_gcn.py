"""The GCN against dense matrices in numpy, and batches of graphs against one graph at a time."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew_lab.nn.subgraph_policy import NodeGCN, edge_log_probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

EDGES = [(0, 1), (1, 2), (2, 1), (0, 1), (3, 3), (2, 2)]  # both ways, parallel, loops; node 4 has none


def dense_importances(model: NodeGCN, nodes: "NDArray[Any]", edges: list[tuple[int, int]]) -> "NDArray[Any]":
    adjacency = np.zeros((len(nodes), len(nodes)))
    for a, b in edges:
        if a != b:
            adjacency[a, b] += 1
            adjacency[b, a] += 1
    adjacency += np.eye(len(nodes))
    roots = np.sqrt(adjacency.sum(axis=1))
    adjacency /= roots[:, None] * roots[None, :]
    hidden = nodes
    for number, layer in enumerate(model.layers):
        weights = {name: value.detach().numpy() for name, value in layer.named_parameters()}
        hidden = adjacency @ (np.maximum(hidden, 0.0) if number else hidden) @ weights["lin.weight"].T + weights.get(
            "bias", 0.0
        )
    return np.asarray(hidden[:, 0])


def make_gcn(layers: int = 2, *, bias: bool = False) -> NodeGCN:
    torch.manual_seed(3)
    model = NodeGCN(4, 6, layers, bias=bias).double()
    if bias:
        for name, value in model.named_parameters():
            if name.endswith("bias"):
                torch.nn.init.uniform_(value)
    return model


def random_nodes(count: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((count, 4)))


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("bias", [False, True])
def test_importances_equal_dense_matrices(layers: int, bias: bool) -> None:
    model, nodes = make_gcn(layers, bias=bias), random_nodes(5)
    result = model(nodes, torch.tensor(EDGES)).detach().numpy()
    np.testing.assert_allclose(result, dense_importances(model, nodes.numpy(), EDGES), atol=1e-12)


def test_the_published_form_has_no_bias_and_two_layers() -> None:
    assert [name for name, _ in NodeGCN(4, 6).named_parameters()] == ["layers.0.lin.weight", "layers.1.lin.weight"]


def test_a_graph_without_edges_or_nodes() -> None:
    model, none = make_gcn(), torch.zeros((0, 2), dtype=torch.int64)
    single = model(random_nodes(3), none).detach().numpy()
    np.testing.assert_allclose(single, dense_importances(model, random_nodes(3).numpy(), []), atol=1e-12)
    assert model(random_nodes(0), none).shape == (0,)


def test_a_batch_equals_its_graphs_one_by_one() -> None:
    model = make_gcn()
    graphs = [
        (random_nodes(5, 1), EDGES),
        (random_nodes(2, 2), [(0, 1)]),
        (random_nodes(1, 3), []),
        (random_nodes(3, 4), [(2, 0), (0, 2)]),
    ]
    firsts = np.cumsum([0, *(len(nodes) for nodes, _ in graphs)])
    edges = [(a + first, b + first) for (_, pairs), first in zip(graphs, firsts, strict=False) for a, b in pairs]
    importance = model(torch.cat([nodes for nodes, _ in graphs]), torch.tensor(edges))
    for first, (nodes, pairs) in zip(firsts, graphs, strict=False):
        single = model(nodes, torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2))
        torch.testing.assert_close(importance[first : first + len(nodes)], single)


def test_edge_probabilities_are_normalised_products_of_their_ends() -> None:
    nodes, edges = torch.log_softmax(random_nodes(5)[:, 0], 0), torch.tensor(EDGES)
    products = nodes.exp()[edges].prod(dim=1)
    torch.testing.assert_close(edge_log_probabilities(nodes, edges).exp(), products / products.sum())
    unlikely = edge_log_probabilities(torch.tensor([0.0, -1e4, -2e4]), torch.tensor([[0, 1], [1, 2]]))
    assert unlikely.tolist() == [0.0, -2e4], "computed as logarithms, without underflow"


def test_gradients_equal_finite_differences() -> None:
    model, nodes, edges = make_gcn(3, bias=True), random_nodes(5).requires_grad_(), torch.tensor(EDGES)

    def log_probabilities(nodes: torch.Tensor) -> torch.Tensor:
        logs = torch.log_softmax(nodes[:, 0] * model(nodes, edges), 0)
        return torch.cat([logs, edge_log_probabilities(logs, edges)])

    assert torch.autograd.gradcheck(log_probabilities, (nodes,))
    log_probabilities(nodes).square().sum().backward()  # type: ignore[no-untyped-call]
    assert all(value.grad is not None and value.grad.isfinite().all() for value in model.parameters())


@pytest.mark.parametrize(("inputs", "width", "layers"), [(4, 6, 1), (0, 6, 2), (4, 0, 2)])
def test_invalid_sizes_are_refused(inputs: int, width: int, layers: int) -> None:
    with pytest.raises(InputError, match="wanted 2 layers or more"):
        NodeGCN(inputs, width, layers)
