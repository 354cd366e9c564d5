"""Questions about the documents as a whole are told apart, and requests are read as the questions in them."""

import pytest

from clew.answering.extractive import ExtractiveAnswerer
from clew.answering.question_forms import SUMMARY_NOTE, asks_for_summary, restate_request
from tests.answering.test_extractive import TWO


@pytest.mark.parametrize(
    "question",
    [
        "What are these documents about?",
        "what is this about",
        "Summarise the reports",
        "What do my notes say about Ragna Holm?",
    ],
)
def test_a_question_about_all_documents_is_said_to_be_one(question: str) -> None:
    answer = ExtractiveAnswerer().answer_one(question, TWO)
    assert (answer.text, answer.weak) == ("", True)
    assert answer.notes.count(SUMMARY_NOTE) == 1
    assert answer.citations


@pytest.mark.parametrize("question", ["Is this about ships?", "Which boss is about to leave?", "What was it?", ""])
def test_a_plain_question_is_none(question: str) -> None:
    assert not asks_for_summary(question)


@pytest.mark.parametrize(
    ("request_", "question"),
    [
        ("Tell me who built the Fram", "who built the Fram"),
        ("Please tell me where Tom Crean was born", "where Tom Crean was born"),
        ("Could you tell us in which year it sank?", "in which year it sank?"),
        ("Name the designer of the Fram", "What is the designer of the Fram"),
        ("Who's the captain?", "Who is the captain?"),
        ("Name of the Rose author?", "Name of the Rose author?"),
        ("Who built it?", "Who built it?"),
        ("", ""),
    ],
)
def test_a_request_is_read_as_the_question_in_it(request_: str, question: str) -> None:
    assert restate_request(request_) == question
