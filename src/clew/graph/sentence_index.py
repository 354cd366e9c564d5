"""The sentences of the passages of a snapshot, and the bridges that join sentences of different passages.

A bridge is an entity that few passages name, or a rare term of `clew.text.bm25`. Sentences are numbered by passage, and
within a passage by their place.
Source: none.
"""

from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray, IntArray, LongArray
from clew.graph.csr import Adjacency
from clew.graph.segments.passage_columns import PassageColumns
from clew.graph.segments.sentence_columns import PlacedSentenceVectors, PlacedSpans, SentencePlaces

MIN_ENTITY_PASSAGES, MAX_BRIDGE_PASSAGES = 2, 240
"""An entity on fewer or more passages is no bridge."""
MIN_TERM_PASSAGES, MAX_TERM_PASSAGES = 2, 30
"""A term on fewer or more passages, their titles included, is no bridge."""


class SentenceVectors(Protocol):
    """Vectors of sentences."""

    def rows(self, sentences: NDArray[np.integer]) -> FloatArray:
        """Return unit rows (n, d) of sentences (n,)."""

    def similarities(self, sentences: IntArray, vectors: FloatArray) -> FloatArray:
        """Return the cosines (n, m) of sentences (n,) with unit rows (m, d)."""


class SentenceSpans(Protocol):
    """Spans of sentences; an array (S, 2) is one."""

    def __getitem__(self, sentences: NDArray[np.integer]) -> IntArray:
        """Return the start and the end (n, 2) of sentences (n,) in the text of their passage, in characters."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceRows:
    """The sentences of P passages, as far as segments do not have them: E entities, v terms of a vocabulary."""

    offsets: LongArray  # (P + 1,) passage p has the sentences offsets[p] to offsets[p + 1] - 1
    entities: Adjacency  # S rows, the entities that a sentence names and that of its passage's title, ascending
    terms: Adjacency  # S rows, positions in the vocabulary of the BM25 index, ascending
    entity_sentences: Adjacency  # E rows, the sentences of a bridge, ascending; an entity that is none has no row
    term_sentences: Adjacency  # v rows, the same for terms of three letters or more, or two of a script without spaces


@dataclass(frozen=True, slots=True, eq=False)
class SentenceIndex(SentenceRows):
    """S sentences of P passages, which name E entities and have terms of a vocabulary of v."""

    spans: SentenceSpans  # S spans in the text of the passage, in characters
    vectors: SentenceVectors | None  # None for an index without vectors of sentences

    def __len__(self) -> int:
        return int(self.offsets[-1])


def index_sentences(rows: SentenceRows, columns: PassageColumns) -> SentenceIndex:
    """Return the sentences of passages, with the spans and vectors that lie in their segments."""
    places = SentencePlaces(columns.sentences, columns.places, rows.offsets)
    stored = {field.name: getattr(rows, field.name) for field in fields(SentenceRows)}
    vectors = PlacedSentenceVectors(places) if places.dimension else None
    return SentenceIndex(**stored, spans=PlacedSpans(places), vectors=vectors)
