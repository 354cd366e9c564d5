"""Importances against dense matrices in numpy; samples of selections against an enumeration of all."""

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from clew.inference.subgraph_network import PRODUCT, SUM
from clew_lab.nn.subgraph_policy import (
    NodeBatch,
    NodeGCN,
    SubgraphScorer,
    edge_log_probabilities,
    sample_without_replacement,
    selection_log_probability,
)

SCORES = torch.tensor([0.3, -1.2, 1.1, 0.0])
NEVER = torch.tensor(-torch.inf)
ENDS = {"goes on": NEVER, "may end": torch.tensor(0.4)}


def selection_orders(count: int, budget: int, *, stops: bool) -> list[tuple[int, ...]]:
    """All selections in all their orders."""
    full = min(count, budget)
    sizes = range(1, full + 1) if stops else [full]
    return [order for size in sizes for order in permutations(range(count), size)]


def slow_probability(scores: torch.Tensor, end: torch.Tensor, order: tuple[int, ...], budget: int) -> float:
    """Sample by sample: weights of the remaining nodes, and of the end from the second sample on."""
    weights, stop = np.exp(scores.double().numpy()), float(torch.exp(end))
    probability, remaining = 1.0, set(range(len(weights)))
    for place, node in enumerate(order):
        probability *= weights[node] / (sum(weights[other] for other in remaining) + (stop if place else 0.0))
        remaining.remove(node)
    if remaining and len(order) < budget:
        probability *= stop / (sum(weights[other] for other in remaining) + stop)
    return float(probability)


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 7])
def test_probabilities_are_products_over_samples_and_sum_to_one(end: torch.Tensor, budget: int) -> None:
    total = 0.0
    for order in selection_orders(len(SCORES), budget, stops=bool(torch.isfinite(end))):
        probability = float(selection_log_probability(SCORES, end, torch.tensor(order), budget).exp())
        assert probability == pytest.approx(slow_probability(SCORES, end, order, budget), rel=1e-5)
        total += probability
    assert total == pytest.approx(1.0, abs=1e-5)


def sample_frequencies(end: torch.Tensor, budget: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts of each selection in samples, and its probability."""
    every = selection_orders(len(SCORES), budget, stops=bool(torch.isfinite(end)))
    place = {order: row for row, order in enumerate(every)}
    generator = torch.Generator().manual_seed(5)
    counts = np.zeros(len(every))
    for _ in range(draws):
        counts[place[tuple(sample_without_replacement(SCORES, end, budget, generator).tolist())]] += 1
    return counts, np.array([slow_probability(SCORES, end, order, budget) for order in every])


def chi_square(counts: np.ndarray, shares: np.ndarray) -> float:
    """The statistic less its mean, in its standard deviations."""
    wanted = shares * counts.sum()
    assert counts.sum() == pytest.approx(wanted.sum())
    free = len(counts) - 1
    return float((((counts - wanted) ** 2 / wanted).sum() - free) / np.sqrt(2 * free))


@pytest.mark.parametrize(("end", "budget", "draws"), [("goes on", 2, 4000), ("may end", 3, 6000)])
def test_selections_are_sampled_by_their_probability(end: str, budget: int, draws: int) -> None:
    assert chi_square(*sample_frequencies(ENDS[end], budget, draws)) < 4


def test_without_a_generator_the_most_likely_nodes_are_selected() -> None:
    assert sample_without_replacement(SCORES, NEVER, 3, None).tolist() == [2, 0, 3]
    assert sample_without_replacement(SCORES, torch.tensor(0.1), 3, None).tolist() == [2, 0]
    assert sample_without_replacement(SCORES, torch.tensor(9.0), 3, None).tolist() == [2]
    assert sample_without_replacement(torch.zeros(3), NEVER, 2, None).tolist() == [0, 1]
    assert sample_without_replacement(SCORES, NEVER, 9, None).tolist() == [2, 0, 3, 1]


def test_equal_generators_give_equal_selections() -> None:
    one, two = (torch.Generator().manual_seed(3) for _ in range(2))
    assert [sample_without_replacement(SCORES, NEVER, 3, one).tolist() for _ in range(5)] == [
        sample_without_replacement(SCORES, NEVER, 3, two).tolist() for _ in range(5)
    ]


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_gradients_are_finite_and_equal_finite_differences(end: torch.Tensor) -> None:
    scores = SCORES.double().requires_grad_()
    order = torch.tensor([3, 0])
    assert torch.autograd.gradcheck(lambda some: selection_log_probability(some, end.double(), order, 3), scores)
    (whole,) = torch.autograd.grad(
        selection_log_probability(scores, end.double(), torch.tensor([3, 0, 1, 2]), 9), scores
    )
    assert bool(torch.isfinite(whole).all())


def make_batch(graphs: list[int], seed: int = 0) -> NodeBatch:
    """Rings of given numbers of nodes."""
    generator = torch.Generator().manual_seed(seed)
    begins = np.concatenate([[0], np.cumsum(graphs)])[:-1]
    rings = [
        begin + np.column_stack([np.arange(n), (np.arange(n) + 1) % n]) for begin, n in zip(begins, graphs, strict=True)
    ]
    edges = torch.from_numpy(np.concatenate(rings).astype(np.int64))
    count = sum(graphs)
    graph_of = torch.repeat_interleave(torch.arange(len(graphs)), torch.tensor(graphs))
    values = torch.randn(count, 5, generator=generator)
    cosines, prior = torch.rand(count, generator=generator), -torch.rand(count, generator=generator)
    return NodeBatch(values, edges, cosines, prior, graph_of, len(graphs))


def cut_graph(whole: NodeBatch, graph: int) -> NodeBatch:
    """One graph of a batch."""
    members = whole.graph_of == graph
    begin = int(members.nonzero()[0])
    edges = whole.edges[members[whole.edges[:, 0]]] - begin
    zeros = torch.zeros(int(members.sum()), dtype=torch.long)
    return NodeBatch(whole.inputs[members], edges, whole.cosines[members], whole.prior[members], zeros, 1)


def make_scorer(combination: str, *, stops: bool) -> SubgraphScorer:
    torch.manual_seed(1)
    model = SubgraphScorer(5, 6, 2, combination, stops=stops)
    with torch.no_grad():
        for parameter in model.gcn.layers[-1].parameters():
            parameter.normal_()
    return model


@pytest.mark.parametrize("combination", [PRODUCT, SUM])
def test_a_batch_equals_its_graphs_one_by_one(combination: str) -> None:
    model, whole = make_scorer(combination, stops=True), make_batch([3, 5, 4])
    scores, ends = model(whole)
    single = [model(cut_graph(whole, graph)) for graph in range(3)]
    torch.testing.assert_close(scores, torch.cat([one for one, _ in single]))
    torch.testing.assert_close(ends, torch.cat([end for _, end in single]))


def test_product_multiplies_cosine_and_importance_and_sum_adds_the_prior() -> None:
    some = make_batch([4])
    product, added = make_scorer(PRODUCT, stops=False), make_scorer(SUM, stops=False)
    torch.testing.assert_close(product(some)[0], some.cosines * product.gcn(some.inputs, some.edges))
    wanted = added.gcn(some.inputs, some.edges) + some.prior + some.cosines
    torch.testing.assert_close(added(some)[0], wanted)
    assert added(some)[1].tolist() == [-torch.inf]


def test_an_untrained_sum_is_prior_plus_cosine() -> None:
    some = make_batch([4])
    scores, ends = SubgraphScorer(5, 6, 2, SUM, stops=True)(some)
    torch.testing.assert_close(scores, some.prior + some.cosines)
    assert ends.tolist() == [-4.0]


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
