"""AMR-like graphs of question-passage pairs from an extractor, without an AMR model.

A concept is the key of an entity or a content word; equal keys are one concept, so question and passage meet where they
share one. Edges: the extractor's triples; within a sentence, from its first entity (else the passage's title, else its
first word) to its content words; and from `question` to all concepts of the question. A concept of the question is also
linked to passage entities that share a content word with it, and to that word itself.

Source: none; it stands in for the AMR parser of Dong et al., "Don't Forget to Connect!" (2024).
Differs from the source: the graph may be disconnected; the word "question" is never a concept of a text, since paths
start there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import final

from clew.indexing.extraction.rule_based import RuleExtractor
from clew.protocols import Extractor
from clew.text.normalization import STOP_WORDS, name_key, tokens
from clew.text.sentences import sentence_spans
from clew.types import Extraction, Failure, Passage
from clew_lab.amr.graph import QUESTION, AMRGraph
from clew_lab.amr.parsers import check_pairs

ASKS, HOLDS, SHARES_WORD = "asks", "holds", "shares a word with"
VERSION = "local-amr-1"


@dataclass(frozen=True, slots=True)
class _TextGraph:
    """Graph of one text: positions of the concepts, edges, and multi-word entities by each of their words."""

    concepts: dict[str, int]
    edges: tuple[tuple[int, str, int], ...]
    names_by_word: dict[str, list[str]]


@final
class LocalAMRParser:
    """Builds graphs from extracted entities and triples, and caches them per passage, the oldest evicted first.

    Passages take the extractor, if there is one; questions always take `RuleExtractor`.
    """

    def __init__(self, extractor: Extractor | None = None, cache_size: int = 20_000) -> None:
        self._extractor = extractor or RuleExtractor()
        self._cache_size = cache_size
        self._cache: dict[tuple[str, str, str], _TextGraph] = {}

    @property
    def fingerprint(self) -> str:
        """Version of these rules and fingerprint of the extractor."""
        return f"{VERSION}:{self._extractor.fingerprint}"

    def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
        """Return the graph of each pair: the passage's concepts, then `question` and the concepts it alone has."""
        check_pairs(questions, passages)
        parsed_questions = {question: self._parse_question(question) for question in dict.fromkeys(questions)}
        parsed_passages = self._parse_passages(passages)
        return [
            graph if isinstance(graph, Failure) else _join_graphs(parsed_questions[question], graph)
            for question, graph in zip(questions, parsed_passages, strict=True)
        ]

    def _parse_question(self, question: str) -> _TextGraph:
        passage = Passage("", "", "", question, 0, len(question))
        extraction = RuleExtractor().extract([passage])[0]
        return _build_text_graph(passage, Extraction() if isinstance(extraction, Failure) else extraction)

    def _parse_passages(self, passages: Sequence[Passage]) -> list[_TextGraph | Failure]:
        keys = [(passage.id, passage.title, passage.text) for passage in passages]
        # A copy, since another thread may evict entries from the shared cache meanwhile.
        cached = ((key, self._cache.get(key)) for key in keys)
        graphs: dict[tuple[str, str, str], _TextGraph | Failure] = {key: g for key, g in cached if g is not None}
        missing = {key: passage for key, passage in zip(keys, passages, strict=True) if key not in graphs}
        extractions = self._extractor.extract(list(missing.values())) if missing else []
        for (key, passage), extraction in zip(missing.items(), extractions, strict=True):
            if isinstance(extraction, Failure):
                graphs[key] = extraction
            else:
                graphs[key] = self._cache[key] = _build_text_graph(passage, extraction)
        for key in list(self._cache)[: max(len(self._cache) - self._cache_size, 0)]:
            self._cache.pop(key, None)
        return [graphs[key] for key in keys]


def _build_text_graph(passage: Passage, extraction: Extraction) -> _TextGraph:
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
    spans = [range(first - start, last - start) for first, last, _ in entities]
    keys = (token.key for token in tokens(text[start:end]) if not any(token.start in span for span in spans))
    return [key for key in dict.fromkeys(keys) if key not in STOP_WORDS and key != QUESTION]


def _names_by_word(names: Iterable[str]) -> dict[str, list[str]]:
    by_word: dict[str, list[str]] = {}
    for name in names:
        words = name.split(" ")
        for word in dict.fromkeys(words) if len(words) > 1 else ():
            by_word.setdefault(word, []).append(name)
    return by_word


def _concept_key(name: str) -> str:
    """Return the concept of a name, "" for the reserved word."""
    key = name_key(name)
    return "" if key == QUESTION else key


def _join_graphs(question: _TextGraph, passage: _TextGraph) -> AMRGraph:
    """Return the graph of a question and a passage; shared concepts are merged at the passage's position."""
    places = passage.concepts
    new = [QUESTION, *(concept for concept in question.concepts if concept not in places)]
    numbers = places | {concept: place for place, concept in enumerate(new, len(places))}
    positions = [numbers[concept] for concept in question.concepts]
    top = numbers[QUESTION]
    edges = [(top, ASKS, place) for place in positions]
    edges += [(positions[head], relation, positions[tail]) for head, relation, tail in question.edges]
    for concept, place in zip(question.concepts, positions, strict=True):
        for word in concept.split(" "):
            similar = (word, *passage.names_by_word.get(word, ())) if word not in STOP_WORDS else ()
            others = (places[name] for name in similar if name in places)
            edges += [(place, SHARES_WORD, other) for other in others if other != place]
    return AMRGraph((*places, *new), (*passage.edges, *dict.fromkeys(edges)), top)
