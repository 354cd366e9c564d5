"""The spans and vectors of an index's sentences, read by place from its segments, where each is stored once.

A vector is stored as whole numbers from -127 to 127, the largest of which is 127 or -127, and read as a unit row.

Cosines of stored sentences, rows of 8-bit integers, with the vectors of a question, in exact integer arithmetic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit

_QUERY_SCALE = 32767.0  # a sum of 384 products with 8-bit values stays below 2 ** 31


@njit
def byte_similarities(codes: NDArray[np.int8], queries: NDArray[np.int16]) -> FloatArray:
    """Return the cosines (n, m) of the codes (n, d) with rounded queries (m, d); 0 for a zero row."""
    similarities = np.zeros((len(codes), len(queries)), dtype=np.float32)
    for i in range(len(codes)):
        row = codes[i]
        square = np.int32(0)
        for j in range(len(row)):
            square += np.int32(np.int16(row[j])) * np.int32(np.int16(row[j]))
        if square == 0:
            continue
        norm = np.sqrt(np.float64(square)) * _QUERY_SCALE
        for k in range(len(queries)):
            query = queries[k]
            product = np.int32(0)
            for j in range(len(row)):
                product += np.int32(np.int16(row[j])) * np.int32(query[j])
            similarities[i, k] = product / norm
    return similarities


_LEVELS = 127


@final
@dataclass(frozen=True, slots=True, eq=False)
class StoredSentences:
    """The columns of the s sentences of p passages of one segment that a snapshot does not repeat."""

    indptr: LongArray  # (p + 1,) the sentences of each passage
    spans: IntArray  # (s, 2) start and end in the text of the passage, in characters
    vectors: NDArray[np.int8]  # (s, d) rounded rows, (s, 0) without vectors


def round_sentences(vectors: FloatArray) -> NDArray[np.int8]:
    """Return rows (s, d) as whole numbers, each divided by its largest absolute value / 127; a row of zeros stays."""
    largest = np.maximum(np.abs(vectors).max(1, initial=0.0, keepdims=True), np.float32(1e-30))
    codes: NDArray[np.int8] = np.rint(vectors * (_LEVELS / largest)).astype(np.int8)
    return codes


def unit_sentences(codes: NDArray[np.int8]) -> FloatArray:
    """Return unit rows (s, d) of rounded ones; a row of zeros stays."""
    rows: FloatArray = codes.astype(np.float32)
    squares: FloatArray = np.einsum("ij,ij->i", rows, rows)
    rows /= np.sqrt(np.maximum(squares, np.float32(1.0)))[:, None]
    return rows


@final
class SentencePlaces:
    """Where the S sentences of P passages lie in their segments.

    Args:
        parts: Of each segment.
        places: The place (P,) of each passage (see `clew.graph.segments.passage_columns`).
        offsets: (P + 1,) the sentences of each passage.

    Attributes:
        dimension: Width of the vectors, 0 without.
    """

    def __init__(self, parts: Sequence[StoredSentences], places: LongArray, offsets: LongArray) -> None:
        self.dimension = parts[0].vectors.shape[1] if parts else 0
        self._parts = parts
        self._places = places
        self._offsets = offsets

    def __len__(self) -> int:
        return int(self._offsets[-1])

    def find(self, sentences: NDArray[np.integer]) -> Iterator[tuple[StoredSentences, LongArray, LongArray]]:
        """Yield each segment of sentences (n,), which of them lie there, as positions in (n,), and their rows there."""
        if not len(sentences):
            return
        passages = np.searchsorted(self._offsets, sentences, "right") - 1
        segments = self._places[passages] >> ROW_BITS
        order = np.argsort(segments, kind="stable")
        rows = (self._first_rows[passages] + (sentences - self._offsets[passages]))[order]
        segments = segments[order]
        bounds = [0, *(np.flatnonzero(np.diff(segments)) + 1).tolist(), len(order)]
        for (first, last), segment in zip(pairwise(bounds), segments[bounds[:-1]].tolist(), strict=True):
            yield self._parts[segment], order[first:last], rows[first:last]

    @cached_property
    def _first_rows(self) -> LongArray:
        """The row (P,) of each passage's first sentence in its segment."""
        begins = np.cumsum([0, *(len(part.indptr) - 1 for part in self._parts)])
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(part.indptr[:-1] for part in self._parts)])
        first: LongArray = rows[begins[self._places >> ROW_BITS] + (self._places & ROW_MASK)]
        return first


@final
class PlacedSpans:
    """The spans of S sentences in the texts of their passages."""

    def __init__(self, places: SentencePlaces) -> None:
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, sentences: NDArray[np.integer]) -> IntArray:
        """Return the start and the end (n, 2), in characters, of sentences (n,)."""
        spans = np.empty((len(sentences), 2), dtype=np.int32)
        for part, chosen, rows in self._places.find(sentences):
            spans[chosen] = part.spans[rows]
        return spans


@final
class PlacedSentenceVectors:
    """The vectors of S sentences."""

    def __init__(self, places: SentencePlaces) -> None:
        self._places = places
        self.dimension = places.dimension

    def __len__(self) -> int:
        return len(self._places)

    def rows(self, sentences: NDArray[np.integer]) -> FloatArray:
        """Return unit rows (n, d) of sentences (n,)."""
        return unit_sentences(self._codes(sentences))

    def similarities(self, sentences: NDArray[np.integer], vectors: FloatArray) -> FloatArray:
        """Return the cosines (n, m) of sentences (n,) with unit rows (m, d), computed on the rounded rows."""
        queries = np.rint(vectors * np.float32(_QUERY_SCALE)).astype(np.int16)
        return byte_similarities(self._codes(sentences), queries)  # type: ignore[no-any-return]

    def _codes(self, sentences: NDArray[np.integer]) -> NDArray[np.int8]:
        codes = np.empty((len(sentences), self.dimension), dtype=np.int8)
        for part, chosen, rows in self._places.find(sentences):
            codes[chosen] = part.vectors[rows]
        return codes


ROW_BITS = 32


ROW_MASK = (1 << ROW_BITS) - 1


def make_places(sizes: Sequence[int]) -> LongArray:
    """Return the places (p,) of all p rows of segments of these sizes, segment by segment."""
    parts = [np.arange(size, dtype=np.int64) | number << ROW_BITS for number, size in enumerate(sizes)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
