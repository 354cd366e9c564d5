"""The columns of an index's passages, read by place from its segments, where each is stored once.

A place is the number of a segment << `ROW_BITS` | a row in it, as int64.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, final, overload

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray, HashArray, IntArray, LongArray
from clew.graph.segments.segment import Ragged
from clew.graph.segments.sentence_columns import ROW_BITS, ROW_MASK, StoredSentences
from clew.graph.string_array import StringArray

Value = TypeVar("Value", str, int)


@final
@dataclass(frozen=True, slots=True, eq=False)
class StoredNames:
    """The names in p passages: f forms as written and k keys, as of `clew.graph.segments.segment`."""

    forms: StringArray  # f
    form_keys: IntArray  # (f,) the key of each form, -1 for one that has none
    key_hashes: HashArray  # (k,)
    mentions: Ragged  # p lists of forms
    triples: Ragged  # p lists of (head form, relation, tail form)
    relations: StringArray  # relations of triples
    title_names: Ragged  # p lists of keys: the title, the title without its parentheses, the document's aliases
    headings: Ragged  # p lists of keys, for passages with a title

    def hashes_of_forms(self, forms: NDArray[np.integer]) -> HashArray:
        """Return the hashes (n,) of the keys of forms (n,), 0 for one without a key."""
        keys = self.form_keys[forms]
        return np.where(keys >= 0, self.key_hashes[keys], np.uint64(0)) if len(self.key_hashes) else keys.astype("u8")

    def forms_of(self, rows: NDArray[np.integer]) -> IntArray:
        """Return the forms (n,) of the mentions of rows (p,), and of the ends of their triples, with repetitions."""
        return np.concatenate([self.mentions.values_of(rows), self.triples.values_of(rows)[:, [0, 2]].ravel()])

    def hashes_of_document(self, row: int) -> HashArray:
        """Return the hashes (n,) of the names that a passage's document gives its subject: of title and headings."""
        keys = np.concatenate([self.title_names.row(row), self.headings.row(row)])
        return self.key_hashes[keys] if len(keys) else np.zeros(0, dtype=np.uint64)


_BLANK = 16  # characters before the first word of a document, at most


@final
@dataclass(frozen=True, slots=True, eq=False)
class StoredPassages:
    """The columns of the p passages of one segment that a snapshot does not repeat."""

    document_ids: StringArray  # p
    titles: StringArray  # p
    texts: StringArray  # p
    metadata: StringArray  # p, JSON objects
    starts: LongArray  # (p,) in characters of the document
    ends: LongArray  # (p,)
    vectors: FloatArray  # (p, d) unit rows, (p, 0) without an encoder
    sentences: StoredSentences
    names: StoredNames | None = None  # None for passages whose names were not read, in memory alone


@final
class PlacedValues(Sequence[Value]):
    """The strings or numbers of P passages; each is read when it is asked for, by a function of a segment and a row."""

    __slots__ = ("_places", "_read_row")

    def __init__(self, read_row: Callable[[int, int], Value], places: LongArray) -> None:
        self._read_row: Callable[[int, int], Value] = read_row
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...
    def __getitem__(self, index: int | slice) -> Value | list[Value]:
        if isinstance(index, slice):
            return list(map(self._read, self._places[index].tolist()))
        return self._read(int(self._places[index]))

    def __iter__(self) -> Iterator[Value]:
        return map(self._read, self._places.tolist())

    def _read(self, place: int) -> Value:
        return self._read_row(place >> ROW_BITS, place & ROW_MASK)


@final
class PassageVectors:
    """The vectors of P passages, unit rows of width d (0 without an encoder)."""

    def __init__(self, parts: Sequence[FloatArray], places: LongArray) -> None:
        self._parts = parts
        self._places = places
        self.dimension = parts[0].shape[1] if parts else 0

    @classmethod
    def from_matrix(cls, vectors: FloatArray) -> "PassageVectors":
        """Return the vectors (P, d) of passages that lie in memory."""
        return cls([vectors], np.arange(len(vectors), dtype=np.int64))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of passages, and the width."""
        return len(self._places), self.dimension

    def __len__(self) -> int:
        return len(self._places)

    def rows(self, positions: NDArray[np.integer]) -> FloatArray:
        """Return the vectors (n, d) of the passages at some positions (n,)."""
        places = self._places[positions]
        segments, rows = places >> ROW_BITS, places & ROW_MASK
        vectors = np.empty((len(places), self.dimension), dtype=np.float32)
        for segment in np.unique(segments).tolist():
            chosen = segments == segment
            vectors[chosen] = self._parts[segment][rows[chosen]]
        return vectors

    def similarities(self, vector: FloatArray) -> FloatArray:
        """Return the inner product (P,) of each passage's vector and one (d,): a scan of all vectors.

        A row's product depends on that row alone, to the last bit, and so not on how passages lie in segments.
        """
        if not self._parts:
            return np.zeros(0, dtype=np.float32)
        # A product of matrices would add in an order that depends on the number of rows.
        products = [np.einsum("ij,j->i", part, vector, dtype=np.float32) for part in self._parts]
        similarities: FloatArray = np.concatenate(products)[self._flat_positions]
        return similarities

    def similarities_at(self, positions: NDArray[np.integer], vector: FloatArray) -> FloatArray:
        """Return the inner products (n,) of the vectors at some positions (n,) and one (d,), as of `similarities`."""
        similarities: FloatArray = np.einsum("ij,j->i", self.rows(positions), vector, dtype=np.float32)
        return similarities

    def positions_by_row(self) -> list[IntArray]:
        """Return for each segment the positions (p,) of its rows, -1 for one that is no passage."""
        flat = np.full(sum(len(part) for part in self._parts), -1, dtype=np.int32)
        flat[self._flat_positions] = np.arange(len(self), dtype=np.int32)
        return np.split(flat, np.cumsum([len(part) for part in self._parts])[:-1]) if self._parts else []

    @cached_property
    def _flat_positions(self) -> LongArray:
        """The row (P,) of each passage in all segments' rows put together."""
        first = np.cumsum([0, *(len(part) for part in self._parts)])
        flat: LongArray = first[self._places >> ROW_BITS] + (self._places & ROW_MASK)
        return flat


@final
class PassageColumns:
    """The columns of P passages in some segments.

    Attributes:
        segments: The names of the segments' files; empty where they are in memory alone.
        places: The place (P,) of each passage.
        document_ids, titles, texts, metadata: Strings of each passage; metadata are JSON objects.
        starts, ends: The span of each passage in its document, in characters.
        vectors: The vectors of passages.
        sentences: The stored columns of the sentences of each segment.
    """

    def __init__(self, parts: Sequence[StoredPassages], places: LongArray, segments: Sequence[str] = ()) -> None:
        self.segments = tuple(segments)
        self.places = places

        def strings(name: str) -> PlacedValues[str]:
            columns: list[StringArray] = [getattr(part, name) for part in parts]
            return PlacedValues(lambda segment, row: columns[segment][row], places)

        def numbers(name: str) -> PlacedValues[int]:
            columns: list[LongArray] = [getattr(part, name) for part in parts]
            return PlacedValues(lambda segment, row: int(columns[segment][row]), places)

        self.document_ids, self.titles = strings("document_ids"), strings("titles")
        self.texts, self.metadata = strings("texts"), strings("metadata")
        self.starts, self.ends = numbers("starts"), numbers("ends")
        self.vectors = PassageVectors([part.vectors for part in parts], places)
        self.sentences = [part.sentences for part in parts]
        self._parts = parts

    @cached_property
    def are_of_long_documents(self) -> bool:
        """Whether half of the passages or more go on with a document that another passage begins."""
        segments, rows = self.places >> ROW_BITS, self.places & ROW_MASK
        later = sum(int((part.starts[rows[segments == n]] > _BLANK).sum()) for n, part in enumerate(self._parts))
        return 0 < len(self.places) <= 2 * later

    def stored_at(self, position: int) -> tuple[StoredPassages, int]:
        """Return the segment of a passage, and the passage's row in it."""
        place = int(self.places[position])
        return self._parts[place >> ROW_BITS], place & ROW_MASK

    def names_at(self, position: int) -> tuple[StoredNames | None, int]:
        """Return the names of the segment of a passage, and the passage's row in it."""
        part, row = self.stored_at(position)
        return part.names, row

    def names_of(self, positions: NDArray[np.integer]) -> Iterator[tuple[StoredNames, LongArray]]:
        """Yield the names of each segment that has some of the passages (n,), with their rows (m,) in it."""
        places = self.places[positions]
        numbers, rows = places >> ROW_BITS, places & ROW_MASK
        for number in np.unique(numbers).tolist():
            names = self._parts[number].names
            if names is not None:
                yield names, rows[numbers == number]
