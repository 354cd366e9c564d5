from collections.abc import Sequence

import pytest

from clew.indexing.extraction.rule_based import RuleExtractor
from clew.types import Extraction, Failure, Mention, Passage
from clew_lab.amr.graph import AMRGraph, path_words
from clew_lab.amr.local_parser import ASKS, HOLDS, SHARES_WORD, LocalAMRParser

NamedEdges = set[tuple[str, str, str]]


class CountingExtractor:
    """The rules, with a record of the passages; a passage without a title fails."""

    fingerprint = "counting"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        self.seen += [passage.id for passage in passages]
        return [
            Failure(passage.id, "no title") if not passage.title else RuleExtractor().extract([passage])[0]
            for passage in passages
        ]


def passage(id_: str, title: str, text: str) -> Passage:
    return Passage(id_, id_, title, text, 0, len(text))


FRAM = passage("p1", "Fram", "The Fram was built by Colin Archer in Larvik.")
LARVIK = passage("p2", "Larvik", "Larvik is a harbour town. It is small.")


def edges(graph: AMRGraph) -> NamedEdges:
    names = graph.concepts
    return {(names[head], relation, names[tail]) for head, relation, tail in graph.edges}


def parse(question: str, given: Passage, parser: LocalAMRParser | None = None) -> AMRGraph:
    (graph,) = (parser or LocalAMRParser()).parse([question], [given])
    assert isinstance(graph, AMRGraph)
    return graph


def test_question_and_passage_meet_in_equal_concepts() -> None:
    graph = parse("Who built the Fram?", FRAM)
    assert graph.concepts == ("fram", "colin archer", "larvik", "built", "question")
    assert graph.concepts[graph.top] == "question"
    assert edges(graph) == {
        ("fram", HOLDS, "built"),
        ("fram", "was built by", "colin archer"),
        ("fram", "in", "larvik"),
        ("question", ASKS, "fram"),
        ("question", ASKS, "built"),
    }
    assert path_words(graph) == ("question", "built", "fram", "colin archer", "larvik")


def test_names_meet_by_a_word_they_share() -> None:
    graph = parse("Where was Colin born?", passage("p", "", "In 1861 Colin Archer moved with an archer."))
    assert ("colin", SHARES_WORD, "colin archer") in edges(graph)
    graph = parse("Was Colin Archer a fisher?", passage("p", "", "Once an archer moved."))
    assert ("colin archer", SHARES_WORD, "archer") in edges(graph)
    # The stop word `of` is shared as well, without an edge.
    graph = parse("Was Gulf of Finland wide?", passage("p", "", "They saw the Bay of Biscay."))
    assert not [edge for edge in edges(graph) if edge[1] == SHARES_WORD]


def test_words_are_linked_to_the_first_name_or_the_title_or_the_first_word() -> None:
    actual = edges(parse("", LARVIK))
    assert {("larvik", HOLDS, word) for word in ("harbour", "town", "small")} <= actual
    actual = edges(parse("", passage("p", "", "some small towns")))
    assert actual == {("some", HOLDS, "small"), ("some", HOLDS, "towns")}


def test_a_passage_that_shares_nothing_is_not_reached() -> None:
    graph = parse("When did Amundsen die?", LARVIK)
    assert set(path_words(graph)) == {"question", "amundsen", "die"}
    assert path_words(parse("", FRAM)) == ("question",)


def test_the_word_question_of_a_text_is_not_where_paths_start() -> None:
    graph = parse(
        "Is this a question of time?", passage("p", "Question", "The question was open. Question Time is a show.")
    )
    assert graph.concepts.count("question") == 1
    assert {tail for head, _, tail in edges(graph) if head == "question"} == {"time"}


def test_a_passage_is_extracted_once() -> None:
    extractor = CountingExtractor()
    parser = LocalAMRParser(extractor)
    first = parser.parse(["Who built the Fram?", "x", "x"], [FRAM, LARVIK, FRAM])
    assert extractor.seen == ["p1", "p2"]
    assert parser.parse(["Who built the Fram?"], [FRAM]) == first[:1]
    assert extractor.seen == ["p1", "p2"]
    parser.parse(["x"], [passage("p1", "Fram", "Another text.")])
    assert extractor.seen == ["p1", "p2", "p1"]


def test_the_oldest_passages_are_evicted_first() -> None:
    extractor = CountingExtractor()
    parser = LocalAMRParser(extractor, cache_size=1)
    both = parser.parse(["x", "x"], [FRAM, LARVIK])
    assert parser.parse(["x", "x"], [LARVIK, FRAM]) == both[::-1]
    assert extractor.seen == ["p1", "p2", "p1"]


def test_a_failure_of_the_extractor_is_returned_and_retried() -> None:
    extractor = CountingExtractor()
    parser = LocalAMRParser(extractor)
    untitled = passage("p3", "", "A text.")
    assert parser.parse(["x", "x"], [untitled, FRAM])[0] == Failure("p3", "no title")
    assert parser.parse(["x"], [untitled]) == [Failure("p3", "no title")]
    assert extractor.seen == ["p3", "p1", "p3"]


def test_mentions_without_a_place_are_concepts() -> None:
    class Published:
        fingerprint = "published"

        def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
            extraction = Extraction(
                (Mention("Oslo"), Mention("the Fram")), (("Fram", "left", "Oslo"), ("", "left", "Oslo"))
            )
            return [extraction for _ in passages]

    graph = parse("", FRAM, LocalAMRParser(Published()))
    assert {"oslo", "fram"} <= set(graph.concepts)
    assert ("fram", "left", "oslo") in edges(graph)


@pytest.mark.parametrize("extractor", [None, CountingExtractor()])
def test_the_fingerprint_names_the_extractor(extractor: CountingExtractor | None) -> None:
    wanted = extractor.fingerprint if extractor else RuleExtractor().fingerprint
    assert LocalAMRParser(extractor).fingerprint == f"local-amr-1:{wanted}"
