"""Statements of sentences: a subject, what is said of it, and the name, number or date that it is said to be.

"Halden Ltd is based in Oslo." says of Halden Ltd that it "is based in": Oslo; and of Oslo, that what "is based in" it
is Halden Ltd. A sentence that begins with a pronoun, or names nothing before its verb, speaks of its passage's title.
The words are compared by their stems, without function words and without words that only place them in time.

Source: own rules, for English; of other languages the words of a relation are compared, and no tense is read.
Differs from the source: nothing.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from clew.text.mentions import find_mentions
from clew.text.normalization import name_key, strip_parentheses, terms_of_words, token_keys
from clew.text.page_text import blank_unread
from clew.text.sentences import sentence_spans
from clew.types import Citation, Passage, Time

_DENIAL = re.compile(
    r"\b(?:not|never|no longer|formerly|previously|former|used to|until|before that|might|may|could|would|if|whether)\b"
    r"|n['’]t\b|\?",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(?:is|are|am|has|have|holds?|lies|lives?|works?|serves?|leads?|heads?|owns?|runs?|costs?|stands?|belongs?|stays?"
    r"|uses?|drives?|reports?|plays?|remains?|contains?|includes?|manages?|chairs?)\b|['’](?:s|re|m)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:was|were|had|did)\b", re.IGNORECASE)
_FUNCTION = re.compile(r"\b(?:the|his|her|its|their|my|our|your)\b[^,;]{0,60}\b(?:of|for|at|in)\s*\Z", re.IGNORECASE)
_TEMPORAL = frozenset("now current currently still also since today recently just since as of new newly".split())  # noqa: SIM905
_MAX_RELATION = 8  # words; more are a sentence of its own
_MAX_SENTENCE = 400  # characters


class Statement(NamedTuple):
    """A statement: equal `subject` and `relation` of two statements say the same of the same."""

    subject: str  # key of its name
    relation: tuple[str, ...]  # stems
    subject_name: str  # as it is written
    words: str  # of the relation, as they are written
    value: str  # the name, number or date
    is_state: bool  # whether the verb is in the present tense: what holds one at a time, not what happened
    citation: Citation
    time: Time | None  # of the sentence, else of its document


def read_statements(passage: Passage) -> Iterator[Statement]:
    """Yield the statements of a passage, without denied, doubted or conditional ones."""
    text = blank_unread(passage.text)
    for start, end in sentence_spans(text):
        if end - start > _MAX_SENTENCE or text.startswith("#", start) or _DENIAL.search(text, start, end):
            continue
        yield from _read_sentence(passage, text, start, end)


def _read_sentence(passage: Passage, text: str, start: int, end: int) -> Iterator[Statement]:
    stated = [(time.start, time.end) for time in passage.times]
    found = [
        mention
        for mention in find_mentions(text, start, end)
        if start <= mention.start < mention.end <= end
        and not any(mention.start < last and first < mention.end for first, last in stated)
    ]
    if not found or len(found) > 2:  # of three names it is not plain which is said of which
        return
    last = found[-1]
    opening = text[start : found[0].start].rpartition(":")[2]  # "Good news: the firm ..."
    between = text[found[0].end : last.start]
    subject = found[0].name if len(found) > 1 else strip_parentheses(passage.title)
    words = f"{opening} {between}" if len(found) > 1 else opening
    if not subject or name_key(subject) == name_key(last.name):
        return
    verb = between if len(found) > 1 else opening
    is_state = _STATE.search(verb) is not None and _PAST.search(verb) is None
    relation = _read_relation(words)
    if not relation:
        return
    citation = passage.cite(start, end)
    time = passage.time_at(start, end) or passage.time
    shown = " ".join(words.split())
    yield Statement(name_key(subject), relation, subject, shown, last.name, is_state, citation, time)
    if len(found) > 1 and _FUNCTION.search(between):  # "is the captain of": one person at a time, of the ship
        yield Statement(name_key(last.name), ("", *relation), last.name, shown, found[0].name, is_state, citation, time)


def _read_relation(words: str) -> tuple[str, ...]:
    keys = [key for key in token_keys(words) if key not in _TEMPORAL]
    if not 0 < len(keys) <= _MAX_RELATION:
        return ()
    return tuple(term for term in terms_of_words(keys) if term) or tuple(keys)
