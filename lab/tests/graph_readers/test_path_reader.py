"""The path reader, against an oracle that tries every walk without immediate returns over an edge."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, TextualGraph, induced_subgraph
from clew.models.encoders.hashing import HashingEncoder
from clew_lab.graph.reader_context import GraphContext, build_context
from clew_lab.graph_readers.path_reader import PathGraphReader

ENCODER = HashingEncoder(256)
Edge = tuple[int, str, int]
QUESTION = "captain of the ship that was built in"


def context(
    names: Sequence[str], edges: Sequence[Edge], topics: Sequence[int] = (), part: Sequence[int] | None = None
) -> GraphContext:
    """Return a graph, or some of its nodes with the edges among them, as a context of `QUESTION`."""
    ends = np.array([(one, other) for one, _, other in edges], dtype=np.int32).reshape(-1, 2)
    graph = TextualGraph(names, ends, [relation for _, relation, _ in edges])
    distinct = list(dict.fromkeys(graph.relations))
    rows = np.array([distinct.index(relation) for relation in graph.relations], dtype=np.int32)
    encoded = EncodedGraph(graph, ENCODER.encode(names), ENCODER.encode(distinct), rows)
    query = GraphQuery(encoded, ENCODER.encode([QUESTION])[0], np.array(topics, dtype=np.int32))
    return build_context(query, induced_subgraph(graph, range(len(names)) if part is None else part))


def reader(hops: int = 3) -> PathGraphReader:
    return PathGraphReader(ENCODER.encode, hops)


def walks(context: GraphContext, start: int, hops: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return the end and the relations of every walk of the subgraph, of one step or more."""
    graph = context.query.graph.graph
    results: list[tuple[int, tuple[str, ...]]] = []
    stack: list[tuple[int, int, tuple[str, ...]]] = [(start, -1, ())]
    while stack:
        node, last, relations = stack.pop()
        if relations:
            results.append((node, relations))
        for edge in context.subgraph.edges.tolist() if len(relations) < hops else ():
            one, other = graph.edges[edge].tolist()
            if edge != last and node in (one, other):
                stack.append((other if node == one else one, edge, (*relations, graph.relations[edge])))
    return results


def best_walks(context: GraphContext, hops: int) -> dict[int, float]:
    """Return the unnormalized likelihood of every node that a walk reaches."""
    query, inside = context.query, context.subgraph.nodes.tolist()
    starts = [topic for topic in query.topics.tolist() if topic in inside]
    if not starts and inside:
        starts = [max(inside, key=lambda node: (float(query.graph.node_vectors[node] @ query.question_vector), -node))]
    best: dict[int, float] = {}
    for start in starts:
        for end, relations in walks(context, start, hops):
            cosine = float(ENCODER.encode([", ".join(relations)])[0] @ query.question_vector)
            best[end] = max(best.get(end, 0.0), float(np.exp(cosine / 0.05)))
    return best


def shares(reader: PathGraphReader, context: GraphContext) -> dict[int, float]:
    """Return the likelihood of each node, from the loss of its name; names must differ."""
    names = context.query.graph.graph.nodes
    costs = reader.loss([""] * len(names), [context] * len(names), names)
    values = (np.exp(-costs.astype(np.float64)) - 1e-3) / (1 - 1e-3)
    return {node: float(share) for node, share in enumerate(values) if share > 1e-7}


def check(context: GraphContext, hops: int) -> None:
    expected = best_walks(context, hops)
    total = sum(expected.values())
    path_reader, names = reader(hops), context.query.graph.graph.nodes
    seen = shares(path_reader, context)
    for node in range(len(names)):
        assert seen.get(node, 0.0) == pytest.approx(expected.get(node, 0.0) / max(total, 1e-30), abs=2e-4)
    (answer,) = path_reader.generate([""], [context])
    if expected:
        assert expected[list(names).index(answer)] == pytest.approx(max(expected.values()), rel=1e-3)
    else:
        assert answer == ""


NAMES = [f"place {letter}" for letter in "abcdef"]
WORDS = ("built in", "captain", "ship of", "sailed by", "mayor", "north of", "crew")


@st.composite
def distinct_relation_graphs(draw: st.DrawFn) -> GraphContext:
    """Any graph, with loops and parallel edges; edges have distinct relations, so relation paths have one walk each."""
    count = draw(st.integers(1, 5))
    node = st.integers(0, count - 1)
    ends = draw(st.lists(st.tuples(node, node), max_size=6))
    edges = [(one, WORDS[i], other) for i, (one, other) in enumerate(ends)]
    topics, part = draw(st.lists(node, max_size=3)), draw(st.none() | st.lists(node, max_size=5))
    return context(NAMES[:count], edges, topics, part)


@st.composite
def trees(draw: st.DrawFn) -> GraphContext:
    """A tree with repeated relations and one topic: one walk leads to each end of a relation path."""
    count = draw(st.integers(2, 6))
    edges: list[Edge] = []
    for node in range(1, count):
        ends = [node, draw(st.integers(0, node - 1))]
        one, other = ends if draw(st.booleans()) else ends[::-1]
        edges.append((one, draw(st.sampled_from(WORDS[:3])), other))
    return context(NAMES[:count], edges, [draw(st.integers(0, count - 1))])


@settings(max_examples=60, deadline=None)
@given(one=distinct_relation_graphs(), hops=st.integers(1, 3))
def test_a_candidate_has_the_score_of_its_best_walk(one: GraphContext, hops: int) -> None:
    check(one, hops)


@settings(max_examples=60, deadline=None)
@given(one=trees(), hops=st.integers(1, 3))
def test_a_candidate_has_the_score_of_its_best_walk_with_repeated_relations(one: GraphContext, hops: int) -> None:
    check(one, hops)


SHIPS = ("Fram", "Colin Archer", "Larvik", "Nansen")
EDGES = ((0, "ship built by", 1), (1, "lives in", 2), (3, "sailed", 0))


def test_an_unreachable_answer_has_the_minimum_likelihood() -> None:
    losses = reader().loss([""] * 3, [context(SHIPS, EDGES, [0])] * 3, ["Oslo", "Fram", ""])
    np.testing.assert_allclose(losses, -np.log(1e-3), rtol=1e-6)


def test_the_only_reachable_answer_has_no_loss() -> None:
    (loss,) = reader().loss([""], [context(SHIPS, EDGES, [0], [0, 1])], ["colin  archer"])
    assert 0.0 <= loss < 1e-6


def test_nodes_of_one_name_are_one_answer() -> None:
    twice = context(("a", "The Fram", "fram", "b"), ((0, "crew", 1), (0, "crew", 2), (0, "crew", 3)), [0])
    (loss,) = reader().loss([""], [twice], ["FRAM"])
    assert np.exp(-loss) == pytest.approx(1e-3 + 0.999 * 2 / 3, rel=1e-5)


def test_a_subgraph_without_the_topic_is_read_from_the_most_similar_node() -> None:
    names = ("Fram", "Larvik", "captain of the ship", "Nansen")
    edges = ((2, "mayor", 1), (0, "mayor", 3))
    assert reader().generate([""], [context(names, edges, [0], [1, 2, 3])]) == ["Larvik"]
    assert reader().generate([""], [context(names, edges, [], [0, 1, 2, 3])]) == ["Larvik"]
    assert reader().generate([""], [context(names, edges, [0], [0, 1, 2, 3])]) == ["Nansen"]


@pytest.mark.parametrize("names", [(), ("Fram",)])
def test_a_part_without_edges_has_no_answer(names: tuple[str, ...]) -> None:
    empty = context(names, (), list(range(len(names))))
    assert reader().generate(["", ""], [empty, context(SHIPS, EDGES, [0], [])]) == ["", ""]
    np.testing.assert_allclose(reader().loss([""], [empty], ["Fram"]), -np.log(1e-3), rtol=1e-6)


def test_ties_go_to_the_first_node() -> None:
    assert reader().generate([""], [context(SHIPS, ((3, "crew", 2), (3, "crew", 1)), [3])]) == ["Colin Archer"]
