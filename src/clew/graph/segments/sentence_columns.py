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
from clew.arrays.flat_memory import FlatMemory
from clew.arrays.kernels import njit

_ROWS_AT_ONCE, _LINE_BYTES = 16, 64  # a line of the processor's cache
_NEVER = 1 << 62
_QUERY_SCALE = 32767.0  # a sum of 384 products with 8-bit values stays below 2 ** 31


@njit
def byte_similarities(codes: NDArray[np.int8], starts: LongArray, queries: NDArray[np.int16]) -> FloatArray:
    """Return the cosines (n, m) of the rows (d,) of codes that begin at `starts` (n,) with rounded queries (m, d).

    They are 0 for a row of zeros. Rows are in memory that no question before has read: some are asked for at once, so
    that their ways from there overlap.
    """
    similarities = np.zeros((len(starts), len(queries)), dtype=np.float32)
    width, touched = queries.shape[1], 0
    for first in range(0, len(starts), _ROWS_AT_ONCE):
        last = min(first + _ROWS_AT_ONCE, len(starts))
        for i in range(first, last):
            for j in range(0, width, _LINE_BYTES):
                touched += codes[starts[i] + j]
        for i in range(first, last):
            row = codes[starts[i] : starts[i] + width]
            for k in range(len(queries)):
                query = queries[k]
                product, square = np.int32(0), np.int32(0)
                for j in range(width):
                    code = np.int32(np.int16(row[j]))
                    product += code * np.int32(query[j])
                    square += code * code
                if square:
                    similarities[i, k] = product / (np.sqrt(np.float64(square)) * _QUERY_SCALE)
    if touched == _NEVER:  # so that the reading is not left out
        similarities[:] = 0.0
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
        parts: As given.
        dimension: Width of the vectors, 0 without.
    """

    def __init__(self, parts: Sequence[StoredSentences], places: LongArray, offsets: LongArray) -> None:
        self.dimension = parts[0].vectors.shape[1] if parts else 0
        self.parts = parts
        self._places = places
        self._offsets = offsets

    def __len__(self) -> int:
        return int(self._offsets[-1])

    def find(self, sentences: NDArray[np.integer]) -> Iterator[tuple[StoredSentences, LongArray, LongArray]]:
        """Yield each segment of sentences (n,), which of them lie there, as positions in (n,), and their rows there."""
        if not len(sentences):
            return
        segments, rows = self.locate(sentences)
        order = np.argsort(segments, kind="stable")
        rows, segments = rows[order], segments[order]
        bounds = [0, *(np.flatnonzero(np.diff(segments)) + 1).tolist(), len(order)]
        for (first, last), segment in zip(pairwise(bounds), segments[bounds[:-1]].tolist(), strict=True):
            yield self.parts[segment], order[first:last], rows[first:last]

    def locate(self, sentences: NDArray[np.integer]) -> tuple[LongArray, LongArray]:
        """Return the numbers of the segments of sentences (n,), and their rows in these."""
        passages = np.searchsorted(self._offsets, sentences, "right") - 1
        segments: LongArray = self._places[passages] >> ROW_BITS
        rows: LongArray = self._first_rows[passages] + (sentences - self._offsets[passages])
        return segments, rows

    @cached_property
    def _first_rows(self) -> LongArray:
        """The row (P,) of each passage's first sentence in its segment."""
        begins = np.cumsum([0, *(len(part.indptr) - 1 for part in self.parts)])
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(part.indptr[:-1] for part in self.parts)])
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
        self._codes = FlatMemory([part.vectors for part in places.parts])

    def __len__(self) -> int:
        return len(self._places)

    def rows(self, sentences: NDArray[np.integer]) -> FloatArray:
        """Return unit rows (n, d) of sentences (n,)."""
        codes = self._codes.values[self._starts(sentences)[:, None] + np.arange(self.dimension)]
        return unit_sentences(codes)

    def similarities(self, sentences: NDArray[np.integer], vectors: FloatArray) -> FloatArray:
        """Return the cosines (n, m) of sentences (n,) with unit rows (m, d), computed on the rounded rows."""
        queries = np.rint(vectors * np.float32(_QUERY_SCALE)).astype(np.int16)
        return byte_similarities(self._codes.values, self._starts(sentences), queries)  # type: ignore[no-any-return]

    def _starts(self, sentences: NDArray[np.integer]) -> LongArray:
        """Return where the codes of sentences (n,) begin."""
        parts, rows = self._places.locate(sentences)
        starts: LongArray = self._codes.starts[parts] + rows * self.dimension
        return starts


ROW_BITS = 32


ROW_MASK = (1 << ROW_BITS) - 1


def make_places(sizes: Sequence[int]) -> LongArray:
    """Return the places (p,) of all p rows of segments of these sizes, segment by segment."""
    parts = [np.arange(size, dtype=np.int64) | number << ROW_BITS for number, size in enumerate(sizes)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
