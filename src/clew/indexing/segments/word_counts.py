"""The terms of passages for BM25, counted from words that were read once: equal to `clew.text.bm25.count_terms`."""

from collections.abc import Sequence

import numpy as np

from clew.arrays import IntArray, LongArray
from clew.graph.csr import row_pointers, run_starts
from clew.indexing.segments.vocabularies import Numbering, hash_texts
from clew.text.bm25 import TermCounts, terms_of_words
from clew.text.token_arrays import TokenArrays


def count_words(parts: Sequence[TokenArrays], word_keys: IntArray, keys: Sequence[str]) -> TermCounts:
    """Return the terms of p texts, each in several parts (titles and texts).

    `word_keys` has the position in `keys`, the folded words, of each word as written.
    """
    count = len(parts[0].indptr) - 1
    numbers = Numbering()
    term_of_key = np.array([numbers[term] if term else -1 for term in terms_of_words(keys)], dtype=np.int64)
    rows: list[LongArray] = []
    terms: list[LongArray] = []
    for part in parts:
        row = np.repeat(np.arange(count), np.diff(part.indptr))
        word = word_keys[part.words]
        rows.append(row)
        terms.append(term_of_key[word])
        # Neighbours without a gap: one of them is a letter of a script without spaces.
        joined = np.flatnonzero((part.ends[:-1] == part.starts[1:]) & (row[:-1] == row[1:]))
        pairs, pair = np.unique(word[joined].astype(np.int64) * len(keys) + word[joined + 1], return_inverse=True)
        texts = [keys[left] + keys[right] for left, right in (divmod(p, len(keys)) for p in pairs.tolist())]
        rows.append(row[joined])
        terms.append(np.array([numbers[text] for text in texts], dtype=np.int64)[pair])
    row, term = np.concatenate(rows), np.concatenate(terms)
    row, term = row[term >= 0], term[term >= 0]
    used, term = np.unique(term, return_inverse=True)
    texts = list(numbers)
    hashes, rank = np.unique(hash_texts((texts[number] for number in used.tolist()), 0), return_inverse=True)
    return _count(hashes, row, rank[term], count)


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
