"""Contract of every answerer: those that a model's name stands for, and one given as an object."""

from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew.answering.selection import NOTHING, PASSAGES, PATHS, accept_answerer, select_answerer
from clew.errors import InputError
from clew.index import Index
from clew.models.reader.reader import Reader
from clew.protocols import Answerer
from clew.types import Evidence, Failure, Prompt
from tests.models.llm.scripted_model import ScriptedModel
from tests.small_index import QUESTIONS

OWN = "that of docs/extend.md, given as an object"
KINDS = {"sentences": ("", PASSAGES), "paths": ("", PATHS), "model": ("m", PASSAGES), "model-paths": ("m", PATHS)}
KINDS |= {"unaided": ("m", NOTHING)}
NO_REPLY = "no reply"


def fail(prompt: Prompt) -> Failure:
    return Failure(prompt.name, NO_REPLY)


@pytest.fixture(params=[*KINDS, OWN])
def answerer(request: pytest.FixtureRequest, own_part: Callable[[str], dict[str, Any]]) -> Answerer:
    if request.param == OWN:
        return accept_answerer(own_part("answerer")["BestPassage"]())
    model, evidence = KINDS[request.param]
    return select_answerer(model, lambda _: ScriptedModel(fail), Reader, evidence)


@pytest.fixture(scope="module")
def evidence(plain_folder: Any) -> list[Evidence]:
    """What two retrievers find for all questions, of which one finds paths, and nothing."""
    index: Index = clew.open(plain_folder)
    found = [index.search(question, 3, name) for name in ("bm25", "frag") for question in QUESTIONS]
    return [*found, Evidence()]


@pytest.fixture(scope="module")
def questions(evidence: list[Evidence]) -> list[str]:
    asked = [*QUESTIONS, *QUESTIONS, "Where is nothing?"]
    assert len(asked) == len(evidence)
    return asked


def test_each_question_has_an_answer_of_its_own_evidence(
    answerer: Answerer, questions: list[str], evidence: list[Evidence]
) -> None:
    answers = answerer.answer(questions, evidence)
    assert len(answers) == len(questions)
    for answer, given in zip(answers, evidence, strict=True):
        assert {found.item.id for found in answer.evidence.passages} == {found.item.id for found in given.passages}
        texts = {found.item.id: found.item for found in given.passages}
        for citation in answer.citations:
            passage = texts[citation.passage_id]
            assert passage.text[citation.start - passage.start : citation.end - passage.start] == citation.quote
        scores = [candidate.score for candidate in answer.candidates]
        assert scores == sorted(scores, reverse=True)


def test_a_batch_equals_its_questions_one_by_one(
    answerer: Answerer, questions: list[str], evidence: list[Evidence]
) -> None:
    together = answerer.answer(questions, evidence)
    for question, given, answer in zip(questions, evidence, together, strict=True):
        (alone,) = answerer.answer([question], [given])
        assert (alone.text, alone.citations, alone.candidates, alone.weak) == (
            *(answer.text, answer.citations, answer.candidates, answer.weak),
        )


def test_no_evidence_is_no_fault(answerer: Answerer) -> None:
    (answer,) = answerer.answer(["Who?"], [Evidence()])
    assert answer.text == ""
    assert not answer.citations
    assert answerer.answer([], []) == []


def test_as_many_questions_as_pieces_of_evidence(answerer: Answerer) -> None:
    with pytest.raises(InputError, match="questions: 1, pieces of evidence: 2; give one per question"):
        answerer.answer(["Who?"], [Evidence(), Evidence()])
