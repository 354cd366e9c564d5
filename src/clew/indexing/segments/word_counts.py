"""The terms of passages for BM25, counted from words that were read once: equal to `clew.text.bm25.count_terms`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray
from clew.graph.csr import row_pointers, run_starts
from clew.indexing.segments.vocabularies import Numbering, hash_texts
from clew.text.bm25 import TermCounts
from clew.text.normalization import is_unspaced_letter
from clew.text.terms import terms_of_words
from clew.text.token_arrays import TokenArrays


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


def count_words(title_words: TokenArrays, words: TokenArrays, word_keys: IntArray, keys: Sequence[str]) -> CountedWords:
    """Return the terms of p texts, with those of their titles, and where they stand in the texts.

    `word_keys` (w,) has the position in `keys`, the folded words, of each of the w words as written.
    """
    count = len(words.indptr) - 1
    numbers = Numbering()
    term_of_key = np.array([numbers[term] if term else -1 for term in terms_of_words(keys)], dtype=np.int64)
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
        rows += [row, row[joined]]
        terms += [term_of_key[word], np.array([numbers[text] for text in texts], dtype=np.int64)[pair]]
        places += [np.arange(len(word)), joined] if part is words else [np.full(len(word) + len(joined), -1)]
    row, term, place = np.concatenate(rows), np.concatenate(terms), np.concatenate(places)
    row, term, place = row[term >= 0], term[term >= 0], place[term >= 0]
    used, term = np.unique(term, return_inverse=True)
    texts = list(numbers)
    used_texts = [texts[number] for number in used.tolist()]
    hashes, rank = np.unique(hash_texts(used_texts, 0), return_inverse=True)
    bridging = np.zeros(len(hashes), dtype=bool)
    np.logical_or.at(bridging, rank, np.array([_has_enough_letters(text) for text in used_texts], dtype=bool))
    term = rank[term]
    in_text = place >= 0
    return CountedWords(
        _count(hashes, row, term, count), WordTerms(place[in_text], term[in_text].astype(np.int32), bridging)
    )


def _has_enough_letters(term: str) -> bool:
    """Return whether a term says enough to join sentences: three letters, or two where each is a word's part."""
    return len(term) > 2 or (len(term) == 2 and is_unspaced_letter(term[0]))


def _count(hashes: np.ndarray, row: LongArray, term: LongArray, count: int) -> TermCounts:
    occurrences = row * max(len(hashes), 1) + term
    occurrences.sort()
    first = np.flatnonzero(run_starts(occurrences)) if len(occurrences) else occurrences
    row, term = np.divmod(occurrences[first], max(len(hashes), 1))
    counts = np.diff(first, append=len(occurrences))
    lengths = np.bincount(row, weights=counts, minlength=count)
    return TermCounts(
        hashes,
        row_pointers(row, count),
        term.astype(np.int32),
        counts.astype(np.int32),
        lengths.astype(np.int32),
    )
