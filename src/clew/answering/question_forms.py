"""Forms of questions that no single name, date or number of a sentence answers, and what is said of them in one line.

Source: own rules. Differs from the source: nothing.
"""

import re
from dataclasses import dataclass

from clew.answering.languages import QuestionLanguage
from clew.answering.question_types import EXPLANATION, QuestionType

_DOCUMENTS = (
    r"(?:documents?|files?|texts?|notes?|passages?|pages?|articles?|reports?|index|folder|corpus|collection|data)"
)
_SUMMARY = re.compile(
    rf"\bwhat (?:is|are) (?:this|these|those|it|they|(?:the|my|all|our)\s(?:\w+\s)?{_DOCUMENTS})\b.{{0,40}}\babout\W*\Z"
    rf"|\bwhat (?:is|are)\b.{{0,20}}\b{_DOCUMENTS} about\b"
    rf"|\bwhat do(?:es)? .{{0,30}}\b{_DOCUMENTS} (?:say|contain|cover|tell)\b"
    r"|\bsummar(?:y|ies|ise|ize|ising|izing)\b|\boverview of\b|\bmain (?:topics?|themes?|points?|ideas?)\b",
    re.IGNORECASE,
)
_EXPLANATION = re.compile(
    r"\A\W*(?:why|how (?:do|does|did|can|could|should|would|to|is|are|was|were|has|have)|explain|describe)\b"
    r"(?!.*\b(?:which|what|when|who)\b)",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\A\W*(?:list|name|enumerate|give(?: me)?|show(?: me)?|tell me)\s(?:all|every|each|the|some)\b"
    r"|\b(?:which|what)\s(?:\w+\s){0,2}?(?:\w{3,}(?<![sui])s|people|men|women|children)\s(?:are|were|have|do|did)\b"
    r"|\b(?:who|what) (?:are|were) (?:all|the \w+s)\b|\bnames of (?:all|the)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"\bby how (?:much|many|far|long)\b|\bhow (?:much|many) (?:more|less|fewer|longer|older)\b"
    r"|\bdifference between\b|\bin total\b|\baltogether\b|\bon average\b",
    re.IGNORECASE,
)
_COUNT = re.compile(r"\bhow many\b|\bnumber of\b", re.IGNORECASE)

SUMMARY_NOTE = "a question about the documents as a whole is not understood: the best-fitting sentences are quoted"
EXPLANATION_NOTE = "the question asks for an explanation, which no single name gives: read the quoted sentences"
LIST_NOTE = "the question asks for a list: no list is made, the quoted sentences may hold a part of it"
AMOUNT_NOTE = "the question compares amounts: nothing is computed, the best-fitting sentences are quoted"
COUNT_NOTE = "nothing is counted: a number is the answer only where a sentence states it"


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """A form of a question, by the note on it."""

    note: str
    has_single_answer: bool = False  # a candidate may be likely, though never asserted


def find_form(question: str, question_type: QuestionType, language: QuestionLanguage) -> QuestionForm | None:
    """Return the form of a question that no single name answers; None where one may.

    Yes-or-no questions and "A or B" are for the rules of comparisons. A count stays with the ranker, which finds the
    number that a sentence states.
    """
    if not language.is_english:
        kind, _ = language.find_kind(question)
        return QuestionForm(EXPLANATION_NOTE) if kind == EXPLANATION else None
    if _SUMMARY.search(question):
        return QuestionForm(SUMMARY_NOTE)
    if question_type.options or question_type.kind == "yes or no":
        return None
    if _EXPLANATION.search(question):
        return QuestionForm(EXPLANATION_NOTE)
    if _LIST.search(question):
        return QuestionForm(LIST_NOTE, has_single_answer=True)
    if _AMOUNT.search(question):
        return QuestionForm(AMOUNT_NOTE, has_single_answer=True)
    return None


def asks_count(question: str) -> bool:
    """Whether a question asks how many there are."""
    return _COUNT.search(question) is not None
