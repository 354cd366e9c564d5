"""Ambiguous entities: one name with contexts that fall apart, or a title that took over a shorter name.

The documents that mention an entity are joined where another entity stands beside it in both; what is left are groups
that share nothing. They tell the more where not even the neighbours of their neighbours are shared. A title is
suspicious where passages of other documents write a name of it that lacks its last word: they may mean a town, and the
document a workshop in it.

Source: none.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import find_spelling
from clew.query.entity_contexts import EntityContexts
from clew.query.graph_browsing import GraphBrowser
from clew.text.normalization import name_key, strip_parentheses
from clew.types import Citation

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
