"""Forms of questions that no single name, date or number of a sentence answers, and what is said of them in one line.

Source: own rules. Differs from the source: nothing.
"""

import re
from dataclasses import dataclass

from clew.answering.languages import QuestionLanguage
from clew.answering.question_types import EXPLANATION, OFFICES, QuestionType
from clew.text.normalization import fold

_DOCUMENTS = (
    r"(?:documents?|files?|texts?|notes?|passages?|pages?|articles?|reports?|index|folder|corpus|collection|data)"
)
_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)"
_PLURAL = (
    r"(?:(?!(?:series|species|news|means|works|headquarters|years)\b)(?-i:[a-z])\w{2,}(?<![sui])s"
    r"|people|men|women|children)"
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
    r"\A\W*(?:please\s)?(?:list|enumerate)\s\w"
    r"|\A\W*(?:name|find|give(?: me)?|show(?: me)?|tell me)\s"
    rf"(?:(?:all|every|each|some)\b|(?:the\s)?(?:(?!of\b)\w+\s){{0,2}}?{_PLURAL}\b(?!['’]))"
    rf"|\b(?:which|what)\s(?:(?!(?:the|of)\b)\w+\s){{0,2}}?{_PLURAL}\s{_AUXILIARY}\b"
    r"|\b(?:who|what) (?:are|were) (?:all|the \w+s)\b|\bnames of (?:all|the)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"\bby how (?:much|many|far|long)\b|\bhow (?:much|many) (?:more|less|fewer|longer|older)\b"
    r"|\A\W*what (?:is|was) the (?:\w+ )?difference between\b",
    re.IGNORECASE,
)
_SUM = re.compile(
    r"\bon average\b|\A\W*(?:what|which|how)\b(?:\s[\w’']+){0,4}\s(?:average"
    r"|mean (?:age|length|number|height|price|cost|value|size|time))\b|\bin total\b|\baltogether\b"
    r"|\b(?:sum|total) of\b|\btotal (?:number|amount|cost|length|population|area|sum)\b"
    r"|\bcombined (?:number|amount|cost|length|population|area|total)\b",
    re.IGNORECASE,
)
_DENIED = rf"(?:{_AUXILIARY}\s(?:not|never)\b|(?:is|are|was|were|do|does|did|has|have|had|could|would|wo|ca)n['’]t\b)"
_DENIAL = re.compile(
    rf"\A\W*(?:(?:in|on|at|by|to|from|of)\s)?(?:who|whom|which|what|where|when)\s(?:[^\s,]+\s){{0,3}}?{_DENIED}"
    r"|\A\W*(?:who|which|what)\s(?:\w+\s){0,2}?never\b|\b(?:everyone|everything|all|anyone) (?:except|but)\b",
    re.IGNORECASE,
)
_QUESTION_WORD = r"(?:who|whom|when|where|what|which|why|how(?: (?:many|much|long|old|far|tall|high))?)"
_TWO_QUESTIONS = re.compile(
    rf"\A\W*(?:(?:in|on|at|by|to|from)\s)?{_QUESTION_WORD},? and (?:(?:in|on|at|by|to|from)\s)?{_QUESTION_WORD}\b"
    rf"|\A\W*(?:(?:in|on|at|by|to|from)\s)?{_QUESTION_WORD}\b.*?[\s,]and (?:(?:in|on|at|by|to|from)\s)?"
    rf"(?:(?:what|when|where|why|how(?: \w+)?)\s{_AUXILIARY}"
    rf"|(?:what|which)\s\w+\s{_AUXILIARY}\s(?:the|he|she|it|they|his|her))\b"
    r"|\?\s*\W*(?:and\s)?(?:who|when|where|what|which|why|how)\b",
    re.IGNORECASE | re.DOTALL,
)
_DEFINITION = re.compile(
    r"\A\W*(?:what|who)(?:\s+exactly)?\s+(?:is|was|are|were)\s+(?:(?:the|an?)\s+)?"
    r"(?P<name>(?-i:[^\W\d_a-z][\w-]*(?:\s[^\W\d_a-z][\w-]*)*))\W*\Z",
    re.IGNORECASE,
)
_AGE_THEN = re.compile(r"\bhow old (?:was|were|is|are)\b.*\b(?:when|at the time|on)\b", re.IGNORECASE)
_COUNT = re.compile(r"\bhow many\b|\bnumber of\b", re.IGNORECASE)
_REQUEST = re.compile(
    r"\A\W*(?:please,?\s+)?(?:(?:can|could|would|will) you\s+(?:please\s+)?)?"
    r"(?:tell|show|give|name|find|state|identify|say)\b(?:\s+(?:me|us)\b)?(?:\s+please\b)?,?\s+(?P<rest>\S.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_CONTRACTION = re.compile(r"\A(\W*(?:who|what|where))['’]s\b", re.IGNORECASE)
_ASKS = re.compile(
    rf"(?:(?:in|on|at|by|for|to|of|from)\s+)?(?:(?:which|what|whose)\b|{_QUESTION_WORD}\b)", re.IGNORECASE
)

SUMMARY_NOTE = "a question about the documents as a whole is not understood: the best-fitting sentences are quoted"
EXPLANATION_NOTE = "the question asks for an explanation, which no single name gives: read the quoted sentences"
LIST_NOTE = "the question asks for a list: no list is made, the quoted sentences may hold a part of it"
AMOUNT_NOTE = "the question compares amounts: nothing is computed, the best-fitting sentences are quoted"
SUM_NOTE = "the question asks for a sum or an average: nothing is computed, the best-fitting sentences are quoted"
DENIAL_NOTE = "the question asks what is not so, which no sentence states: the best-fitting sentences are quoted"
TWO_QUESTIONS_NOTE = "two questions are asked in one: ask them one by one; the best-fitting sentences are quoted"
AGE_NOTE = "the question asks for an age at an event: nothing is computed, the best-fitting sentences are quoted"
DEFINITION_NOTE = "the question asks what a name stands for, which no other name answers: read the quoted sentences"
COUNT_NOTE = "nothing is counted: a number is the answer only where a sentence states it"
_FORMS = (
    (_LIST, LIST_NOTE), (_TWO_QUESTIONS, TWO_QUESTIONS_NOTE), (_DENIAL, DENIAL_NOTE), (_AMOUNT, AMOUNT_NOTE),
    (_SUM, SUM_NOTE), (_AGE_THEN, AGE_NOTE),
)  # fmt: skip


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
    if (match := _DEFINITION.match(question)) and not OFFICES.intersection(fold(match["name"]).split()):
        return QuestionForm(DEFINITION_NOTE)
    note = next((note for pattern, note in _FORMS if pattern.search(question)), "")
    return QuestionForm(note, has_single_answer=True) if note else None


def asks_count(question: str) -> bool:
    """Whether a question asks how many there are."""
    return _COUNT.search(question) is not None


def restate_request(question: str) -> str:
    """Return "who built it" for "Tell me who built it", "What is the ship" for "Name the ship", "who is" for "who's".

    Others are returned as they are.
    """
    question = _CONTRACTION.sub(r"\1 is", question)
    match = _REQUEST.match(question)
    if match is None or _LIST.search(question) or _SUMMARY.search(question):
        return question
    rest = match["rest"]
    if _ASKS.match(rest):
        return rest
    return f"What is {rest}" if rest.lower().startswith("the ") else question
