"""Node features, against matrices that are filled edge by edge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.retrievers.subgraph.encoding import node_similarity
from clew.retrievers.subgraph.gcn_features import (
    QUESTION,
    SCALAR_COUNT,
    TEXT,
    WALK_STEPS,
    feature_width,
    node_features,
    node_offsets,
    relation_relevance,
    walk_prior,
    walk_shares,
)
from clew_lab.graph.graph_encoder import GraphEncoder

WIDTH = 16
ENCODER = HashingEncoder(WIDTH)
RELATIONS = ("built in", "captain of", "sailed to")
Edges = list[tuple[int, int, int]]
Matrix = NDArray[np.float64]


def make_query(count: int, edges: Edges, topics: list[int], question: str = "who was captain of it ?") -> GraphQuery:
    """Return a question on a graph; an edge is source, relation, target."""
    ends = np.array([(one, other) for one, _, other in edges], dtype=np.int32).reshape(-1, 2)
    graph = TextualGraph([f"ship {i}" for i in range(count)], ends, [RELATIONS[kind] for _, kind, _ in edges])
    encoder = GraphEncoder(ENCODER.encode, ENCODER.encode)
    return encoder.encode_query(encoder.encode_graph(graph), question, topics)


def directed_steps(one: GraphQuery) -> list[tuple[int, int, int]]:
    """Return source, target and relation row of every step: edges both ways, loops once."""
    actual = []
    rows = one.graph.edge_relations.tolist()
    for (source, target), row in zip(one.graph.graph.edges.tolist(), rows, strict=True):
        actual.append((source, target, row))
        if source != target:
            actual.append((target, source, row))
    return actual


def dense_walk(one: GraphQuery) -> Matrix:
    """Return the walk by a dense transition matrix."""
    count = len(one.graph.node_vectors)
    moves = np.zeros((count, count))
    for source, target, row in directed_steps(one):
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
def graph_queries(draw: st.DrawFn) -> GraphQuery:
    count = draw(st.integers(1, 7))
    node = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(node, st.integers(0, 2), node), max_size=12))
    question = draw(st.sampled_from(("who was captain of it ?", "what is it ?")))  # the last has no asking word
    return make_query(count, edges, draw(st.lists(node, max_size=3)), question)


@settings(max_examples=80, deadline=None)
@given(one=graph_queries())
def test_the_walk_equals_a_dense_matrix(one: GraphQuery) -> None:
    np.testing.assert_allclose(walk_shares(one), dense_walk(one), atol=1e-5)


def test_the_walk_prefers_relevant_relations() -> None:
    shares = walk_shares(make_query(4, [(0, 0, 1), (0, 1, 2), (0, 2, 3)], [0]))
    assert shares[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert shares[1, 2] > 2 * max(shares[1, 1], shares[1, 3])
    assert shares[2, 0] == pytest.approx(1.0)


def test_the_prior_is_the_greatest_share_and_has_a_floor() -> None:
    shares = np.array([[0.0, 0.5, 0.0], [0.25, 0.125, 0.0]], dtype=np.float32)
    np.testing.assert_allclose(walk_prior(shares), np.log([0.25, 0.5, 1e-6]), rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(one=graph_queries())
def test_features_equal_those_computed_node_by_node(one: GraphQuery) -> None:
    shares = walk_shares(one)
    actual = node_features(one, QUESTION, shares)
    assert actual.shape == (len(one.graph.node_vectors), feature_width(QUESTION, WIDTH))
    assert actual.dtype == np.float32
    similarity = [float(row @ one.question_vector) for row in one.graph.node_vectors]
    for node, row in enumerate(actual.astype(np.float64)):
        phrases = [kind for source, _, kind in directed_steps(one) if source == node]
        vectors = one.graph.relation_vectors[phrases]
        mean = vectors.mean(axis=0) if phrases else np.zeros(WIDTH)
        logs = np.log(np.maximum(shares[:, node], 1e-6) / 1e-6) / np.log(1e6)
        expected = [
            *one.graph.node_vectors[node],
            *mean,
            similarity[node],
            similarity[node] - sum(similarity) / len(similarity),
            float(node in one.topics.tolist()),
            max([0.0, *(float(relation_relevance(one)[kind]) for kind in phrases)]),
            np.log(1 + len(phrases)),
            logs.max(),
            *logs[1:],
        ]
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_text_features_are_the_vectors_alone() -> None:
    one = make_query(3, [(0, 0, 1)], [0])
    assert node_features(one, TEXT, walk_shares(one)).tolist() == one.graph.node_vectors.tolist()
    assert (feature_width(TEXT, 5), feature_width(QUESTION, 5)) == (5, 10 + SCALAR_COUNT)


@pytest.mark.parametrize("kind", [TEXT, QUESTION])
def test_an_empty_graph(kind: str) -> None:
    nothing = make_query(0, [], [])
    shares = walk_shares(nothing)
    assert shares.shape == (WALK_STEPS + 1, 0)
    assert walk_prior(shares).shape == node_similarity(nothing).shape == (0,)
    assert node_features(nothing, kind, shares).shape == (0, feature_width(kind, WIDTH))


def test_without_relation_words_relevance_is_the_cosine_to_the_question() -> None:
    rows, question = np.eye(3, dtype=np.float32), np.array([0.6, 0.8, 0.0], dtype=np.float32)
    graph = EncodedGraph(make_query(2, [(0, 0, 1)], []).graph.graph, rows[:2], rows[1:2], np.array([0], dtype=np.int32))
    one = GraphQuery(graph, question, np.zeros(0, dtype=np.int32))
    np.testing.assert_allclose(relation_relevance(one), [0.8])
    with_relevance = GraphQuery(graph, question, one.topics, np.array([0.5], dtype=np.float32))
    assert relation_relevance(with_relevance).tolist() == [0.5]


def test_offsets_of_graphs_in_a_batch() -> None:
    assert node_offsets([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert node_offsets([]).tolist() == [0]
