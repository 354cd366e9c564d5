"""Answers that a sentence states of a role: "Who was the mate of X?" of "The mate of X was Y", "Y was the mate of X".

The sentence has the role and the entity in the question's words, and says of both together who or what it is, in the
question's tense. Where two sentences state different answers, none is taken.

Source: own rules, none of them fitted to data. Differs from the source: nothing.

Holders of offices: "Who is the mayor of X?" asks for the one of today, not for those before.

A statement in the present tense counts more than one that tells when an office began, and that more than one that tells
that it ended; of statements of one kind those with an earlier year than another's do not count.

Source: own rules, none of them fitted to data. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from clew.answering.direct_statements import DirectStatement, names_one
from clew.answering.languages import ENGLISH
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import OFFICES, find_years
from clew.answering.sentence_selection import DOUBT, Sentence
from clew.answering.span_ranker import RankedSpan
from clew.text.normalization import name_key, strip_parentheses
from clew.types import Mention

_ASKED = re.compile(
    r"\s*(?:who|what|which)\s+(?P<verb>is|was)\s+the\s+(?P<role>[a-z][a-z -]{2,40}?)\s+of\s+(?:the\s+)?"
    r"(?P<name>[^?]{2,80}?)\s*\?*\s*",
    re.IGNORECASE,
)
_LINK_END = r"\]{0,2}(?:\([^()\n]*\))?"
_CLAUSE_END = r"(?=\s*(?:[.,;]|\Z|\b(?:from|until|in|when)\b))"
_KINDS = ("person", "place", "name")


def find_stated_role(analysis: QuestionAnalysis) -> DirectStatement | None:
    """Return who or what the sentences say that the role of a question is; None where none or several do."""
    asked = _ASKED.fullmatch(analysis.question) if analysis.query.language.is_english else None
    if asked is None or asked["role"] != asked["role"].lower() or analysis.query.question_type.kind not in _KINDS:
        return None
    before, after = _patterns(asked["role"], asked["name"], asked["verb"])
    found = []
    for sentence in analysis.sentences:
        answer = None if DOUBT.search(sentence.text) else _find_holder(sentence, before, after)
        if answer is not None and names_one(sentence, answer):
            found.append(DirectStatement(sentence.passage.text[answer.start : answer.end], sentence))
    return found[0] if len({name_key(strip_parentheses(one.text)) for one in found}) == 1 else None


def _patterns(role: str, name: str, verb: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what stands before the answer, from the sentence's begin: "The role of X was", and what after it."""
    role, name = (re.escape(words).replace(r"\ ", r"\s+") for words in (role, name))
    of_name = rf"{role}\s+of\s+(?:the\s+)?\[{{0,2}}{name}\b{_LINK_END}"
    phrase = rf"(?:the\s+)?(?:{of_name}|{name}{_LINK_END}['’]s\s+{role}\b)"
    before = re.compile(rf"\s*{phrase}\s+{verb}\s+(?:the\s+)?\[{{0,2}}", re.IGNORECASE)
    return before, re.compile(rf"{_LINK_END}\s+{verb}\s+{phrase}{_CLAUSE_END}", re.IGNORECASE)


def _find_holder(sentence: Sentence, before: re.Pattern[str], after: re.Pattern[str]) -> Mention | None:
    """Return the name after "The role of X was", or the one that opens the sentence before "was the role of X"."""
    text = sentence.passage.text
    names = [mention for mention in sentence.mentions if mention.kind == "name"]
    if (match := before.match(text, sentence.start, sentence.end)) is not None:
        return next((mention for mention in names if mention.start == match.end()), None)
    opening = next((m for m in names if m.start - sentence.start <= len("The [[")), None)
    return opening if opening is not None and after.match(text, opening.end, sentence.end) else None


PAST_HOLDER_NOTE = "the passages name only those who held the office before: none is asserted to hold it now"
_OFFICE_STEMS = frozenset(map(ENGLISH.stem, OFFICES))
_ASKS_TODAY = re.compile(r"\A\W*(?:who(?:['’]s|\s+(?:is|are))|what\s+is\s+the\s+name\s+of)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[;:]|,?\s(?:and\s)?(?:before|after|while|whereas|but)\b", re.IGNORECASE)
_START = re.compile(
    r"\b(?:was|were|has been)\s+(?:re-?)?(?:elected|appointed|chosen|named|sworn|crowned|promoted)\b"
    r"|\bbecame\b|\btook (?:over|office)\b",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    r"\b(?:currently|current|now|today|incumbent|since\s+(?:\w+\s+)?\d{4}|(?:is|are)\s+held)\b", re.IGNORECASE
)
_PAST = re.compile(
    r"\b(?:had been|served|until|formerly|former|previous(?:ly)?|interim|late|resigned|retired|stepped down)\b"
    r"|\bfrom\s(?:\w+\s){0,2}\d{4}\s(?:to|until)\b|\b\d{4}\s?[–—-]\s?\d{2,4}\b",
    re.IGNORECASE,
)
# "Per Dahl is the present mayor of Vik", "The mayor of Vik is Per Dahl".
_COPULA = (
    r"\b(?:{verb})\s+(?:[\w’'-]+\s+){{0,4}}?{noun}|\b{noun}\w*(?:\s+(?:of|for|at|in)\s[^.;]{{1,60}}?)?\s+(?:{verb})\b"
)
PAST, NEUTRAL, PRESENT = range(3)


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause on the holder of an office."""

    tense: int  # `PAST`, `NEUTRAL` or `PRESENT`
    year: int  # the latest in the clause, 0 without one


def prefer_present(ranked: Sequence[RankedSpan], analysis: QuestionAnalysis) -> tuple[list[RankedSpan], bool]:
    """Return spans without those of earlier holders of the office asked for, and whether the best one may be asserted.

    It may not where all that is said of the office is in the past. The probabilities sum to what they summed to.
    Nothing changes for questions that do not ask who holds an office.
    """
    noun = ENGLISH.stem(analysis.query.question_type.noun)
    if not analysis.query.language.is_english or noun not in _OFFICE_STEMS or not _ASKS_TODAY.match(analysis.question):
        return list(ranked), True
    stated = [one.candidate.holder == one.candidate.sentence and noun in _stems(one) for one in ranked]
    rated = [
        rate_statement(_clause(one), noun) if is_stated else None for one, is_stated in zip(ranked, stated, strict=True)
    ]
    statements = [statement for statement in rated if statement is not None]
    if not statements:
        return list(ranked), True
    best = max(statement.tense for statement in statements)
    latest = max(statement.year for statement in statements if statement.tense == best)
    valid = [s is None or (s.tense == best and s.year in (0, latest)) for s in rated]
    left = [one for one, is_valid in zip(ranked, valid, strict=True) if is_valid]
    total, rest = (sum(one.probability for one in some) for some in (ranked, left))
    scale = total / rest if rest > 0 else 1.0
    return [replace(one, probability=one.probability * scale) for one in left], best > PAST


def rate_statement(text: str, noun: str) -> Statement:
    """Return how well a clause tells who holds an office today; `noun` is the stem of the office."""
    year = max(find_years(text), default=0)
    rest, starts = _START.subn(" ", text)
    is_past, is_present = (
        re.search(_COPULA.format(verb=verb, noun=re.escape(noun)), rest, re.IGNORECASE) is not None
        for verb in ("was|were", "is|are|['’]s")
    )
    if _PRESENT.search(rest) or (is_present and not starts):
        return Statement(PRESENT, year)
    if is_past or _PAST.search(rest):
        return Statement(PAST, year)
    return Statement(NEUTRAL, year if starts else 0)  # a year beside no event of the office dates something else


def _stems(ranked: RankedSpan) -> set[str]:
    return {word for word, _ in ranked.candidate.sentence.stem_positions}


def _clause(ranked: RankedSpan) -> str:
    """Return the clause of a span's sentence that it stands in."""
    sentence, span = ranked.candidate.sentence, ranked.candidate.span
    text = sentence.passage.text
    borders = [m.start() for m in _CLAUSE.finditer(text, sentence.start, sentence.end)]
    start = max((at for at in borders if at <= span.start), default=sentence.start)
    end = min((at for at in borders if at >= span.end), default=sentence.end)
    return text[start:end]
