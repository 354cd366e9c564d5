"""Times of day: what is one, and sentences that state at what time something happens."""

import pytest

from clew.answering.extractive import STATEMENT_NOTE, ExtractiveAnswerer
from clew.answering.question_types import classify_question, find_clock_times, is_clock_time
from clew.models.encoders.hashing import HashingEncoder
from clew.types import Answer
from tests.answering.test_extractive import evidence
from tests.answering.test_span_ranker import constant

LIBRARY = (
    "The Town Library opens at 9:30 on weekdays. It closes at 18:00. On Saturdays the library closes at 2 p.m. "
    "The reading room was built in 1954."
)
POOL = "The Swimming Pool opens at 7 am. The Bath House never opens at 8 am. It perhaps opens at 9 am."


def ask(question: str) -> Answer:
    # All weights of the networks are 0: what no sentence states is not asserted.
    answerer = ExtractiveAnswerer(HashingEncoder(), ranker=constant(0.9, 0.0, 0.95))
    return answerer.answer_one(question, evidence(("Town Library", LIBRARY), ("Swimming Pool", POOL)))


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("from 9:30 to 18:00, and 7 am.", ["9:30", "18:00", "7 am"]),
        ("It ends at 2 p.m. Or at 2.15 pm; at 7 o'clock.", ["2 p.m.", "2.15 pm", "7 o'clock"]),
        ("Lunch is at Noon, the bells ring at midnight.", ["Noon", "midnight"]),
        ("a scale of 3:1, 2:30:15 hours, 25:00, 13 pm, 7 amps, version 1.30", []),
    ],
)
def test_times_of_day(text: str, times: list[str]) -> None:
    found = find_clock_times(text, 0, len(text))
    assert [time.name for time in found] == times
    assert all(text[time.start : time.end] == time.name for time in found)


def test_a_range_of_times_is_one() -> None:
    assert is_clock_time("9:30 to 18:00")
    assert not is_clock_time("9:30 on weekdays")
    assert not is_clock_time("9:30 to 18:00 daily")
    assert not is_clock_time("1954")


def test_a_question_for_the_time_of_day_is_one_for_no_zone() -> None:
    assert classify_question("At what time does the pool open?").noun == "time"
    assert classify_question("What time zone is Oslo in?").noun != "time"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When does the Town Library open?", "9:30"),
        ("At what time does the Town Library close on Saturdays?", "2 p.m."),
        ("What time does the Swimming Pool open?", "7 am"),
    ],
)
def test_a_stated_time_is_asserted(question: str, answer: str) -> None:
    given = ask(question)
    assert (given.text, given.weak) == (answer, False)
    assert STATEMENT_NOTE in given.notes


@pytest.mark.parametrize(
    "question",
    [
        "When does the Town Library close?",  # the sentences state two times
        "At what time does the Bath House open?",  # it never does at the time that is given
        "When does the Town Library open on Sundays?",  # no sentence speaks of Sundays
    ],
)
def test_a_time_that_is_not_stated_is_not_asserted(question: str) -> None:
    assert ask(question).weak


def test_no_year_answers_when_something_opens_each_day() -> None:
    assert "1954" not in ask("At what time does the Town Library open?").text
