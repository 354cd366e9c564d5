"""Vocabularies and lists of different lengths, as segments store them, and strings as columns of Arrow.

The terms of passages for BM25, counted from words that were read once: equal to `clew.text.bm25.count_terms`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray, LongArray
from clew.graph.csr import row_pointers, run_starts
from clew.graph.segments.segment import CollisionError, Ragged, Vocabulary
from clew.graph.string_array import StringArray
from clew.text.bm25 import TermCounts
from clew.text.identifiers import MARKED, identifier_terms, join_words
from clew.text.normalization import is_unspaced_letter, terms_of_words
from clew.text.token_arrays import TokenArrays, key_hashes


class Numbering(dict[str, int]):
    """Numbers texts in the order in which they are first asked for."""

    def __missing__(self, text: str) -> int:
        """Give a new text the next number."""
        number = self[text] = len(self)
        return number


def make_vocabulary(texts: Sequence[str], salt: int, used: BoolArray | None = None) -> tuple[Vocabulary, IntArray]:
    """Return the vocabulary of those of n distinct texts that are `used` (n,), and each one's position (n,), or -1.

    Raises CollisionError where two of them have one hash.
    """
    numbers = np.arange(len(texts)) if used is None else np.flatnonzero(used)
    kept = [texts[number] for number in numbers.tolist()]
    hashes = key_hashes(kept, salt)
    order = np.argsort(hashes)
    hashes, numbers = hashes[order], numbers[order]
    if (hashes[1:] == hashes[:-1]).any():
        raise CollisionError(f"two of {len(hashes)} texts have one hash under the salt {salt}")
    positions = np.full(len(texts), -1, dtype=np.int32)
    positions[numbers] = np.arange(len(numbers), dtype=np.int32)
    return Vocabulary(hashes, StringArray.join([kept[index].encode() for index in order.tolist()])), positions


def make_ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    """Return lists of positions as arrays."""
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=indptr[1:])
    return Ragged(indptr, np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(indptr[-1])))


def take(positions: IntArray, indices: NDArray[np.integer]) -> IntArray:
    """Return `positions[indices]` (n,) for positions (m,) and indices (n,), and -1 where an index is -1."""
    if not len(positions):
        return np.full(len(indices), -1, dtype=np.int32)
    return np.where(indices >= 0, positions[indices], np.int32(-1))


def take_rows(lists: Ragged, rows: NDArray[np.integer]) -> Ragged:
    """Return the lists of some rows (n,), in the order given."""
    indptr, positions = row_positions(lists.indptr, rows)
    return Ragged(indptr, lists.values[positions])


def row_positions(indptr: LongArray, rows: NDArray[np.integer]) -> tuple[LongArray, LongArray]:
    """Return where the values of some lists begin (n + 1,) when they are put together, and the position (m,) of each.

    The lists are the `rows` (n,) among those that `indptr` (p + 1,) divides.
    """
    starts, counts = indptr[:-1][rows], np.diff(indptr)[rows]
    new = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return new, np.arange(new[-1]) + np.repeat(starts - new[:-1], counts)


def mark_used(size: int, *positions: NDArray[np.integer]) -> BoolArray:
    """Return which of `size` entries (size,) occur among positions of any shape; negative ones count for nothing."""
    used = np.zeros(size, dtype=bool)
    for values in positions:
        used[values[values >= 0]] = True
    return used


def compact(vocabulary: Vocabulary, *positions: NDArray[np.integer]) -> tuple[Vocabulary, IntArray]:
    """Return what is used of a vocabulary, and the new position of each text, -1 for those that are not."""
    used = mark_used(len(vocabulary), *positions)
    numbers = np.flatnonzero(used)
    return Vocabulary(vocabulary.hashes[numbers], vocabulary.texts.take(numbers)), new_positions(used)


def new_positions(used: BoolArray) -> IntArray:
    """Return the position (n,) of each entry that is used among those, -1 for the others."""
    return np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)


def to_arrow(strings: StringArray) -> pa.LargeStringArray:
    """Return strings as a column, without a copy."""
    buffers = [None, *(pa.py_buffer(np.ascontiguousarray(part)) for part in (strings.offsets, strings.data))]
    return pa.Array.from_buffers(pa.large_string(), len(strings), buffers)


def from_arrow(column: pa.Array) -> StringArray:
    """Return the strings of a column without nulls."""
    if not len(column):
        return StringArray.pack(())
    column = column.cast(pa.large_string())
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data or b"", dtype=np.uint8)[bounds[0] : bounds[-1]]
    return StringArray(content.copy(), bounds - bounds[0])


def rank_strings(strings: StringArray) -> LongArray:
    """Return the place (n,) of each of n distinct strings among them in the order of code points."""
    ranks = np.empty(len(strings), dtype=np.int64)
    ranks[np.asarray(pc.sort_indices(to_arrow(strings)))] = np.arange(len(strings))
    return ranks


@final
@dataclass(frozen=True, slots=True, eq=False)
class WordTerms:
    """The terms that stand in the words of texts, in no order, with v terms in all."""

    words: LongArray  # (o,) a word, counted in all texts of the part
    terms: IntArray  # (o,) the term that stands there, alone or with the next word
    bridging: BoolArray  # (v,) whether a term has enough letters to join sentences


class CountedWords(NamedTuple):
    """The terms of texts, and where they stand."""

    counts: TermCounts  # of titles and texts
    in_texts: WordTerms  # of texts alone


def count_words(
    title_words: TokenArrays, words: TokenArrays, written: Sequence[str], word_keys: IntArray, keys: Sequence[str]
) -> CountedWords:
    """Return the terms of p texts, with those of their titles, and where they stand in the texts.

    `word_keys` (w,) has the position in `keys`, the folded words, of each of the w words as `written`.
    """
    count = len(words.indptr) - 1
    numbers = Numbering()
    term_of_key = np.array([numbers[term] if term else -1 for term in terms_of_words(keys)], dtype=np.int64)
    lengths = np.zeros(count, dtype=np.int64)
    rows: list[LongArray] = []
    terms: list[LongArray] = []
    places: list[LongArray] = []
    for part in (title_words, words):
        row = np.repeat(np.arange(count), np.diff(part.indptr))
        word = word_keys[part.words]
        # Neighbours without a gap: one of them is a letter of a script without spaces.
        joined = np.flatnonzero((part.ends[:-1] == part.starts[1:]) & (row[:-1] == row[1:]))
        pairs, pair = np.unique(word[joined].astype(np.int64) * len(keys) + word[joined + 1], return_inverse=True)
        texts = [keys[left] + keys[right] for left, right in (divmod(p, len(keys)) for p in pairs.tolist())]
        own = [(at, term) for at, _, w in join_words(part.joiners, part.words, written) for term in identifier_terms(w)]
        first = np.array([at for at, _ in own], dtype=np.int64)
        rows += [row, row[joined], row[first]]
        terms += [term_of_key[word], np.array([numbers[text] for text in texts], dtype=np.int64)[pair]]
        terms.append(np.array([numbers[term] for _, term in own], dtype=np.int64))
        place = np.concatenate([np.arange(len(word)), joined, first])
        places.append(place if part is words else np.full(len(place), -1))
        lengths += np.bincount(np.concatenate([row[term_of_key[word] >= 0], row[joined]]), minlength=count)
    row, term, place = np.concatenate(rows), np.concatenate(terms), np.concatenate(places)
    row, term, place = row[term >= 0], term[term >= 0], place[term >= 0]
    used, term = np.unique(term, return_inverse=True)
    texts = list(numbers)
    used_texts = [texts[number] for number in used.tolist()]
    hashes, rank = np.unique(key_hashes(used_texts, 0), return_inverse=True)
    bridging = np.zeros(len(hashes), dtype=bool)
    np.logical_or.at(bridging, rank, np.array([_has_enough_letters(text) for text in used_texts], dtype=bool))
    term = rank[term]
    in_text = place >= 0
    return CountedWords(
        _count(hashes, row, term, lengths), WordTerms(place[in_text], term[in_text].astype(np.int32), bridging)
    )


def _has_enough_letters(term: str) -> bool:
    """Return whether a term says enough to join sentences: three letters, or two where each is a word's part."""
    return term[0] not in MARKED and (len(term) > 2 or (len(term) == 2 and is_unspaced_letter(term[0])))


def _count(hashes: np.ndarray, row: LongArray, term: LongArray, lengths: LongArray) -> TermCounts:
    occurrences = row * max(len(hashes), 1) + term
    occurrences.sort()
    first = np.flatnonzero(run_starts(occurrences)) if len(occurrences) else occurrences
    row, term = np.divmod(occurrences[first], max(len(hashes), 1))
    counts = np.diff(first, append=len(occurrences))
    return TermCounts(
        hashes,
        row_pointers(row, len(lengths)),
        term.astype(np.int32),
        counts.astype(np.int32),
        lengths.astype(np.int32),
    )
