"""Turns that wait for their commit: found by the same words and vectors as passages of the index.

Passages of the index and turns that wait are compared by one score: the higher cosine with the question of the passage
and of its best sentence, and the share of the question's words that a text has, each word weighted by its rarity among
the passages and these turns.

Source: none; the weight of words is that of `clew.retrievers.hybrid`.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import FloatArray
from clew.graph.segments.sentence_columns import unit_sentences
from clew.index import Index
from clew.indexing.batches import encode_passages
from clew.indexing.chunking import Chunker
from clew.indexing.sentence_vectors import encode_with_sentences
from clew.protocols import Encoder
from clew.query.chain_search import sentences_of
from clew.query.conditions import OWN_FIELDS, Column, Row, field_value
from clew.text.normalization import find_terms
from clew.types import Document, Passage, Scored

_WORDS = 1.3  # weight of the question's words beside a cosine


@final
@dataclass(frozen=True, slots=True, eq=False)
class WaitingTurn:
    """A turn with what a search needs of it."""

    document: Document
    passages: tuple[Passage, ...]  # n, as the index will have them
    vectors: tuple[FloatArray, ...]  # n, unit rows (1 + s, d) of passage and sentences; (1, 0) without an encoder
    terms: tuple[frozenset[str], ...]  # n

    @property
    def row(self) -> Row:
        """The fields that filters read."""
        document = self.document
        time = self.passages[0].time
        days = (None, None) if time is None else time.days
        own = (self.passages[0].id, document.id, document.title, *days)
        return {**document.metadata, **dict(zip(OWN_FIELDS, own, strict=True))}


def prepare_turns(
    documents: Sequence[Document], chunker: Chunker, encoder: Encoder | None, *, sentences: bool
) -> list[WaitingTurn]:
    """Return turns with their passages, words and vectors, those of `sentences`, too, where the index has them."""
    split = [tuple(chunker.split(document)) for document in documents]
    vectors = iter(_encode([passage for each in split for passage in each], encoder, sentences=sentences))
    return [
        WaitingTurn(
            document,
            own,
            tuple(next(vectors) for _ in own),
            tuple(frozenset(find_terms(f"{passage.title} {passage.text}")) for passage in own),
        )
        for document, own in zip(documents, split, strict=True)
    ]


def _encode(passages: Sequence[Passage], encoder: Encoder | None, *, sentences: bool) -> list[FloatArray]:
    texts = [(passage.title, passage.text) for passage in passages]
    if encoder is None or not texts:
        return [np.zeros((1, 0), dtype=np.float32) for _ in texts]
    if not sentences:
        return list(encode_passages(encoder, texts)[:, None])
    encoded = encode_with_sentences(encoder, texts)
    pairs = zip(encoded.vectors, encoded.sentences, strict=True)
    return [np.concatenate([own[None], unit_sentences(rows.vectors)]) for own, rows in pairs]


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
    """The score of texts for one question, over an index and turns that wait and may be seen."""

    def __init__(self, question: str, index: Index, turns: Sequence[WaitingTurn]) -> None:
        self._snapshot = index.snapshot
        self._turns = turns
        waiting = Counter(term for turn in turns for terms in turn.terms for term in terms)
        count = len(index.snapshot.passage_ids) + sum(len(turn.passages) for turn in turns)
        holders = {t: n + waiting[t] for t, n in index.context.lexical.count_holders(question).items()}
        self._weights = {term: math.log(1 + (count - n + 0.5) / (n + 0.5)) for term, n in holders.items()}
        self._total = sum(self._weights.values()) or 1.0
        has_vectors = index.context.index_encoder is not None and bool(question.strip())
        self._vector = index.context.encode_questions([question])[0] if has_vectors else np.zeros(0, dtype=np.float32)

    def score_turns(self) -> list[Scored[Passage]]:
        """Return the passages of the turns that have a word of the question or are like it, best first, ties by id."""
        found = [
            Scored(passage, self._share(terms) + self._cosine(vectors))
            for turn in self._turns
            for passage, terms, vectors in zip(turn.passages, turn.terms, turn.vectors, strict=True)
        ]
        return sorted((each for each in found if each.score > 0), key=lambda each: (-each.score, each.item.id))

    def score_passages(self, passages: Sequence[Passage]) -> list[float]:
        """Return the scores of passages of the index."""
        scores = [self._share(frozenset(find_terms(f"{p.title} {p.text}"))) for p in passages]
        if not passages or not len(self._vector):
            return scores
        snapshot = self._snapshot
        positions = np.array([snapshot.position(passage.id) for passage in passages], dtype=np.int32)
        cosines = snapshot.vectors.similarities_at(positions, self._vector)
        if snapshot.sentences.vectors is not None:
            sentences, owners = sentences_of(positions, snapshot.sentences.offsets)
            np.maximum.at(cosines, owners, snapshot.sentences.vectors.similarities(sentences, self._vector[None])[:, 0])
        return [share + cosine for share, cosine in zip(scores, cosines.tolist(), strict=True)]

    def _share(self, terms: frozenset[str]) -> float:
        found = sum(weight for term, weight in self._weights.items() if term in terms)
        return _WORDS * found / self._total

    def _cosine(self, vectors: FloatArray) -> float:
        """Return the highest cosine with the question of rows (n, d); 0 for those of another encoder, or of none."""
        if vectors.shape[1] != len(self._vector) or not len(self._vector):
            return 0.0
        return float((vectors @ self._vector).max())


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
