"""Rules that decide an answer before the reader is asked: what is computed, or compared, and no text says.

Each is kept since it is right more often than the reader on the questions that it decides: `bench/reading.py --rules`
prints the table, one row for each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clew.answering.computed_dates import COMPUTED_NOTE, questions_of_dates
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.sentence_selection import Sentence
from clew.answering.verdicts import (
    dates_are_of_event,
    decide_option,
    decide_yes_or_no,
    decides_surely,
)
from clew.types import Scored

COMPARISON_NOTE = "the answer compares the two entities by the first quoted sentences: check it against them"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer that a rule decides, the sentences that it rests on, and the options compared, best first."""

    text: str
    sentences: Sequence[Sentence]
    candidates: tuple[Scored[str], ...]
    note: str
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """The answer to a part of a question, "" without one, and the sentences that it stands in."""

    text: str
    sentences: Sequence[Sentence]
    is_sure: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule; `decide` returns None for a question that is not for it."""

    name: str
    decide: Callable[[QuestionAnalysis], Verdict | None]


def compute_from_dates(question: str, ask: Callable[[str], PartialAnswer]) -> Verdict | None:
    """Return what the two dates of a question decide: an age, years, "yes" or "no"; None where a date is missing.

    `ask` finds the dates. The verdict is sure where both are.
    """
    questions = questions_of_dates(question)
    if questions is None:
        return None
    first, second = ask(questions.first), ask(questions.second)
    text = questions.compute(first.text, second.text) if first.text and second.text else ""
    if not text:
        return None
    sentences = (*first.sentences, *second.sentences)
    return Verdict(text, sentences, (Scored(text, 0.0),), COMPUTED_NOTE, first.is_sure and second.is_sure)


def _decide_dates(analysis: QuestionAnalysis) -> Verdict | None:
    """Compare the dates of two entities: which was born first, which film is older."""
    options = decide_option(analysis.question, analysis.sentences)
    if not options:
        return None
    basis = [option.sentences[0] for option in options]  # of each side what is compared, then the names
    basis += [sentence for option in options for sentence in option.sentences[1:]]
    scored = tuple(Scored(option.name, option.score) for option in options)
    return Verdict(options[0].name, basis, scored, COMPARISON_NOTE, dates_are_of_event(analysis.question, options))


def _decide_yes_or_no(analysis: QuestionAnalysis) -> Verdict | None:
    """Decide whether two entities share what the question names."""
    if analysis.query.question_type.kind != "yes or no":
        return None
    verdict = decide_yes_or_no(analysis.question, analysis.sentences)
    if verdict is None:
        return None
    text, sentences = verdict
    return Verdict(
        text, sentences, (Scored(text, 0.0),), COMPARISON_NOTE, decides_surely(analysis.question, sentences, text)
    )


RULES = (
    Rule("two dates compared", _decide_dates),
    Rule("two entities share something", _decide_yes_or_no),
)
"""The rules in their order: the first that decides gives the answer."""
