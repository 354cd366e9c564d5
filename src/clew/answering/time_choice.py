"""The answer that holds: of those that passages of different times give, the latest by the day in question.

Each dated passage is read by itself, since the reader sees one answer at a time. Values answer the same question where
the reader is sure of each, and their sentences are near the question and near each other. "Before" and "used to" ask
for the one before the last, "first" for the first; a question in the past tense without such a word may tell of several
events, and is left to the reader.

Source: own rules, chosen on conversations of our own. Differs from the source: nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from clew.answering.confidence import find_own_sentences
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.sentence_selection import Sentence
from clew.arrays import FloatArray
from clew.models.reader.decoding import ReadSpan
from clew.models.reader.reader import Reading, ReadsAnswers
from clew.models.reader.windows import READ_PASSAGES, ReaderText
from clew.text.normalization import name_key
from clew.text.times import find_times
from clew.types import LAST_DAY, Evidence, OtherAnswer, Time

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
LAST, FORMER, FIRST = "last", "former", "first"
_FORMER = re.compile(
    r"\b(?:used? to|formerly|former|previously|previous|prior|until (?:then|recently)"
    r"|before (?:the|that|this|my|our|his|her)|back then)\b|\bbefore\W*\Z",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\b(?:at first|originally|original|initially|to begin with|in the beginning)\b", re.IGNORECASE)
_MARKS = re.compile(rf"{_FORMER.pattern}|{_FIRST.pattern}", re.IGNORECASE)
_PAST = re.compile(
    r"\b(?:did|was|were|had)\b"
    r"|\A\W*(?:who|what|which(?: \w+){1,3})\s+(?:[a-z]+ed|won|wrote|built|made|sang|led|gave|took)\b",
    re.IGNORECASE,
)
_ON_A_DAY = re.compile(r"\b(?:as of|in|on|at the end of|by|during|until|around|early|late|of)\W*\Z", re.IGNORECASE)
_LEAD = 64  # characters before a time that are looked at, so that a long question takes no quadratic time
_LEAST, _MOST_NONE = 0.85, 0.05
"""Least probability of a value that a passage gives by itself, with those that overlap it; most of there being none."""
_LEAST_COSINES = 1.0
"""Least sum of the cosines of a value's sentence with the question and with the sentence of the first value."""

Cosines = Callable[[Sequence[str]], FloatArray]
"""Returns the cosines (n, n) of n texts with one another."""


@dataclass(frozen=True, slots=True)
class WantedTime:
    """The place in time of the answer that a question asks for."""

    order: str  # LAST, FORMER or FIRST
    day: str  # by which it was stated, ISO 8601


@dataclass(frozen=True, slots=True)
class DatedValue:
    """An answer, its sentence and the time of that."""

    span: ReadSpan
    sentence: Sentence
    time: Time


def read_wanted_time(question: str, as_of: str) -> WantedTime | None:
    """Return which answer a question asks for, None where time does not decide it; `as_of` is that of its search."""
    times = find_times(question, None)
    stated = [one for one in times if _ON_A_DAY.search(question[max(0, one.start - _LEAD) : one.start])]
    day = min([as_of or LAST_DAY, *(one.span.days[1] or LAST_DAY for one in stated)])
    if _FIRST.search(question):
        return WantedTime(FIRST, day)
    if _FORMER.search(question):
        return WantedTime(FORMER, day)
    return WantedTime(LAST, day) if stated or _PAST.search(question) is None else None


def choose_by_time(
    reader: ReadsAnswers,
    analysis: QuestionAnalysis,
    evidence: Evidence,
    spans: Sequence[ReadSpan],
    cosines: Cosines | None,
) -> tuple[list[ReadSpan], tuple[OtherAnswer, ...]]:
    """Return the answers with the one that holds first, and what else was stated of it; as given where time is silent.

    `spans` are the answers of one reading of all passages together, likeliest first. `cosines` is None for an encoder
    whose cosines are not known: then the sentences of other values have the words of the question that the first has.
    The first answer has the probability of the likeliest of its values.
    """
    passages = [scored.item for scored in evidence.passages[:READ_PASSAGES]]
    wanted = read_wanted_time(analysis.question, evidence.as_of)
    if wanted is None or not spans or not spans[0].is_text or len({p.time for p in passages if p.time}) < 2:
        return list(spans), ()
    if wanted.order != LAST:  # asked of one passage, "before" would make none of them likely
        analysis = replace(analysis, question=_MARKS.sub("", analysis.question))
    first = _date(spans[0], analysis, evidence)
    if first is None:
        return list(spans), ()
    values = [first, *_read_others(reader, analysis, evidence, first, cosines)]
    groups = _group([value for value in values if value.time.holds_on(wanted.day)])
    if len(groups) < 2:
        return list(spans), ()
    order = sorted(groups, key=lambda group: max(value.time.first for value in group))
    at = {LAST: -1, FORMER: -2, FIRST: 0}[wanted.order]
    chosen = order[at]
    keys = [name_key(value.span.text) for group in groups for value in group]
    own = [value.span for group in groups for value in group]
    shared = [
        s for s in spans if any(_is_same(name_key(s.text), key) for key in keys) or any(_overlap(s, o) for o in own)
    ]
    best = max(chosen, key=lambda value: value.time.first)
    rest = [span for span in spans if span not in shared]
    likeliest = max((span.probability for span in shared), default=0.0)
    return [replace(best.span, probability=likeliest), *rest], tuple(_describe_others(order, chosen))


def resolve_date(span: ReadSpan, evidence: Evidence) -> str:
    """Return the days that an answer such as "last Tuesday" means, `2024-03-05 (last Tuesday)`; "" for any other.

    What states its year, or stands in a passage without a time, is a date as it stands.
    """
    passage = evidence.passages[span.source].item
    stated = [one for one in passage.times if one.start < span.end and span.start < one.end]
    if passage.time is None or not stated or _YEAR.search(span.text):
        return ""
    return f"{stated[0].time} ({passage.text[stated[0].start : stated[0].end]})"


def _read_others(
    reader: ReadsAnswers, analysis: QuestionAnalysis, evidence: Evidence, first: DatedValue, cosines: Cosines | None
) -> list[DatedValue]:
    """Return the values that other dated passages give by themselves, of those that answer the same question."""
    found = []
    for source, scored in enumerate(evidence.passages[:READ_PASSAGES]):
        passage = scored.item
        if source == first.span.source or passage.time is None:
            continue
        reading = reader.read(analysis.question, [ReaderText(passage.title, passage.text)])
        value = _best_value(reading, source, analysis, evidence)
        if value is not None and _form(value) == _form(first):
            found.append(value)
    if not found or cosines is None:
        least = analysis.query.overlap(first.sentence)
        return [value for value in found if analysis.query.overlap(value.sentence) >= least]
    near = cosines([analysis.question, first.sentence.text, *(value.sentence.text for value in found)])
    return [value for at, value in enumerate(found, 2) if near[at, 0] + near[at, 1] >= _LEAST_COSINES]


def _best_value(reading: Reading, source: int, analysis: QuestionAnalysis, evidence: Evidence) -> DatedValue | None:
    spans = [span for span in reading.spans if span.is_text]
    if not spans:
        return None
    best = spans[0]
    total = sum(one.probability for one in spans if _overlap(one, best))
    is_named = f" {name_key(best.text)} " in f" {analysis.query.text_key} "
    if total < _LEAST or reading.none > _MOST_NONE or is_named:
        return None
    return _date(replace(best, source=source), analysis, evidence)


def _date(span: ReadSpan, analysis: QuestionAnalysis, evidence: Evidence) -> DatedValue | None:
    """Return an answer with its sentence and time; None without."""
    sentences = find_own_sentences(analysis, evidence, span)
    if not sentences:
        return None
    passage, sentence = sentences[0].passage, sentences[0]
    time = passage.time_at(sentence.start, sentence.end)
    time = time if time is not None and time.is_range else passage.time or time
    return None if time is None else DatedValue(span, sentence, time)


def _form(value: DatedValue) -> str:
    text = value.span.text
    return "number" if any(map(str.isdigit, text)) else "name" if any(map(str.isupper, text)) else "words"


def _group(values: Sequence[DatedValue]) -> list[list[DatedValue]]:
    """Return values in groups of one answer each, "Oslo" and "Oslo, Norway" together."""
    groups: list[list[DatedValue]] = []
    for value in values:
        key = name_key(value.span.text)
        own = next((g for g in groups if any(_is_same(key, name_key(v.span.text)) for v in g)), None)
        if own is None:
            groups.append([value])
        else:
            own.append(value)
    return groups


def _overlap(one: ReadSpan, other: ReadSpan) -> bool:
    return one.source == other.source and one.start < other.end and other.start < one.end


def _is_same(one: str, other: str) -> bool:
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "


def _describe_others(order: Sequence[Sequence[DatedValue]], chosen: Sequence[DatedValue]) -> list[OtherAnswer]:
    """Return the values beside the chosen one, the latest first."""
    day = max(value.time.first for value in chosen)
    found = []
    for group in reversed(order):
        if group is chosen:
            continue
        own = max(group, key=lambda value: value.time.first)
        kind = "until" if own.time.first < day else "since" if own.time.first > day else "contradicts"
        later = [v.time.first for other in order for v in other if v.time.first > own.time.first]
        limit = min(later, default="") if kind == "until" else own.time.first if kind == "since" else ""
        found.append(OtherAnswer(own.span.text, kind, limit, own.sentence.citation))
    return found
