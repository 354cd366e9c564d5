"""Facts of a whole corpus: extractions and title links, with names resolved to entities.

They are computed for each snapshot and never stored with a passage, so that nothing of a removed document can remain.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clew.indexing.extraction.rule_based import DEFAULT_RELATION, relation_words
from clew.text.normalization import key_hash, name_key
from clew.text.sentences import sentence_spans
from clew.types import Extraction, Mention
from tests.oracles.gazetteer import Match
from tests.oracles.title_linking import NamedText, TitleLinker

LINK_RELATION = "links to"


@dataclass(frozen=True, slots=True)
class PassageFacts:
    """The facts of one passage, by entity keys."""

    title: str  # key of the entity that the title names, "" for none
    mentions: Sequence[tuple[str, float]]  # (key, weight) of every mentioned entity
    triples: Sequence[tuple[str, str, str]]  # (head key, relation text, tail key) of every stated triple
    places: Sequence[tuple[int, str]]  # (first character, key) of every mention whose place is known


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """What the passages of a corpus state."""

    facts: list[PassageFacts]  # one record for each passage
    surfaces: dict[str, Counter[str]]  # for each entity key the counts of its spellings
    names: dict[int, tuple[str, ...]]  # for each hash of a name's key the entity keys that it stands for


def corpus_facts(passages: Sequence[NamedText], extractions: Sequence[Extraction], salt: int = 0) -> CorpusFacts:
    """Return the facts of a corpus, from one extraction for each passage, which is empty where extraction failed."""
    links = TitleLinker(passages, salt)
    facts: list[PassageFacts] = []
    surfaces: dict[str, Counter[str]] = {}
    for passage, extraction in zip(passages, extractions, strict=True):
        resolver = _NameResolver(passage, links, surfaces)
        matches = [m for m in links.find_mentions(passage) if resolver.other_titles(m)]
        facts.append(_passage_facts(passage, extraction, matches, resolver))
    for passage in passages:
        if key := name_key(passage.title):
            # A title is shown as its own document writes it, even if others often shorten it.
            surfaces[key] = Counter({passage.title: 1 << 40}) + surfaces.get(key, Counter())
    names: dict[int, tuple[str, ...]] = {key_hash(key, salt): (key,) for key in surfaces}
    names |= {key_hash(name, salt): keys for name, keys in links.keys_by_name.items()}
    return CorpusFacts(facts, surfaces, names)


class _NameResolver:
    def __init__(self, passage: NamedText, links: TitleLinker, surfaces: dict[str, Counter[str]]) -> None:
        self.title = name_key(passage.title)
        self._links = links
        self._surfaces = surfaces

    def other_titles(self, match: Match) -> tuple[str, ...]:
        return tuple(self._links.title_keys[t] for t in match.targets if self._links.title_keys[t] != self.title)

    def count_surface(self, key: str, surface: str) -> None:
        counts = self._surfaces.get(key)
        if counts is None:
            counts = self._surfaces[key] = Counter()
        counts[surface] += 1

    def linked_titles(self, passage: NamedText) -> list[str]:
        return [key for key in self._links.resolve_links(passage) if key != self.title]

    def resolve_name(self, name: str) -> tuple[str, ...]:
        """Return the entity keys a name stands for: titles, else the name itself; () for a name without letters."""
        key = name_key(name)
        if not key:
            return ()
        entities = self._links.keys_by_name.get(key, (key,))
        entities = (self.title,) if self.title in entities else entities
        for entity in entities:
            self.count_surface(entity, name)
        return entities


def _passage_facts(
    passage: NamedText, extraction: Extraction, matches: Sequence[Match], resolver: _NameResolver
) -> PassageFacts:
    weights: dict[str, float] = {}
    triples: dict[tuple[str, str, str], None] = {}

    def mention(keys: Sequence[str]) -> None:
        for key in keys:
            weights[key] = max(weights.get(key, 0.0), 1.0 / len(keys))

    for head, relation, tail in extraction.triples:
        heads, tails = resolver.resolve_name(head), resolver.resolve_name(tail)
        if heads and tails and heads[0] != tails[0]:
            triples[heads[0], relation.strip() or DEFAULT_RELATION, tails[0]] = None
            mention(heads)
            mention(tails)
    places: list[tuple[int, str]] = []
    for found in _mentions_outside(extraction, matches):
        keys = resolver.resolve_name(found.name)
        mention(keys)
        places += [(found.start, key) for key in keys if found.start >= 0]
    related = {entity for head, _, tail in triples for entity in (head, tail)}
    for match, relation in _match_relations(passage.text, matches):
        targets = resolver.other_titles(match)
        for key in targets:
            resolver.count_surface(key, passage.text[match.start : match.end])
        mention(targets)
        places += [(match.start, key) for key in targets]
        if resolver.title and targets[0] not in related:
            triples[resolver.title, relation, targets[0]] = None
            related.add(targets[0])
    for key in resolver.linked_titles(passage):
        mention((key,))
        if resolver.title and key not in related:
            triples[resolver.title, LINK_RELATION, key] = None
    return PassageFacts(resolver.title, sorted(weights.items()), list(triples), places)


def _mentions_outside(extraction: Extraction, matches: Sequence[Match]) -> Iterator[Mention]:
    """Yield the mentions that lie outside all title matches; the longer name is the more specific one."""
    for mention in extraction.mentions:
        if mention.start < 0 or not any(m.start <= mention.start and mention.end <= m.end for m in matches):
            yield mention


def _match_relations(text: str, matches: Sequence[Match]) -> Iterator[tuple[Match, str]]:
    spans = iter(sentence_spans(text) if matches else [])
    start, end = next(spans, (0, 0))
    previous = start
    for match in matches:
        while match.start >= end:
            start, end = next(spans, (match.start, len(text) + 1))
            previous = start
        yield match, relation_words(text[max(previous, start) : match.start]) or DEFAULT_RELATION
        previous = match.end
