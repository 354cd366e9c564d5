"""Soft tokens of graphs against attention, and features of nodes against definitions, computed node by node."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
import torch

from clew.arrays import LongArray
from clew.errors import InputError
from clew_lab.graph.reader_context import GraphContext
from clew_lab.nn.graph_prompt_encoder import (
    EIGENVECTORS,
    PLACES,
    WALK_STEPS,
    GraphEncoderName,
    GraphToken,
    GraphTokenSettings,
    NodeFeatures,
    feature_width,
    node_features,
)
from tests.answering.graph_readers.graph_contexts import CONTEXTS, WIDTH, make_context

EDGES = ((0, "on", 1), (2, "near", 1), (3, "near", 1), (1, "near", 0), (1, "near", 1), (1, "on", 0), (1, "on", 0))
GRAPH = make_context(("cup", "table", "lamp", "door", "wall"), EDGES)
PART = make_context(("cup", "table", "lamp", "door", "wall"), EDGES, (1, 2, 3))
SETTINGS = GraphTokenSettings(WIDTH, 6, width=4, layers=3, heads=2, tokens=2)


def make_encoder(settings: GraphTokenSettings, seed: int = 0) -> GraphToken:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return GraphToken(settings)


def linear(weights: dict[str, Any], name: str, values: Any) -> Any:
    return weights[f"{name}.weight"] @ values + weights.get(f"{name}.bias", 0.0)


def attention_layer(weights: dict[str, Any], name: str, states: Any, edges: Sequence[tuple[int, Any, int]]) -> Any:
    """One layer: each node attends to its sources, by head, with weights from query times key."""
    rows = []
    for node, state in enumerate(states):
        row = linear(weights, f"{name}.lin_skip", state)
        query = linear(weights, f"{name}.lin_query", state).reshape(SETTINGS.heads, -1)
        sources = [
            (
                (linear(weights, f"{name}.lin_key", states[source]) + edge).reshape(SETTINGS.heads, -1),
                (linear(weights, f"{name}.lin_value", states[source]) + edge).reshape(SETTINGS.heads, -1),
            )
            for source, relation, target in edges
            if target == node
            for edge in [linear(weights, f"{name}.lin_edge", relation)]
        ]
        for head in range(SETTINGS.heads if sources else 0):
            scores = np.exp([query[head] @ key[head] / np.sqrt(query.shape[1]) for key, _ in sources])
            shares = scores / scores.sum()
            size = query.shape[1]
            row[head * size : (head + 1) * size] += sum(
                share * value[head] for share, (_, value) in zip(shares, sources, strict=True)
            )
        rows.append(row)
    return np.stack(rows)


def slow_layer(
    encoder: str, weights: dict[str, Any], name: str, states: Any, edges: Sequence[tuple[int, Any, int]]
) -> Any:
    """One layer of a network, node by node or on dense matrices."""
    if encoder == "transformer":
        return attention_layer(weights, name, states, edges)
    if encoder == "gat":
        return additive_attention_layer(weights, name, states, edges)
    counts = np.zeros((len(states), len(states)))  # edges in both directions, parallel ones as often as they are there
    for source, _, target in edges:
        counts[source, target] += 1
        counts[target, source] += 1
    if encoder == "gin":
        hidden = np.maximum([linear(weights, f"{name}.nn.0", row) for row in states + counts @ states], 0.0)
        return np.stack([linear(weights, f"{name}.nn.2", row) for row in hidden])
    if encoder == "mean":
        means = counts @ states / np.maximum(counts.sum(1, keepdims=True), 1)
        pairs = zip(means, states, strict=True)
        return np.stack([linear(weights, f"{name}.lin_l", m) + linear(weights, f"{name}.lin_r", s) for m, s in pairs])
    np.fill_diagonal(counts, 1.0)  # every node has one loop
    root = 1 / np.sqrt(counts.sum(1))
    return root[:, None] * counts * root @ states @ weights[f"{name}.lin.weight"].T + weights[f"{name}.bias"]


def additive_attention_layer(
    weights: dict[str, Any], name: str, states: Any, edges: Sequence[tuple[int, Any, int]]
) -> Any:
    """One layer of GAT: a node attends to its sources and itself, by head; its loop has the mean of its edges."""
    heads, rows = SETTINGS.heads, []
    projected = np.stack([(weights[f"{name}.lin.weight"] @ state).reshape(heads, -1) for state in states])
    for node in range(len(states)):
        around = [(source, relation) for source, relation, target in edges if target == node != source]
        loop = np.mean([relation for _, relation in around], axis=0) if around else np.zeros(WIDTH)
        logits = []
        for source, relation in [*around, (node, loop)]:
            edge = (weights[f"{name}.lin_edge.weight"] @ relation).reshape(heads, -1)
            parts = ((projected[source], "src"), (projected[node], "dst"), (edge, "edge"))
            raw = sum((value * weights[f"{name}.att_{part}"][0]).sum(1) for value, part in parts)
            logits.append(np.where(raw > 0, raw, 0.2 * raw))
        shares = np.exp(logits) / np.exp(logits).sum(0)
        read = [projected[source] for source, _ in around] + [projected[node]]
        mixed = sum(share[:, None] * value for share, value in zip(shares, read, strict=True))
        rows.append(np.asarray(mixed).reshape(-1) + weights[f"{name}.bias"])
    return np.stack(rows)


def slow_tokens(module: GraphToken, graph_context: GraphContext, nodes: list[int]) -> Any:
    """The tokens of a subgraph: its nodes and the edges among them."""
    weights = {name: value.double().numpy() for name, value in module.state_dict().items()}
    encoded = graph_context.query.graph
    edges = [
        (
            nodes.index(source),
            encoded.relation_vectors[encoded.edge_relations[place]].astype(np.float64),
            nodes.index(target),
        )
        for place, (source, target) in enumerate(encoded.graph.edges.tolist())
        if source in nodes and target in nodes
    ]
    states = encoded.node_vectors[nodes].astype(np.float64)
    for number in range(SETTINGS.layers):
        states = slow_layer(module.settings.encoder, weights, f"layers.{number}", states, edges)
        if number < SETTINGS.layers - 1:
            spread = np.sqrt(states.var(axis=1, keepdims=True) + 1e-5)
            states = (states - states.mean(axis=1, keepdims=True)) / spread
            states = states * weights[f"norms.{number}.weight"] + weights[f"norms.{number}.bias"]
            states = np.maximum(states, 0.0)
    hidden = 1 / (1 + np.exp(-linear(weights, "projector.0", states.mean(axis=0))))
    return linear(weights, "projector.2", hidden).reshape(SETTINGS.tokens, SETTINGS.outputs)


@pytest.mark.parametrize("encoder", get_args(GraphEncoderName))
@pytest.mark.parametrize(("graph_context", "nodes"), [(GRAPH, [0, 1, 2, 3, 4]), (PART, [1, 2, 3])])
def test_the_selected_part_is_encoded_averaged_and_projected(
    graph_context: GraphContext, nodes: list[int], encoder: GraphEncoderName
) -> None:
    module = make_encoder(replace(SETTINGS, encoder=encoder))
    with torch.no_grad():
        np.testing.assert_allclose(
            module([graph_context])[0].numpy(), slow_tokens(module, graph_context, nodes), rtol=1e-4, atol=1e-6
        )


def test_the_whole_graph_is_read_whatever_was_selected() -> None:
    settings = GraphTokenSettings(WIDTH, 6, width=4, layers=3, heads=2, tokens=2, pool="whole")
    whole, part = make_encoder(settings), make_encoder(SETTINGS)
    with torch.no_grad():
        assert torch.equal(whole([PART]), whole([GRAPH]))
        assert torch.equal(whole([PART]), part([GRAPH]))
        assert not torch.equal(part([PART]), part([GRAPH]))


FORMS: list[tuple[GraphEncoderName, NodeFeatures]] = [
    *((encoder, "text") for encoder in get_args(GraphEncoderName)),
    *(("gin", features) for features in get_args(NodeFeatures) if features != "text"),
]


@pytest.mark.parametrize(("encoder", "features"), FORMS)
def test_tokens_of_a_graph_do_not_depend_on_its_batch_even_in_training(
    encoder: GraphEncoderName, features: NodeFeatures
) -> None:
    module = make_encoder(GraphTokenSettings(WIDTH, 6, 64, tokens=3, encoder=encoder, features=features)).train()
    graphs = [GRAPH, *CONTEXTS, PART, make_context((), ())]
    with torch.no_grad():
        together = module(graphs)
        for place, one in enumerate(graphs):
            torch.testing.assert_close(together[place], module([one])[0])
    assert together.shape == (len(graphs), 3, 6)
    assert torch.isfinite(together).all()
    assert module([]).shape == (0, 3, 6)


def test_gradients_reach_every_weight_that_can_change_a_token() -> None:
    module = make_encoder(SETTINGS)
    module([GRAPH, PART]).square().sum().backward()
    still = [
        name
        for name, weight in module.named_parameters()
        if not name.endswith("lin_key.bias")  # adds the same to all scores of a node
        and (weight.grad is None or not torch.isfinite(weight.grad).all() or weight.grad.abs().max() == 0)
    ]
    assert not still


@pytest.mark.parametrize("numbers", [{"tokens": 0}, {"layers": 0}, {"width": 6}])
def test_invalid_settings_are_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(InputError, match="wanted numbers of at least 1, and a width divisible by the heads"):
        GraphTokenSettings(WIDTH, 6, **numbers)  # type: ignore[arg-type]


def test_vectors_of_another_width_are_refused() -> None:
    with pytest.raises(InputError, match="have 8 numbers; the graph token reads 16"):
        make_encoder(GraphTokenSettings(16, 6))([GRAPH])


NODES, PAIRS = 6, [(0, 1), (2, 1), (1, 0), (3, 2), (3, 3), (4, 3), (1, 4)]  # node 5 stands alone
ENDS: LongArray = np.array(PAIRS, dtype=np.int64).T
NEIGHBOURS = [{b if a == node else a for a, b in PAIRS if node in (a, b)} - {node} for node in range(NODES)]


def test_eigenvectors_solve_their_equation() -> None:
    """Rows of the Laplacian are written out: a node minus its neighbours, each divided by the roots of both degrees."""
    found = node_features("laplacian", np.arange(NODES, dtype=np.int32), ENDS).astype(np.float64)
    values = []
    for column in range(NODES - 1):
        vector = found[:, column]
        image = [
            (vector[node] if around else 0.0)
            - sum(vector[other] / np.sqrt(len(around) * len(NEIGHBOURS[other])) for other in around)
            for node, around in enumerate(NEIGHBOURS)
        ]
        values.append(float(vector @ image))
        np.testing.assert_allclose(image, values[-1] * vector, atol=1e-5)
        assert next(number for number in vector if abs(number) > 0.49 * np.abs(vector).max()) > 0
    proper = [1.0] * (NODES - 1) + [0.0] * (EIGENVECTORS - NODES + 1)
    np.testing.assert_allclose(found.T @ found, np.diag(proper), atol=1e-5)
    assert values == sorted(values)
    assert values[0] == pytest.approx(0.0, abs=1e-6), "two parts of the graph, so 0 is an eigenvalue twice"


def test_a_walk_returns_as_often_as_its_paths_say() -> None:
    found = node_features("random-walk", np.arange(NODES, dtype=np.int32), ENDS)
    assert found.shape == (NODES, WALK_STEPS)
    for start in range(NODES):
        at = {start: Fraction(1)}
        for step in range(WALK_STEPS):
            onwards: dict[int, Fraction] = {}
            for node, share in at.items():
                for other in NEIGHBOURS[node]:
                    onwards[other] = onwards.get(other, Fraction(0)) + share / len(NEIGHBOURS[node])
            at = onwards
            assert found[start, step] == pytest.approx(float(at.get(start, 0)), abs=1e-6)


def test_a_node_is_known_by_its_place_in_the_whole_graph() -> None:
    found = node_features("identity", np.array([3, 1, PLACES - 1, PLACES + 7], dtype=np.int32), ENDS[:, :0])
    assert found.argmax(axis=1).tolist() == [3, 1, PLACES - 1, PLACES - 1]
    assert found.sum() == 4


@pytest.mark.parametrize("features", ["laplacian", "random-walk", "identity", "learned"])
def test_tokens_are_made_of_the_features(features: NodeFeatures) -> None:
    """The same network over texts that are the features makes the same tokens."""
    module = make_encoder(replace(SETTINGS, encoder="gcn", features=features))
    for context in (GRAPH, PART):
        nodes = context.subgraph.nodes
        joined = np.searchsorted(nodes, context.query.graph.graph.edges[context.subgraph.edges].T)
        with torch.no_grad():
            vectors = module.places(torch.from_numpy(node_features(features, nodes, joined))).numpy()
            whole = np.zeros((len(context.query.graph.node_vectors), vectors.shape[1]), np.float32)
            whole[nodes] = vectors
            other = replace(
                context, query=replace(context.query, graph=replace(context.query.graph, node_vectors=whole))
            )
            np.testing.assert_allclose(
                module([context])[0].numpy(), slow_tokens(module, other, nodes.tolist()), rtol=1e-4, atol=1e-6
            )


def test_texts_do_not_change_tokens_by_place_and_edges_do() -> None:
    named = make_context(("a", "b", "c", "d", "e"), EDGES)
    fewer = make_context(("a", "b", "c", "d", "e"), EDGES[:3])
    for features in ("laplacian", "random-walk", "identity", "learned"):
        module: GraphToken = make_encoder(GraphTokenSettings(WIDTH, 6, 64, encoder="mean", features=features))
        with torch.no_grad():
            torch.testing.assert_close(module([GRAPH]), module([named]))
            assert not torch.allclose(module([named]), module([fewer]))


def test_a_table_of_places_is_trained() -> None:
    module = make_encoder(GraphTokenSettings(WIDTH, 6, 64, encoder="gcn", features="learned"))
    module([GRAPH]).square().sum().backward()
    (weight,) = module.places.parameters()
    assert weight.shape == (WIDTH, PLACES)
    assert weight.grad is not None
    assert weight.grad.abs().sum(0).nonzero().flatten().tolist() == [0, 1, 2, 3, 4]
    assert feature_width("learned", WIDTH) == PLACES
