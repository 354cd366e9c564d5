"""Answers from two dates that are read: ages against the calendar, years between, and which came first."""

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.answering.computed_dates import describe_age, is_before, questions_of_dates
from clew.answering.rules import PartialAnswer, compute_from_dates


def dated(day: date) -> str:
    return f"{day.day} {day:%B} {day.year}"


@example(date(2000, 1, 1), 36_525)  # a death after 2099
@given(st.dates(date(1000, 1, 1), date(2000, 1, 1)), st.integers(0, 40_000))
def test_an_age_is_the_number_of_birthdays_after_the_first(born: date, days: int) -> None:
    died = date.fromordinal(born.toordinal() + days)
    birthdays = sum((died.month, died.day) >= (born.month, born.day) if y == died.year else 1
                    for y in range(born.year + 1, died.year + 1))  # fmt: skip
    assert describe_age(dated(born), dated(died)) == str(birthdays)
    years = (str(day.year) for day in (born, died))
    expected = "" if born.year == died.year else f"{died.year - born.year - 1} or {died.year - born.year}"
    assert describe_age(*years) == expected


def test_a_day_that_was_counted_is_a_day() -> None:
    assert describe_age("1 May 1990", "2020-04-30 (yesterday)") == "29"
    assert is_before("2020-04-30 (yesterday)", "1 May 2020") == "yes"


def test_dates_that_are_none_give_no_exact_age() -> None:
    assert describe_age("31 June 1900", "1 May 1950") == "49 or 50"
    assert describe_age("1950", "1900") == ""
    assert describe_age("May", "1900") == ""


@pytest.mark.parametrize(
    ("question", "dates", "expected"),
    [
        (
            "How old was Anna Berg when she died?",
            {"When was Anna Berg born?": "15 February 1874", "When did Anna Berg die?": "5 January 1922"},
            "47",
        ),
        (
            "At what age did Anna Berg die?",
            {"When was Anna Berg born?": "15 February 1874", "When did Anna Berg die?": "5 March 1922"},
            "48",
        ),
        (
            "How old did Anna Berg become?",
            {"When was Anna Berg born?": "15 February 1874", "When did Anna Berg die?": "1922"},
            "47 or 48",
        ),
        (
            "How old was Anna Berg when her brother left Bergen?",
            {"When was Anna Berg born?": "1 May 1874", "When was it that her brother left Bergen?": "May 2, 1890"},
            "16",
        ),
        (
            "How many years after the fire was the church built?",
            {"When was the fire?": "in 1712", "When was the church built?": "1719"},
            "7",
        ),
        (
            "How many years before the war did Anna Berg leave Bergen?",
            {"When did Anna Berg leave Bergen?": "1900", "When was the war?": "May 1914"},
            "14",
        ),
        (
            "How many years passed between the fire and the flood?",
            {"When was the fire?": "1712", "When was the flood?": "1719"},
            "7",
        ),
        (
            "Did Anna Berg die before Karl Berg?",
            {"When did Anna Berg die?": "5 January 1922", "When did Karl Berg die?": "6 January 1922"},
            "yes",
        ),
        (
            "Was the film Dust released after the film Rain?",
            {"When was the film Dust released?": "1950", "When was the film Rain released?": "1951"},
            "no",
        ),
    ],
)
def test_an_answer_is_computed_from_two_readings(question: str, dates: dict[str, str], expected: str) -> None:
    for unsure in ("", *dates):
        found = {asked: PartialAnswer(date, (), is_sure=asked != unsure) for asked, date in dates.items()}
        verdict = compute_from_dates(question, found.__getitem__)
        assert verdict is not None
        assert (verdict.text, verdict.is_sure) == (expected, not unsure)
    assert compute_from_dates(question, lambda _: PartialAnswer("", (), is_sure=False)) is None


@pytest.mark.parametrize("dates", [("1950", "1950"), ("May 1950", "3 May 1950"), ("May", "1900")])
def test_dates_that_may_be_in_any_order_decide_nothing(dates: tuple[str, str]) -> None:
    questions = questions_of_dates("Did Anna Berg die before Karl Berg did?")
    assert questions is not None
    assert not questions.compute(*dates)


@pytest.mark.parametrize(
    "question",
    [
        "How old was Anna Berg when she became mayor?",
        "Was Anna Berg ever in Bergen?",
        "Did Amundsen reach the South Pole before Scott?",
        "How old is the church?",
    ],
)
def test_other_questions_are_not_computed(question: str) -> None:
    assert questions_of_dates(question) is None
