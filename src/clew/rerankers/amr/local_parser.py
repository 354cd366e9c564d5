"""Graphs of question-passage pairs without a model of AMR: by the extractor that also builds an index.

A concept is the key of an entity or a content word; equal keys are one concept, so that question and passage meet where
they share one. Edges: the extractor's triples; within a sentence, from its first entity (else the passage's title, else
its first word) to its content words; and from `question` to all that the question holds. A concept of the question is
linked to the passage's entities that share a content word with it, and to such a word alone.

Source: none; it stands in for the AMR parser of Dong et al., "Don't Forget to Connect!" (2024).
Differs from the source: the graph may be in several parts; the word "question" is no concept of a text, since paths
start there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import final

from clew.indexing.extraction.rule_based import RuleExtractor
from clew.protocols import Extractor
from clew.rerankers.amr.graph import QUESTION, AMRGraph
from clew.rerankers.amr.parsers import check_pairs
from clew.text.bm25 import STOP_WORDS
from clew.text.normalization import name_key, tokens
from clew.text.sentences import sentence_spans
from clew.types import Extraction, Failure, Passage

ASKS, HOLDS, SHARES_WORD = "asks", "holds", "shares a word with"
VERSION = "local-amr-1"


@dataclass(frozen=True, slots=True)
class _TextGraph:
    """The concepts of one text by their positions, its edges, and the entities of several words by each word."""

    concepts: dict[str, int]
    edges: tuple[tuple[int, str, int], ...]
    names_by_word: dict[str, list[str]]


@final
class LocalAMRParser:
    """Parses by rules or by whatever extracts entities and triples; what a passage gives is remembered.

    Args:
        extractor: Of the passages, by rules where it is None; questions are always read by rules.
        cache_size: Passages whose part of the graph is kept, at most; the first read is forgotten first.
    """

    def __init__(self, extractor: Extractor | None = None, cache_size: int = 20_000) -> None:
        self._extractor = extractor or RuleExtractor()
        self._most = cache_size
        self._parts: dict[tuple[str, str, str], _TextGraph] = {}

    @property
    def fingerprint(self) -> str:
        """That of the extractor, and the version of these rules."""
        return f"{VERSION}:{self._extractor.fingerprint}"

    def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
        """Return the graph of each pair: the passage's concepts first, then `question` and what it alone holds."""
        check_pairs(questions, passages)
        asked = {question: self._parse_question(question) for question in dict.fromkeys(questions)}
        parts = self._parse_passages(passages)
        return [
            part if isinstance(part, Failure) else _join_graphs(asked[question], part)
            for question, part in zip(questions, parts, strict=True)
        ]

    def _parse_question(self, question: str) -> _TextGraph:
        asked = Passage("", "", "", question, 0, len(question))
        found = RuleExtractor().extract([asked])[0]
        return _build_text_graph(asked, Extraction() if isinstance(found, Failure) else found)

    def _parse_passages(self, passages: Sequence[Passage]) -> list[_TextGraph | Failure]:
        keys = [(passage.id, passage.title, passage.text) for passage in passages]
        # Apart from what all threads share, of which another may forget a passage meanwhile.
        known = ((key, self._parts.get(key)) for key in keys)
        parts: dict[tuple[str, str, str], _TextGraph | Failure] = {key: part for key, part in known if part is not None}
        fresh = {key: passage for key, passage in zip(keys, passages, strict=True) if key not in parts}
        found = self._extractor.extract(list(fresh.values())) if fresh else []
        for (key, passage), extraction in zip(fresh.items(), found, strict=True):
            if isinstance(extraction, Failure):
                parts[key] = extraction
            else:
                parts[key] = self._parts[key] = _build_text_graph(passage, extraction)
        for key in list(self._parts)[: max(len(self._parts) - self._most, 0)]:
            self._parts.pop(key, None)
        return [parts[key] for key in keys]


def _build_text_graph(passage: Passage, extraction: Extraction) -> _TextGraph:
    """Return the part of a graph that one text gives."""
    places: dict[str, int] = {}
    edges: list[tuple[str, str, str]] = []
    title = _concept_key(passage.title)
    mentions = [(mention, _concept_key(mention.name)) for mention in extraction.mentions]
    spans = sorted((mention.start, mention.end, key) for mention, key in mentions if key and mention.start >= 0)
    for start, end in sentence_spans(passage.text):
        entities = [span for span in spans if start <= span[0] < end]
        words = _content_words(passage.text, start, end, entities)
        anchor = next(chain((key for *_, key in entities), [title] if title else [], words), "")
        edges += [(anchor, HOLDS, key) for key in words]
        for key in chain([anchor] if anchor else [], (key for *_, key in entities), words):
            places.setdefault(key, len(places))
    triples = [(_concept_key(head), relation, _concept_key(tail)) for head, relation, tail in extraction.triples]
    names = dict.fromkeys(chain((key for _, key in mentions), *((head, tail) for head, _, tail in triples)))
    edges += [triple for triple in triples if triple[0] and triple[2]]
    for key in names:
        if key:
            places.setdefault(key, len(places))
    numbered = ((places[head], relation, places[tail]) for head, relation, tail in edges if head != tail)
    return _TextGraph(places, tuple(dict.fromkeys(numbered)), _names_by_word(names))


def _content_words(text: str, start: int, end: int, entities: Sequence[tuple[int, int, str]]) -> list[str]:
    """Return the different content words of a sentence that stand outside its entities, in order."""
    inside = [range(first - start, last - start) for first, last, _ in entities]
    found = (token.key for token in tokens(text[start:end]) if not any(token.start in span for span in inside))
    return [key for key in dict.fromkeys(found) if key not in STOP_WORDS and key != QUESTION]


def _names_by_word(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of several words, by each word."""
    found: dict[str, list[str]] = {}
    for name in names:
        words = name.split(" ")
        for word in dict.fromkeys(words) if len(words) > 1 else ():
            found.setdefault(word, []).append(name)
    return found


def _concept_key(name: str) -> str:
    """Return the concept that a name stands for, "" where it stands for none."""
    key = name_key(name)
    return "" if key == QUESTION else key


def _join_graphs(asked: _TextGraph, part: _TextGraph) -> AMRGraph:
    """Return the graph of a question and a passage: what both hold is one concept, at the passage's place."""
    places = part.concepts
    own = [QUESTION, *(concept for concept in asked.concepts if concept not in places)]
    numbers = {concept: place for place, concept in enumerate(own, len(places))}
    at = [places[concept] if concept in places else numbers[concept] for concept in asked.concepts]
    top = numbers[QUESTION]
    edges = [(top, ASKS, place) for place in at]
    edges += [(at[head], relation, at[tail]) for head, relation, tail in asked.edges]
    for concept, place in zip(asked.concepts, at, strict=True):
        for word in concept.split(" "):
            alike = (word, *part.names_by_word.get(word, ())) if word not in STOP_WORDS else ()
            near = (places[name] for name in alike if name in places)
            edges += [(place, SHARES_WORD, other) for other in near if other != place]
    return AMRGraph((*places, *own), (*part.edges, *dict.fromkeys(edges)), top)
