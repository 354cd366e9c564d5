"""Scores of nodes and samples of selections, against an enumeration of all selections."""

from itertools import permutations

import numpy as np
import pytest
import torch

from clew.inference.subgraph_network import PRODUCT, SUM
from clew_lab.nn.subgraph_policy import (
    NodeBatch,
    SubgraphScorer,
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


def test_selections_are_sampled_by_their_probability() -> None:
    assert chi_square(*sample_frequencies(NEVER, 2, 4000)) < 4


def test_selections_that_may_end_are_sampled_by_their_probability() -> None:
    assert chi_square(*sample_frequencies(ENDS["may end"], 3, 6000)) < 4


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
