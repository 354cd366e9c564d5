"""FRAG on a small graph: hop prediction, all searches, and bounds on hostile graphs."""

from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.graph.paths.simple_paths import path_entities
from clew.index import Index
from clew.retrievers.evidence import NO_TOPIC
from clew.retrievers.frag.retriever import FragRetriever
from clew.retrievers.registry import parse_retriever
from clew.settings import Settings
from clew.types import Document
from tests.kinship import QUESTIONS, TRIPLES, graph_of, make_kinship_index, path_ends

NAMES = ("frag", "frag-simple", "frag-complex")


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_kinship_index(tmp_path_factory.mktemp("family"))


def frag(index: Index, name: str = "frag") -> FragRetriever:
    retriever = index.retriever(parse_retriever(name))
    assert isinstance(retriever, FragRetriever)
    return retriever


@pytest.mark.parametrize(("text", "topics", "answers", "hops"), QUESTIONS)
def test_the_best_path_answers(
    family: Index, text: str, topics: tuple[str, ...], answers: tuple[str, ...], hops: int
) -> None:
    evidence = frag(family).retrieve_about([text], [topics], 5)[0]
    assert path_ends(evidence)[0] == answers[0]
    assert len(evidence.paths[0].item) == hops
    assert evidence.topics == topics


def test_paths_are_connected_facts_of_the_graph(family: Index) -> None:
    known_ids = set(TRIPLES)
    for name in NAMES:
        for text, topics, _, _ in QUESTIONS:
            evidence = frag(family, name).retrieve_about([text], [topics], 5)[0]
            assert evidence.paths
            scores = [path.score for path in evidence.paths]
            assert scores == sorted(scores, reverse=True)
            for path in evidence.paths:
                assert {(t.head, t.relation, t.tail) for t in path.item} <= known_ids
                walk = path_entities(path.item, evidence.topics)
                assert walk[0] in topics
                assert all({t.head, t.tail} == {a, b} for t, a, b in zip(path.item, walk, walk[1:], strict=False))


def test_simple_searches_two_hops_and_complex_four(family: Index) -> None:
    three = QUESTIONS[4]
    assert "Tromsø" not in path_ends(frag(family, "frag-simple").retrieve_about([three[0]], [three[1]], 5)[0])
    assert "Tromsø" in path_ends(frag(family, "frag-complex").retrieve_about([three[0]], [three[1]], 5)[0])
    routed = frag(family).search(three[0], three[1])
    assert routed.is_complex
    assert not frag(family).search(QUESTIONS[0][0], QUESTIONS[0][1]).is_complex


@pytest.mark.parametrize("search", ["bfs", "shortest", "cheapest", "chains"])
@pytest.mark.parametrize("ranking", ["ppr", "rwr", "nibble"])
def test_every_search_and_ranking_of_entities_reaches_the_answer(family: Index, search: str, ranking: str) -> None:
    actual = frag(family, f"frag:search={search},grm={ranking}").retrieve_about([QUESTIONS[4][0]], [QUESTIONS[4][1]], 5)
    assert "Tromsø" in path_ends(actual[0])


@pytest.mark.parametrize("ranker", ["bi-encoder", "bm25", "trained"])
def test_every_ranker_of_paths_answers_a_question_that_names_its_relations(family: Index, ranker: str) -> None:
    evidence = frag(family, f"frag:ranker={ranker}").retrieve_about([QUESTIONS[2][0]], [QUESTIONS[2][1]], 5)[0]
    assert "carpenter" in path_ends(evidence)[:3]


def test_relations_are_ranked_when_there_are_more_than_the_limit(family: Index) -> None:
    trace = frag(family, "frag:relations=2").search(QUESTIONS[2][0], QUESTIONS[2][1])
    relations = {int(family.snapshot.triples[int(e) >> 1, 1]) for _, edges, _ in trace.paths for e in edges}
    assert {family.snapshot.relations[r] for r in relations} == {"spouse", "profession"}


def test_names_are_linked_bracketed_or_given(family: Index) -> None:
    linked = frag(family).retrieve(["what is the profession of Eva Holm"], 5)[0]
    bracketed = frag(family).retrieve(["what is the profession of [Eva Holm]"], 5)[0]
    options = frag(family).retrieve_about(["what is her profession"], [["Eva Holm"]], 5)[0]
    assert linked.topics == bracketed.topics == options.topics == ("Eva Holm",)
    assert path_ends(linked)[0] == path_ends(bracketed)[0] == path_ends(options)[0] == "teacher"


def test_an_unknown_topic_is_noted_and_nothing_is_found(family: Index) -> None:
    evidence = frag(family).retrieve_about(["who is it"], [["Nobody At All"]], 5)[0]
    assert not evidence.paths
    assert "no entity is called 'Nobody At All'" in evidence.notes
    assert NO_TOPIC in evidence.notes
    assert NO_TOPIC in frag(family).retrieve(["how many roads lead there"], 5)[0].notes


def test_an_isolated_entity_has_no_path(family: Index) -> None:
    evidence = frag(family).retrieve(["what is [Alone]"], 5)[0]
    assert set(path_ends(evidence)) <= {"Alone"}


def test_a_hub_is_bounded_and_noted(tmp_path: Path) -> None:
    triples = [("Hub", "has", f"leaf {i:05d}") for i in range(3000)] + [("leaf 00007", "colour", "red")]
    index = graph_of(tmp_path, triples)
    retriever = frag(index, "frag:edges=500")
    evidence = retriever.retrieve(["what is the colour of what [Hub] has"], 5)[0]
    assert len(evidence.paths) == 32
    assert any("not all were looked at" in note for note in evidence.notes)
    from_leaf = frag(index).retrieve(["what is the colour of [leaf 00007]"], 5)[0]
    assert "red" in path_ends(from_leaf)[:8]


def test_loops_and_parallel_edges(tmp_path: Path) -> None:
    triples = [("A a", f"relation {i}", "B b") for i in range(40)] + [("B b", "back", "A a"), ("A a", "self", "A a")]
    index = graph_of(tmp_path, triples)
    for search in ("bfs", "shortest", "cheapest", "chains"):
        evidence = frag(index, f"frag:search={search}").retrieve(["which back of [A a]"], 5)[0]
        assert evidence.paths
        assert set(path_ends(evidence)) <= {"A a", "B b"}


def test_an_encoder_other_than_the_weights_is_noted(tmp_path: Path) -> None:
    index = graph_of(tmp_path, TRIPLES)
    evidence = frag(index).retrieve(["what is the profession of [Eva Holm]"], 5)[0]
    assert any("tf-idf" in note for note in evidence.notes)
    assert any("bi-encoder" in note for note in evidence.notes)
    with pytest.raises(InputError, match="ranker=bi-encoder"):
        index.retriever(parse_retriever("frag:ranker=trained"))


def test_without_an_encoder_ranking_is_by_words(tmp_path: Path) -> None:
    index = graph_of(tmp_path, TRIPLES, "none")
    evidence = frag(index).retrieve(["what is the profession of [Eva Holm]"], 5)[0]
    assert path_ends(evidence)[0] == "teacher"
    with pytest.raises(InputError, match="encoder none"):
        index.retriever(parse_retriever("frag:ranker=bi-encoder"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("frag:search=sideways", "search is 'sideways'"),
        ("frag:ranker=luck", "a ranker is 'luck'"),
        ("frag:grm=luck", "grm is 'luck'"),
        ("frag:router_weights=/nowhere", "holds no config.json"),
    ],
)
def test_invalid_settings_are_refused(family: Index, name: str, words: str) -> None:
    with pytest.raises(clew.ClewError, match=words):
        family.retriever(parse_retriever(name))


def test_paths_combine_documents_and_an_imported_graph(tmp_path: Path) -> None:
    graph = tmp_path / "graph.tsv"
    graph.write_text("Colin Archer\tplace of birth\tLarvik\n", encoding="utf-8")
    index = clew.create(tmp_path / "index", Settings(encoder="hashing"))
    index.add([Document("a", "Fram", "Fram was designed by Colin Archer.")])
    index.import_graph(graph)
    evidence = frag(index, "frag-complex").retrieve(["where was the designer of [Fram] born"], 5)[0]
    assert "Larvik" in path_ends(evidence)
    mixed = next(path.item for path in evidence.paths if path_entities(path.item, evidence.topics)[-1] == "Larvik")
    assert [bool(triple.passages) for triple in mixed] == [True, False]
    assert [p.item.document_id for p in evidence.passages] == ["a"]
