"""A weak answer is of the kind that is asked for, where the passages tell what a name is."""

from clew.answering.extractive import NO_SPAN_NOTE, ExtractiveAnswerer
from clew.models.encoders.hashing import HashingEncoder
from clew.types import Answer
from tests.answering.test_extractive import evidence
from tests.answering.test_span_ranker import constant

VIK = "Vik", "Vik is a village by the sea."
HOLM = "Ragna Holm", "Ragna Holm is an engineer. She was born in Hamar."


def ask(question: str, *passages: tuple[str, str]) -> Answer:
    # All weights of the networks are 0: of the candidates the first one is the best.
    answerer = ExtractiveAnswerer(HashingEncoder(), ranker=constant(0.9, 0.0, 0.95))
    return answerer.answer_one(question, evidence(*passages))


def test_a_village_is_no_answer_to_who_and_a_person_none_to_where() -> None:
    built = "Page", "In Vik the old ferry Rossby was repaired twice with Ragna Holm."
    who, where = (ask(f"{word} repaired the old ferry?", built, VIK, HOLM) for word in ("Who", "Where was"))
    assert (who.text, who.weak) == ("Ragna Holm", True)
    assert "Vik" not in [one.item for one in who.candidates]
    assert "Ragna Holm" not in [one.item for one in where.candidates]
    assert "Vik" in [one.item for one in where.candidates]


def test_a_question_for_a_date_has_no_answer_where_no_date_stands() -> None:
    answer = ask("When was the old ferry repaired?", ("Page", "In Vik the old ferry was repaired with Ragna Holm."))
    assert (answer.text, answer.weak) == ("", True)
    assert NO_SPAN_NOTE in answer.notes


def test_what_a_name_is_stands_first_where_that_is_asked() -> None:
    answer = ask("Who is Ragna Holm?", ("Page", "The ferry was named after Ragna Holm, its builder."), HOLM)
    assert answer.citations[0].quote == "Ragna Holm is an engineer."
