"""Ages at death from two dates that are read, against the calendar."""

import itertools
from datetime import date

from hypothesis import example, given
from hypothesis import strategies as st

from clew.answering.ages import describe_age, questions_of_dates
from clew.answering.rules import PartialAnswer, compute_age


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


def test_dates_that_are_none_give_no_exact_age() -> None:
    assert describe_age("31 June 1900", "1 May 1950") == "49 or 50"
    assert describe_age("1950", "1900") == ""
    assert describe_age("May", "1900") == ""


def test_an_age_at_death_is_computed_from_two_readings() -> None:
    dates = {"When was Anna Berg born?": "15 February 1874", "When did Anna Berg die?": "5 January 1922"}
    questions = ("How old was Anna Berg when she died?", "At what age did Anna Berg die?")
    for question, unsure in itertools.product(questions, ("", *dates)):
        found = {asked: PartialAnswer(date, (), is_sure=asked != unsure) for asked, date in dates.items()}
        verdict = compute_age(question, found.__getitem__)
        assert verdict is not None
        assert (verdict.text, verdict.is_sure) == ("47", not unsure)
    assert compute_age(question, lambda _: PartialAnswer("", (), is_sure=False)) is None


def test_an_age_at_another_event_is_not_computed() -> None:
    assert questions_of_dates("How old was Anna Berg when she became mayor?") is None
