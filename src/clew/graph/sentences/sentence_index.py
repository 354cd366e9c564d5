"""The sentences of the passages of a snapshot, and the bridges that join sentences of different passages.

A bridge is an entity that few passages name, or a rare term of `clew.text.bm25`. Sentences are numbered by passage, and
within a passage by their place.
Source: the spec of sentence chains, found by prototypes; no paper.
"""

from dataclasses import dataclass
from typing import Protocol

from clew.arrays import FloatArray, IntArray, LongArray
from clew.graph.csr import Adjacency

MAX_BRIDGE_PASSAGES = 240
"""An entity on more passages is no bridge."""
MIN_TERM_PASSAGES, MAX_TERM_PASSAGES = 2, 30
"""A term on fewer or more passages is no bridge."""


class SentenceVectors(Protocol):
    """Vectors of sentences."""

    def rows(self, sentences: LongArray | IntArray) -> FloatArray:
        """Return unit rows (n, d) of sentences (n,)."""

    def similarities(self, sentences: IntArray, vectors: FloatArray) -> FloatArray:
        """Return the cosines (n, m) of sentences (n,) with unit rows (m, d)."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceIndex:
    """S sentences of P passages, which name E entities and have terms of a vocabulary of v."""

    offsets: LongArray  # (P + 1,) passage p has the sentences offsets[p] to offsets[p + 1] - 1
    spans: IntArray  # (S, 2) start and end in the text of the passage, in characters
    entities: Adjacency  # S rows, the entities that a sentence names and that of its passage's title, ascending
    terms: Adjacency  # S rows, positions in the vocabulary of the BM25 index, ascending
    entity_sentences: Adjacency  # E rows, the sentences of a bridge, ascending; an entity that is none has no row
    term_sentences: Adjacency  # v rows, the same for terms
    vectors: SentenceVectors | None  # None for an index without vectors of sentences

    def __len__(self) -> int:
        return len(self.spans)
