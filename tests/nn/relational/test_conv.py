"""The fused kernels against plain operations: values and gradients, on random graphs with all edge cases."""

import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.inference import relational_sums
from clew.nn.relational.conv import AGGREGATES, MESSAGES, relational_conv
from clew.nn.relational.graph import RelationalGraph
from tests.devices import DEVICES
from tests.nn.relational.plain_conv import plain_relational_conv

BOTH = pytest.mark.parametrize("message", MESSAGES)
SUMS = pytest.mark.parametrize("aggregate", AGGREGATES)


def make_graph(edges: list[tuple[int, int, int]], nodes: int, relations: int) -> RelationalGraph:
    senders, through, receivers = (torch.tensor([e[i] for e in edges], dtype=torch.int64) for i in range(3))
    return RelationalGraph((senders, through, receivers), nodes, relations)


class Case(NamedTuple):
    graph: RelationalGraph
    width: int
    weighted: bool
    seed: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a graph (hubs, loops, parallel edges, isolated nodes, no edges), a width, and whether edges have weights."""
    nodes, relations = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    edge = st.tuples(st.integers(0, nodes - 1), st.integers(0, relations - 1), st.integers(0, nodes - 1))
    edges = draw(st.lists(edge, max_size=40))
    if draw(st.booleans()):
        edges += [(node, 0, 0) for node in range(nodes)]
    width, weighted, seed = draw(st.sampled_from([1, 3, 8, 17])), draw(st.booleans()), draw(st.integers(0, 99))
    return Case(make_graph(edges, nodes, relations), width, weighted, seed)


def inputs(case: Case, kind: torch.dtype, device: str = "cpu") -> list[Any]:
    generator = torch.Generator().manual_seed(case.seed)
    states = torch.randn(case.graph.node_count, case.width, generator=generator).to(device, kind)
    relations = torch.randn(case.graph.relation_count, case.width, generator=generator).to(device, kind)
    weights = torch.rand(case.graph.edge_count, generator=generator).to(device) if case.weighted else None
    return [None if part is None else part.requires_grad_() for part in (states, relations, weights)]


def with_gradients(function: Any, graph: RelationalGraph, tensors: list[Any], **options: str) -> list[torch.Tensor]:
    """Return the result and the gradients of a sum that weights every entry of it differently."""
    result = function(graph, *tensors, **options)
    mix = torch.arange(result.numel(), device=result.device).reshape(result.shape).to(torch.float32).sin()
    leaves = [leaf for leaf in tensors if leaf is not None]
    gradients = torch.autograd.grad((result.float() * mix).sum(), leaves, allow_unused=True, materialize_grads=True)
    return [result, *gradients]


@pytest.mark.parametrize("device", DEVICES)
@BOTH
@SUMS
@settings(deadline=None, max_examples=40)
@given(case=cases())
def test_values_and_gradients_equal_the_reference(device: str, message: str, aggregate: str, case: Case) -> None:
    graph, tensors = case.graph.to(device), inputs(case, torch.float32, device)
    results = with_gradients(relational_conv, graph, tensors, message=message, aggregate=aggregate)
    wanted = with_gradients(plain_relational_conv, graph, tensors, message=message, aggregate=aggregate)
    for one, other in zip(results, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@BOTH
@settings(deadline=None, max_examples=25)
@given(case=cases())
def test_half_precision_is_summed_in_float32(device: str, message: str, case: Case) -> None:
    graph, halves = case.graph.to(device), inputs(case, torch.bfloat16, device)
    results = with_gradients(relational_conv, graph, halves, message=message)
    assert results[0].dtype == torch.bfloat16
    full = [None if x is None else x.detach().float().requires_grad_() for x in halves]
    wanted = with_gradients(plain_relational_conv, graph, full, message=message)
    # The result and the input of each gradient are rounded once, never once per edge.
    for one, other in zip(results, wanted, strict=True):
        scale = float(other.detach().abs().max()) if other.numel() else 0.0
        torch.testing.assert_close(one.float(), other, rtol=2e-2, atol=1e-2 * max(scale, 1.0))


@BOTH
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_many_threads_give_the_bits_of_one(message: str, kind: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    hub = np.where(random.random(6000) < 0.3, 0, random.integers(0, 500, 6000))
    senders, relations = random.integers(0, 500, 6000), random.integers(0, 9, 6000)
    ends = torch.from_numpy(senders), torch.from_numpy(relations), torch.from_numpy(hub)
    graph = RelationalGraph(ends, 500, 9)
    tensors = inputs(Case(graph, 33, weighted=True, seed=1), kind)
    single = with_gradients(relational_conv, graph, tensors, message=message)
    monkeypatch.setattr(relational_sums, "_MIN_PARALLEL_PRODUCTS", 0)
    for _ in range(2):
        parallel = with_gradients(relational_conv, graph, tensors, message=message)
        for one, other in zip(single, parallel, strict=True):
            assert torch.equal(one, other)


def test_messages_go_from_tail_to_head() -> None:
    # One triple (0, relation 0, 1): the published direction sends from the tail (1) to the head (0), and back through
    # the inverse (relation 1).
    graph = make_graph([(1, 0, 0), (0, 1, 1)], 2, 2)
    states, relations = torch.tensor([[2.0], [3.0]]), torch.tensor([[5.0], [7.0]])
    assert relational_conv(graph, states, relations).tolist() == [[15.0], [14.0]]


def test_edges_come_in_any_order_and_keep_their_weights() -> None:
    edges = [(1, 0, 2), (0, 1, 1), (2, 0, 1), (0, 0, 1)]
    graph = make_graph(edges, 3, 2)
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0])[graph.order]
    states, relations = torch.tensor([[1.0], [10.0], [100.0]]), torch.tensor([[1.0], [2.0]])
    assert relational_conv(graph, states, relations, weights).tolist() == [[0.0], [2 * 2 + 3 * 100 + 4.0], [10.0]]


def test_a_graph_without_edges_or_nodes() -> None:
    graph = make_graph([], 3, 1)
    assert relational_conv(graph, torch.ones(3, 4), torch.ones(1, 4)).tolist() == [[0.0] * 4] * 3
    empty = make_graph([], 0, 0)
    assert relational_conv(empty, torch.ones(0, 4), torch.ones(0, 4)).shape == (0, 4)
    results = with_gradients(relational_conv, graph, inputs(Case(graph, 4, weighted=True, seed=0), torch.float32))
    assert [tuple(part.shape) for part in results] == [(3, 4), (3, 4), (1, 4), (0,)]


def test_tensors_need_not_be_contiguous() -> None:
    graph = make_graph([(0, 0, 1), (1, 0, 0)], 2, 1)
    states = torch.arange(8.0).reshape(4, 2).T[:, ::2]
    assert not states.is_contiguous()
    wanted = plain_relational_conv(graph, states, torch.full((1, 2), 2.0))
    assert torch.equal(relational_conv(graph, states, torch.full((1, 2), 2.0)), wanted)


@pytest.mark.parametrize(
    ("parts", "message_part"),
    [
        (([0], [0], [2]), "receiver"),
        (([-1], [0], [0]), "sender"),
        (([0], [5], [0]), "relation"),
        (([0, 1], [0], [0]), "equal length"),
    ],
)
def test_invalid_edges_are_refused(parts: tuple[list[int], ...], message_part: str) -> None:
    senders, relations, receivers = (torch.tensor(part, dtype=torch.int64) for part in parts)
    with pytest.raises(InputError, match=message_part):
        RelationalGraph((senders, relations, receivers), 2, 1)


@pytest.mark.parametrize(
    ("states", "relations", "weights", "options", "message_part"),
    [
        (torch.ones(2, 3, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64), None, {}, "float64"),
        (torch.ones(2, 3), torch.ones(1, 3, dtype=torch.bfloat16), None, {}, "bfloat16"),
        (torch.ones(3, 3), torch.ones(1, 3), None, {}, "shapes"),
        (torch.ones(2, 3), torch.ones(1, 4), None, {}, "wide"),
        (torch.ones(2, 3), torch.ones(1, 3), torch.ones(5), {}, "weights"),
        (torch.ones(2, 3), torch.ones(1, 3), None, {"message": "rotate"}, "distmult"),
        (torch.ones(2, 3), torch.ones(1, 3), None, {"aggregate": "max"}, "mean"),
    ],
)
def test_invalid_tensors_are_refused(
    states: torch.Tensor,
    relations: torch.Tensor,
    weights: torch.Tensor | None,
    options: dict[str, str],
    message_part: str,
) -> None:
    graph = make_graph([(0, 0, 1)], 2, 1)
    with pytest.raises(InputError, match=message_part):
        relational_conv(graph, states, relations, weights, **options)


def test_second_derivatives_are_refused() -> None:
    graph = make_graph([(0, 0, 1)], 2, 1)
    states = torch.ones(2, 3, requires_grad=True)
    result = relational_conv(graph, states, torch.ones(1, 3)).pow(2).sum()
    (gradient,) = torch.autograd.grad(result, states, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_no_row_per_edge_is_materialised() -> None:
    # 400,000 edges at width 256 would be 400 MB a copy.
    program = """
import resource, torch
from clew.nn.relational.conv import relational_conv
from clew.nn.relational.graph import RelationalGraph
make = torch.Generator().manual_seed(0)
parts = [torch.randint(0, limit, (400_000,), generator=make) for limit in (2000, 50, 2000)]
graph = RelationalGraph(parts, 2000, 50)
states, relations = torch.randn(2000, 256, requires_grad=True), torch.randn(50, 256, requires_grad=True)
weights = torch.ones(400_000, requires_grad=True)
small = RelationalGraph([part[:10] for part in parts], 2000, 50)
relational_conv(small, states, relations, torch.ones(10, requires_grad=True)).sum().backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
relational_conv(graph, states, relations, weights).sum().backward()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200 * 1024
