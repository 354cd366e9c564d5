"""What is known of nodes, against matrices that are filled edge by edge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.retrievers.subgraph.encoding import GraphEncoder
from clew.retrievers.subgraph.gcn_features import (
    QUESTION,
    SCALAR_COUNT,
    TEXT,
    WALK_STEPS,
    feature_width,
    node_features,
    node_offsets,
    node_similarities,
    relation_relevance,
    walk_prior,
    walk_shares,
)

WIDTH = 16
ENCODER = HashingEncoder(WIDTH)
RELATIONS = ("built in", "captain of", "sailed to")
Edges = list[tuple[int, int, int]]
Matrix = NDArray[np.float64]


def asked(count: int, edges: Edges, topics: list[int], question: str = "who was captain of it ?") -> GraphQuery:
    """Return a question on a graph; an edge is source, relation, target."""
    ends = np.array([(one, other) for one, _, other in edges], dtype=np.int32).reshape(-1, 2)
    graph = TextualGraph([f"ship {i}" for i in range(count)], ends, [RELATIONS[kind] for _, kind, _ in edges])
    encoder = GraphEncoder(ENCODER.encode, ENCODER.encode)
    return encoder.encode_query(encoder.encode_graph(graph), question, topics)


def sides(one: GraphQuery) -> list[tuple[int, int, int]]:
    """Return from, to and relation row of every step: an edge from both of its ends, a loop once."""
    found = []
    rows = one.graph.edge_relations.tolist()
    for (source, target), row in zip(one.graph.graph.edges.tolist(), rows, strict=True):
        found.append((source, target, row))
        if source != target:
            found.append((target, source, row))
    return found


def walked(one: GraphQuery) -> Matrix:
    """Return the walk by a dense matrix of moves."""
    count = len(one.graph.node_vectors)
    moves = np.zeros((count, count))
    for source, target, row in sides(one):
        moves[target, source] += np.exp(float(relation_relevance(one)[row]) / 0.15)
    leaving = moves.sum(axis=0)
    moves = np.divide(moves, leaving, out=np.zeros_like(moves), where=leaving > 0)
    if len(one.topics):
        start = np.array([float(node in one.topics.tolist()) for node in range(count)])
    else:
        start = np.exp(np.array([float(row @ one.question_vector) for row in one.graph.node_vectors]) / 0.15)
    shares = [start / start.sum()]
    for _ in range(WALK_STEPS):
        shares.append(moves @ shares[-1])
    return np.array(shares)


@st.composite
def drawn(draw: st.DrawFn) -> GraphQuery:
    count = draw(st.integers(1, 7))
    node = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(node, st.integers(0, 2), node), max_size=12))
    question = draw(st.sampled_from(("who was captain of it ?", "what is it ?")))  # the last has no asking word
    return asked(count, edges, draw(st.lists(node, max_size=3)), question)


@settings(max_examples=80, deadline=None)
@given(one=drawn())
def test_the_walk_is_that_of_a_dense_matrix(one: GraphQuery) -> None:
    np.testing.assert_allclose(walk_shares(one), walked(one), atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(one=drawn())
def test_nothing_of_the_walk_is_lost_but_at_nodes_without_edges(one: GraphQuery) -> None:
    shares = walk_shares(one)
    assert shares[0].sum() == pytest.approx(1.0, abs=1e-5)
    lonely = sorted(set(range(len(one.graph.node_vectors))) - {source for source, _, _ in sides(one)})
    np.testing.assert_allclose(shares[1:].sum(axis=1), 1.0 - shares[0, lonely].sum(), atol=1e-5)


def test_a_walk_takes_what_is_asked_for_more_often() -> None:
    shares = walk_shares(asked(4, [(0, 0, 1), (0, 1, 2), (0, 2, 3)], [0]))
    assert shares[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert shares[1, 2] > 2 * max(shares[1, 1], shares[1, 3])
    assert shares[2, 0] == pytest.approx(1.0)


def test_a_walk_without_topics_starts_at_what_is_like_the_question() -> None:
    one = asked(9, [], [], "what of ship 3 ?")
    shares = walk_shares(one)
    assert np.argsort(shares[0]).tolist() == np.argsort(node_similarities(one)).tolist()
    assert not shares[1:].any()


def test_a_topic_given_twice_counts_once() -> None:
    assert walk_shares(asked(3, [(0, 0, 1)], [0, 2, 0])).tolist() == walk_shares(asked(3, [(0, 0, 1)], [0, 2])).tolist()


def test_parallel_edges_add_up_and_a_loop_is_one_step() -> None:
    assert walk_shares(asked(3, [(0, 0, 1), (1, 0, 0), (0, 0, 2)], [0]))[1].tolist() == pytest.approx(
        [0.0, 2 / 3, 1 / 3]
    )
    assert walk_shares(asked(2, [(0, 0, 0), (0, 0, 1)], [0]))[1].tolist() == pytest.approx([0.5, 0.5])


def test_the_prior_is_the_greatest_share_and_has_a_floor() -> None:
    shares = np.array([[0.0, 0.5, 0.0], [0.25, 0.125, 0.0]], dtype=np.float32)
    np.testing.assert_allclose(walk_prior(shares), np.log([0.25, 0.5, 1e-6]), rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(one=drawn())
def test_inputs_are_those_of_one_node_after_the_other(one: GraphQuery) -> None:
    shares = walk_shares(one)
    found = node_features(one, QUESTION, shares)
    assert found.shape == (len(one.graph.node_vectors), feature_width(QUESTION, WIDTH))
    assert found.dtype == np.float32
    alike = [float(row @ one.question_vector) for row in one.graph.node_vectors]
    for node, row in enumerate(found.astype(np.float64)):
        around = [kind for source, _, kind in sides(one) if source == node]
        vectors = one.graph.relation_vectors[around]
        mean = vectors.mean(axis=0) if around else np.zeros(WIDTH)
        logs = np.log(np.maximum(shares[:, node], 1e-6) / 1e-6) / np.log(1e6)
        expected = [
            *one.graph.node_vectors[node],
            *mean,
            alike[node],
            alike[node] - sum(alike) / len(alike),
            float(node in one.topics.tolist()),
            max([0.0, *(float(relation_relevance(one)[kind]) for kind in around)]),
            np.log(1 + len(around)),
            logs.max(),
            *logs[1:],
        ]
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_the_sources_inputs_are_the_vectors_alone() -> None:
    one = asked(3, [(0, 0, 1)], [0])
    assert node_features(one, TEXT, walk_shares(one)).tolist() == one.graph.node_vectors.tolist()
    assert (feature_width(TEXT, 5), feature_width(QUESTION, 5)) == (5, 10 + SCALAR_COUNT)


@pytest.mark.parametrize("kind", [TEXT, QUESTION])
def test_a_graph_of_nothing(kind: str) -> None:
    nothing = asked(0, [], [])
    shares = walk_shares(nothing)
    assert shares.shape == (WALK_STEPS + 1, 0)
    assert walk_prior(shares).shape == node_similarities(nothing).shape == (0,)
    assert node_features(nothing, kind, shares).shape == (0, feature_width(kind, WIDTH))


def test_without_asking_words_relations_are_compared_with_the_question_as_a_whole() -> None:
    rows, question = np.eye(3, dtype=np.float32), np.array([0.6, 0.8, 0.0], dtype=np.float32)
    graph = EncodedGraph(asked(2, [(0, 0, 1)], []).graph.graph, rows[:2], rows[1:2], np.array([0], dtype=np.int32))
    one = GraphQuery(graph, question, np.zeros(0, dtype=np.int32))
    np.testing.assert_allclose(relation_relevance(one), [0.8])
    told = GraphQuery(graph, question, one.topics, np.array([0.5], dtype=np.float32))
    assert relation_relevance(told).tolist() == [0.5]


def test_where_graphs_begin_side_by_side() -> None:
    assert node_offsets([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert node_offsets([]).tolist() == [0]
