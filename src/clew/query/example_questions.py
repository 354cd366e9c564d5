"""Questions that an index could answer, made by rules from chains of two facts that different passages state.

`Fram --[designed by]--> Colin Archer --[was born in]--> Larvik` gives "Where was the one who designed Fram born?".
The rules know some English verbs; chains of other facts give "How is A connected with C?". Nothing is random: the same
index gives the same questions.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.graph.snapshot.snapshot import Snapshot
from clew.text.casing import COMMON_WORDS
from clew.text.normalization import name_key, token_keys
from clew.types import Triple

_PARTICIPLES = """
    acquired awarded bought built buried captured chartered christened commanded commissioned crossed designed
    destroyed developed directed discovered edited educated established financed found founded funded headed
    invented launched led located lost made maintained managed married named opened organised organized owned
    painted produced published purchased raised rebuilt released repaired run sold sponsored trained written
"""
_DONE = frozenset(_PARTICIPLES.split())
"""Past participles of passive facts; all are the past tense too, so that `the one who led` is right."""
_NO_PAST_TENSE = {"run": "ran", "written": "wrote"}
_HAPPENED = {
    "born": "", "died": "die", "drowned": "drown", "lived": "live", "sank": "sink", "served": "serve",
    "settled": "settle", "studied": "study", "worked": "work",
}  # fmt: skip
"""Past tenses of what happens to someone, with their base forms; `born` is passive."""
_SUBJECT = r"(?:(?:he|she|it|they)\s+)?"
_WAS = r"(?:(?:was|is|were|had been)\s+)?"
_PASSIVE = re.compile(rf"{_SUBJECT}{_WAS}(?P<verb>[a-z]+)\s+(?P<place>in|at|by)", re.IGNORECASE)
_ACTIVE = re.compile(rf"{_SUBJECT}(?P<verb>[a-z]+)", re.IGNORECASE)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE_WORD = re.compile(rf"\d|^(?:{_MONTHS})\b")
_OPENING_WORDS = """
    additionally afterwards anything both consequently earlier eight eleven everybody everyone finally five four
    furthermore hence herself himself hundred initially instead itself later meanwhile million moreover neither
    nevertheless next nine nobody none nothing originally others otherwise perhaps seven several similarly six
    somebody someone something ten themselves theirs therefore third thousand thus today tomorrow twelve yesterday
"""
_NO_NAMES = COMMON_WORDS | frozenset(_OPENING_WORDS.split()) | _DONE | _HAPPENED.keys() | {"started"}
"""Words that open sentences and lines with a capital, pronouns and numbers, each in the place of a name."""
_DETERMINERS = """
    any both each every few he her his i it its many most my no our several she some their these they this those we your
"""
_NO_NAME_STARTS = frozenset(_DETERMINERS.split())
_MAX_FACTS = 200_000  # of an index that are read
_MAX_STARTS = 40  # facts that lead to an entity
_MAX_NAME = 60  # characters of a name in a question


@final
@dataclass(frozen=True, slots=True)
class ExampleQuestion:
    """A question, the chain it was made from, and the passages that state the chain, one for each fact."""

    text: str
    chain: tuple[Triple, Triple]
    passages: tuple[str, ...]


def list_example_questions(snapshot: Snapshot) -> Iterator[ExampleQuestion]:
    """Yield questions whose chain the rules can put in words, then those on connections; no start or end is twice."""
    seen: set[str] = set()
    for in_words in (True, False):
        for first, second in _chains(snapshot, in_words=in_words):
            if not _is_of_names(first, second):
                continue
            text = _word_chain(first, second) if in_words else _word_connection(first, second)
            ends = {name_key(_other_end(first, second)), name_key(_other_end(second, first))}
            if not text or ends & seen:
                continue
            seen |= ends
            passages = tuple(t.passages[0] for t in (first, second) if t.passages)
            yield ExampleQuestion(text, (first, second), passages)


def _chains(snapshot: Snapshot, *, in_words: bool) -> Iterator[tuple[Triple, Triple]]:
    """Yield pairs of facts that share an entity and that no passage states together, by the entity's position."""
    triples = np.asarray(snapshot.triples[:_MAX_FACTS])
    usable = np.array([_is_usable(relation, in_words=in_words) for relation in snapshot.relations], dtype=np.bool_)
    chosen = np.flatnonzero(usable[triples[:, 1]]) if len(triples) else np.zeros(0, dtype=np.int64)
    by_end: dict[int, list[int]] = {}
    for triple in chosen.tolist():
        for end in {int(triples[triple, 0]), int(triples[triple, 2])}:
            by_end.setdefault(end, []).append(triple)
    for middle in sorted(by_end, key=lambda end: (len(by_end[end]), end)):
        facts = by_end[middle][:_MAX_STARTS]
        for one in facts:
            for other in facts:
                if one != other and triples[other, 0] == middle and _are_separate(snapshot, one, other):
                    yield snapshot.triple(one), snapshot.triple(other)


def _is_usable(relation: str, *, in_words: bool) -> bool:
    if not in_words:
        return True
    return bool(_read_passive(relation) or _read_past(relation) or _ACTIVE.fullmatch(relation.strip()))


def _are_separate(snapshot: Snapshot, one: int, other: int) -> bool:
    first, second = (set(snapshot.triple_passages.row(triple).tolist()) for triple in (one, other))
    return not first & second


def _other_end(triple: Triple, other: Triple) -> str:
    """Return the end of a fact that another one does not have."""
    head, tail = triple.entities
    return tail if head in other.entities else head


def _word_chain(first: Triple, second: Triple) -> str:
    """Return a question about the tail of the second fact, "" where the rules have no words for it."""
    middle = second.entities[0]
    described = _describe_middle(first, middle)
    start, end = _other_end(first, second), second.entities[1]
    if not described or name_key(start) == name_key(end) or not (_is_name(start) and _is_name(middle)):
        return ""
    asked = "When" if _DATE_WORD.search(end) else "Where"
    if passive := _read_passive(second.relation):
        verb, place = passive
        if place == "by":
            return f"By whom was {described} {verb}?" if not _DATE_WORD.search(end) else ""
        return f"{asked} was {described} {verb}?" if asked == "When" or end[:1].isupper() else ""
    verb, place = _read_past(second.relation) or ("", "")
    return f"{asked} did {described} {verb}?" if verb and place and place != "by" else ""


def _describe_middle(triple: Triple, middle: str) -> str:
    """Return a description of an end of a fact by the other: `the one who designed Fram`."""
    head, tail = triple.entities
    passive = _read_passive(triple.relation)
    if middle == tail and passive and passive[0] != "born":
        verb, place = passive
        if _DATE_WORD.search(tail):
            return ""
        return f"the one who {_NO_PAST_TENSE.get(verb, verb)} {head}" if place == "by" else ""
    active = _ACTIVE.fullmatch(triple.relation.strip())
    verb = active["verb"].lower() if active else ""
    is_past = verb in _DONE - _NO_PAST_TENSE.keys() or verb in _NO_PAST_TENSE.values()
    return f"the one who {verb} {tail}" if middle == head and is_past else ""


def _word_connection(first: Triple, second: Triple) -> str:
    start, end = _other_end(first, second), _other_end(second, first)
    words = set(token_keys(start)), set(token_keys(end))
    if not (_is_name(start) and _is_name(end)) or words[0] <= words[1] or words[1] <= words[0]:
        return ""
    return f"How is {start} connected with {end}?"


def _is_name(text: str) -> bool:
    return 1 < len(text) <= _MAX_NAME and not text[0].isdigit() and not _DATE_WORD.search(text) and "?" not in text


def _is_of_names(first: Triple, second: Triple) -> bool:
    """Return whether a chain goes by way of names alone; the date at its end is what is asked for."""
    ends = (*first.entities, *second.entities)
    names = ends[:-1] if _DATE_WORD.search(ends[-1]) else ends
    return all(map(_names_something, names))


def _names_something(text: str) -> bool:
    """Return whether an end of a fact is more than a pronoun, a number or a word that opened a line."""
    words = [word for word in text.casefold().split() if word != "the"]
    if not words or (len(words) == 1 and words[0].strip(".,") in _NO_NAMES):
        return False
    return words[0] not in _NO_NAME_STARTS and any(character.isalpha() for character in text)


def _read_passive(relation: str) -> tuple[str, str] | None:
    """Return the participle and the preposition of a passive relation, such as `was designed by`."""
    match = _PASSIVE.fullmatch(relation.strip())
    if match is None or (verb := match["verb"].lower()) not in _DONE | {"born"}:
        return None
    return verb, match["place"].lower()


def _read_past(relation: str) -> tuple[str, str] | None:
    """Return the base form and the preposition of a relation such as `He died in`."""
    match = _PASSIVE.fullmatch(relation.strip())
    if match is None or not (base := _HAPPENED.get(match["verb"].lower(), "")):
        return None
    return base, match["place"].lower()
