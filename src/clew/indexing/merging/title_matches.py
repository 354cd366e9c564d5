"""Search for the names of titles in the words of segments: longest name first, without overlaps, from left to right.

A name of one or two words matches only where it starts as names do (see `clew.text.casing`).

Source: none. Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray, LongArray, sort_distinct
from clew.arrays.kernels import njit
from clew.graph.csr import row_pointers
from clew.graph.segments.segment import Ragged, Segment
from clew.indexing.merging.title_names import TitleNames
from clew.indexing.merging.vocabularies import JoinedVocabulary
from clew.indexing.segments.vocabularies import take_rows
from clew.text.token_arrays import LOOKS_LIKE_NAME

_MULTIPLIER = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio


@final
@dataclass(frozen=True, slots=True, eq=False)
class NameTable:
    """The words of n names, to be found by their first one: v tokens are numbered across all segments."""

    words: Ragged  # n lists of tokens
    targets: Ragged  # n lists of titles
    lengths: Ragged  # v lists: the lengths of the names that begin with a token, longest first
    slots: IntArray  # (a power of two,) a hash table of the names, -1 for an empty slot
    beginnings: NDArray[np.uint8]  # (a power of two,) bits: 1 at the hash of the first two tokens of any name


@final
@dataclass(frozen=True, slots=True, eq=False)
class TitleMatches:
    """The m places in the texts of a segment's p passages that name titles."""

    indptr: LongArray  # (p + 1,) the matches of each passage
    first: IntArray  # (m,) first token, counted in the passage
    last: IntArray  # (m,) last token
    names: IntArray  # (m,) positions among the names of a `NameTable`


def select_names(table: NameTable, chosen: LongArray) -> NameTable:
    """Return a table of the chosen names (c,) alone, which become 0 to c - 1."""
    words = take_rows(table.words, chosen)
    lengths = _lengths_by_first_word(words, len(table.lengths.indptr) - 1)
    return NameTable(words, take_rows(table.targets, chosen), lengths, *_fill_slots(words.indptr, words.values))


def interleave(is_new: BoolArray, old: IntArray, new: IntArray) -> IntArray:
    """Return old and new numbers (m,) in their places, of which `is_new` (m,) tells."""
    joined = np.empty(len(is_new), dtype=np.int32)
    joined[~is_new], joined[is_new] = old, new
    return joined


def make_name_table(
    segments: Sequence[Segment], keys: JoinedVocabulary, tokens: JoinedVocabulary, titles: TitleNames
) -> NameTable:
    """Return the table of the names that are looked for in texts."""
    count = len(titles.matched)
    name_of_key = np.full(len(keys), -1, dtype=np.int32)
    name_of_key[titles.matched] = np.arange(count, dtype=np.int32)
    sizes = np.zeros(count, dtype=np.int64)
    for segment, numbers in zip(segments, keys.numbers, strict=True):
        name = name_of_key[numbers]
        sizes[name[name >= 0]] = np.diff(segment.names.key_tokens.indptr)[name >= 0]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = np.zeros(int(indptr[-1]), dtype=np.int32)
    for segment, key_numbers, token_numbers in zip(segments, keys.numbers, tokens.numbers, strict=True):
        words = segment.names.key_tokens
        _write_words(name_of_key[key_numbers], words.indptr, words.values, token_numbers, indptr, values)
    words = Ragged(indptr, values)
    lengths = _lengths_by_first_word(words, len(tokens))
    return NameTable(words, titles.targets, lengths, *_fill_slots(indptr, values))


def _lengths_by_first_word(words: Ragged, tokens: int) -> Ragged:
    """Return for each token the lengths of the names that begin with it, longest first."""
    sizes = np.diff(words.indptr)
    longest = int(sizes.max(initial=0)) + 1
    first = words.values[words.indptr[:-1]].astype(np.int64)
    distinct = sort_distinct(first * longest + (longest - 1 - sizes))
    tokens_of, shortfall = np.divmod(distinct, longest)
    return Ragged(row_pointers(tokens_of, tokens), (longest - 1 - shortfall).astype(np.int32))


def find_names(
    segment: Segment, token_numbers: IntArray, table: NameTable, rows: LongArray | None = None
) -> TitleMatches:
    """Return all names in the texts of some rows of a segment, or of all, those of their own titles among them.

    `token_numbers` (v,) are the numbers in the table of the segment's v tokens; `rows` (n,) are in any order.
    """
    tokens = segment.tokens.tokens
    begins = np.diff(table.lengths.indptr)[token_numbers] > 0
    # A token that begins no name is recognised by its number alone, which saves reading from memory for most words.
    codes = np.where(begins, token_numbers, ~token_numbers)
    chosen = np.arange(len(segment), dtype=np.int64) if rows is None else rows
    indptr, first, last, names = _find_matches(
        chosen, tokens.indptr, tokens.values, segment.tokens.flags, codes, table.words.indptr, table.words.values,
        table.lengths.indptr, table.lengths.values, table.slots, table.beginnings,
    )  # fmt: skip
    return TitleMatches(indptr, first, last, names)


def without_own_titles(found: TitleMatches, own_titles: IntArray, targets: Ragged) -> TitleMatches:
    """Return the names that mean another title than that of their passage, `own_titles` (p,), or one of several."""
    sizes = np.diff(found.indptr)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    starts = targets.indptr[found.names]
    is_other = (targets.indptr[found.names + 1] - starts > 1) | (targets.values[starts] != own_titles[rows])
    indptr = row_pointers(rows[is_other], len(sizes))
    return TitleMatches(indptr, found.first[is_other], found.last[is_other], found.names[is_other])


@njit
def is_inside_match(span: np.ndarray, begin: int, end: int, first: np.ndarray, last: np.ndarray) -> bool:
    """Return whether a span of tokens (2,) lies inside any of the matches `begin` to `end` - 1.

    A longer name is the more specific one: a mention inside a match counts for nothing.
    """
    for match in range(begin, end):  # noqa: SIM110 (a generator is not compiled)
        if first[match] <= span[0] and span[1] <= last[match]:
            return True
    return False


@njit
def _write_words(names, word_indptr, words, token_numbers, indptr, values):  # type: ignore[no-untyped-def]
    for key in range(len(names)):
        if names[key] >= 0:
            start = word_indptr[key]
            for i in range(word_indptr[key + 1] - start):
                values[indptr[names[key]] + i] = token_numbers[words[start + i]]


@njit
def _mix(state, token):  # type: ignore[no-untyped-def]
    mixed = (state ^ np.uint64(token)) * np.uint64(_MULTIPLIER)
    return mixed ^ (mixed >> np.uint64(29))


@njit
def _number(code):  # type: ignore[no-untyped-def]
    return code if code >= 0 else ~code


@njit
def _fill_slots(indptr, values):  # type: ignore[no-untyped-def]
    size = 16
    while size < 2 * len(indptr):
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    beginnings = np.zeros(size, dtype=np.uint8)
    for name in range(len(indptr) - 1):
        state = np.uint64(0)
        for i in range(indptr[name], indptr[name + 1]):
            state = _mix(state, values[i])
            if i == indptr[name] + 1:
                place = state & np.uint64(8 * size - 1)
                beginnings[place >> np.uint64(3)] |= np.uint8(1 << (place & np.uint64(7)))
        slot = np.int64(state & np.uint64(size - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = name
    return slots, beginnings


@njit
def _find_matches(  # type: ignore[no-untyped-def]  # noqa: C901
    rows, indptr, tokens, flags, codes, word_indptr, words, length_indptr, lengths, slots, beginnings,
):  # fmt: skip
    size = len(slots)
    out_indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    capacity = 1024
    out = np.empty((capacity, 3), dtype=np.int32)
    found = 0
    for row in range(len(rows)):
        passage = rows[row]
        begin, end = indptr[passage], indptr[passage + 1]
        position = begin
        while position < end:
            first = codes[tokens[position]]
            if first < 0:
                position += 1
                continue
            matched, match_length = -1, 1
            alone = _mix(np.uint64(0), first)
            pair = alone
            begins_longer = False
            if position + 1 < end:
                pair = _mix(alone, _number(codes[tokens[position + 1]]))
                place = pair & np.uint64(8 * len(beginnings) - 1)
                begins_longer = (beginnings[place >> np.uint64(3)] >> np.uint8(place & np.uint64(7))) & 1 != 0
            if not begins_longer and not flags[position] & LOOKS_LIKE_NAME:
                position += 1  # only a name of this word alone may be here, and it is not written like one
                continue
            entry, last = length_indptr[first], length_indptr[first + 1]
            if not begins_longer:
                entry = last - 1
            while entry < last and matched < 0:
                length = lengths[entry]
                entry += 1
                if position + length > end or (length <= 2 and not flags[position] & LOOKS_LIKE_NAME):
                    continue
                state = alone if length == 1 else pair
                for i in range(position + 2, position + length):
                    state = _mix(state, _number(codes[tokens[i]]))
                slot = np.int64(state & np.uint64(size - 1))
                while slots[slot] >= 0 and matched < 0:
                    name = slots[slot]
                    start = word_indptr[name]
                    if word_indptr[name + 1] - start == length:
                        i = 0
                        while i < length and words[start + i] == _number(codes[tokens[position + i]]):
                            i += 1
                        if i == length:
                            matched, match_length = name, length
                    slot = (slot + 1) & (size - 1)
            if matched >= 0:
                if found == capacity:
                    wider = np.empty((2 * capacity, 3), dtype=np.int32)
                    wider[:capacity] = out
                    out, capacity = wider, 2 * capacity
                out[found, 0] = position - begin
                out[found, 1] = position - begin + match_length - 1
                out[found, 2] = matched
                found += 1
            position += match_length
        out_indptr[row + 1] = found
    return out_indptr, out[:found, 0].copy(), out[:found, 1].copy(), out[:found, 2].copy()
