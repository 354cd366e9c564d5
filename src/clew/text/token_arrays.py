"""The words of many texts as arrays: the tokens of `clew.text.normalization`, found by array operations.

Source: none. Differs from the source: nothing.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray, LongArray
from clew.text.casing import looks_like_name
from clew.text.identifiers import find_joiners
from clew.text.normalization import WORD_SIGN, is_unspaced_letter

LOOKS_LIKE_NAME, IS_LOWER, IS_CAPITALISED = 1, 2, 4
SENTENCE_END = frozenset(".!?:\n\"'“”«»([*#-")  # a capital after one of these (and spaces) may open a sentence
_CHUNK_CHARACTERS = 1 << 20
# Classes of characters, as bits.
_KNOWN, _WORD, _UNSPACED, _MARK, _NAME, _LOWER, _UPPER, _END = 1, 2, 4, 8, 16, 32, 64, 128


def key_hashes(keys: Iterable[str], salt: int = 0) -> NDArray[np.uint64]:
    """Return the hashes (n,) of keys, as `key_hash`."""
    salted = partial(blake2b, digest_size=8, salt=salt.to_bytes(8, "little"))
    return np.frombuffer(b"".join([salted(key.encode("utf-8", "surrogatepass")).digest() for key in keys]), "<u8")


@dataclass(frozen=True, slots=True, eq=False)
class TokenArrays:
    """The n words of p texts, in order."""

    indptr: LongArray  # (p + 1,) the words of text i are those from `indptr[i]` to `indptr[i + 1]`
    words: IntArray  # (n,) the number of each word, as it is written, in `TokenReader.words`
    starts: LongArray  # (n,) in characters of its text
    ends: LongArray  # (n,)
    flags: NDArray[np.uint8]  # (n,) LOOKS_LIKE_NAME (see `gazetteer`), IS_LOWER, IS_CAPITALISED and opens no sentence
    joiners: NDArray[np.uint16]  # (n,) see `clew.text.identifiers.find_joiners`


class TokenReader:
    """Finds the words of texts and numbers them in the order in which it meets them."""

    def __init__(self) -> None:
        self._numbers = _Numbering()
        self._classes: NDArray[np.uint8] = np.zeros(0x110000, dtype=np.uint8)

    @property
    def words(self) -> list[str]:
        """The words met so far, as written."""
        return list(self._numbers)

    def read(self, texts: Sequence[str]) -> TokenArrays:
        """Return the words of texts."""
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        chunk = np.cumsum(lengths + 1) // _CHUNK_CHARACTERS
        bounds = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(texts)]
        parts = [self._read(texts[a:b], lengths[a:b]) for a, b in pairwise(bounds)]
        counts, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        return TokenArrays(np.concatenate([[0], np.cumsum(counts)]), *columns)

    def _read(
        self, texts: Sequence[str], lengths: LongArray
    ) -> tuple[LongArray, IntArray, LongArray, LongArray, NDArray[np.uint8], NDArray[np.uint16]]:
        joined = "\n".join(("", *texts, ""))  # a line break is no part of a word, and ends a sentence
        codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
        classes = self._classify(codes)
        starts, ends = _find_tokens(classes)
        for possible in re.finditer(r"[+#]", joined):  # faster than the whole pattern
            if sign := WORD_SIGN.match(joined, possible.start()):
                ends[ends.searchsorted(sign.start())] = sign.end()
        joiners = find_joiners(codes, starts, ends)
        words = [joined[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        numbers = np.fromiter(map(self._numbers.__getitem__, words), dtype=np.int32, count=len(words))
        offsets = 1 + np.concatenate([[0], np.cumsum(lengths + 1)])
        text = np.searchsorted(offsets, starts, side="right") - 1
        flags = _start_flags(codes, classes, starts)
        counts = np.bincount(text, minlength=len(texts))
        return counts, numbers, starts - offsets[text], ends - offsets[text], flags, joiners

    def _classify(self, codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
        classes: NDArray[np.uint8] = self._classes[codes]
        if (classes == 0).any():
            for code in np.unique(codes[classes == 0]).tolist():
                self._classes[code] = _character_class(chr(code))
            classes = self._classes[codes]
        return classes


class _Numbering(dict[str, int]):
    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def _character_class(letter: str) -> int:
    unspaced = is_unspaced_letter(letter)
    mark = 0x300 <= ord(letter) < 0x10000 and unicodedata.category(letter) in ("Mn", "Mc")
    bits = (
        (_WORD, letter.isalnum() and not unspaced),
        (_UNSPACED, unspaced),
        (_MARK, mark and (unspaced or not letter.isalnum())),
        (_NAME, looks_like_name(letter)),
        (_LOWER, letter.islower()),
        (_UPPER, letter.isupper()),
        (_END, letter in SENTENCE_END),
    )
    return _KNOWN + sum(bit for bit, is_set in bits if is_set)


def _find_tokens(classes: NDArray[np.uint8]) -> tuple[LongArray, LongArray]:
    """Return where tokens start and end: runs of word characters and their marks, and single unspaced letters."""
    in_word: BoolArray = (classes & _WORD) != 0
    is_mark = (classes & _MARK) != 0
    if is_mark.any():
        # A mark belongs to a word where the last character before it that is no mark does.
        last = np.maximum.accumulate(np.where(is_mark, 0, np.arange(len(classes))))
        in_word = in_word[last]
    single = ((classes & _UNSPACED) != 0) & ~in_word
    edge = np.diff(in_word.view(np.int8), prepend=0, append=0)
    starts = np.flatnonzero((edge[:-1] == 1) | single)
    ends = np.flatnonzero((edge[1:] == -1) | single) + 1
    return starts, ends


def _start_flags(codes: NDArray[np.uint32], classes: NDArray[np.uint8], starts: LongArray) -> NDArray[np.uint8]:
    first = classes[starts]
    flags: NDArray[np.uint8] = np.where(first & _NAME, LOOKS_LIKE_NAME, 0).astype(np.uint8)
    flags[(first & _LOWER) != 0] += IS_LOWER
    capital = np.flatnonzero(first & _UPPER)
    flags[capital[~_opens_sentence(codes, classes, starts[capital])]] += IS_CAPITALISED
    return flags


def _opens_sentence(codes: NDArray[np.uint32], classes: NDArray[np.uint8], starts: LongArray) -> BoolArray:
    """Return whether the three characters before each start are spaces, or the last other one ends a sentence."""
    opens = np.zeros(len(starts), dtype=bool)
    pending = np.arange(len(starts))
    for back in (1, 2, 3):
        before = np.maximum(starts[pending] - back, 0)
        is_space = codes[before] == ord(" ")
        opens[pending[~is_space]] = (classes[before[~is_space]] & _END) != 0
        pending = pending[is_space]
    opens[pending] = True
    return opens
