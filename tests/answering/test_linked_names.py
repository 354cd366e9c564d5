"""Links from the names of a question to the sentence of an answer: without one for each name none is asserted."""

import pytest

from clew.answering.answer_spans import SpanCandidate, find_answer_spans
from clew.answering.extractive import RANKED_NOTE, UNSTATED_NOTE, ExtractiveAnswerer
from clew.answering.named_subject import find_links
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import QuestionType, can_answer
from clew.answering.selection import open_extractive_answerer
from clew.models.encoders.registry import open_encoder
from clew.types import Evidence, Passage, Scored

FILM = ("Red Sea", "Red Sea is a 1950 film directed by Ragna Holm. Its score was composed by Nils Berg.")
DIRECTOR = ("Ragna Holm", "Ragna Holm (3 May 1900 – 9 June 1980) was a Norwegian film director. She lived in Os.")
COMPOSER = ("Nils Berg", "Nils Berg was born on 4 July 1910 in Vik. He composed songs.")
OTHER = ("Otto Lind", "Otto Lind (1 May 1902 – 2 June 1970) was a Swedish film director.")


def gather(*texts: tuple[str, str]) -> Evidence:
    passages = [Passage(f"p{i}", f"d{i}", title, text, 0, len(text)) for i, (title, text) in enumerate(texts)]
    return Evidence(tuple(Scored(passage, 1 / (1 + i)) for i, passage in enumerate(passages)))


def analyze(question: str, *texts: tuple[str, str]) -> QuestionAnalysis:
    analysis = ExtractiveAnswerer().analyze(question, gather(*texts))
    assert analysis is not None
    return analysis


def candidate(analysis: QuestionAnalysis, text: str) -> SpanCandidate:
    found = [SpanCandidate(span, s, s) for s in analysis.sentences for span in find_answer_spans(s)]
    return next(one for one in found if one.text == text)


@pytest.mark.parametrize(
    ("question", "answer", "link"),
    [
        ("When was the director of the film Red Sea born?", "3 May 1900", "directed by Ragna Holm"),
        ("When was the composer of the film Red Sea born?", "4 July 1910", "composed by Nils Berg"),
        ("When was the composer of the film Red Sea born?", "3 May 1900", None),
        ("When was the director of the film Red Sea born?", "1 May 1902", None),
        ("Which film was directed by Ragna Holm?", "Red Sea", ""),
        ("When was the director of the film Blue Sea born?", "3 May 1900", None),
    ],
)
def test_an_answer_is_linked_to_the_names_of_the_question(question: str, answer: str, link: str | None) -> None:
    analysis = analyze(question, FILM, DIRECTOR, COMPOSER, OTHER)
    links = find_links(question, analysis.query, candidate(analysis, answer), analysis.sentences)
    shown = None if links is None else " ".join(one.text for one in links)
    assert (shown is None) == (link is None)
    assert link is None or link in (shown or "")


def test_the_date_of_a_director_of_another_film_is_not_asserted() -> None:
    answerer = open_extractive_answerer(open_encoder("bundled"))
    question = "When did the director of the film Red Sea die?"
    linked = answerer.answer_one(question, gather(FILM, DIRECTOR))
    assert (linked.text, linked.weak) == ("9 June 1980", False)
    assert linked.notes[-1].startswith(RANKED_NOTE)
    assert any("directed by Ragna Holm" in quote.quote for quote in linked.citations[:2])
    other = answerer.answer_one(question, gather(("Red Sea", "Red Sea is a 1950 film with Ragna Holm."), DIRECTOR))
    assert other.weak
    assert not other.text or other.notes[-1].startswith(UNSTATED_NOTE)


def test_a_range_of_months_is_no_place() -> None:
    assert not can_answer("April and May 2017", "joined", QuestionType("place"))
    assert can_answer("Bergen, Norway", "joined", QuestionType("place"))
