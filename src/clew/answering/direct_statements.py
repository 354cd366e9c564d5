"""Answers that a sentence states in the words of the question: "Who led X?" of "X of 1910 was led by Y".

The question has one step (`named_subject`): all its words are an entity, a verb and the noun of the answer. A sentence
states the answer where the verb of the question has the entity as its subject ("X, launched in 1892 and designed by
Y"), or as its object ("Y designed X"), and the answer beside it, with no other name between. Where two sentences state
different answers, none is taken.

Source: own rules, none of them fitted to data. Differs from the source: nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clew.answering.named_subject import LIFE_VERBS, NamedSubject, find_subject
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import extract_year, find_asked_verb
from clew.answering.sentence_selection import Sentence
from clew.text.normalization import name_key, strip_parentheses, tokens
from clew.types import Mention

_WHEN_WHERE = r"(?:\s+(?:in|on|at)\s+[^,;:()]{3,30}?)?"
_BEFORE_AGENT = re.compile(
    _WHEN_WHERE + r"\s+by\s+(?:(?:the|an?)\s+)?(?:[A-Z]?[a-z]+(?:-[A-Z]?[a-z]+)*\s+){0,4}\[{0,2}"
)
_BEFORE_DATE = re.compile(r"\s+(?:on|in)\s+")
_BEFORE_PLACE = re.compile(r"\s+(?:(?:on|in)\s+[^,;()]{4,20}?\s+)?(?:in|at|near)\s+(?:the\s+)?\[{0,2}")
_BEFORE_VERB = re.compile(r"\]{0,2}(?:\([^()]*\))?(?:\s+\([^()]*\))?,?(?:\s+(?:who|first|later|also|then|had))?\s+")
_BEFORE_OBJECT = re.compile(r"\s+(?:the|an?|his|her|its|their)?\s*(?:[a-z]+(?:-[a-z]+)*\s+){0,3}\[{0,2}")
# What ties the verb to the entity that opens the sentence: "X was led", "X, led", "X was built and led", "X was a ship
# built"; not "X was a book about a ship built".
_TIED = re.compile(
    r"(?:\b(?:was|were|is|are|been|and|first|originally|later|also|then|jointly)|,)\s+\Z"
    r"|\A[^,;:]*?\b(?:is|was|are|were)\s+(?:an?|the)(?:\s+(?!(?:of|in|by|for|about|at|from|with|on|to|near)\b)[\w'’-]+)*\s+\Z"
)
_OTHER_CLAUSE = re.compile(
    r"[;:]|\b(?:but|while|whereas|which|who|whom|whose|that|where|when|after|before)\b", re.IGNORECASE
)
_NAME_OF_A_PHRASE = re.compile(
    r"\b(?:in|at|of|on|under|for|from|near|to|name|named|called)\s+(?:the\s+)?(?:name\s+)?\[{0,2}\Z"
)
_PRONOUN = re.compile(r"(?:It|She|He|They)\s")
_NEGATION = re.compile(r"\b(?:not|never|nor|neither|reportedly|allegedly|supposedly|possibly|perhaps)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"\]{0,2}(?:\([^()]*\))?\s*(?:,\s*(?:\[{0,2}[A-Z])|(?:and|or|with|&)\s+(?:the\s+)?\[{0,2}[A-Z])")
_WORD = re.compile(r"[\w'’-]*")
_KINDS = ("person", "date", "place")
_YEAR_NOUN = "year"
_MAX_NAME = 12  # words
_MAX_DISTANCE = 300  # characters between the entity and the verb


@dataclass(frozen=True, slots=True)
class DirectStatement:
    """An answer, as written, and the sentence that states it."""

    text: str
    sentence: Sentence


def find_statement(analysis: QuestionAnalysis) -> DirectStatement | None:
    """Return the answer that the sentences state in the question's words; None where none or several do."""
    question_type = analysis.query.question_type
    verb = find_asked_verb(analysis.question)
    if not verb or verb in LIFE_VERBS or question_type.kind not in _KINDS:
        return None
    if question_type.kind == "date" and question_type.noun not in ("", "date", "day", _YEAR_NOUN):
        return None
    subject = find_subject(analysis)
    if subject is None:
        return None
    found = []
    for sentence in analysis.sentences:
        for answer in _stated_answers(sentence, subject, verb, question_type.kind):
            answer = extract_year(answer) if question_type.noun == _YEAR_NOUN else answer
            text = sentence.passage.text[answer.start : answer.end]
            if not subject.is_named(name_key(text)):
                found.append(DirectStatement(text, sentence))
    return found[0] if len({_answer_key(one.text) for one in found}) == 1 else None


def _answer_key(text: str) -> str:
    return name_key(strip_parentheses(text))


def _stated_answers(sentence: Sentence, subject: NamedSubject, verb: str, kind: str) -> Iterator[Mention]:
    text = sentence.passage.text
    for stem, start in sentence.stem_positions:
        if stem != verb or _NEGATION.search(text, sentence.start, start):
            continue
        word = _WORD.match(text, start, sentence.end)
        end = start if word is None else word.end()
        if _has_subject(sentence, subject, start):
            yield from _after_verb(sentence, end, kind)
        elif kind == "person" and _has_object(sentence, subject, end):
            yield from _before_verb(sentence, start)


def _names(sentence: Sentence) -> list[Mention]:
    return [m for m in sentence.mentions if m.kind not in ("date", "number")]


def _has_subject(sentence: Sentence, subject: NamedSubject, verb: int) -> bool:
    """Return whether the entity opens the sentence, and the verb is said of it."""
    text = sentence.passage.text
    opening = _end_of_subject(sentence, subject, verb)
    if (
        opening is None
        or verb - opening > _MAX_DISTANCE
        or _OTHER_CLAUSE.search(text, opening, verb)
        or not _TIED.search(text[opening:verb])
    ):
        return False
    between = (m for m in _names(sentence) if opening <= m.start < verb)
    return all(_NAME_OF_A_PHRASE.search(text, opening, m.start) for m in between)


def _end_of_subject(sentence: Sentence, subject: NamedSubject, verb: int) -> int | None:
    """Return where the name of the entity, or in its own passage a pronoun, that opens a sentence ends."""
    words = list(tokens(sentence.passage.text[sentence.start : verb]))[:_MAX_NAME]
    if words and words[0].key == "the":
        words = words[1:]
    for count in range(len(words), 0, -1):
        if " ".join(word.key for word in words[:count]) in subject.names:
            return sentence.start + words[count - 1].end
    pronoun = _PRONOUN.match(sentence.passage.text, sentence.start, verb)
    return pronoun.end() - 1 if pronoun is not None and sentence.passage.id in subject.passages else None


def _is_part(subject: NamedSubject, mention: Mention) -> bool:
    return any(f" {name_key(mention.name)} " in f" {name} " for name in subject.names)


def _after_verb(sentence: Sentence, verb_end: int, kind: str) -> Iterator[Mention]:
    text = sentence.passage.text
    if kind == "date":
        before = _BEFORE_DATE.match(text, verb_end, sentence.end)
        wanted = [m for m in sentence.mentions if m.kind == "date"]
    else:
        pattern = _BEFORE_AGENT if kind == "person" else _BEFORE_PLACE
        before = pattern.match(text, verb_end, sentence.end)
        wanted = [m for m in _names(sentence) if m.kind == "name"]
    if before is not None:
        yield from _of_one(sentence, [m for m in wanted if verb_end < m.start <= before.end()][:1])


def _has_object(sentence: Sentence, subject: NamedSubject, verb_end: int) -> bool:
    before = _BEFORE_OBJECT.match(sentence.passage.text, verb_end, sentence.end)
    after = next((m for m in _names(sentence) if m.start >= verb_end), None)
    return before is not None and after is not None and after.start <= before.end() and _is_part(subject, after)


def _before_verb(sentence: Sentence, verb: int) -> Iterator[Mention]:
    before = [m for m in _names(sentence) if m.kind == "name" and m.end <= verb]
    if before and _BEFORE_VERB.fullmatch(sentence.passage.text, before[-1].end, verb):
        yield from _of_one(sentence, before[-1:])


def _of_one(sentence: Sentence, answers: list[Mention]) -> Iterator[Mention]:
    """Yield an answer that is no first one of several: "by A and B", "by A, B and C"."""
    for answer in answers:
        if not _SEVERAL.match(sentence.passage.text, answer.end, sentence.end):
            yield answer
