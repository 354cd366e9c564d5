"""Subjects of questions of one step: the entity that one names, its passages, and the dates of its life.

"When was X born?", "Who led X?": all words of such a question are X, its verb, and the noun of its answer. What is
said of another entity does not answer it, however well the words fit. "When was the captain of X born?" is none of
these: its answer stands in the passage of another entity.

Source: own rules, none of them fitted to data. Differs from the source: nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clew.answering.languages import ENGLISH
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import extract_year, find_asked_verb, find_content_stems
from clew.answering.sentence_selection import Sentence
from clew.answering.span_features import FEATURES
from clew.answering.span_ranker import RankedSpan
from clew.text.gazetteer import COMMON_WORDS
from clew.text.normalization import name_key, strip_parentheses, tokens
from clew.types import Mention

LIFE_VERBS = tuple(map(ENGLISH.stem, ("born", "die")))
_LIFE_WORDS = frozenset(map(ENGLISH.stem, ("born", "birth", "birthday", "die", "death", "date", "year", "day")))
_ASKING_WORDS = frozenset("who whom when where which what how is was are were did does do has had have".split())  # noqa: SIM905 - a list
_OPENING = re.compile(r"(?P<name>[^\W\d_][^()\[\]\n,;:]{0,80}?)\s\((?P<life>[^()\n]{4,120})\)")
_PARTICLE = re.compile("of|the|d[aeiou]|d[eo]s|dell?a?|l[ae]|[ae]l|bin|ibn|v[ao]n|de[rn]|zu|a[fv]|y|e")
_LIFE_TERMS = frozenset(["born", "died", "in", "at", "near"])
_RANGE = re.compile(r"[–—-]|\bdied\b")
_BORN, _DIED = re.compile(r"\bborn\s*\Z"), re.compile(r"(?:\bdied|\A\s*[–—-])\s*\Z")
_STILL_ALIVE = re.compile(r"\s*[–—-]\s*\Z")
_BRACKET = re.compile(r"\([^()\n]*\)")
_ASKED_YEAR = re.compile(r"\s+in\s+(?P<year>[12][0-9]{3})\s*\?*\s*\Z")
# When something is asked of, which is no part of its name.
_TIME = re.compile(rf"\b(?:today|nowadays|currently|still|now)\b|{_ASKED_YEAR.pattern}")
_EVENT_FIT, _LIFE_FIT = FEATURES.index("event fit"), FEATURES.index("life fit")


@dataclass(frozen=True, slots=True)
class NamedSubject:
    """The entity that a question of one step names, and the passages about it."""

    key: str  # of the name as the question has it
    names: frozenset[str]  # that key, and those of the titles
    passages: frozenset[str]  # identifiers
    asks_life: bool  # whether the question is for a birth or a death
    documents: frozenset[str]  # identifiers, of those passages
    is_exact: bool  # whether a passage is called what the question says, not "Roald Amundsen" for "Amundsen"

    def is_named(self, key: str) -> bool:
        """Return whether a name's key is one of the entity, or a longer or shorter form of one."""
        return any(f" {name} " in f" {key} " or f" {key} " in f" {name} " for name in self.names)


@dataclass(frozen=True, slots=True)
class LifeDate:
    """A date of birth or death, as written, and the sentence that gives it."""

    text: str
    sentence: Sentence


def find_subject(analysis: QuestionAnalysis) -> NamedSubject | None:
    """Return what an English question of one step asks about; None where its words are no name and no passage's title.

    A name that is the title of no passage, or is a part of several, is a subject without passages.
    """
    asked = _asked_text(analysis) if analysis.query.language.is_english else ""
    key = name_key(asked)
    if not key:
        return None
    forms: dict[str, set[str]] = {}
    titles: dict[str, set[str]] = {}
    for sentence in analysis.sentences:
        if sentence.title_key:
            title = name_key(sentence.passage.title)
            opening = _opening_name(sentence)
            forms.setdefault(title, set()).update({title, sentence.title_key, *([opening] if opening else [])})
            titles.setdefault(title, set()).add(sentence.passage.id)
    exact = [title for title, names in forms.items() if key in names]
    longer = [title for title, names in forms.items() if any(f" {key} " in f" {name} " for name in names)]
    about = exact or longer
    asks_life = find_asked_verb(analysis.question) in LIFE_VERBS
    if not about or (not exact and len(longer) > 1):
        if not (name := name_key(_name_in(asked))):
            return None
        return NamedSubject(key, frozenset({key, name}), frozenset(), asks_life, frozenset(), is_exact=False)
    passages = frozenset(one for title in about for one in titles[title])
    documents = frozenset(s.passage.document_id for s in analysis.sentences if s.passage.id in passages)
    names = frozenset({key, *(name for title in about for name in forms[title])})
    return NamedSubject(key, names, passages, asks_life, documents, is_exact=bool(exact))


def find_life_date(analysis: QuestionAnalysis) -> LifeDate | None:
    """Return the date in the brackets right after a name, for a question of its birth or death; None where unclear.

    "X (1883-1965)", "X (3 May 1883 - 1 June 1965)", "X (born 1950)"; not "X (c. 1883)", "X (reigned 1883-1901)".
    """
    question_type, verb = analysis.query.question_type, find_asked_verb(analysis.question)
    if question_type.kind != "date" or question_type.noun not in ("", "year", "date", "day"):
        return None
    subject = find_subject(analysis)
    if subject is None or not subject.asks_life:
        return None
    found = []
    for sentence in analysis.sentences:
        if sentence.passage.id in subject.passages:
            date = read_life(sentence, is_birth=verb == LIFE_VERBS[0])
            if date is not None:
                date = extract_year(date) if question_type.noun == "year" else date
                found.append(LifeDate(sentence.passage.text[date.start : date.end], sentence))
    return found[0] if len({name_key(one.text) for one in found}) == 1 else None


def find_openings(analysis: QuestionAnalysis) -> list[Sentence]:
    """Return the first sentence of each passage about what a question names."""
    subject = find_subject(analysis)
    first: dict[str, Sentence] = {}
    for sentence in analysis.sentences:
        if subject is not None and sentence.passage.id in subject.passages and not sentence.is_bare_title:
            first.setdefault(sentence.passage.id, sentence)
    return list(first.values())


def prefer_subject(ranked: Sequence[RankedSpan], analysis: QuestionAnalysis) -> tuple[list[RankedSpan], bool]:
    """Return spans with those about what the question names first, and whether the best one may be asserted.

    Without such an entity nothing changes. A span beside a rival entity is never asserted, nor one where two documents
    have the entity's name as their title; where there are no others, none is returned for a birth or a death of an
    entity that has a passage.
    """
    subject = find_subject(analysis)
    if subject is None:
        return list(ranked), True
    about = [_speaks_of(subject, one) for one in ranked]
    if subject.asks_life and subject.passages and not any(about):
        return [], False
    ordered = sorted(range(len(ranked)), key=lambda i: not about[i])
    return [ranked[i] for i in ordered], any(about) and len(subject.documents) <= 1


def _asked_text(analysis: QuestionAnalysis) -> str:
    """Return the text between the first and the last word that is no word of the question's form.

    A common word inside the question is one of the name where it has a capital: "Shining Through", "My Kingdom".
    """
    question = _TIME.sub(lambda match: " " * len(match.group()), analysis.question)
    content = analysis.query.language.blank_question_words(question)
    verb, noun = find_asked_verb(question), ENGLISH.stem(analysis.query.question_type.noun)
    form = {verb} | (_LIFE_WORDS if verb in LIFE_VERBS else frozenset())
    words = tokens(question)
    places = [at for word, at in find_content_stems(content) if word not in form and word != noun]
    if places:
        inner = [word for word in words[1:] if word.key not in _ASKING_WORDS and ENGLISH.stem(word.key) not in form]
        places = sorted({*places, *(word.start for word in inner if question[word.start].isupper())})
    ends = {word.start: word.end for word in words}
    return question[places[0] : ends.get(places[-1], places[-1])] if places else ""


def final_year(question: str) -> str:
    """Return the year that ends a question: "1901" of "Who bought X in 1901?"; "" without one."""
    match = _ASKED_YEAR.search(question)
    return match["year"] if match else ""


def _name_in(text: str) -> str:
    """Return the name that a text is, with at most one noun beside it: "ship Fram", "Fram expedition"; else ""."""
    words = text.replace('"', "").split()
    inner = words[1:] if words[0].islower() else words[:-1] if words[-1].islower() else words
    if not inner or any(word[0].islower() for word in (inner[0], inner[-1])):
        return ""  # "captain of the Fram" is no name, and "42" is a number
    is_name = all(word[0].isupper() or word[0].isdigit() or word in COMMON_WORDS for word in inner)
    return " ".join(inner) if is_name and any(word[0].isupper() for word in inner) else ""


def _opening_name(sentence: Sentence) -> str:
    """Return the key of the name before the bracket that a sentence opens with, where it is its passage's title."""
    match = _OPENING.match(sentence.passage.text, sentence.start, sentence.end)
    if match is None:
        return ""
    key, title = name_key(match["name"]), name_key(strip_parentheses(sentence.passage.title))
    is_name = all(word[:1].isupper() or _PARTICLE.fullmatch(word) for word in match["name"].split())
    return key if is_name and (f" {title} " in f" {key} " or f" {key} " in f" {title} ") else ""


def read_life(sentence: Sentence, *, is_birth: bool) -> Mention | None:
    """Return the date of birth or death in the bracket after the title that opens a sentence; None where unclear."""
    text = sentence.passage.text
    if not _opening_name(sentence):
        return None
    match = _OPENING.match(text, sentence.start, sentence.end)
    if match is None:
        return None
    start, end = match.span("life")
    dates = [m for m in sentence.mentions if m.kind == "date" and start <= m.start < m.end <= end]
    rest = " ".join(_texts_between(text, start, end, dates))
    if "?" in rest or any(word.islower() and word not in _LIFE_TERMS for word in re.findall(r"[^\W\d_]+", rest)):
        return None
    if len(dates) == 2 and _RANGE.search(text, dates[0].end, dates[1].start):
        return dates[0] if is_birth else dates[1]
    if len(dates) != 1:
        return None
    before, after = text[start : dates[0].start], text[dates[0].end : end]
    if _DIED.search(before):
        return None if is_birth else dates[0]
    is_known = _BORN.search(before) or (not before.strip() and _STILL_ALIVE.match(after))
    return dates[0] if is_birth and is_known else None


def _texts_between(text: str, start: int, end: int, dates: Sequence[Mention]) -> Iterator[str]:
    for date in dates:
        yield text[start : date.start]
        start = date.end
    yield text[start:end]


def _speaks_of(subject: NamedSubject, ranked: RankedSpan) -> bool:
    """Return whether a span stands in a passage or a sentence about an entity, and not beside a rival's name."""
    candidate = ranked.candidate
    sentence, span = candidate.sentence, candidate.span
    words = f" {' '.join(word.key for word in tokens(sentence.text))} "
    if sentence.passage.id not in subject.passages and not any(f" {name} " in words for name in subject.names):
        return False
    if not subject.asks_life:
        return True
    names = [m for m in sentence.mentions if m.kind == "name"]
    text = sentence.passage.text
    opens = next((m for m in names if not text[sentence.start : m.start].strip("[ ")), None)
    if opens is not None and len(opens.name.split()) > 1 and not subject.is_named(name_key(opens.name)):
        return False
    for bracket in _BRACKET.finditer(text, sentence.start, sentence.end):
        if bracket.start() < span.start < bracket.end():
            before = next((m for m in reversed(names) if m.end <= bracket.start()), None)
            return before is None or subject.is_named(name_key(before.name))
    return bool(ranked.features[_EVENT_FIT] > 0 or ranked.features[_LIFE_FIT] > 0)
