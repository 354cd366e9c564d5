"""The GCN against dense matrices in numpy, and the softmaxes over batches of graphs against one graph at a time."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew.nn.node_gcn import NodeGCN, edge_log_probabilities, node_log_scores, node_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

EDGES = [(0, 1), (1, 2), (2, 1), (0, 1), (3, 3), (2, 2)]  # both ways, parallel, loops; node 4 has none


def dense(
    model: NodeGCN, nodes: "NDArray[Any]", edges: list[tuple[int, int]], weights: list[float] | None = None
) -> "NDArray[Any]":
    adjacency = np.zeros((len(nodes), len(nodes)))
    for (a, b), weight in zip(edges, weights or [1.0] * len(edges), strict=True):
        if a != b:
            adjacency[a, b] += weight
            adjacency[b, a] += weight
    adjacency += np.eye(len(nodes))
    roots = np.sqrt(adjacency.sum(axis=1))
    adjacency /= roots[:, None] * roots[None, :]
    hidden = nodes
    for number, layer in enumerate(model.layers):
        own = {name: value.detach().numpy() for name, value in layer.named_parameters()}
        hidden = adjacency @ (np.maximum(hidden, 0.0) if number else hidden) @ own["lin.weight"].T + own.get(
            "bias", 0.0
        )
    return np.asarray(hidden[:, 0])


def made(layers: int = 2, *, bias: bool = False) -> NodeGCN:
    torch.manual_seed(3)
    model = NodeGCN(4, 6, layers, bias=bias).double()
    if bias:
        for name, value in model.named_parameters():
            if name.endswith("bias"):
                torch.nn.init.uniform_(value)
    return model


def drawn(count: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((count, 4)))


@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 0.0, 1.5, 9.0, 9.0]])
def test_it_is_what_dense_matrices_give(layers: int, bias: bool, weights: list[float] | None) -> None:
    model, nodes = made(layers, bias=bias), drawn(5)
    given = None if weights is None else torch.tensor(weights, dtype=torch.float64)
    found = model(nodes, torch.tensor(EDGES), given).detach().numpy()
    np.testing.assert_allclose(found, dense(model, nodes.numpy(), EDGES, weights), atol=1e-12)


def test_the_published_form_has_no_bias_and_two_layers() -> None:
    assert [name for name, _ in NodeGCN(4, 6).named_parameters()] == ["layers.0.lin.weight", "layers.1.lin.weight"]


def test_a_graph_without_edges_or_nodes() -> None:
    model, none = made(), torch.zeros((0, 2), dtype=torch.int64)
    alone = model(drawn(3), none).detach().numpy()
    np.testing.assert_allclose(alone, dense(model, drawn(3).numpy(), []), atol=1e-12)
    assert model(drawn(0), none).shape == (0,)


def test_a_batch_of_graphs_is_its_graphs_one_by_one() -> None:
    model = made()
    graphs = [(drawn(5, 1), EDGES), (drawn(2, 2), [(0, 1)]), (drawn(1, 3), []), (drawn(3, 4), [(2, 0), (0, 2)])]
    cosines = [torch.from_numpy(np.random.default_rng(9).uniform(-1, 1, len(nodes))) for nodes, _ in graphs]
    firsts = np.cumsum([0, *(len(nodes) for nodes, _ in graphs)])
    edges = [(a + first, b + first) for (_, pairs), first in zip(graphs, firsts, strict=False) for a, b in pairs]
    graph_of = torch.repeat_interleave(torch.arange(4), torch.tensor([len(nodes) for nodes, _ in graphs]))
    importance = model(torch.cat([nodes for nodes, _ in graphs]), torch.tensor(edges))
    logs = node_log_scores(torch.cat(cosines), importance, graph_of)
    of_edges = edge_log_probabilities(logs, torch.tensor(edges), graph_of[torch.tensor(edges)[:, 0]])
    seen = 0
    for number, ((nodes, pairs), cosine) in enumerate(zip(graphs, cosines, strict=True)):
        one_by_one = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
        single = model(nodes, one_by_one)
        torch.testing.assert_close(importance[graph_of == number], single)
        wanted = torch.softmax(cosine * single, dim=0)
        torch.testing.assert_close(logs[graph_of == number].exp(), wanted)
        products = wanted[one_by_one].prod(dim=1)
        here = of_edges[seen : seen + len(pairs)].exp()
        torch.testing.assert_close(here, products / products.sum())
        seen += len(pairs)


def test_scores_are_probabilities_however_large_what_they_come_from() -> None:
    values, graph_of = torch.tensor([1e4, -1e4, 0.0, 5.0]), torch.tensor([0, 0, 2, 2])
    scores = node_scores(torch.ones(4), values, graph_of)
    torch.testing.assert_close(scores[:2], torch.tensor([1.0, 0.0]))
    assert float(scores[2:].sum()) == pytest.approx(1.0)
    assert node_log_scores(torch.ones(4), values, graph_of)[1] == -2e4
    assert node_log_scores(torch.zeros(0), torch.zeros(0), torch.zeros(0, dtype=torch.int64)).shape == (0,)


def test_gradients_are_right() -> None:
    model, nodes = made(3, bias=True), drawn(5).requires_grad_()
    graph_of, edges = torch.tensor([0, 0, 0, 2, 2]), torch.tensor(EDGES)
    weights = torch.tensor([0.5, 2.0, 0.7, 1.5, 9.0, 9.0], dtype=torch.float64, requires_grad=True)

    def told(nodes: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        logs = node_log_scores(nodes[:, 0], model(nodes, edges, weights), graph_of)
        return torch.cat([logs, edge_log_probabilities(logs, edges, graph_of[edges[:, 0]])])

    assert torch.autograd.gradcheck(told, (nodes, weights))
    told(nodes, weights).square().sum().backward()  # type: ignore[no-untyped-call]
    assert all(value.grad is not None and value.grad.isfinite().all() for value in model.parameters())


@pytest.mark.parametrize(("inputs", "width", "layers"), [(4, 6, 1), (0, 6, 2), (4, 0, 2)])
def test_a_shape_that_is_none_is_refused(inputs: int, width: int, layers: int) -> None:
    with pytest.raises(InputError, match="wanted 2 layers or more"):
        NodeGCN(inputs, width, layers)
