"""Years of the events that comparisons ask for: "born in 1902" for a birth, and not the year of a prize beside it.

A birth or death is dated by the brackets after the name that opens a passage, or by what follows "born" and "died";
other events by a year that follows their verb, with no other event between; the release of a work also by "is a 1950
film" and "Title (1950)".

Source: own rules, chosen on training questions of HotpotQA and 2Wiki. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clew.answering.languages import ENGLISH
from clew.answering.question_types import find_years
from clew.answering.sentence_selection import Sentence
from clew.text.normalization import name_key

BIRTH, DEATH, RELEASE, OTHER = "birth", "death", "release", "other"
DEATH_WORDS = re.compile(r"\bdie[ds]?\b|\bdeath\b", re.IGNORECASE)
_BIRTH = re.compile(r"\bborn\b|\bbirth", re.IGNORECASE)
_AGE = re.compile(r"\b(?:older|oldest|elder|younger|youngest)\b", re.IGNORECASE)
_PERSON = re.compile(
    r"\bwho\b|\b(?:person|actor|actress|singer|author|writer|director|musician|player)s?\b", re.IGNORECASE
)
LIFE = re.compile(r"\((?P<life>[^()]*)\)")
_NO_LIFE = re.compile(r"\b(?:reigned|r|c|ca|circa|fl|founded|established|formed|active)\b|\?", re.IGNORECASE)
_MAX_OPENING = 120  # characters before the brackets of a life
_PRONOUN = re.compile(r"\W*(?:He|She|They)\b")
_AFTER = {
    BIRTH: re.compile(r"\bborn\b(?P<rest>[^;]{0,80})", re.IGNORECASE),
    DEATH: re.compile(r"\b(?:died|death|dies)\b(?P<rest>[^;]{0,80})", re.IGNORECASE),
}
_ATTRIBUTE = re.compile(r"\b(?:is|was)\s+(?:an?|the)\s+(?:[\w-]+\s+){0,2}?(?P<year>(?:1\d|20)\d\d)\b")
_TITLE_YEAR = re.compile(r"\A[^()]{1,80}\((?:[^()]*\s)?(?P<year>(?:1\d|20)\d\d)(?:\s(?:film|novel|album|book|song))?\)")
_VERB = re.compile(
    r"\b(?:[a-z]+ed|won|lost|burnt|sank|sunk|built|born|made|begun|began|left|written|wrote|ran|fought|held)\b", re.I
)
_FOUND = re.compile(r"\bfound\b", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)")
_GROUPS = tuple(
    frozenset(map(ENGLISH.stem, words.split()))
    for words in (
        "founded established formed created started began begun opened launched incorporated organized inaugurated",
        "released published premiered debuted issued aired made produced directed written recorded filmed created",
        "built constructed completed erected opened finished",
    )
)
_BEGINNING = frozenset(stem for group in _GROUPS for stem in group)
_RELEASES = _GROUPS[1]


@dataclass(frozen=True, slots=True)
class ComparedEvent:
    """The event whose dates a question compares."""

    kind: str  # "birth", "death", "release", or "other"
    stems: frozenset[str]  # of the verbs that tell of it


def find_compared_event(question: str) -> ComparedEvent:
    """Return the event that "which was built first, A or B?" compares; any beginning where it names none."""
    if DEATH_WORDS.search(question):
        return ComparedEvent(DEATH, frozenset())
    if _BIRTH.search(question) or (_AGE.search(question) and _PERSON.search(question)):
        return ComparedEvent(BIRTH, frozenset())
    if _FOUND.search(question):
        return ComparedEvent(OTHER, frozenset({ENGLISH.stem("discovered")}))  # not what "founded" says
    asked = {ENGLISH.stem(word.lower()) for word in _VERB.findall(question)}
    stems = frozenset(asked).union(*(group for group in _GROUPS if group & asked)) or _BEGINNING
    return ComparedEvent(RELEASE if stems & _RELEASES else OTHER, stems)


def find_event_year(event: ComparedEvent, sentence: Sentence) -> int | None:
    """Return the year in which a sentence says that an event took place; None where it says none."""
    text = sentence.text
    if event.kind in (BIRTH, DEATH):
        return _life_year(sentence, event.kind)
    of_work = _ATTRIBUTE.search(text) or (_TITLE_YEAR.match(text) if sentence.start == 0 else None)
    if event.kind == RELEASE and of_work:
        return int(of_work["year"])
    verbs = [(match.start(), ENGLISH.stem(match.group().lower())) for match in _VERB.finditer(text)]
    for year in _YEAR.finditer(text):
        before = [stem for at, stem in verbs if at < year.start()]
        if before and before[-1] in event.stems and find_years(year.group()):
            return int(year.group())
    return None


def find_dated(event: ComparedEvent, sentences: Sequence[Sentence]) -> tuple[Sentence, int] | None:
    """Return the first of some sentences that dates an event, and the year; None where none does."""
    dated = ((sentence, find_event_year(event, sentence)) for sentence in sentences)
    return next(((sentence, year) for sentence, year in dated if year is not None), None)


def _life_year(sentence: Sentence, kind: str) -> int | None:
    bracket = LIFE.search(sentence.text)
    title = name_key(sentence.passage.title).split()
    opens = bracket is not None and bracket.start() <= _MAX_OPENING and _names(sentence.text, title)
    if bracket is not None and opens and not _NO_LIFE.search(bracket["life"]):
        years, is_birth = find_years(bracket["life"]), _AFTER[BIRTH].search(bracket["life"])
        if len(years) > 1:
            return years[0] if kind == BIRTH else years[-1]
        if len(years) == 1 and kind == BIRTH and is_birth:
            return years[0]
    opening = " ".join(sentence.text.split()[:6])
    is_of_title = _PRONOUN.match(sentence.text) or _names(opening, title)  # not of a son or daughter
    match = _AFTER[kind].search(sentence.text) if is_of_title else None
    years = find_years(match["rest"]) if match else []
    return years[0] if years else None


def _names(text: str, title: Sequence[str]) -> bool:
    """Return whether a text is a name that shares a word with a title."""
    return bool(set(name_key(text).split()) & set(title))
