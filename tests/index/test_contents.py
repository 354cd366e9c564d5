"""Reading an index from Python: documents, entities, neighbours, facts, the overview and its example questions."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.errors import InputError
from clew.index import Index
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.query.example_questions import _is_of_names
from clew.query.overview import describe_foreign_text, guess_language
from clew.types import Document, Evidence, Place, PlaceStart, Scored
from tests.small_index import DOCUMENTS, make_index

EXPEDITION = (
    Document("fram", "Fram", "Fram was designed by Colin Archer.", {"year": 1892, "tags": ["ship", "wood"]}),
    Document("archer", "Colin Archer", "Colin Archer was born in Larvik.", {"year": 1832, "keeper's": "Oslo's"}),
    Document("larvik", "Larvik", "Larvik is a town in Norway.", {"year": 1671}),
)
WHERE = "year >= 1800"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("contents") / "index", EXPEDITION)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("small") / "index", DOCUMENTS)


def test_documents_are_a_sequence_by_id(index: Index) -> None:
    assert len(index) == len(index.documents) == 3
    assert [document.id for document in index] == ["archer", "fram", "larvik"]
    assert [document.id for document in index.documents[1:]] == ["fram", "larvik"]
    assert index.documents[-1].title == "Larvik"
    assert index.documents[0] in index.documents
    with pytest.raises(IndexError):
        index.documents[3]
    assert "3 documents" in repr(index.documents)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (3, IndexError, "3 is no place of 3 documents; wanted -3 to 2"),
        (-4, IndexError, "-4 is no place of 3 documents; wanted -3 to 2"),
        (10**30, IndexError, "is no place of 3 documents"),
        (np.int64(99), IndexError, "99 is no place of 3 documents"),
        ("framm", KeyError, "^no document has the id 'framm': "),
        (1.0, InputError, "float 1.0; give a whole number"),
        (None, InputError, "None; give a whole number"),
        ([0], InputError, "give a whole number"),
        (True, InputError, "bool True; give a whole number"),
        (slice("a", None), InputError, "the start of a slice is str 'a'"),
        (slice(None, None, 0), InputError, "the step of a slice is 0"),
    ],
    ids=str,
)
def test_a_document_that_there_is_not_is_one_error_of_python_s_kind(
    index: Index, given: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        index.documents[given]
    assert isinstance(caught.value, InputError)


def test_documents_are_found_by_numbers_of_numpy_slices_and_ids(index: Index) -> None:
    documents = index.documents
    assert documents[np.int32(1)] == documents["fram"] == documents[-2]
    assert [document.id for document in documents[::-2]] == ["larvik", "archer"]
    assert documents[5:9] == []
    assert documents[np.int64(1) :] == documents[-2:]


def test_negative_limits_are_refused(index: Index) -> None:
    """-1 left the last pair out."""
    for call in (index.duplicate_entities, index.ambiguous_entities, index.example_questions):
        with pytest.raises(InputError, match="is -1; give 0 or more"):
            call(-1)
        assert call(0) == []
    with pytest.raises(InputError, match="number is 0; give 1 or more"):
        index.undo_entity_decision(0)


def test_get_returns_a_document_or_none(index: Index) -> None:
    found = index.get("fram")
    assert found is not None
    assert found.metadata == {"year": 1892, "tags": ["ship", "wood"]}
    assert "".join(passage.text for passage in found.passages) == EXPEDITION[0].text
    assert index.get("framm") is None
    assert index.get("larvik", WHERE) is None
    assert "fram" in index
    assert "framm" not in index
    with pytest.raises(InputError, match="document_id"):
        index.get(5)  # type: ignore[arg-type]


def test_a_filter_leaves_documents_and_their_passages_out(small: Index) -> None:
    english = small.documents.filter("lang = 'en'")
    ids = {document.id for document in english}
    assert ids == {d.id for d in DOCUMENTS if d.metadata["lang"] == "en"}
    assert len(english) == len(ids)
    assert english.find("bridge") is None
    assert small.get("bridge", "lang = 'en'") is None
    assert len(english.filter("year = 1872")) == 2
    with pytest.raises(InputError, match="langg"):
        small.documents.filter("langg = 'en'")


def test_entities_neighbours_and_triples_agree(small: Index) -> None:
    for where in (None, "lang = 'en'"):
        entities = list(small.entities(where=where))
        assert len({entity.name for entity in entities}) == len(entities)
        assert entities == sorted(entities, key=lambda e: (-e.passages, -e.facts))
        facts = list(small.triples(where=where))
        for entity in entities:
            own = [triple for triple in facts if entity.name in triple.entities]
            assert [each.triple for each in small.neighbours(entity.name, where)] == own
            assert entity.facts == len(own)
            assert all(each.name in each.triple.entities for each in small.neighbours(entity.name, where))
            starts = [triple for triple in facts if triple.entities[0] == entity.name]
            assert list(small.triples(head=entity.name, where=where)) == starts
    relation = facts[0].relation
    assert list(small.triples(relation=relation.upper())) == [t for t in small.triples() if t.relation == relation]


def test_entities_are_found_by_a_part_of_the_name(small: Index) -> None:
    names = [entity.name for entity in small.entities("karlsk")]
    assert "Karlskrona" in names
    assert all("karlsk" in name.casefold() for name in names)
    assert not list(small.entities("Quux"))


@pytest.mark.parametrize("asked", [{"head": "Quux"}, {"tail": "Quux"}, {"relation": "quuxed"}, {"where": "nix = 1"}])
def test_an_unknown_name_or_relation_is_one_clear_line(small: Index, asked: dict[str, str]) -> None:
    with pytest.raises(InputError):
        small.triples(**asked)
    with pytest.raises(InputError, match="no entity is called 'Quux'"):
        small.neighbours("Quux")


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (
            ["Das Tor ist um acht zu.", "大门晚上八点关闭。", "The gate is closed."],
            "67% of the text is not English (German, Chinese)",
        ),
        (["The gate is closed.", "It is in the town.", "Das Tor ist zu."], ""),
        (["1893", "42"], ""),
    ],
)
def test_text_that_an_english_encoder_does_not_know_is_told(tmp_path: Path, texts: list[str], told: str) -> None:
    index = make_index(tmp_path / "index", [Document(f"{n}", "", text) for n, text in enumerate(texts)])
    note = describe_foreign_text(index.snapshot, DEFAULT_ENCODER, "notes")
    assert note.startswith(told)
    assert bool(note) == bool(told)
    assert not told or note.endswith("clew reencode --index notes --encoder multilingual")
    assert not describe_foreign_text(index.snapshot, "hashing", "notes")


def test_the_overview_counts_and_lists_fields(index: Index) -> None:
    overview = index.overview()
    assert (overview.documents, overview.passages, overview.facts) == (3, 3, len(list(index.triples())))
    assert overview.entities == len(list(index.entities()))
    assert overview.languages == ("English",)
    assert overview.largest == tuple(index.entities())[:10]
    fields = {field.name: field for field in overview.fields}
    assert list(fields) == ["year", "keeper's", "tags"]
    assert fields["year"].kinds == ("number",)
    assert fields["year"].passages == 3
    assert fields["tags"].kinds == ("list", "text")
    assert fields["tags"].examples == ("'ship'", "'wood'")
    assert fields["keeper's"].examples == ("'Oslo''s'",)
    assert json.loads(json.dumps(overview.to_dict())) == overview.to_dict()


def test_values_of_fields_are_filters_as_written(index: Index) -> None:
    for field in index.overview().fields:
        for value in field.examples:
            assert len(index.documents.filter(f'"{field.name}" = {value}'))


def test_single_letters_of_a_table_tell_no_language() -> None:
    assert guess_language("rack: rack-4; owner: Team E\n\nrack: rack-5; owner: Team O") == ""
    assert guess_language("O barco é de Lisboa e navega para o sul.") == "Portuguese"


def test_languages_are_guessed_by_words_and_scripts(small: Index) -> None:
    assert {"English", "Cyrillic script", "Chinese", "Arabic script"} >= set(small.overview().languages)
    assert small.overview().languages[0] == "English"


def test_example_questions_are_answered_by_search(index: Index) -> None:
    questions = index.example_questions()
    texts = ["Where was the one who designed Fram born?", "How is Colin Archer connected with Norway?"]
    assert [question.text for question in questions] == texts
    question = questions[0]
    assert set(question.passages) == {"fram", "archer"}
    assert {scored.item.id for scored in index.search(question.text)} >= set(question.passages)
    assert index.example_questions() == questions
    assert index.example_questions(0) == []


def test_an_example_question_quotes_a_passage_that_it_was_made_from(index: Index) -> None:
    questions = index.example_questions()
    assert len(questions) == 2
    for question in questions:
        quoted = {citation.passage_id for citation in index.ask(question.text).citations}
        assert question.passages[-1] in quoted


@pytest.mark.parametrize("name", ["Several", "However", "Both", "Seven", "His Father", "1884", "Funded"])
def test_no_question_goes_by_way_of_what_is_no_name(index: Index, name: str) -> None:
    """`Several` opened sentences of two documents, and was taken for what they have in common."""
    first, second = index.example_questions(1)[0].chain
    assert _is_of_names(first, second)
    assert not _is_of_names(replace(first, tail=name), replace(second, head=name))
    assert _is_of_names(first, replace(second, tail="12 May 1884"))


def test_an_empty_index_is_true(tmp_path: Path) -> None:
    empty = make_index(tmp_path / "index", ())
    assert len(empty) == 0
    assert bool(empty)
    assert not list(empty.entities())
    assert not list(empty.triples())
    assert empty.example_questions() == []
    assert empty.overview().languages == ()


def test_evidence_and_answers_are_sequences_and_json(index: Index) -> None:
    evidence = index.search("Who designed Fram?", 2, "bm25")
    assert list(evidence) == list(evidence.passages)
    assert len(evidence) == len(evidence.passages)
    assert evidence[0] == evidence.passages[0]
    assert evidence[:1] == evidence.passages[:1]
    assert evidence
    assert not Evidence()
    placed = replace(evidence[0].item, places=(PlaceStart(0, Place(page=2)),))
    shown = Evidence((Scored(placed, 1.0),)).to_dict()["passages"][0]["places"]
    assert (shown[0]["offset"], shown[0]["page"]) == (0, 2)
    answer = index.ask("Who designed Fram?")
    assert list(answer) == list(answer.evidence)
    assert bool(answer) == bool(answer.text)
    for each in (evidence, answer, index.search("Where was the designer of Fram born?", retriever="chains")):
        plain = each.to_dict()
        assert json.loads(json.dumps(plain)) == plain
    assert answer.to_dict()["citations"][0]["quote"] == answer.citations[0].quote
    assert evidence.to_dict()["passages"][0]["score"] == evidence[0].score
