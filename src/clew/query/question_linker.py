"""Links the names of questions to the entities of one index; names that it does not know, to those they are taken for.

A name that the index knows is linked as `clew.query.linking` does, and stays as it is. Elsewhere each run of words that
begins and ends where names may is looked up, longest first, so that one misspelt word of a name brings back the whole
name, and not what its other words name. In the question that retrievers read, the name that was found takes the place
of the one that was written: its words are matched, and its vector is that of the right name.

Source: none; measured in docs/decisions.md. Differs from the source: nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import final

from clew.graph.snapshot.snapshot import Snapshot
from clew.query.linking import (
    MAX_NAME_TOKENS,
    LinkedName,
    LinkedQuestion,
    TopicEntities,
    describe_similar_name,
    find_topic_entities,
    join_names,
    link_question,
    name_spans,
)
from clew.query.masking import FUNCTION_WORDS
from clew.query.unknown_names import NameArrays, SimilarName, UnknownNames
from clew.text.gazetteer import COMMON_WORDS, looks_like_name
from clew.text.normalization import Token, tokens

_MAX_LOOKUPS = 512  # runs of words that are looked up, which bounds the time of a hostile question
_JOINER = re.compile(r"[\s.\-–'’]*\Z")
_Run = tuple[int, int]  # first word, and the one after the last


@final
class QuestionLinker:
    """Links the names of questions; with `similar` also unknown names, whose arrays `store` keeps on disk."""

    def __init__(self, snapshot: Snapshot, store: NameArrays | None = None, *, similar: bool = True) -> None:
        self._snapshot = snapshot
        self._unknown = UnknownNames(snapshot, store) if similar and len(snapshot.entities) else None

    def link(self, question: str) -> LinkedQuestion:
        """Return a question with its names."""
        linked = link_question(self._snapshot, question)
        if self._unknown is None:
            return linked
        spans = name_spans(linked.text)
        found = self._find_similar_names(linked.text, spans, linked.linked_names)
        if not found:
            return linked
        others = [
            name for name in linked.linked_names if not any(s < name.end and name.start < e for s, e, _ in found)
        ]
        return _replace_names(linked.text, others, found, spans)

    def find_topics(self, question: str, names: Sequence[str] = ()) -> TopicEntities:
        """Return the entities that a question on a graph is about (see `find_topic_entities`)."""
        topics = find_topic_entities(self._snapshot, question, names)
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
        words = tokens(text)
        found: list[tuple[int, int, SimilarName]] = []
        for first, last in _runs_with_unknown_words(text, words, spans, known):
            start, end = words[first].start, words[last - 1].end
            if any(start < other_end and other_start < end for other_start, other_end, _ in found):
                continue
            if name := self._unknown.find(text[start:end]):
                found.append((start, end, name))
        return sorted(found, key=lambda item: item[0])


def _runs_with_unknown_words(
    text: str, words: Sequence[Token], spans: Sequence[tuple[int, int]], known: Sequence[LinkedName]
) -> list[_Run]:
    """Return the runs of words that may be unknown names, longest first; each has a word that is written as one."""
    owners = _overlapping(words, [(name.start, name.end) for name in known])
    in_span = _overlapping(words, spans)
    unknown = [
        own < 0 and (span >= 0 or _has_capital(text, word)) and word.key not in COMMON_WORDS | FUNCTION_WORDS
        for own, span, word in zip(owners, in_span, words, strict=True)
    ]
    if not any(unknown):
        return []
    starts, ends = _possible_bounds(text, words, spans)
    runs = [
        (first, last)
        for first in sorted(starts)
        for last in range(first + 1, min(first + MAX_NAME_TOKENS, len(words)) + 1)
        if last in ends
        and any(unknown[first:last])
        and (first == 0 or owners[first] < 0 or owners[first - 1] != owners[first])
        and (last == len(words) or owners[last] < 0 or owners[last - 1] != owners[last])
    ]
    return sorted(runs, key=lambda run: (run[0] - run[1], run[0]))[:_MAX_LOOKUPS]


def _possible_bounds(
    text: str, words: Sequence[Token], spans: Sequence[tuple[int, int]]
) -> tuple[set[int], set[int]]:
    """Return the words that names may start at, and those that they may end before.

    These are the bounds of what is written as a name, of runs of words with capitals, and of these with the word before
    or after, whose capital may be what is missing.
    """
    span_starts, span_ends = {start for start, _ in spans}, {end for _, end in spans}
    starts = {number for number, word in enumerate(words) if word.start in span_starts}
    ends = {number for number, word in enumerate(words, 1) if word.end in span_ends}
    for first, last in _capital_runs(text, words):
        starts.add(first)
        ends.add(last)
    ordinary = [word.key in COMMON_WORDS or word.key in FUNCTION_WORDS for word in words]
    starts |= {number - 1 for number in starts if number and not ordinary[number - 1]}
    ends |= {number + 1 for number in ends if number < len(words) and not ordinary[number]}
    return starts, ends


def _capital_runs(text: str, words: Sequence[Token]) -> Iterator[_Run]:
    first = 0
    while first < len(words):
        if words[first].key in COMMON_WORDS or not _has_capital(text, words[first]):
            first += 1
            continue
        last = first + 1
        while (
            last < len(words)
            and _has_capital(text, words[last])
            and _JOINER.match(text[words[last - 1].end : words[last].start])
        ):
            last += 1
        yield first, last
        first = last


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
    return replace(topics, entities=tuple(entities), notes=notes)
