"""Turns that wait for their commit: found by the same words and vectors as passages of the index.

Passages of the index and turns that wait are compared by one score: the cosine with the question, and the share of the
question's words that a text has, each word weighted by its rarity in the index.

Source: none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import FloatArray
from clew.index import Index
from clew.indexing.batches import encode_passages
from clew.indexing.chunking import Chunker
from clew.protocols import Encoder
from clew.query.conditions import OWN_FIELDS, Column, Row, field_value
from clew.text.normalization import Analyzer
from clew.types import FIRST_DAY, LAST_DAY, Document, Passage, Scored


@final
@dataclass(frozen=True, slots=True, eq=False)
class WaitingTurn:
    """A turn with what a search needs of it."""

    document: Document
    passages: tuple[Passage, ...]  # n, as the index will have them
    vectors: FloatArray  # (n, d) unit rows; d is 0 without an encoder
    terms: tuple[frozenset[str], ...]  # n

    @property
    def row(self) -> Row:
        """The fields that filters read."""
        document = self.document
        time = self.passages[0].time
        days = (None, None) if time is None else (time.first or FIRST_DAY, time.last or LAST_DAY)
        own = (self.passages[0].id, document.id, document.title, *days)
        return {**document.metadata, **dict(zip(OWN_FIELDS, own, strict=True))}


def prepare_turns(documents: Sequence[Document], chunker: Chunker, encoder: Encoder | None) -> list[WaitingTurn]:
    """Return turns with their passages, vectors and words."""
    split = [tuple(chunker.split(document)) for document in documents]
    passages = [passage for each in split for passage in each]
    vectors = np.zeros((len(passages), 0), dtype=np.float32)
    if encoder is not None and passages:
        vectors = encode_passages(encoder, [(passage.title, passage.text) for passage in passages])
    analyzer = Analyzer()
    terms = [frozenset(analyzer.terms(f"{passage.title} {passage.text}")) for passage in passages]
    turns, start = [], 0
    for document, own in zip(documents, split, strict=True):
        end = start + len(own)
        turns.append(WaitingTurn(document, own, vectors[start:end], tuple(terms[start:end])))
        start = end
    return turns


@final
class TurnColumns:
    """The fields of turns, as filters read them."""

    def __init__(self, turns: Sequence[WaitingTurn]) -> None:
        self.count = len(turns)
        self._rows = [turn.row for turn in turns]

    def column(self, name: str) -> Column:
        """Return a field (see `clew.query.conditions.Columns`)."""
        return Column([field_value(row, name) for row in self._rows], np.arange(self.count))


@final
class Relevance:
    """The score of texts for one question, over an index and turns that wait."""

    def __init__(self, question: str, index: Index) -> None:
        self._snapshot = index.snapshot
        self._weights = index.context.lexical.weigh_terms(question)
        self._total = sum(self._weights.values()) or 1.0
        has_vectors = index.context.index_encoder is not None and bool(question.strip())
        self._vector = index.context.encode_questions([question])[0] if has_vectors else np.zeros(0, dtype=np.float32)

    def score_turns(self, turns: Iterable[WaitingTurn]) -> list[Scored[Passage]]:
        """Return the passages of turns that have a word of the question or are like it, best first, ties by id."""
        found = [
            Scored(passage, self._share(terms) + float(cosine))
            for turn in turns
            for passage, terms, cosine in zip(turn.passages, turn.terms, self._cosines(turn.vectors), strict=True)
        ]
        return sorted((each for each in found if each.score > 0), key=lambda each: (-each.score, each.item.id))

    def score_passages(self, passages: Sequence[Passage]) -> list[float]:
        """Return the scores of passages of the index."""
        if not passages:
            return []
        positions = np.array([self._snapshot.position(passage.id) for passage in passages], dtype=np.int32)
        analyzer = Analyzer()
        shares = [self._share(frozenset(analyzer.terms(f"{p.title} {p.text}"))) for p in passages]
        cosines = self._cosines(self._snapshot.vectors.rows(positions))
        return [share + float(cosine) for share, cosine in zip(shares, cosines, strict=True)]

    def _share(self, terms: frozenset[str]) -> float:
        return sum(weight for term, weight in self._weights.items() if term in terms) / self._total

    def _cosines(self, vectors: FloatArray) -> FloatArray:
        if vectors.shape[1] != len(self._vector) or not len(self._vector):  # of another encoder by now, or of none
            return np.zeros(len(vectors), dtype=np.float32)
        cosines: FloatArray = vectors @ self._vector
        return cosines


def insert_turns(
    ranked: Sequence[Scored[Passage]], scores: Sequence[float], turns: Sequence[Scored[Passage]], k: int
) -> tuple[Scored[Passage], ...]:
    """Return the `k` best of ranked passages and turns: a turn stands before the first passage of a lower score.

    `scores` are those of the ranked passages by `Relevance`. A turn takes the score of what it stands before, or of the
    last passage, so that scores descend.
    """
    merged: list[Scored[Passage]] = []
    rest = list(turns)
    for each, score in zip(ranked, scores, strict=True):
        while rest and rest[0].score > score:
            merged.append(Scored(rest.pop(0).item, each.score))
        merged.append(each)
    last = min((each.score for each in ranked), default=None)
    merged += [each if last is None else Scored(each.item, min(last, each.score)) for each in rest]
    return tuple(merged[:k])
