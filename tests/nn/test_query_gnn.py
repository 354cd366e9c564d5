"""The network against the published one: its size, its direction, and its equations."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from clew.errors import InputError
from clew.inference.query_network import QueryGNNSettings
from clew.nn.query_gnn import QueryGNN
from clew.nn.relational.graph import RelationalGraph

SMALL = QueryGNNSettings(width=8, text_width=5, layers=3)
OURS = QueryGNNSettings(width=8, text_width=5, layers=3, features=4, prior=True, learned_inverse=True)


def make_model(shape: QueryGNNSettings, seed: int = 0) -> QueryGNN:
    torch.manual_seed(seed)
    model = QueryGNN(shape).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def random_graph(nodes: int, relations: int, edges: int, seed: int) -> RelationalGraph:
    generator = torch.Generator().manual_seed(seed)
    limits = nodes, relations, nodes
    senders, through, receivers = (torch.randint(0, limit, (edges,), generator=generator) for limit in limits)
    return RelationalGraph((senders, through, receivers), nodes, relations)


def single_owner(count: int) -> torch.Tensor:
    """All nodes belong to a single question."""
    return torch.zeros(count, dtype=torch.int64)


@pytest.mark.parametrize(
    ("width", "parameters"), [(32, 78_977), (64, 215_297), (128, 659_969), (256, 2_237_441), (512, 8_144_897)]
)
def test_the_published_sizes(width: int, parameters: int) -> None:
    """Table 12 of the paper, with a text encoder of width 768."""
    model = QueryGNN(QueryGNNSettings(width=width, text_width=768, layers=6))
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


def test_the_names_of_a_published_checkpoint() -> None:
    names = set(QueryGNN(QueryGNNSettings()).state_dict())
    assert len(names) == 6 * 8 + 4 + 4
    layer = {f"{part}.{kind}" for part in ("layer_norm", "linear") for kind in ("weight", "bias")}
    layer |= {f"relation_projection.{n}.{kind}" for n in (0, 2) for kind in ("weight", "bias")}
    assert {f"entity_model.layers.{i}.{name}" for i in range(6) for name in layer} < names
    assert {"rel_mlp.weight", "question_mlp.bias", "entity_model.mlp.0.weight", "entity_model.mlp.2.bias"} < names


def slow_logits(
    model: QueryGNN, edges: list[tuple[int, int, int]], texts: torch.Tensor, question: torch.Tensor, seeds: list[float]
) -> list[float]:
    """The equations of the paper, one node and edge at a time; edges are (receiving head, relation, tail)."""
    weights = model.state_dict()

    def linear(name: str, x: torch.Tensor) -> torch.Tensor:
        product: torch.Tensor = weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]
        return product

    q = linear("question_mlp", question)
    start = [q * seed for seed in seeds]
    states = list(start)
    for number in range(model.settings.layers):
        name = f"entity_model.layers.{number}"
        projected = [
            linear(
                f"{name}.relation_projection.2", linear(f"{name}.relation_projection.0", linear("rel_mlp", t)).relu()
            )
            for t in texts
        ]
        following = []
        for node, state in enumerate(states):
            messages = start[node] + sum(
                states[sender] * projected[r] for receiver, r, sender in edges if receiver == node
            )
            mixed = linear(f"{name}.linear", torch.cat([state, messages]))
            normed = functional.layer_norm(
                mixed, mixed.shape, weights[f"{name}.layer_norm.weight"], weights[f"{name}.layer_norm.bias"]
            )
            following.append(state + normed.relu())
        states = following
    hidden = [linear("entity_model.mlp.0", torch.cat([state, q])).relu() for state in states]
    return [float(linear("entity_model.mlp.2", h)) for h in hidden]


def test_it_computes_the_equations_and_sends_from_tail_to_head() -> None:
    model = make_model(SMALL)
    edges = [(0, 0, 1), (1, 2, 0), (1, 1, 2), (2, 3, 1), (0, 0, 0)]
    texts, question, seeds = torch.randn(4, 5), torch.randn(5), [0.0, 0.0, 1.0, 0.5]
    receivers, through, senders = (torch.tensor([edge[i] for edge in edges]) for i in range(3))
    graph = RelationalGraph((senders, through, receivers), 4, 4)
    with torch.no_grad():
        result = model(
            graph,
            model.project_relations(texts),
            question[None],
            torch.zeros(4, dtype=torch.int64),
            torch.tensor(seeds),
        )
        torch.testing.assert_close(
            result, torch.tensor(slow_logits(model, edges, texts, question, seeds)), rtol=1e-4, atol=1e-5
        )
        backward = RelationalGraph((receivers, through, senders), 4, 4)
        other = model(
            backward,
            model.project_relations(texts),
            question[None],
            torch.zeros(4, dtype=torch.int64),
            torch.tensor(seeds),
        )
    assert not torch.allclose(result, other, atol=1e-3), "the wrong direction must be noticed"


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.permutations(range(7)))
def test_renumbering_nodes_renumbers_the_scores(seed: int, order: list[int]) -> None:
    model, graph = make_model(OURS), random_graph(7, 6, 20, seed)
    generator = torch.Generator().manual_seed(seed)
    relations = torch.randn(6, 3, 8, generator=generator)
    question, owners = torch.randn(1, 5, generator=generator), single_owner(7)
    seeds, features, prior = (torch.rand(*shape, generator=generator) for shape in ((7,), (7, 4), (7,)))
    new = torch.tensor(order)
    place = torch.argsort(new)
    moved = RelationalGraph((place[graph.senders], graph.relations, place[graph.receivers]), 7, 6)
    with torch.no_grad():
        before = model(graph, relations, question, owners, seeds, features, prior)
        after = model(moved, relations, question, owners, seeds[new], features[new], prior[new])
    torch.testing.assert_close(after, before[new], rtol=1e-4, atol=1e-5)


def test_a_batch_equals_its_questions_one_by_one() -> None:
    model = make_model(OURS)
    one, other = random_graph(5, 4, 12, 1), random_graph(6, 4, 9, 2)
    both = RelationalGraph(
        (
            torch.cat([one.senders, other.senders + 5]),
            torch.cat([one.relations, other.relations]),
            torch.cat([one.receivers, other.receivers + 5]),
        ),
        11,
        4,
    )
    relations, questions = torch.randn(4, 3, 8), torch.randn(2, 5)
    seeds, features, prior = torch.rand(11), torch.rand(11, 4), torch.rand(11)
    with torch.no_grad():
        together = model(both, relations, questions, torch.tensor([0] * 5 + [1] * 6), seeds, features, prior)
        first = model(one, relations, questions[:1], single_owner(5), seeds[:5], features[:5], prior[:5])
        second = model(other, relations, questions[1:], single_owner(6), seeds[5:], features[5:], prior[5:])
    torch.testing.assert_close(together, torch.cat([first, second]), rtol=1e-4, atol=1e-5)


def test_an_untrained_model_ranks_as_its_prior() -> None:
    torch.manual_seed(0)
    model, graph, prior = QueryGNN(OURS), random_graph(9, 6, 30, 0), torch.randn(9)
    with torch.no_grad():
        result = model(
            graph,
            torch.randn(6, 3, 8),
            torch.randn(1, 5),
            single_owner(9),
            torch.rand(9),
            torch.rand(9, 4),
            prior,
        )
    assert torch.equal(result, prior)


def test_edge_weights_of_one_change_nothing_and_have_the_right_gradient() -> None:
    model, graph = make_model(SMALL), random_graph(6, 4, 14, 3)
    tensors = (torch.randn(4, 3, 8), torch.randn(1, 5), single_owner(6), torch.rand(6))
    weights = [torch.ones(14, requires_grad=True) for _ in range(3)]
    weighted = model(graph, *tensors, edge_weights=weights)
    with torch.no_grad():
        torch.testing.assert_close(weighted, model(graph, *tensors), rtol=1e-5, atol=1e-6)
    (gradient,) = torch.autograd.grad(weighted[2], weights[1])
    edge = int(gradient.abs().argmax())
    nudged = [weight.detach().clone() for weight in weights]
    nudged[1][edge] += 1e-3
    with torch.no_grad():
        change = (model(graph, *tensors, edge_weights=nudged)[2] - weighted[2].detach()) / 1e-3
    assert float(change) == pytest.approx(float(gradient[edge]), rel=0.05, abs=1e-3)


def test_inverses_need_the_setting() -> None:
    with pytest.raises(InputError, match="learned inverse"):
        QueryGNN(SMALL).project_inverses(torch.zeros(2, 3, 8))
    assert QueryGNN(OURS).project_inverses(torch.zeros(2, 3, 8)).shape == (2, 3, 8)
