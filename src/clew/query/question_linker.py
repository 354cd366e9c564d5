"""Links the names of questions to the entities of one index; names that it does not know, to those they are taken for.

A name that the index knows is linked as `clew.query.linking` does, and stays as it is. Elsewhere each run of words that
begins and ends where names may is looked up, longest first, so that one misspelt word of a name brings back the whole
name, and not what its other words name. In the question that retrievers read, the name that was found takes the place
of the one that was written: its words are matched, and its vector is that of the right name.

Source: none; measured in docs/decisions. Differs from the source: nothing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from clew.arrays import BoolArray
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.tracing import trace_calls
from clew.query.conditions import ArrayStore
from clew.query.linking import (
    FUNCTION_WORDS,
    MAX_CHARACTERS,
    MAX_NAME_TOKENS,
    LinkedName,
    LinkedQuestion,
    TopicEntities,
    describe_similar_name,
    find_topic_entities,
    join_names,
    link_spans,
    name_spans,
)
from clew.query.misspelt_names import SimilarName, UnknownNames
from clew.query.visible_names import NameTable
from clew.text.casing import COMMON_WORDS, looks_like_name
from clew.text.normalization import ARTICLES, Token, is_unspaced_letter, name_key, tokens

_MAX_LOOKUPS = 512  # runs of words that are looked up, which bounds the time of a hostile question
_JOINER = re.compile(r"[\s.\-–'’]*\Z")
_MIN_MISSPELT = 2  # letters of a word that no passage has; a single one is an initial
_REACH = 7  # words of a name before one that no passage has, and after it
HasWords = Callable[[Sequence[str], BoolArray | None], Sequence[bool]]
"""Tells which of some folded words allowed passages (P,) have, None for all passages."""
_Span = tuple[int, int]  # start and end in characters
_Run = tuple[int, int]  # first word, and the one after the last


@final
class QuestionLinker:
    """Links the names of questions.

    With `similar` also unknown names: `store` keeps their arrays on disk, and `has_words` tells which of
    some folded words passages have; without it they have all.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        store: ArrayStore | None = None,
        has_words: HasWords | None = None,
        *,
        similar: bool = True,
    ) -> None:
        self._table: NameTable = snapshot
        self._has_words = has_words
        self._allowed: BoolArray | None = None
        self._unknown = UnknownNames(snapshot, store) if similar and len(snapshot.entities) else None

    def restrict(self, table: NameTable, allowed: BoolArray) -> "QuestionLinker":
        """Return a copy that knows the names of a table, and the words of allowed passages (P,), alone."""
        linker = copy(self)
        linker._table, linker._allowed = table, allowed  # noqa: SLF001
        linker._unknown = None if self._unknown is None else self._unknown.restrict(table)  # noqa: SLF001
        return linker

    @trace_calls("clew.link")
    def link(self, question: str) -> LinkedQuestion:
        """Return a question with its names."""
        text = question[:MAX_CHARACTERS]
        spans = name_spans(text)
        linked = link_spans(self._table, text, spans)
        if self._unknown is None:
            return linked
        found = self._find_similar_names(linked.text, spans, linked.linked_names)
        if not found:
            return linked
        others = [name for name in linked.linked_names if not any(s < name.end and name.start < e for s, e, _ in found)]
        return _replace_names(linked.text, others, found, spans)

    @trace_calls("clew.link")
    def find_topics(self, question: str, names: Sequence[str] = ()) -> TopicEntities:
        """Return the entities that a question on a graph is about (see `find_topic_entities`)."""
        topics = find_topic_entities(self._table, question, names)
        if self._unknown is None:
            return topics
        if topics.unknown_names:
            similar = {name: self._unknown.find(name) for name in topics.unknown_names}
            unknown = tuple(name for name, found in similar.items() if found is None)
            taken = [(name, found) for name, found in similar.items() if found is not None]
            return _add_topics(replace(topics, unknown_names=unknown), taken)
        if topics.entities:
            return topics
        text = topics.text
        found = self._find_similar_names(text, name_spans(text), ())
        taken = [(text[start:end], name) for start, end, name in found]
        return _add_topics(replace(topics, spans=tuple((start, end) for start, end, _ in found)), taken)

    def _find_similar_names(
        self, text: str, spans: Sequence[tuple[int, int]], known: Sequence[LinkedName]
    ) -> list[tuple[int, int, SimilarName]]:
        """Return the start and end of unknown names, in order, with the names that they are taken for."""
        assert self._unknown is not None
        words = _describe_words(text, spans, known, self._words_in)
        found: list[tuple[int, int, SimilarName]] = []
        for first, last in _possible_runs(words, spans):
            start, end = words.words[first].start, words.words[last - 1].end
            if any(start < other_end and other_start < end for other_start, other_end, _ in found):
                continue
            name = self._unknown.find(text[start:end])
            inside = [text[other.start : other.end] for other in known if start <= other.start < end]
            if name and name_key(name.text) in map(name_key, inside):
                continue  # the name is known without the other words
            if name and (words.is_name(first, last) or (words.is_lower and self._is_title(name))):
                found.append((start, end, name))
        return sorted(found, key=lambda item: item[0])

    def _words_in(self, words: Sequence[str]) -> Sequence[bool]:
        return [True] * len(words) if self._has_words is None else self._has_words(words, self._allowed)

    def _is_title(self, name: SimilarName) -> bool:
        return bool(self._table.title_mask(np.array(name.entities, dtype=np.int32)).any())


@dataclass(frozen=True, slots=True)
class _Words:
    """The n words of a question, and what is known of each."""

    text: str
    words: Sequence[Token]
    owners: Sequence[int]  # the known name that a word is in, -1 for none
    capitals: Sequence[bool]
    unknown: Sequence[bool]  # whether a word is written as a name, and is in none that is known
    misspelt: Sequence[bool]  # whether a word is in no known name and in no passage

    def is_whole(self, first: int, last: int) -> bool:
        """Return whether a run of words cuts no known name."""
        starts_in_name = first > 0 and self.owners[first] >= 0 and self.owners[first - 1] == self.owners[first]
        ends_in_name = last < len(self.words) and self.owners[last] >= 0 and self.owners[last - 1] == self.owners[last]
        return not starts_in_name and not ends_in_name

    def is_part(self, number: int) -> bool:
        """Return whether a word is one of several with capitals, or beside one."""
        before, after = self.words[number - 1 : number], self.words[number + 1 : number + 2]
        gaps = [(self.capitals[number - 1], b.end, self.words[number].start) for b in before]
        gaps += [(self.capitals[number + 1], self.words[number].end, a.start) for a in after]
        return any(capital and _JOINER.match(self.text[end:start]) for capital, end, start in gaps)

    def is_name(self, first: int, last: int) -> bool:
        """Return whether a run is written as a name: a word in lower case alone is none unless it is quoted."""
        return last - first > 1 or self.capitals[first] or (self.unknown[first] and self.misspelt[first])

    @property
    def is_lower(self) -> bool:
        """Whether the question writes names without capitals, too; then the title of a document may be a name."""
        return not any(map(str.isupper, self.text[1:]))


def _describe_words(
    text: str,
    spans: Sequence[_Span],
    known: Sequence[LinkedName],
    has_words: Callable[[Sequence[str]], Sequence[bool]],
) -> _Words:
    words = tokens(text)
    owners, in_span = _overlapping(words, [(name.start, name.end) for name in known]), _overlapping(words, spans)
    capitals = [_has_capital(text, word) for word in words]
    free = [owner < 0 and not _is_ordinary(word) for owner, word in zip(owners, words, strict=True)]
    unknown = [f and (span >= 0 or capital) for f, span, capital in zip(free, in_span, capitals, strict=True)]
    keys = [word.key for word, is_free in zip(words, free, strict=True) if is_free and len(word.key) >= _MIN_MISSPELT]
    lacking = {key for key, has in zip(keys, has_words(keys), strict=True) if not has}
    misspelt = [f and word.key in lacking for f, word in zip(free, words, strict=True)]
    return _Words(text, words, owners, capitals, unknown, misspelt)


def _possible_runs(question: _Words, spans: Sequence[_Span]) -> list[_Run]:
    """Return the runs of words that may be unknown names, longest first.

    Those have a word that is written as a name, and begin and end where names do; or any other bounds, and a word that
    is in no passage. One word of several with capitals is no such run: it would be another name than the whole.
    """
    if not any(question.unknown) and not any(question.misspelt):
        return []
    starts, ends = _name_bounds(question, spans)
    runs = {
        (first, last)
        for first in starts
        for last in range(first + 1, min(first + MAX_NAME_TOKENS, len(question.words)) + 1)
        if last in ends and any(question.unknown[first:last])
    }
    for number, is_misspelt in enumerate(question.misspelt):
        if is_misspelt and len(runs) < _MAX_LOOKUPS:
            bounds = range(max(number - _REACH, 0), number + 1), range(number + 1, number + _REACH + 2)
            runs |= {
                (first, last)
                for first in bounds[0]
                for last in bounds[1]
                if last <= len(question.words) and (last - first > 1 or not question.is_part(number))
            }
    whole = [
        (first, last)
        for first, last in runs
        if question.is_whole(first, last)
        and (question.capitals[first] or question.words[first].key not in ARTICLES)
        and (question.is_name(first, last) or (question.is_lower and question.misspelt[first]))
    ]
    return sorted(whole, key=lambda run: (run[0] - run[1], run[0]))[:_MAX_LOOKUPS]


def _name_bounds(question: _Words, spans: Sequence[_Span]) -> tuple[set[int], set[int]]:
    """Return the words that names may start at, and those that they may end before.

    These are the bounds of what is written as a name, of runs of words with capitals, and of these with the word before
    or after, whose capital may be what is missing.
    """
    words, (span_starts, span_ends) = (
        question.words,
        (set(), set()) if not spans else map(set, zip(*spans, strict=True)),
    )
    starts = {number for number, word in enumerate(words) if word.start in span_starts}
    ends = {number for number, word in enumerate(words, 1) if word.end in span_ends}
    for first, last in _capital_runs(question):
        ordinary = next((n for n in range(first, last) if not _is_ordinary(words[n])), first)
        starts |= set(range(first, ordinary + 1))
        ends.add(last)
    starts |= {n - 1 for n in starts if n and _may_belong(words[n - 1])}
    ends |= {n + 1 for n in ends if n < len(words) and (words[n].key == "s" or _may_belong(words[n]))}
    return starts, ends


def _capital_runs(question: _Words) -> Iterator[_Run]:
    first, words = 0, question.words
    while first < len(words):
        last = first + 1
        while (
            last < len(words)
            and question.capitals[last]
            and _JOINER.match(question.text[words[last - 1].end : words[last].start])
        ):
            last += 1
        if question.capitals[first]:
            yield first, last
            first = last
        else:
            first += 1


def _may_belong(word: Token) -> bool:
    """Return whether a word beside a name may be a part of it; beside a letter of a script without spaces all are."""
    return not _is_ordinary(word) and not is_unspaced_letter(word.key[0])


def _is_ordinary(word: Token) -> bool:
    return word.key in COMMON_WORDS or word.key in FUNCTION_WORDS


def _has_capital(text: str, word: Token) -> bool:
    surface = text[word.start : word.end]
    return looks_like_name(surface) or any(letter.isupper() for letter in surface)


def _overlapping(words: Sequence[Token], spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each word the span that it overlaps, -1 for none; both are in order."""
    owners, number = [], 0
    for word in words:
        while number < len(spans) and spans[number][1] <= word.start:
            number += 1
        owners.append(number if number < len(spans) and spans[number][0] < word.end else -1)
    return owners


def _replace_names(
    text: str,
    known: Sequence[LinkedName],
    found: Sequence[tuple[int, int, SimilarName]],
    spans: Sequence[tuple[int, int]],
) -> LinkedQuestion:
    """Return a question with the names that unknown ones are taken for in their place."""
    changes = [(start, end, name.text) for start, end, name in found]

    def move(position: int) -> int:
        return position + sum(len(new) - (end - start) for start, end, new in changes if end <= position)

    pieces, end_of_last = [], 0
    for start, end, new in changes:
        pieces += [text[end_of_last:start], new]
        end_of_last = end
    names = [replace(name, start=move(name.start), end=move(name.end)) for name in known]
    names += [
        LinkedName(move(start), move(start) + len(name.text), name.entities, text[start:end], name.reason)
        for start, end, name in found
    ]
    free = [(a, b) for a, b in spans if not any(start < b and a < end for start, end, _ in found)]
    return join_names("".join([*pieces, text[end_of_last:]]), names, [(move(a), move(b)) for a, b in free])


def _add_topics(topics: TopicEntities, taken: Sequence[tuple[str, SimilarName]]) -> TopicEntities:
    entities = dict.fromkeys([*topics.entities, *(entity for _, name in taken for entity in name.entities)])
    notes = tuple(describe_similar_name(written, name.text, name.reason) for written, name in taken)
    return replace(topics, entities=tuple(entities), notes=(*topics.notes, *notes))
