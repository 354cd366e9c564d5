"""Questions that no single name answers: one line says so, and nothing is asserted."""

import pytest

from clew.answering.extractive import UNDECIDED_NOTE, ExtractiveAnswerer
from clew.answering.languages import ENGLISH, other_languages
from clew.answering.question_forms import (
    AGE_NOTE,
    AMOUNT_NOTE,
    COUNT_NOTE,
    DEFINITION_NOTE,
    DENIAL_NOTE,
    EXPLANATION_NOTE,
    LIST_NOTE,
    SUM_NOTE,
    SUMMARY_NOTE,
    TWO_QUESTIONS_NOTE,
    asks_count,
    find_form,
    restate_request,
)
from clew.answering.question_types import classify_question
from clew.models.encoders.hashing import HashingEncoder
from tests.answering.test_extractive import TWO
from tests.answering.test_span_ranker import constant


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("What are these documents about?", SUMMARY_NOTE),
        ("what is this about", SUMMARY_NOTE),
        ("Summarise the reports", SUMMARY_NOTE),
        ("What do my notes say about Ragna Holm?", SUMMARY_NOTE),
        ("Why did the Polar Fox sink?", EXPLANATION_NOTE),
        ("How do I build a ship?", EXPLANATION_NOTE),
        ("List all captains of the Polar Fox", LIST_NOTE),
        ("Which ships were built in Tromso?", LIST_NOTE),
        ("Who are the captains?", LIST_NOTE),
        ("List the ships of Ragna Holm", LIST_NOTE),
        ("Name some ships", LIST_NOTE),
        ("Which cities does the airline fly to?", LIST_NOTE),
        ("What harbours can the ship enter?", LIST_NOTE),
        ("What is the average age of the sailors?", SUM_NOTE),
        ("How many sailors on average did it carry?", SUM_NOTE),
        ("What was the total of the fares?", SUM_NOTE),
        ("Who did not sail with Ragna Holm?", DENIAL_NOTE),
        ("Which ship didn't return?", DENIAL_NOTE),
        ("Who has never been captain?", DENIAL_NOTE),
        ("When and where was Ragna Holm born?", TWO_QUESTIONS_NOTE),
        ("Who was the captain, and what did she teach?", TWO_QUESTIONS_NOTE),
        ("Who built the ship? When was it built?", TWO_QUESTIONS_NOTE),
        ("How old was Ragna Holm when she became captain?", AGE_NOTE),
        ("What is the difference between the Fram and the Polar Fox?", AMOUNT_NOTE),
        ("By how much did Ostro raise its prices?", AMOUNT_NOTE),
        ("How many more sailors did the Polar Fox carry than the Fram?", AMOUNT_NOTE),
        ("How many sailors were there in total?", SUM_NOTE),
        ("What is the Polar Fox?", DEFINITION_NOTE),
        ("Who was Ragna Holm?", DEFINITION_NOTE),
    ],
)
def test_a_form_is_said_and_nothing_is_asserted(question: str, note: str) -> None:
    form = find_form(question, classify_question(question), ENGLISH)
    assert form is not None
    assert form.note == note
    for answerer in (ExtractiveAnswerer(), ExtractiveAnswerer(HashingEncoder(), ranker=constant(0.99, 0.0, 0.1))):
        answer = answerer.answer_one(question, TWO)
        assert (answer.text, answer.weak) == ("", True)
        assert answer.notes.count(note) == 1
        assert answer.citations


@pytest.mark.parametrize(
    "question",
    [
        "Who was the captain of the Polar Fox?",
        "Which boss is about to leave?",
        "How old is Ragna Holm?",
        "How many sailors did it carry?",
        "Is this about ships?",
        "How to Eat, released in which year, is a book by whom?",
        "What was the name of the ship?",
        "Name the captain of the Polar Fox",
        "In which of the two towns was the ship built?",
        "The town in which the Cloverdale Fairgrounds are located lies in which region?",
        "Who won the league with a batting average of 0.300?",
        "Which series did she write?",
        "During which years was she captain?",
        "Who was the captain who sailed in 1911 and who was born in Bergen?",
        "Which wooden ship, not the Fram, was built in Tromso?",
        "",
    ],
)
def test_a_plain_question_has_no_form(question: str) -> None:
    assert find_form(question, classify_question(question), ENGLISH) is None


@pytest.mark.parametrize(
    ("request_", "question"),
    [
        ("Tell me who built the Fram", "who built the Fram"),
        ("Please tell me where Tom Crean was born", "where Tom Crean was born"),
        ("Could you tell us in which year it sank?", "in which year it sank?"),
        ("Name the designer of the Fram", "What is the designer of the Fram"),
        ("Who's the captain?", "Who is the captain?"),
        ("List the ships", "List the ships"),
        ("Name the captains of the Fram", "Name the captains of the Fram"),
        ("Name of the Rose author?", "Name of the Rose author?"),
        ("Who built it?", "Who built it?"),
        ("", ""),
    ],
)
def test_a_request_is_read_as_the_question_in_it(request_: str, question: str) -> None:
    assert restate_request(request_) == question


def test_the_question_word_tells_an_explanation_in_another_language() -> None:
    german = other_languages()["German"]
    form = find_form("Warum sank die Fram?", classify_question("Warum sank die Fram?", german), german)
    assert form is not None
    assert form.note == EXPLANATION_NOTE


def test_a_count_is_given_where_a_sentence_states_it_and_is_said_to_be_no_count() -> None:
    assert asks_count("How many sailors?")
    assert not asks_count("Who sailed?")
    unsure = ExtractiveAnswerer(HashingEncoder(), ranker=constant(0.3, 0.0, 0.5))
    answer = unsure.answer_one("How many sailors did the Polar Fox carry?", TWO)
    assert answer.weak
    assert any(letter.isdigit() for letter in answer.text)
    assert COUNT_NOTE in answer.notes


def test_yes_or_no_without_a_rule_is_left_open() -> None:
    answer = ExtractiveAnswerer(HashingEncoder(), ranker=constant(0.99, 0.0, 0.1)).answer_one(
        "Was the Polar Fox a wooden ship?", TWO
    )
    assert (answer.text, answer.weak, answer.notes[-1]) == ("", True, UNDECIDED_NOTE)
