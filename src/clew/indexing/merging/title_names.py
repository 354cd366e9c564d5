"""Names of documents: titles, titles without their parentheses, aliases, and headings that one document alone has.

A name is a number of the joined keys of all segments, and so is a title: the key of at least one passage's title. Names
that are common words in the corpus, or stand for many titles, are not linked.

Source: the measurements in docs/decisions. Differs from the source: nothing.

The displayed name of each entity: its most frequent form; a title as its own documents write it most often.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import BoolArray, HashArray, IntArray, LongArray, sort_distinct
from clew.arrays.kernels import njit
from clew.graph.csr import row_pointers, run_starts
from clew.graph.segments.segment import Ragged, Segment
from clew.graph.string_array import have_space
from clew.indexing.merging.vocabularies import JoinedVocabulary
from clew.indexing.segments.vocabularies import take_rows
from clew.text.casing import COMMON_WORDS
from clew.text.normalization import ARTICLES, key_hash
from clew.text.token_arrays import IS_CAPITALISED, IS_LOWER

MAX_CANDIDATES = 4


@final
@dataclass(frozen=True, slots=True, eq=False)
class TitleNames:
    """The titles that each of k keys stands for, as keys, ascending."""

    single: IntArray  # (k,) the only key that a name stands for: a title, or itself; -1 for an ambiguous name
    ambiguous: Ragged  # k lists of titles, 2 to `MAX_CANDIDATES` for an ambiguous name, else none
    is_known: BoolArray  # (k,) whether a link or a question finds titles by this name
    matched: IntArray  # (n,) names that are looked for in texts, ascending
    targets: Ragged  # n lists of the titles that they may mean, 1 to `MAX_CANDIDATES`

    def count_meanings(self) -> LongArray:
        """Return how many keys each key (k,) may mean, at least one."""
        return np.maximum(np.diff(self.ambiguous.indptr), 1)


def name_titles(segments: Sequence[Segment], keys: JoinedVocabulary, tokens: JoinedVocabulary, salt: int) -> TitleNames:
    """Return the names of all titles, given the joined vocabularies of keys and of tokens, hashed with this salt."""
    count = len(keys)
    is_title = np.zeros(count, dtype=bool)
    for segment, numbers in zip(segments, keys.numbers, strict=True):
        titles = segment.titles.keys
        is_title[numbers[titles[titles >= 0]]] = True
    names, titles = _named_titles(segments, keys, is_title)
    linked = ~_common_words(segments, keys, tokens, names, salt)[names]
    names, titles = names[linked], titles[linked]
    indptr = row_pointers(names, count)
    sizes = np.diff(indptr)
    is_usual = (sizes > 0) & (sizes <= MAX_CANDIDATES)
    single = np.arange(count, dtype=np.int32)
    unambiguous = np.flatnonzero((sizes == 1) & ~is_title)
    single[unambiguous] = titles[indptr[unambiguous]]
    is_ambiguous = is_usual & (sizes > 1) & ~is_title
    single[is_ambiguous] = -1
    matched = np.flatnonzero(is_usual & ~_is_one_of(keys, COMMON_WORDS, salt))
    return TitleNames(
        single,
        _select_rows(indptr, titles, is_ambiguous),
        is_usual | (is_title & (sizes > 0)),
        matched.astype(np.int32),
        take_rows(Ragged(indptr, titles), matched),
    )


def _named_titles(
    segments: Sequence[Segment], keys: JoinedVocabulary, is_title: BoolArray
) -> tuple[IntArray, IntArray]:
    """Return the distinct pairs of a name and a title, sorted."""
    pairs = [np.zeros(0, dtype=np.int64)]
    headings = [pack_pairs(is_title[:0], is_title[:0])]
    documents = [np.zeros(0, dtype=np.uint64)]
    for segment, numbers in zip(segments, keys.numbers, strict=True):
        titles = segment.titles
        rows, names = _titled_entries(titles.names, titles.keys)
        pairs.append(sort_distinct(pack_pairs(numbers[names], numbers[titles.keys[rows]])))
        rows, names = _titled_entries(titles.headings, titles.keys)
        usable = have_space(segment.names.keys.texts, names) & ~is_title[numbers[names]]
        rows, names = rows[usable], names[usable]
        headings.append(pack_pairs(numbers[names], numbers[titles.keys[rows]]))
        documents.append(segment.passages.document_id_hashes[rows])
    pairs.append(_of_one_document(np.concatenate(headings), np.concatenate(documents)))
    distinct = sort_distinct(np.concatenate(pairs))
    return (distinct >> 32).astype(np.int32), (distinct & 0xFFFFFFFF).astype(np.int32)


def _titled_entries(lists: Ragged, titles: IntArray) -> tuple[LongArray, IntArray]:
    """Return the row and the value of each entry in the lists of passages with a title."""
    rows = np.repeat(np.arange(len(lists)), np.diff(lists.indptr))
    titled = titles[rows] >= 0
    return rows[titled], lists.values[titled].astype(np.int32)


def _of_one_document(pairs: LongArray, documents: HashArray) -> LongArray:
    """Return the pairs of a heading and a title whose heading one document alone has."""
    if not len(pairs):
        return pairs
    names = pairs >> 32
    order = np.lexsort((documents, names))
    name = names[order]
    starts = np.flatnonzero(run_starts(name))
    document_counts = np.add.reduceat(run_starts(name, documents[order]).astype(np.int64), starts)
    return pairs[np.isin(names, name[starts[document_counts == 1]])]


def pack_pairs(high: np.ndarray, low: np.ndarray) -> LongArray:
    """Return pairs (m,) of numbers below 2^31 as one number each, which sorts as the pairs do."""
    return high.astype(np.int64) << 32 | low.astype(np.int64)


def _common_words(
    segments: Sequence[Segment], keys: JoinedVocabulary, tokens: JoinedVocabulary, names: IntArray, salt: int
) -> BoolArray:
    """Return which keys (k,) are names of one word that the corpus mostly writes in lower case."""
    is_name = np.zeros(len(keys), dtype=bool)
    is_name[names] = True
    token_of_key = np.full(len(keys), -1, dtype=np.int32)
    for segment, key_numbers, token_numbers in zip(segments, keys.numbers, tokens.numbers, strict=True):
        words = segment.names.key_tokens
        single = np.flatnonzero((np.diff(words.indptr) == 1) & is_name[key_numbers])
        token_of_key[key_numbers[single]] = token_numbers[words.values[words.indptr[single]]]
    excess = np.zeros(len(tokens), dtype=np.int64)  # of lower case over capitals
    for segment, token_numbers in zip(segments, tokens.numbers, strict=True):
        part = segment.tokens
        excess[token_numbers] += _excess_of_lower_case(part.tokens.values, part.flags, len(part.vocabulary))
    is_single = token_of_key >= 0
    common = np.zeros(len(keys), dtype=bool)
    common[is_single] = excess[token_of_key[is_single]] > 0
    return common & ~_is_one_of(keys, ARTICLES, salt)


def _is_one_of(keys: JoinedVocabulary, words: frozenset[str], salt: int) -> BoolArray:
    hashes = np.array([key_hash(word, salt) for word in sorted(words)], dtype=np.uint64)
    found = np.zeros(len(keys), dtype=bool)
    positions = keys.hashes.searchsorted(hashes)
    for position, hash_, word in zip(positions.tolist(), hashes, sorted(words), strict=True):
        if position < len(keys) and keys.hashes[position] == hash_ and keys.texts[position] == word:
            found[position] = True
    return found


def _select_rows(indptr: LongArray, values: IntArray, chosen: BoolArray) -> Ragged:
    """Return the lists with those that are not chosen emptied."""
    sizes = np.where(chosen, np.diff(indptr), 0)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Ragged(starts, values[np.repeat(chosen, np.diff(indptr))])


@njit
def _excess_of_lower_case(tokens, flags, count):  # type: ignore[no-untyped-def]
    excess = np.zeros(count, dtype=np.int64)
    for i in range(len(tokens)):
        if flags[i] & IS_LOWER:
            excess[tokens[i]] += 1
        elif flags[i] & IS_CAPITALISED:
            excess[tokens[i]] -= 1
    return excess
