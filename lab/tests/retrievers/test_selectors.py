"""Selectors on graphs small enough to check by hand."""

import numpy as np

from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, Subgraph, TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.retrievers.subgraph.encoding import node_similarity
from clew_lab.graph.graph_encoder import GraphEncoder
from clew_lab.retrievers.selectors import EgoGraph, RandomNodes, SteinerSelector, TopNodes, WholeGraph, edge_similarity

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 5)]
SIMILARITIES = [0.1, 0.0, 0.2, 0.9, 0.8, 0.3]


def make_query(
    likeness: list[float], of_edges: list[float], edges: list[tuple[int, int]], topics: tuple[int, ...] = ()
) -> GraphQuery:
    """Return a question with the given cosines to nodes and edges."""

    def turned(cosines: list[float]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        cosine = np.array(cosines, dtype=np.float32)
        return np.asarray(np.column_stack([cosine, np.sqrt(1 - cosine**2)]), dtype=np.float32)

    distinct = sorted(set(of_edges))
    relation_of = np.array([distinct.index(value) for value in of_edges], dtype=np.int32)
    ends = np.array(edges, dtype=np.int32).reshape(-1, 2)
    graph = TextualGraph([str(i) for i in range(len(likeness))], ends, [str(value) for value in of_edges])
    encoded = EncodedGraph(graph, turned(likeness), turned(distinct), relation_of)
    return GraphQuery(encoded, np.array([1.0, 0.0], dtype=np.float32), np.array(topics, dtype=np.int32))


def positions_of(part: Subgraph) -> tuple[list[int], list[int]]:
    return part.nodes.tolist(), part.edges.tolist()


def test_similarity_is_the_cosine() -> None:
    one = make_query(SIMILARITIES, [0.5, 0.1, 0.5, 0.5, 0.2], EDGES)
    np.testing.assert_allclose(node_similarity(one), SIMILARITIES)
    np.testing.assert_allclose(edge_similarity(one), [0.5, 0.1, 0.5, 0.5, 0.2])


def test_the_most_similar_nodes() -> None:
    one = make_query(SIMILARITIES, [0.1] * 5, EDGES)
    assert positions_of(TopNodes().select([one], 3)[0]) == ([3, 4, 5], [3])


def test_the_nearest_nodes_ties_by_similarity() -> None:
    one = make_query(SIMILARITIES, [0.1] * 5, EDGES, (0,))
    assert [positions_of(EgoGraph().select([one], budget)[0])[0] for budget in (1, 2, 3, 9)] == [
        [0],
        [0, 1],
        [0, 1, 5],
        [0, 1, 2, 5],
    ]
    assert positions_of(EgoGraph(1).select([one], 9)[0]) == ([0, 1], [0])
    assert positions_of(EgoGraph(0).select([one], 9)[0]) == ([0], [])
    unnamed = make_query(SIMILARITIES, [0.1] * 5, EDGES)
    assert positions_of(EgoGraph(1).select([unnamed], 9)[0]) == ([2, 3, 4], [2, 3])


def test_the_whole_graph() -> None:
    assert positions_of(WholeGraph().select([make_query(SIMILARITIES, [0.1] * 5, EDGES)], 1)[0]) == (
        [*range(6)],
        [*range(5)],
    )


def test_random_nodes_depend_on_the_seed_and_the_question() -> None:
    many = make_query([0.1] * 200, [], [])
    first = RandomNodes(1).select([many], 10)[0].nodes.tolist()
    assert len(first) == 10
    assert first == RandomNodes(1).select([make_query(SIMILARITIES, [0.1] * 5, EDGES), many], 10)[1].nodes.tolist()
    assert first != RandomNodes(2).select([many], 10)[0].nodes.tolist()
    other = GraphQuery(many.graph, np.array([0.0, 1.0], dtype=np.float32), many.topics)
    assert first != RandomNodes(1).select([other], 10)[0].nodes.tolist()
    counts = np.zeros(200)
    for seed in range(400):
        counts[RandomNodes(seed).select([many], 50)[0].nodes] += 1
    assert 60 < counts.min() <= counts.max() < 140  # 100 each in the mean, a standard deviation of 8.7


EDGE_SIMILARITIES = [0.1, 0.1, 0.1, 0.9, 0.1]  # one edge is worth its cost, so that the others keep theirs


def test_a_tree_connects_the_most_similar_nodes() -> None:
    # Prizes 3, 2 and 1 at nodes 3, 4 and 5.
    one = make_query(SIMILARITIES, EDGE_SIMILARITIES, EDGES)
    assert positions_of(SteinerSelector(topk_e=1).select([one], 9)[0]) == ([1, 2, 3, 4, 5], [1, 2, 3, 4])
    assert positions_of(SteinerSelector(topk=2, topk_e=1).select([one], 9)[0]) == ([3, 4], [3])
    # Node 5 with the way to it is worth less than nodes 3 and 4.
    assert positions_of(SteinerSelector(topk_e=1).select([one], 2)[0]) == ([3, 4], [3])
    assert positions_of(SteinerSelector(topk_e=1, cost=5.0).select([one], 9)[0]) == ([3, 4], [3])


def test_equal_edge_prizes_lower_the_cost_below_the_prize() -> None:
    one = make_query(SIMILARITIES, [0.1] * 5, EDGES)
    assert positions_of(SteinerSelector(topk_e=1).select([one], 9)[0]) == ([*range(6)], [*range(5)])


def test_a_relevant_edge_is_in_the_tree() -> None:
    for of_edges, inside in (([0.9, 0.1, 0.1, 0.1, 0.1], True), (EDGE_SIMILARITIES, False)):
        part = SteinerSelector(topk_e=1).select([make_query(SIMILARITIES, of_edges, EDGES)], 9)[0]
        assert (0 in part.nodes.tolist()) == inside


def test_a_tree_is_filled_up_only_with_fill() -> None:
    one = make_query(SIMILARITIES, EDGE_SIMILARITIES, EDGES)
    assert positions_of(SteinerSelector(topk=2, topk_e=1, fill=True).select([one], 3)[0]) == ([2, 3, 4], [2, 3])
    assert positions_of(SteinerSelector(topk=2, topk_e=1, fill=True).select([one], 9)[0]) == ([*range(6)], [*range(5)])


ENCODER = HashingEncoder(256)
CHAIN = TextualGraph(
    ("Bo Lind", "Ada Holm", "Karlskrona", "spouse island", "profession bay"),
    np.array([[0, 1], [1, 2], [2, 3], [3, 4]], dtype=np.int32),
    ("spouse", "born in", "near", "near"),
)
QUESTION = "what is the profession of the spouse of Bo Lind"


def test_a_question_with_its_names_selects_the_topic() -> None:
    """The names were cut out, so that the tree and the nearest nodes lost the topic they were asked about."""
    encoder = GraphEncoder(ENCODER.encode, ENCODER.encode)
    query = encoder.encode_query(encoder.encode_graph(CHAIN), QUESTION, [0])
    assert query.full_question_vector is not None
    assert query.full_question_vector.tolist() == ENCODER.encode([QUESTION])[0].tolist()
    similarity = np.stack([ENCODER.encode([text])[0] for text in CHAIN.nodes]) @ ENCODER.encode([QUESTION])[0]
    assert positions_of(TopNodes().select([query], 1)[0])[0] == [int(np.argmax(similarity))] == [0]
    tree, masked = (SteinerSelector(topk=1, topk_e=0, masked=masked).select([query], 3)[0] for masked in (False, True))
    assert 0 in tree.nodes
    assert 0 not in masked.nodes


def test_a_question_that_names_nothing_is_whole_already() -> None:
    encoder = GraphEncoder(ENCODER.encode, ENCODER.encode)
    assert encoder.encode_query(encoder.encode_graph(CHAIN), QUESTION).full_question_vector is None
