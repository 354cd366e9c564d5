"""Features of nodes by their place in a graph, against definitions computed node by node."""

from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
import torch

from clew.arrays import LongArray
from clew_lab.nn.graph_prompt_encoder import (
    EIGENVECTORS,
    PLACES,
    WALK_STEPS,
    GraphToken,
    GraphTokenSettings,
    NodeFeatures,
    feature_width,
    node_features,
)
from lab.tests.nn.test_graph_prompt_encoder import EDGES, GRAPH, PART, SETTINGS, make_encoder, slow_tokens
from tests.answering.graph_readers.graph_contexts import CONTEXTS, WIDTH, make_context

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


@pytest.mark.parametrize("features", get_args(NodeFeatures))
def test_tokens_by_any_features_stand_in_any_batch(features: NodeFeatures) -> None:
    module = make_encoder(GraphTokenSettings(WIDTH, 6, 64, tokens=3, encoder="gin", features=features))
    graphs = [GRAPH, *CONTEXTS, PART, make_context((), ())]
    with torch.no_grad():
        together = module(graphs)
        for place, one in enumerate(graphs):
            torch.testing.assert_close(together[place], module([one])[0])
    assert together.shape == (len(graphs), 3, 6)
    assert torch.isfinite(together).all()


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
