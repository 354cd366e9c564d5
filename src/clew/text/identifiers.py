"""Identifiers: words and names of several parts, as `AX-4000-12`, `getUserById`, `/conf/main.ini`, `1.2.10`, `.NET`.

A passage has the words of its identifiers as terms, and in addition each part that is no word (`user`), each two
neighbouring parts joined, and all joined, twice: so the whole is found in any spelling (`ax400012`), before others of
the same parts. A word with one hyphen (`sign-off`) has its joined form alone. These terms add nothing to the length of
a passage, and most begin with a mark that no word has, so that text without identifiers is ranked as before.

Source: none. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray, LongArray
from clew.text.normalization import STOP_WORDS, Token, fold, terms_of_words, tokens

_JOINERS = "-\u2010\u2011_./\\@:&+,"  # a comma between thousands alone
_LAST_JOINED = 0x52F  # of Latin, Greek and Cyrillic; words of other letters are not joined
_FOLLOWS_DOT, _PRECEDES_PLUS = 1 << 14, 1 << 15  # bits of joiners
MARKED = "~="  # the first character of joined terms: of an identifier, of a word with hyphens
_MAX_PARTS, _MAX_MIXED, _MIN_DIGITS = 64, 6, 7  # of an identifier; of a word with digits; of a number of joined parts
_PART, _MIXED = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+"), re.compile(r"\d+|\D+")
_HASH, _SHORT_HASHES = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{12,}"), range(7, 13)
# `20km`, `1990s`; `McDonald`, `DeVito`, `MacArthur`; `DVDs`, `PhD`.
_UNDIVIDED = re.compile(r"\d+[^\W\d_]{1,3}|(?:[A-Z][a-z]|Mac|Fitz|Van|Von|Del)[A-Z][a-z]+|[A-Z]{2,}s|[^\W\d_]{1,3}")
_UNDIVIDED_SIGN, _DATED = re.compile(r"[\d_@\\]"), re.compile(r"(?:[a-z]+|\d+)[-\u2010\u2011](?:1\d|20)?\d\ds?")
_PLAIN = re.compile(r"[^\W\d_](?:\.[^\W\d_])+|[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)+")  # initials, or with hyphens
_JOINER = re.compile(f"[{re.escape(_JOINERS)}]")
_POSSIBLE = re.compile(rf"[{re.escape(_JOINERS)}]\w|[a-z][A-Z]|[A-Z]{{2}}[a-z]|[A-Za-z][\d+]|\d[A-Za-z]")


def find_joiners(codes: NDArray[np.uint32], starts: LongArray, ends: LongArray) -> NDArray[np.uint16]:
    """Return the code of the character that joins each word (n,) with the next one, 0 for none, with bits of signs.

    The words are from `starts` (n,) to `ends` (n,) in the codes (c,) of a text that begins and ends with a line break.
    """
    joiners = np.zeros(len(starts), dtype=np.uint16)
    near = np.flatnonzero(_is_one_of(codes[ends], _JOINERS))
    words = near[near < len(starts) - 1]
    left, right = ends[words], starts[words + 1]
    first, before, after = codes[left], codes[left - 1], codes[right]
    thousands = (before - ord("0") < 10) & (after - ord("0") < 10) & (ends[words + 1] - right == 3)
    joins = (right - left == 1) & ((first != ord(",")) | thousands)
    following, last = codes[left + 1], codes[right - 1]
    # `://`, `:\`, `::` and `__` stand for their first character.
    long = (right - left <= 3) & _is_one_of(first, ":_") & _is_one_of(following, ":/\\_") & _is_one_of(last, ":/\\_")
    joins = (joins | long) & (before <= _LAST_JOINED) & (after <= _LAST_JOINED)
    joiners[words[joins]] = first[joins]
    dotted = np.flatnonzero(codes[starts - 1] == ord("."))
    opens = _is_one_of(codes[starts[dotted]], ascii_letters) & _is_one_of(codes[starts[dotted] - 2], " \t\n([{\"'`")
    joiners[dotted[opens]] |= _FOLLOWS_DOT
    joiners[near[(codes[ends[near]] == ord("+")) & _is_one_of(codes[ends[near] - 1], ascii_letters)]] |= _PRECEDES_PLUS
    return joiners


def _is_one_of(codes: NDArray[np.uint32], letters: str) -> BoolArray:
    table = _membership(letters)
    return table[np.minimum(codes, len(table) - 1)]


@cache
def _membership(letters: str) -> BoolArray:
    """Return for each code up to the one after the highest of some letters whether it is one of theirs."""
    codes = [ord(letter) for letter in letters]
    table = np.zeros(max(codes) + 2, dtype=np.bool_)
    table[codes] = True
    return table


def join_words(joiners: NDArray[np.uint16], words: IntArray, written: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return identifiers among words (n,), as positions in `written`: first word, the one after the last, the whole."""
    single = [not (w[1:].islower() and w.isalpha()) and bool(identifier_terms(w)) for w in written]
    joins = joiners & (_FOLLOWS_DOT - 1)
    ends = np.flatnonzero(joins == 0)
    begins = np.append(0, ends[:-1] + 1)[: len(ends)]
    chosen = (ends > begins) | (joiners[begins] > 0) | (joiners[ends] > 0) | np.array(single, dtype=bool)[words[begins]]
    found: list[tuple[int, int, str]] = []
    for begin, end in zip(begins[chosen].tolist(), ends[chosen].tolist(), strict=True):
        spans = zip(words[begin : end + 1].tolist(), joins[begin : end + 1].tolist(), strict=True)
        whole = "".join(written[word] + chr(joiner) * (joiner > 0) for word, joiner in spans)
        whole = f".{whole}" if joiners[begin] & _FOLLOWS_DOT else whole
        found.append((begin, end + 1, f"{whole}+" if joiners[end] & _PRECEDES_PLUS else whole))
    return found


def find_identifiers(text: str, words: Sequence[Token]) -> list[tuple[int, int, str]]:
    """Return the identifiers among the words of a text (see `join_words`)."""
    if text.isascii() and not _POSSIBLE.search(text):
        return []
    codes = np.frombuffer(f"\n{text}\n".encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    spans = np.array([(word.start + 1, word.end + 1) for word in words], dtype=np.int64).reshape(-1, 2)
    joiners, written = find_joiners(codes, spans[:, 0], spans[:, 1]), [text[word.start : word.end] for word in words]
    return join_words(joiners, np.arange(len(words), dtype=np.int32), written)


def find_undivided(text: str, words: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the first word, and the one after the last, of identifiers whose parts are no names; not `mid-1990s`."""
    return [
        (first, last)
        for first, last, whole in find_identifiers(text, words)
        if last > first + 1 and "/" not in whole and _UNDIVIDED_SIGN.search(whole) and not _DATED.fullmatch(whole)
    ]


@lru_cache(maxsize=1 << 17)
def identifier_terms(written: str) -> tuple[str, ...]:
    """Return the terms that an identifier has besides its words, none for a plain word; the last is of the whole."""
    words = [word for word in _JOINER.split(written) if word]
    if len(words) == 1 and words[0] != written:
        return (fold(written),)  # `.NET`, `Canal+`
    parts = [fold(p) for word in _JOINER.split(written.replace(",", "")) for p in _split_word(word) if p][:_MAX_PARTS]
    own = set(terms_of_words(map(fold, words)))
    inner = terms_of_words(part for part in parts if len(part) > 1)
    terms = [term for term in inner if term and term not in own]
    terms += [MARKED[0] + w[:length] for w in map(fold, words) if _HASH.fullmatch(w) for length in _SHORT_HASHES]
    is_plain = len(words) == len(parts) > 1 and _PLAIN.fullmatch(written)
    if is_plain and ("." in written or len(parts) == 2):
        return (MARKED[1] + "".join(parts),)
    if len(parts) > 2:
        terms += [MARKED[1] + one + other if is_plain else _join((one, other)) for one, other in pairwise(parts)]
    return (*terms, *[_join(parts)] * 2) if len(parts) > 1 else tuple(terms)


def _join(parts: Sequence[str]) -> str:
    """Return the joined term of parts; few digits would else be those of another number."""
    joined = "".join(parts)
    return MARKED[0] + (".".join(parts) if joined.isdecimal() and len(joined) < _MIN_DIGITS else joined)


def _split_word(word: str) -> list[str]:
    if word.isdecimal() or (word[1:].islower() and word.isalpha()) or _UNDIVIDED.fullmatch(word):
        return [word]
    parts = (_PART if word.isascii() else _MIXED).findall(word)
    is_code = _HASH.fullmatch(fold(word)) or (len(parts) > _MAX_MIXED and not word.isalpha())
    return [word] if is_code else parts


def question_terms(text: str) -> list[str]:
    """Return the terms that a question has besides its words: of its identifiers, and of other spellings of words."""
    words = tokens(text)
    terms: list[str] = []
    joined: set[int] = set()
    for first, last, written in find_identifiers(text, words):
        if not (_PLAIN.fullmatch(written) and "." in written):
            own = identifier_terms(written)
            is_name = written.isalpha() and written[0].isupper()  # a question does not mean the parts of `YouTube`
            terms += [term for term in own if term[0] in MARKED or not is_name]
            terms += filter(None, terms_of_words(term[1:] for term in own[-1:] if term[0] in MARKED))
            joined.update(range(first, last))
    plain = [number not in joined and word.key not in STOP_WORDS for number, word in enumerate(words)]
    terms += [mark + word.key for word, is_plain in zip(words, plain, strict=True) if is_plain for mark in MARKED]
    spaced = [(one.key, other.key) for one, other in pairwise(words) if text[one.end : other.start] == " "]
    return list(dict.fromkeys([*terms, *(_join(pair) for pair in spaced if STOP_WORDS.isdisjoint(pair))]))
