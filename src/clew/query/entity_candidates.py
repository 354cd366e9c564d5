"""Entities that may be one, and entities that may be several, for people to decide.

Names are near by their spelling, by initials, as an acronym, or as the last word of a full name. A pair's score is that
of its names, halved where nothing stands beside both, and halved again where both are titles of documents: two of these
are mostly about two things. It ranks; it is no probability.

Source: none.

The documents that mention an entity are joined where another entity stands beside it in both; what is left are groups
that share nothing. They tell the more where not even the neighbours of their neighbours are shared. A title is
suspicious where passages of other documents write a name of it that lacks its last word: they may mean a town, and the
document a workshop in it.

Source: none.

Without those that are everywhere, and without years and other numbers, which things share by accident.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from clew.arrays import BoolArray
from clew.graph.similar_names import SimilarNames
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import find_spelling
from clew.query.graph_browsing import GraphBrowser
from clew.text.normalization import find_numbers, key_hash, name_key, strip_parentheses
from clew.types import Citation

_MAX_SHARE, _MIN_COMMON = 0.2, 20  # an entity on a larger share of the passages, and on more than so many, says nothing
_CONTEXT_PASSAGES = 200  # of an entity
_KEPT_CONTEXTS = 1 << 16


@final
class EntityContexts:
    """The contexts of the entities of a snapshot with P passages, read when they are asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        most = max(_MIN_COMMON, int(_MAX_SHARE * len(snapshot.passage_ids)))
        self._is_ignored = (snapshot.mentioned_in.degrees() > most) | _have_digit(snapshot)
        self.of_entity = lru_cache(_KEPT_CONTEXTS)(self._of_entity)

    def of_passage(self, passage: int, entity: int) -> frozenset[int]:
        """Return the other entities that a passage names."""
        found = self._snapshot.mentions.row(passage)
        return frozenset(found[~self._is_ignored[found]].tolist()) - {entity}

    def _of_entity(self, entity: int) -> frozenset[int]:
        """Return the entities that the passages of an entity name beside it."""
        passages = self._snapshot.passages_of(entity)[:_CONTEXT_PASSAGES]
        return frozenset().union(*(self.of_passage(int(passage), entity) for passage in passages))

    def documents(self, entity: int) -> dict[str, frozenset[int]]:
        """Return the context of an entity in each document that mentions it, by the document's id."""
        found: dict[str, frozenset[int]] = {}
        for passage in self._snapshot.passages_of(entity).tolist():
            document = self._snapshot.document_ids[passage]
            found[document] = found.get(document, frozenset()) | self.of_passage(passage, entity)
        return found

    def of_contexts(self, context: frozenset[int], entity: int) -> frozenset[int]:
        """Return a context with what stands beside its entities, other than one entity."""
        return context.union(*(self.of_entity(other) for other in context)) - {entity}


def _have_digit(snapshot: Snapshot) -> BoolArray:
    """Return which names of entities (E,) have a digit."""
    data, offsets = snapshot.entities.data, snapshot.entities.offsets
    before = np.concatenate([[0], np.cumsum((data >= ord("0")) & (data <= ord("9")), dtype=np.int64)])
    found: BoolArray = before[offsets[1:]] > before[offsets[:-1]]
    return found


_EDIT_SCORES = (0.95, 0.8, 0.7)  # of names that differ by none, one or two letters
# "America" and "American", "Russia" and "Russians", "Germany" and "German", "Iceland" and "Icelandic", "Norway" and
# "Norwegian": what a place ends with, then what an adjective of it does, after letters that both begin with.
_PLACE_END = re.compile(r"(?:i?a|e|o|y|us|ey|en|ay|land)?")
_ADJECTIVE_END = re.compile(r"(?:n|an|i|ian|ean|egian|ish|ese|ic)s?")
_BARE_END = {("ia", "i"), ("y", ""), ("y", "s")}  # "Somalia" and "Somali", "Germany" and "German"
_MIN_SHARED = 4  # letters
_INITIALS, _SHORTENED, _ACRONYM, _SURNAME = 0.85, 0.75, 0.6, 0.45
_MAX_FULL_NAMES = 20  # of one last word; more are too ambiguous to propose
_SHOWN_NEIGHBOURS = 5


@dataclass(frozen=True, slots=True)
class DuplicateEntities:
    """Two entities that may be one."""

    names: tuple[str, str]  # the one that more passages mention comes first
    score: float  # from 0 to 1
    reason: str  # what makes the names near, in words
    shared: tuple[str, ...]  # names of entities that stand beside both
    citations: tuple[Citation, ...]  # a sentence about each


def is_adjective_of(key: str, other: str) -> bool:
    """Return whether of two keys of names one is a place and the other the adjective, or the people, of it.

    Told by their endings alone, which irregular ones ("Spain", "Spanish") lack; words before the last one are the same:
    "north korea" and "north korean".
    """
    (before, _, first), (also_before, _, second) = key.rpartition(" "), other.rpartition(" ")
    pairs = enumerate(zip(first, second, strict=False))
    shared = next((at for at, (letter, other_letter) in pairs if letter != other_letter), min(len(first), len(second)))
    if before != also_before or first == second or shared < _MIN_SHARED:
        return False
    return any(_are_endings(place, adjective, shared) for place, adjective in ((first, second), (second, first)))


def _are_endings(place: str, adjective: str, shared: int) -> bool:
    for length in range(_MIN_SHARED, shared + 1):
        ends = place[length:], adjective[length:]
        if ends in _BARE_END and (ends[0] != "y" or place[:length].endswith("an")):
            return True
        is_vowel_before = adjective[length - 1] in "aeio"  # "American", not "Johann"
        is_adjective = _ADJECTIVE_END.fullmatch(ends[1]) is not None and (ends[1].rstrip("s") != "n" or is_vowel_before)
        if is_adjective and _PLACE_END.fullmatch(ends[0]):
            return True
    return False


@final
class DuplicateSearch:
    """Finds pairs of entities of a snapshot that may be one; `similar` are the names of the same snapshot."""

    def __init__(self, snapshot: Snapshot, browser: GraphBrowser, similar: SimilarNames) -> None:
        self._snapshot = snapshot
        self._browser = browser
        self._similar = similar
        self._contexts = EntityContexts(snapshot)

    def find(
        self, limit: int, text: str = "", separate: Collection[frozenset[str]] = frozenset()
    ) -> list[DuplicateEntities]:
        """Return the best pairs, at most `limit`, ties by name.

        Args:
            limit: Pairs.
            text: Only pairs in which a name contains it.
            separate: Pairs of keys of names that a person has declared different.
        """
        wanted = name_key(text) if text.strip() else ""
        pairs: dict[tuple[int, int], tuple[float, str]] = {}
        for entity in range(len(self._snapshot.entities)):
            if not len(self._snapshot.passages_of(entity)):
                continue
            label = self._snapshot.entities[entity]
            if wanted and wanted not in name_key(label):
                continue
            for other, score, reason in self._find_near(label):
                pair = min(entity, other), max(entity, other)
                if is_adjective_of(name_key(label), name_key(self._snapshot.entities[other])):
                    continue
                if other != entity and score > pairs.get(pair, (0.0, ""))[0]:
                    pairs[pair] = score, reason
        scored = [(self._score(*pair, score), pair, reason) for pair, (score, reason) in pairs.items()]
        names = self._snapshot.entities
        scored = [s for s in scored if s[0] > 0 and frozenset(name_key(names[e]) for e in s[1]) not in separate]
        scored.sort(key=lambda found: (-found[0], names[found[1][0]], names[found[1][1]]))
        return [self._describe(score, *pair, reason) for score, pair, reason in scored[:limit]]

    def _find_near(self, label: str) -> Iterator[tuple[int, float, str]]:
        """Yield entities with a name near that of another, with a score from 0 to 1 and what the names have in common.

        Numbers are never near to others.
        """
        key = name_key(label)
        numbers = find_numbers(key)
        for name in self._similar.nearest_names(key):
            if find_numbers(name.key) == numbers and name.key != key:
                reason = (
                    f"{name.edits} letter{'s differ' if name.edits > 1 else ' differs'}" if name.edits else "spaces"
                )
                yield from self._with_key(name.key, _EDIT_SCORES[min(name.edits, 2)], reason)
        for full in self._similar.full_names(key):
            has_initials = any(len(word) == 1 for word in (*key.split(" "), *full.split(" ")))
            reason = "initials" if has_initials else "a name more"
            yield from self._with_key(full, _INITIALS if has_initials else _SHORTENED, reason)
        if label.isupper():
            for long in self._similar.long_forms(key):
                yield from self._with_key(long, _ACRONYM, "acronym")
        full_names = self._similar.names_with_surname(key)
        for full in full_names if len(full_names) <= _MAX_FULL_NAMES else ():
            yield from self._with_key(full, _SURNAME, "last word")

    def _with_key(self, key: str, score: float, reason: str) -> Iterator[tuple[int, float, str]]:
        for entity in self._snapshot.entities_with_key(key_hash(key, self._snapshot.salt)).tolist():
            yield entity, score, reason

    def _score(self, one: int, other: int, score: float) -> float:
        """Return the score of a pair; one whose names alone prove little needs neighbours in common, else 0."""
        first, second = self._contexts.of_entity(one), self._contexts.of_entity(other)
        shared = (first - {other}) & (second - {one})
        if not shared and score <= _ACRONYM:
            return 0.0
        overlap = len(shared) / max(1, min(len(first), len(second)))
        are_titles = bool(self._snapshot.title_mask(np.array([one, other], dtype=np.int32)).all())
        return score * (0.5 + 0.5 * min(1.0, overlap)) * (0.5 if are_titles else 1.0)

    def _describe(self, score: float, one: int, other: int, reason: str) -> DuplicateEntities:
        names = self._snapshot.entities
        if len(self._snapshot.passages_of(other)) > len(self._snapshot.passages_of(one)):
            one, other = other, one
        shared = (self._contexts.of_entity(one) & self._contexts.of_entity(other)) - {one, other}
        ordered = sorted(shared, key=lambda entity: (len(self._snapshot.passages_of(entity)), names[entity]))
        citations = tuple(
            self._browser.quote(int(self._snapshot.passages_of(entity)[0]), [names[entity]])
            for entity in (one, other)
            if len(self._snapshot.passages_of(entity))
        )
        nearby = tuple(names[entity] for entity in ordered[:_SHOWN_NEIGHBOURS])
        return DuplicateEntities((names[one], names[other]), round(score, 3), reason, nearby, citations)


_MAX_DOCUMENTS = 240  # of an entity; a more frequent one is known to all of them
_MAX_GROUPS = 6  # more are no homonyms, but a name that stands beside everything
_CONFIDENT_CONTEXT = 3  # neighbours of a group, from which on it is no accident that none is shared
_READ_PASSAGES = 32  # of a title, whose spelling is read
_NAMED_NEIGHBOURS = 3
_TITLE_SCORE = 0.9
_JOINED_FARTHER = 0.3  # share of the score that stays where neighbours of neighbours are shared
CONTEXTS, NAMES = "contexts", "names"
"""Reasons why an entity may be several: its contexts share nothing, or passages write its title in part."""


@dataclass(frozen=True, slots=True)
class MentionGroup:
    """Some of the documents that mention an entity."""

    documents: tuple[str, ...]  # ids, sorted
    neighbours: tuple[str, ...]  # names that stand beside it there, and in no other group; the most frequent first
    form: str  # the name as these documents write it, "" where they differ from no other
    citation: Citation


@dataclass(frozen=True, slots=True)
class AmbiguousEntity:
    """An entity that may be several."""

    name: str
    score: float  # from 0 to 1
    reason: str  # `CONTEXTS` or `NAMES`
    groups: tuple[MentionGroup, ...]  # the one with most documents first


@final
class AmbiguitySearch:
    """Finds entities of a snapshot that may be several."""

    def __init__(self, snapshot: Snapshot, browser: GraphBrowser) -> None:
        self._snapshot = snapshot
        self._browser = browser
        self._contexts = EntityContexts(snapshot)

    def find(self, limit: int, text: str = "") -> list[AmbiguousEntity]:
        """Return the entities that are most likely several, at most `limit`, ties by name.

        With a text, those whose names contain it.
        """
        wanted = name_key(text) if text.strip() else ""
        found = [
            candidate
            for entity in range(len(self._snapshot.entities))
            if not wanted or wanted in name_key(self._snapshot.entities[entity])
            for candidate in self._candidates(entity)
        ]
        found.sort(key=lambda candidate: (-candidate[0], self._snapshot.entities[candidate[1]]))
        return [self._describe(*candidate) for candidate in found[:limit]]

    def context_groups(self, entity: int) -> list[MentionGroup]:
        """Return the groups of documents of an entity that share nothing, the largest first; one for no ambiguity."""
        return self._describe_groups(entity, self._groups(entity), "")

    def _candidates(self, entity: int) -> Iterator[tuple[float, int, str, Sequence[frozenset[str]], str]]:
        label = self._snapshot.entities[entity]
        if len(self._snapshot.passages_of(entity)) < 2 or any(letter.isdigit() for letter in label):
            return
        if form := self._partial_form(entity, label):
            documents = frozenset(self._contexts.documents(entity))
            shorter = frozenset(d for d in documents if self._writes_form(entity, d, form))
            yield _TITLE_SCORE, entity, NAMES, [documents - shorter, shorter], form
            return
        groups = self._groups(entity)
        if 1 < len(groups) <= _MAX_GROUPS:
            yield self._score(entity, label, groups), entity, CONTEXTS, groups, ""

    def _groups(self, entity: int) -> list[frozenset[str]]:
        """Return the documents of an entity in groups that share no neighbour, the largest first.

        A document without neighbours tells nothing, and is in no group; nor is one of many.
        """
        contexts = {d: context for d, context in self._contexts.documents(entity).items() if context}
        if len(contexts) > _MAX_DOCUMENTS:
            return [frozenset(contexts)]
        groups: list[tuple[set[str], set[int]]] = []
        for document, context in sorted(contexts.items()):
            documents, neighbours = {document}, set(context)
            rest = []
            for group in groups:
                if group[1] & neighbours:
                    documents |= group[0]
                    neighbours |= group[1]
                else:
                    rest.append(group)
            groups = [*rest, (documents, neighbours)]
        ordered = sorted(groups, key=lambda group: (-len(group[0]), min(group[0])))
        return [frozenset(documents) for documents, _ in ordered]

    def _score(self, entity: int, label: str, groups: Sequence[frozenset[str]]) -> float:
        """Return a score from 0 to 1: high for few groups, each with neighbours enough to tell."""
        contexts = self._contexts.documents(entity)
        sizes = [len(frozenset().union(*(contexts[d] for d in group))) for group in groups]
        confidence = min(1.0, min(sizes) / _CONFIDENT_CONTEXT) * (1.0 if " " in label else 0.5)
        first, second = (frozenset().union(*(contexts[d] for d in group)) for group in groups[:2])
        is_joined = bool(self._contexts.of_contexts(first, entity) & self._contexts.of_contexts(second, entity))
        return confidence * 2 / (1 + len(groups)) * (_JOINED_FARTHER if is_joined else 1.0)

    def _partial_form(self, entity: int, label: str) -> str:
        """Return the name without the last word of a title that passages of other documents write for it, else ""."""
        passages, words = self._snapshot.passages_of(entity), name_key(strip_parentheses(label)).split(" ")
        titled = self._snapshot.title_entities[passages] == entity
        if len(words) < 2 or not titled.any():
            return ""
        for passage in passages[~titled][:_READ_PASSAGES].tolist():
            form = find_spelling(self._snapshot, passage, entity)
            own = name_key(form).split(" ")
            if form and own == words[: len(own)] and len(own) < len(words):
                return form
        return ""

    def _writes_form(self, entity: int, document: str, form: str) -> bool:
        passages = [
            p for p in self._snapshot.passages_of(entity).tolist() if self._snapshot.document_ids[p] == document
        ]
        return all(name_key(find_spelling(self._snapshot, p, entity)) == name_key(form) for p in passages)

    def _describe(
        self, score: float, entity: int, reason: str, groups: Sequence[frozenset[str]], form: str
    ) -> AmbiguousEntity:
        described = self._describe_groups(entity, groups, form)
        return AmbiguousEntity(self._snapshot.entities[entity], round(score, 3), reason, tuple(described))

    def _describe_groups(self, entity: int, groups: Sequence[frozenset[str]], form: str) -> list[MentionGroup]:
        contexts, names = self._contexts.documents(entity), self._snapshot.entities
        counts = [Counter(other for document in group for other in contexts[document]) for group in groups]
        described = []
        for number, group in enumerate(groups):
            elsewhere = frozenset().union(*(own.keys() for place, own in enumerate(counts) if place != number))
            own = [(other, count) for other, count in counts[number].items() if other not in elsewhere]
            own.sort(key=lambda pair: (-pair[1], names[pair[0]]))
            neighbours = tuple(names[other] for other, _ in own[:_NAMED_NEIGHBOURS])
            written = form if number == len(groups) - 1 else ""
            described.append(MentionGroup(tuple(sorted(group)), neighbours, written, self._quote(entity, group)))
        return described

    def _quote(self, entity: int, documents: frozenset[str]) -> Citation:
        passages = self._snapshot.passages_of(entity).tolist()
        first = next(p for p in passages if self._snapshot.document_ids[p] in documents)
        return self._browser.quote(first, [self._snapshot.entities[entity]])
