"""Graphs and questions with vectors, against doing it one word at a time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.query.masking import find_relation_words, mask_names
from clew.retrievers.subgraph.encoding import GraphEncoder

if TYPE_CHECKING:
    from clew.types import FloatArray

ENCODER = HashingEncoder(64)
GRAPH = TextualGraph(
    ("The Wire", "Ada  Lovelace", "$9.99", "the wire", " "),
    np.array([[0, 1], [1, 0], [2, 2], [0, 1]], dtype=np.int32),
    ("directed by", "release year", "directed by", "place of birth"),
)


class Recorded:
    """An encoder that remembers what it was asked, batch by batch."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> "FloatArray":
        self.batches.append(list(texts))
        return ENCODER.encode(texts)


def encoder() -> GraphEncoder:
    return GraphEncoder(ENCODER.encode, ENCODER.encode_queries)


def test_nodes_and_distinct_relations_have_their_own_vectors() -> None:
    found = encoder().encode_graph(GRAPH)
    assert found.graph is GRAPH
    assert found.node_vectors.tolist() == ENCODER.encode(list(GRAPH.nodes)).tolist()
    assert found.relation_vectors[found.edge_relations].tolist() == ENCODER.encode(list(GRAPH.relations)).tolist()
    assert found.relation_vectors.shape == (3, 64)
    assert found.edge_relations.dtype == np.int32
    assert found.edge_relations.tolist() == [0, 1, 0, 2]


def test_a_graph_of_nothing() -> None:
    found = encoder().encode_graph(TextualGraph((), np.zeros((0, 2), dtype=np.int32), ()))
    assert (found.node_vectors.shape, found.relation_vectors.shape, found.edge_relations.shape) == (
        (0, 64),
        (0, 64),
        (0,),
    )
    asked = encoder().encode_query(found, "who directed it ?")
    assert asked.relation_relevance is not None
    assert asked.relation_relevance.shape == (0,)


def test_equal_texts_are_encoded_once() -> None:
    texts, questions = Recorded(), Recorded()
    both = GraphEncoder(texts, questions)
    for _ in range(2):
        both.encode_query(both.encode_graph(GRAPH), "who directed it ?")
    assert texts.batches == [[*GRAPH.nodes, "directed by", "release year", "place of birth"]]
    assert questions.batches == [["who directed it ?", "directed"]]


def test_remembering_many_takes_one_call_and_changes_nothing() -> None:
    texts, questions = Recorded(), Recorded()
    both = GraphEncoder(texts, questions)
    other = TextualGraph(("Alien",), np.zeros((0, 2), dtype=np.int32), ())
    asking = [(0, "who directed The Wire ?", [0]), (1, "when did Alien start ?", [0])]
    both.preload([GRAPH, other], asking)
    assert (len(texts.batches), len(questions.batches)) == (1, 1)
    for place, text, topics in asking:
        graph = [GRAPH, other][place]
        found, wanted = (each.encode_query(each.encode_graph(graph), text, topics) for each in (both, encoder()))
        assert found.question_vector.tolist() == wanted.question_vector.tolist()
        assert found.graph.node_vectors.tolist() == wanted.graph.node_vectors.tolist()
        assert found.relation_relevance is not None
        assert wanted.relation_relevance is not None
        assert found.relation_relevance.tolist() == wanted.relation_relevance.tolist()
    assert (len(texts.batches), len(questions.batches)) == (1, 1)


def test_many_texts_are_remembered_in_parts_that_are_told() -> None:
    texts = Recorded()
    many = TextualGraph([f"ship {number}" for number in range(5000)], np.zeros((0, 2), dtype=np.int32), ())
    told: list[tuple[int, int]] = []
    GraphEncoder(texts, texts).preload([many], [(0, "who?", [])], lambda done, total: told.append((done, total)))
    assert [text for batch in texts.batches for text in batch] == [*many.nodes, "who?"]
    assert [len(batch) for batch in texts.batches] == [2048, 2048, 904, 1]
    assert told == [(0, 5001), (2048, 5001), (4096, 5001), (5000, 5001), (5001, 5001)]


def test_no_more_is_remembered_in_advance_than_half_of_what_fits() -> None:
    texts, questions = Recorded(), Recorded()
    both = GraphEncoder(texts, questions, max_texts=6)
    both.preload([GRAPH], [(0, "who directed The Wire ?", [0])])
    assert texts.batches == [list(GRAPH.nodes[:3])]
    assert [len(batch) for batch in questions.batches] == [2]
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
def test_names_of_topics_are_taken_out_of_the_question(text: str, topics: list[int], names: list[str]) -> None:
    both = encoder()
    found = both.encode_query(both.encode_graph(GRAPH), text, topics)
    without, start = text, 0
    spans = []
    for name in names:
        start = text.index(name, start)
        spans.append((start, start + len(name)))
    without = mask_names(text, spans).text if names else text
    assert found.question_vector.tolist() == ENCODER.encode([without])[0].tolist()
    assert found.topics.dtype == np.int32
    assert found.topics.tolist() == topics


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
        ("is C++17 C++ ?", "C++", "is c 17 it"),
    ],
)
def test_names_stand_alone_as_the_linker_has_it(text: str, name: str, rest: str | None) -> None:
    graph = TextualGraph((name,), np.zeros((0, 2), dtype=np.int32), ())
    both = encoder()
    found = both.encode_query(both.encode_graph(graph), text, [0])
    assert found.question_vector.tolist() == ENCODER.encode([text if rest is None else rest])[0].tolist()


def test_relevance_is_that_of_the_best_phrase_of_the_word_that_asks_most() -> None:
    both = encoder()
    text = "which year of release and place of birth has The Wire ?"
    found = both.encode_query(both.encode_graph(GRAPH), text, [0])
    relations = ENCODER.encode(["directed by", "release year", "place of birth"])
    start = text.index("The Wire")
    wanted = np.full(3, -np.inf)
    for phrases in find_relation_words(mask_names(text, [(start, start + len("The Wire"))])).phrases:
        for phrase in phrases:
            alike = relations @ ENCODER.encode([phrase])[0]
            wanted = np.maximum(wanted, alike - alike.mean())
    assert found.relation_relevance is not None
    assert found.relation_relevance == pytest.approx(wanted, abs=1e-6)
    assert found.relation_relevance.argmin() == 0  # nobody asks who directed it


@pytest.mark.parametrize("text", ["what is it ?", "", "The Wire"])
def test_without_an_asking_word_no_relation_is_asked_for(text: str) -> None:
    both = encoder()
    assert both.encode_query(both.encode_graph(GRAPH), text, [0]).relation_relevance is None


@pytest.mark.parametrize("topic", [-1, 5])
def test_a_topic_is_a_node_of_the_graph(topic: int) -> None:
    both = encoder()
    with pytest.raises(InputError, match=rf"about node {topic}: wanted 0 to 4"):
        both.encode_query(both.encode_graph(GRAPH), "who ?", [topic])
