"""Who holds an office: the statement of today counts, and former holders are not asserted to hold it."""

import pytest

from clew.answering.extractive import ExtractiveAnswerer
from clew.answering.stated_roles import NEUTRAL, PAST, PAST_HOLDER_NOTE, PRESENT, rate_statement
from clew.models.encoders.hashing import HashingEncoder
from clew.types import Answer
from tests.answering.test_extractive import evidence, quotes
from tests.answering.test_span_ranker import constant

WAS = "Anna Berg was the mayor of Vik from 1990 to 2003."
IS = "Per Dahl is the mayor of Vik."
BECAME_EARLIER, BECAME_LATER = "Anna Berg became mayor of Vik in 1990.", "Per Dahl became mayor of Vik in 2011."


def ask(question: str, *sentences: str) -> Answer:
    texts = [(f"Page {i}", sentence) for i, sentence in enumerate(sentences)]
    # All weights of the networks are 0: of the candidates the first one is the best.
    return ExtractiveAnswerer(HashingEncoder(), ranker=constant(0.9, 0.0, 0.5)).answer_one(question, evidence(*texts))


@pytest.mark.parametrize(
    ("text", "tense", "year"),
    [
        (IS, PRESENT, 0),
        (WAS, PAST, 2003),
        ("The mayor of Vik is Per Dahl", PRESENT, 0),
        ("The mayor of Vik was Anna Berg until 2003", PAST, 2003),
        ("Per Dahl has been the mayor since 2011", PRESENT, 2011),
        ("The office of mayor is held by Per Dahl", PRESENT, 0),
        ("Per Dahl was elected mayor in 2011", NEUTRAL, 2011),
        ("Former mayor Anna Berg came", PAST, 0),
        ("Mayor Per Dahl opened the bridge in 2020", NEUTRAL, 0),
        ("Inky Mark is a friend of the mayor", PRESENT, 0),
        ("Inky Mark is a politician and knows the present council and its mayor", NEUTRAL, 0),
    ],
)
def test_how_well_a_clause_tells_who_holds_an_office(text: str, tense: int, year: int) -> None:
    found = rate_statement(text, "mayor")
    assert (found.tense, found.year) == (tense, year)


@pytest.mark.parametrize("question", ["Who is the mayor of Vik?", "Who's the mayor of Vik?"])
@pytest.mark.parametrize(
    ("earlier", "later"), [(WAS, IS), (WAS, BECAME_LATER), (BECAME_EARLIER, IS), (BECAME_EARLIER, BECAME_LATER)]
)
def test_the_holder_of_today_comes_first(question: str, earlier: str, later: str) -> None:
    for order in ((earlier, later), (later, earlier)):
        answer = ask(question, *order)
        assert answer.text.startswith("Per Dahl")
        assert quotes(answer)[0] == later
        assert "Anna Berg" not in {candidate.item for candidate in answer.candidates}


def test_a_former_holder_is_not_asserted() -> None:
    answer = ask("Who is the mayor of Vik?", WAS)
    assert (answer.text, answer.weak) == ("Anna Berg", True)
    assert PAST_HOLDER_NOTE in answer.notes
    assert not ask("Who was the mayor of Vik?", WAS).weak


def test_a_question_of_the_past_or_of_no_office_is_left_as_it_is() -> None:
    assert "Anna Berg" in {one.item for one in ask("Who was the mayor of Vik?", WAS, IS).candidates}
    assert "Anna Berg" in {
        one.item for one in ask("Who is the author of it?", "Anna Berg was the author of it.").candidates
    }
