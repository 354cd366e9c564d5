"""Candidates for duplicates: pairs of entities with nearly the same name, and with neighbours in common.

Names are near by their spelling, by initials, as an acronym, as the last word of a full name, or by their vectors. A
pair's score is that of its names, halved where nothing stands beside both, and halved again where both are titles of
documents: two documents are mostly about two things. It ranks; it is no probability.

Source: none.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.graph.names.similar_names import SimilarNames
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.entity_contexts import EntityContexts
from clew.query.graph_browsing import GraphBrowser
from clew.text.normalization import find_numbers, key_hash, name_key
from clew.types import Citation

_EDIT_SCORES = (0.95, 0.8, 0.7)  # of names that differ by none, one or two letters
# "America" and "American", "Russia" and "Russians", "Germany" and "German", "Iceland" and "Icelandic", "Norway" and
# "Norwegian": what a place ends with, then what an adjective of it does, after letters that both begin with.
_PLACE_END = re.compile(r"(?:i?a|e|o|y|us|ey|en|ay|land)?")
_ADJECTIVE_END = re.compile(r"(?:n|an|i|ian|ean|egian|ish|ese|ic)s?")
_BARE_END = {("ia", "i"), ("y", ""), ("y", "s")}  # "Somalia" and "Somali", "Germany" and "German"
_MIN_SHARED = 4  # letters
_INITIALS, _SHORTENED, _ACRONYM, _SURNAME, _VECTORS = 0.85, 0.75, 0.6, 0.45, 0.75
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
            for other, score, reason in self._find_near(entity, label):
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

    def _find_near(self, entity: int, label: str) -> Iterator[tuple[int, float, str]]:
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
        row = slice(*self._snapshot.equivalences.indptr[entity : entity + 2].tolist())
        weights = self._snapshot.equivalences.weights[row]
        for other, cosine in zip(self._snapshot.equivalences.indices[row].tolist(), weights.tolist(), strict=True):
            yield other, _VECTORS * cosine, "similar vectors"

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
        counts = self._contexts.passage_counts([one, other])
        if counts[1] > counts[0]:
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
