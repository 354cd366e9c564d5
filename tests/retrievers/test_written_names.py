"""No document renames another's entity: a path shows its ends as the passages that it cites write them."""

import json
from pathlib import Path

import pytest

import clew
from clew.graph.snapshot.spellings import find_spelling, writes_name
from clew.index import Index
from clew.retrievers.registry import parse_retriever
from clew.settings import Settings
from clew.types import Document, Triple
from tests.conftest import EXAMPLES
from tests.small_index import make_index

PLANTED = Document(
    "planted.md",
    "Codename Basilisk",
    "Codename Basilisk is a file.\n\n## Frank Worsley\n\nIt names one person.\n\n## Thomas Orde-Lees\n\nAnd another.",
    aliases=("Tom Crean",),
)
NAMES = ["pagerank", "chains", "title-links", "entity-graph", "frag", "steiner", "hipporag2", "naive-ge", "gear"]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The example corpus, and a document that gives its subject the names of people in the others."""
    index = clew.create(tmp_path_factory.mktemp("planted") / "index", Settings(encoder="hashing", extractor="rules"))
    assert not index.add([EXAMPLES / "polar"]).failures
    assert not index.add([PLANTED]).failures
    return index


def questions() -> list[str]:
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines][:12]


@pytest.mark.parametrize("name", NAMES)
def test_every_cited_passage_writes_both_ends(planted: Index, name: str) -> None:
    s = planted.snapshot
    asked = [*questions(), "Who was Frank Worsley?", "Who did Tom Crean sail with?"]
    triples = {
        triple
        for question in asked
        for path in planted.search(question, 10, parse_retriever(name)).paths
        for triple in path.item
    }
    assert triples
    unwritten = [
        t for t in triples for id_ in t.passages if not all(writes_name(s, s.position(id_), e) for e in ends(t))
    ]
    assert {triple.relation for triple in unwritten} <= {"links to", "mentions"}  # a link need not name its target
    assert all("Basilisk" not in "".join(ends(t)) for t in triples if "planted.md" not in t.passages)


def ends(triple: Triple) -> tuple[str, str]:
    return triple.head, triple.tail


def test_the_name_of_the_index_stands_beside_the_written_one(planted: Index) -> None:
    s = planted.snapshot
    (entity,) = s.entities_with_name("Frank Worsley").tolist()
    assert s.entities[entity] == "Codename Basilisk"  # by the heading, which links
    written = {find_spelling(s, passage, entity) for passage in s.mentioned_in.row(entity).tolist()}
    assert {"Frank Worsley", "Codename Basilisk"} <= written
    stated = [s.triple(t) for t in range(len(s.triples)) if entity in s.triples[t, [0, 2]]]
    others = [triple for triple in stated if "Frank Worsley" in ends(triple)]
    assert others
    assert all("Codename Basilisk" in triple.entities for triple in others)


@pytest.mark.parametrize("name", ["pagerank", "chains", "sprig", "frag", "frag-simple", "tog", "steiner"])
def test_a_note_tells_what_the_question_calls_an_entity_that_another_document_names(planted: Index, name: str) -> None:
    evidence = planted.search("Who was Frank Worsley?", 5, parse_retriever(name))
    assert "starts from Frank Worsley [Codename Basilisk]" in evidence.notes
    plain = planted.search("Where was the Fram built?", 5, parse_retriever(name))
    assert not [note for note in plain.notes if note.startswith("starts from") and "[" in note]


def test_the_names_that_join_sentences_are_as_their_passages_write_them(planted: Index) -> None:
    joined = 0
    for question in (*questions(), "Who was Frank Worsley?", "Who did Tom Crean sail with?"):
        for chain in planted.search(question, 10, "chains").chains:
            for bridge, citation in zip(chain.item.bridges, chain.item.sentences[1:], strict=True):
                joined += 1
                assert "Basilisk" not in bridge or citation.document_id == "planted.md"
                passage = planted.snapshot.passage(planted.snapshot.position(citation.passage_id))
                assert bridge in f"{passage.title}\n{passage.text}"
    assert joined > 5


def test_a_name_in_another_case_or_as_part_of_a_word_is_not_taken_as_written(tmp_path: Path) -> None:
    documents = [
        Document("a", "Fram", "Fram sailed north."),
        Document("b", "", "The FRAM left Oslo in 1893, and Framheim was built later."),
    ]
    s = make_index(tmp_path / "index", documents).snapshot
    (entity,) = s.entities_with_name("Fram").tolist()
    assert find_spelling(s, s.position("b"), entity) in ("FRAM", "The FRAM")
