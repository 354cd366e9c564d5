"""Encoded graphs and questions, against encoding one text at a time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.query.linking import find_relation_words, mask_names
from clew_lab.graph.graph_encoder import GraphEncoder

if TYPE_CHECKING:
    from clew.types import FloatArray

ENCODER = HashingEncoder(64)
GRAPH = TextualGraph(
    ("The Wire", "Ada  Lovelace", "$9.99", "the wire", " "),
    np.array([[0, 1], [1, 0], [2, 2], [0, 1]], dtype=np.int32),
    ("directed by", "release year", "directed by", "place of birth"),
)


class RecordingEncoder:
    """An encoder that records its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> "FloatArray":
        self.batches.append(list(texts))
        return ENCODER.encode(texts)


def encoder() -> GraphEncoder:
    return GraphEncoder(ENCODER.encode, ENCODER.encode_queries)


def test_nodes_and_distinct_relations_have_vectors() -> None:
    actual = encoder().encode_graph(GRAPH)
    assert actual.graph is GRAPH
    assert actual.node_vectors.tolist() == ENCODER.encode(list(GRAPH.nodes)).tolist()
    assert actual.relation_vectors[actual.edge_relations].tolist() == ENCODER.encode(list(GRAPH.relations)).tolist()
    assert actual.relation_vectors.shape == (3, 64)
    assert actual.edge_relations.dtype == np.int32
    assert actual.edge_relations.tolist() == [0, 1, 0, 2]


def test_an_empty_graph() -> None:
    actual = encoder().encode_graph(TextualGraph((), np.zeros((0, 2), dtype=np.int32), ()))
    assert (actual.node_vectors.shape, actual.relation_vectors.shape, actual.edge_relations.shape) == (
        (0, 64),
        (0, 64),
        (0,),
    )
    question = encoder().encode_query(actual, "who directed it ?")
    assert question.relation_relevance is not None
    assert question.relation_relevance.shape == (0,)


def test_equal_texts_are_encoded_once() -> None:
    texts, questions = RecordingEncoder(), RecordingEncoder()
    both = GraphEncoder(texts, questions)
    for _ in range(2):
        both.encode_query(both.encode_graph(GRAPH), "who directed it ?")
    assert texts.batches == [[*GRAPH.nodes, "directed by", "release year", "place of birth"]]
    assert questions.batches == [["who directed it ?", "directed"]]


def test_preloading_takes_one_call_and_changes_nothing() -> None:
    texts, questions = RecordingEncoder(), RecordingEncoder()
    both = GraphEncoder(texts, questions)
    other = TextualGraph(("Alien",), np.zeros((0, 2), dtype=np.int32), ())
    asking = [(0, "who directed The Wire ?", [0]), (1, "when did Alien start ?", [0])]
    both.preload([GRAPH, other], asking)
    assert (len(texts.batches), len(questions.batches)) == (1, 1)
    for position, text, topics in asking:
        graph = [GRAPH, other][position]
        actual, expected = (each.encode_query(each.encode_graph(graph), text, topics) for each in (both, encoder()))
        assert actual.question_vector.tolist() == expected.question_vector.tolist()
        assert actual.graph.node_vectors.tolist() == expected.graph.node_vectors.tolist()
        assert actual.relation_relevance is not None
        assert expected.relation_relevance is not None
        assert actual.relation_relevance.tolist() == expected.relation_relevance.tolist()
    assert (len(texts.batches), len(questions.batches)) == (1, 1)


def test_preloading_reports_its_progress() -> None:
    texts = RecordingEncoder()
    many = TextualGraph([f"ship {number}" for number in range(5000)], np.zeros((0, 2), dtype=np.int32), ())
    reports: list[tuple[int, int]] = []
    GraphEncoder(texts, texts).preload([many], [(0, "who?", [])], lambda done, total: reports.append((done, total)))
    assert [text for batch in texts.batches for text in batch] == [*many.nodes, "who?"]
    assert [len(batch) for batch in texts.batches] == [2048, 2048, 904, 1]
    assert reports == [(0, 5001), (2048, 5001), (4096, 5001), (5000, 5001), (5001, 5001)]


def test_preloading_fills_at_most_half_of_the_cache() -> None:
    texts, questions = RecordingEncoder(), RecordingEncoder()
    both = GraphEncoder(texts, questions, max_texts=6)
    both.preload([GRAPH], [(0, "who directed The Wire ?", [0])])
    assert texts.batches == [list(GRAPH.nodes[:3])]
    assert [len(batch) for batch in questions.batches] == [3]
    assert both.encode_graph(GRAPH).node_vectors.tolist() == ENCODER.encode(list(GRAPH.nodes)).tolist()


@pytest.mark.parametrize(
    ("text", "topics", "names"),
    [
        ("who directed THE wire ?", [0], ["THE wire"]),
        ("who directed the wires ?", [0], []),
        ("who directed ada\tlovelace and the wire , the Wire ?", [1, 0], ["ada\tlovelace", "the wire", "the Wire"]),
        ("what else costs $9.99 ?", [2], ["$9.99"]),
        ("what is the wire ?", [], []),
        ("a question with  blanks ?", [4], []),
    ],
)
def test_names_of_topics_are_masked_in_the_question(text: str, topics: list[int], names: list[str]) -> None:
    both = encoder()
    actual = both.encode_query(both.encode_graph(GRAPH), text, topics)
    without, start = text, 0
    spans = []
    for name in names:
        start = text.index(name, start)
        spans.append((start, start + len(name)))
    without = mask_names(text, spans).text if names else text
    assert actual.question_vector.tolist() == ENCODER.encode([without])[0].tolist()
    assert actual.topics.dtype == np.int32
    assert actual.topics.tolist() == topics


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("東京の人口は", "東京", "it の 人 口 は"),
        ("人口は東京タワー", "東京", "人 口 は it タ ワ ー"),
        ("the population of 東京", "東京", "the population of it"),
        ("population of 東京city", "東京", "population of it city"),
        ("Tokyoの人口は", "Tokyo", "it の 人 口 は"),
        ("何人がTokyoに", "tokyo", "何 人 か\u3099 it に"),
        ("ประชากรของกรุงเทพคือ", "กรุงเทพ", " ".join([*"ประชากรของ", "it", *"คือ"])),
        ("Tokyos population", "Tokyo", None),
        ("OldTokyo and Tokyo_2", "Tokyo", None),
        ("रामायण", "राम", None),
        ("ab a b a b", "b a b", "ab a it"),
        ("is C++17 C++ ?", "C++", "is c++ 17 it"),
    ],
)
def test_names_are_masked_as_whole_words(text: str, name: str, rest: str | None) -> None:
    graph = TextualGraph((name,), np.zeros((0, 2), dtype=np.int32), ())
    both = encoder()
    actual = both.encode_query(both.encode_graph(graph), text, [0])
    assert actual.question_vector.tolist() == ENCODER.encode([text if rest is None else rest])[0].tolist()


def test_relevance_is_that_of_the_best_phrase_of_the_best_word() -> None:
    both = encoder()
    text = "which year of release and place of birth has The Wire ?"
    actual = both.encode_query(both.encode_graph(GRAPH), text, [0])
    relations = ENCODER.encode(["directed by", "release year", "place of birth"])
    start = text.index("The Wire")
    expected = np.full(3, -np.inf)
    for phrases in find_relation_words(mask_names(text, [(start, start + len("The Wire"))])).phrases:
        for phrase in phrases:
            similarity = relations @ ENCODER.encode([phrase])[0]
            expected = np.maximum(expected, similarity - similarity.mean())
    assert actual.relation_relevance is not None
    assert actual.relation_relevance == pytest.approx(expected, abs=1e-6)
    assert actual.relation_relevance.argmin() == 0  # nobody asks who directed it


@pytest.mark.parametrize("text", ["what is it ?", "", "The Wire"])
def test_without_relation_words_there_is_no_relevance(text: str) -> None:
    both = encoder()
    assert both.encode_query(both.encode_graph(GRAPH), text, [0]).relation_relevance is None


@pytest.mark.parametrize("topic", [-1, 5])
def test_a_topic_is_a_node_of_the_graph(topic: int) -> None:
    both = encoder()
    with pytest.raises(InputError, match=rf"about node {topic}: wanted 0 to 4"):
        both.encode_query(both.encode_graph(GRAPH), "who ?", [topic])
