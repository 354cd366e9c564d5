"""Ages at death from the dates in brackets after a name, against the calendar."""

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.answering.extractive import ExtractiveAnswerer
from clew.answering.named_subject import COMPUTED_AGE_NOTE, describe_age
from clew.answering.question_forms import AGE_NOTE
from clew.types import Mention
from tests.answering.test_extractive import evidence, quotes


def dated(day: date) -> Mention:
    return Mention(f"{day.day} {day:%B} {day.year}", "date")


@example(date(2000, 1, 1), 36_525)  # a death after 2099
@given(st.dates(date(1000, 1, 1), date(2000, 1, 1)), st.integers(0, 40_000))
def test_an_age_is_the_number_of_birthdays_after_the_first(born: date, days: int) -> None:
    died = date.fromordinal(born.toordinal() + days)
    birthdays = sum((died.month, died.day) >= (born.month, born.day) if y == died.year else 1
                    for y in range(born.year + 1, died.year + 1))  # fmt: skip
    assert describe_age(dated(born), dated(died)) == str(birthdays)
    years = (Mention(str(day.year), "date") for day in (born, died))
    expected = "" if born.year == died.year else f"{died.year - born.year - 1} or {died.year - born.year}"
    assert describe_age(*years) == expected


def test_dates_that_are_none_give_no_exact_age() -> None:
    assert describe_age(Mention("31 June 1900", "date"), Mention("1 May 1950", "date")) == "49 or 50"
    assert describe_age(Mention("1950", "date"), Mention("1900", "date")) == ""
    assert describe_age(Mention("May", "date"), Mention("1900", "date")) == ""


@pytest.mark.parametrize(
    ("life", "age"), [("1874–1922", "47 or 48"), ("15 February 1874 – 5 January 1922", "47"), ("c. 1874–1922", "")]
)
def test_an_age_at_death_is_computed_from_the_brackets(life: str, age: str) -> None:
    source = evidence(("Anna Berg", f"Anna Berg ({life}) was a mayor of Vik."))
    for question in ("How old was Anna Berg when she died?", "At what age did Anna Berg die?"):
        answer = ExtractiveAnswerer().answer_one(question, source)
        assert answer.weak == (not age)
        assert answer.text == age or not age
        assert (COMPUTED_AGE_NOTE in answer.notes) == bool(age)
        assert quotes(answer)[0].startswith("Anna Berg (")


def test_an_age_at_another_event_is_not_computed() -> None:
    source = evidence(("Anna Berg", "Anna Berg (1874–1922) was a mayor of Vik."))
    answer = ExtractiveAnswerer().answer_one("How old was Anna Berg when she became mayor?", source)
    assert (answer.text, answer.weak) == ("", True)
    assert AGE_NOTE in answer.notes
