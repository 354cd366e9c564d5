"""Normalization of texts and names, which are stored as written, for matching: folding, tokens with spans, keys.

Terms are folded words without English function words, by the Snowball stem of the language that writes most in their
script: ASCII ones by the English one.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

from Stemmer import Stemmer

ARTICLES = frozenset({"the", "a", "an"})
# Letters of scripts written without spaces are one token each, so that a name inside a run can be found; so are those
# of Korean, where particles are joined to names.
_UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\U00020000-\U0003134f"
)


class Token(NamedTuple):
    """A folded word and its span: it was written `text[start:end]`."""

    key: str
    start: int
    end: int


@lru_cache(maxsize=1)
def _combining_marks() -> str:
    # Python's \w excludes combining marks, which would split Devanagari, Thai or pointed Hebrew words.
    return re.escape("".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc")))


@lru_cache(maxsize=1)
def _token_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?:[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_][{_combining_marks()}]*)+)(?:{WORD_SIGN.pattern})?")


WORD_SIGN = re.compile(r"(?<=[^\W\d_])\+\+(?![+A-Za-z_#])|(?<=(?<![^\W_])[A-Za-z])#(?![\w#+])")
"""The end of a word such as `C++` and `C#`."""


@lru_cache(maxsize=1)
def _marked_word_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?:[^\W_][{_combining_marks()}]*)+")


_WORD = re.compile(r"[^\W_]+")
_SIGNED_WORD = re.compile(rf"[^\W_]+(?:{WORD_SIGN.pattern})?")
_NUMBER = re.compile(r"\d+|(?<!\w)(?=[ivxlc])(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})(?!\w)")
_IDENTIFIER = re.compile(r"[mg]\.[0-9a-z_]+|/[mg]/[0-9a-z_]+|Q\d+|<[^<>\s]+:[^<>\s]*>")  # where there is no label
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")


@lru_cache(maxsize=1)
def _special_pattern() -> re.Pattern[str]:
    """Match the characters that the plain word pattern handles wrongly: unspaced letters and combining marks."""
    return re.compile(rf"[{_UNSPACED}{_combining_marks()}]")


def is_word_character(letter: str) -> bool:
    """Return whether a character can be part of a longer word: a letter, digit, mark or `_` of a script with spaces."""
    in_word = letter.isalnum() or letter == "_" or unicodedata.category(letter) in ("Mn", "Mc")
    return in_word and not is_unspaced_letter(letter)


def is_unspaced_letter(letter: str) -> bool:
    """Return whether a character belongs to a script without spaces, in which a name may start anywhere."""
    return _UNSPACED_LETTER.match(letter) is not None


def is_plain(text: str) -> bool:
    """Return whether a text has neither combining marks nor letters of unspaced scripts, as most texts."""
    return text.isascii() or not _special_pattern().search(text)


def _word_pattern(text: str) -> "re.Pattern[str]":
    # The plain patterns are several times faster.
    if not is_plain(text):
        return _token_pattern()
    return _SIGNED_WORD if "#" in text or "++" in text else _WORD


class _AccentStripper(dict[int, str]):
    """A lazily filled translation table: removes accents from Latin letters, keeps everything else."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if unicodedata.name(letter, "").startswith("LATIN"):
            letter = "".join(c for c in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(c))
        self[code] = letter
        return letter


_STRIP_ACCENTS = _AccentStripper()


def fold(text: str) -> str:
    """Fold text for matching: NFKC, casefold, no accents on Latin letters alone: other scripts would lose letters."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold().translate(_STRIP_ACCENTS)


@lru_cache(maxsize=1 << 17)
def _fold_word(word: str) -> str:
    return fold(word)


def tokens(text: str) -> list[Token]:
    """Return the folded words of `text` in order, with their spans; in scripts without spaces one token per letter."""
    make, fold_word = Token._make, str.lower if text.isascii() else _fold_word  # `_make` is faster than `Token`
    return [make((fold_word(match.group()), *match.span())) for match in _word_pattern(text).finditer(text)]


def word_runs(words: Sequence[Token], most: int) -> tuple[list[tuple[int, int]], list[str]]:
    """Return the runs of at most `most` words, as the first word and the one after the last, and their keys."""
    runs: list[tuple[int, int]] = []
    keys: list[str] = []
    for first in range(len(words)):
        key = ""
        for last, word in enumerate(words[first : first + most], first + 1):
            key = f"{key} {word.key}" if key else word.key
            runs.append((first, last))
            keys.append(key)
    return runs, keys


def token_keys(text: str) -> list[str]:
    """Return the keys of `tokens(text)`, which is faster without the spans."""
    words = _word_pattern(text).findall(text.lower() if text.isascii() else text)
    return words if text.isascii() else [_fold_word(word) for word in words]


def token_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of `tokens(text)`, which is faster without the keys."""
    return [match.span() for match in _word_pattern(text).finditer(text)]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of the runs of letters, digits and their marks, also in scripts without spaces."""
    return [match.span() for match in _marked_word_pattern().finditer(text)]


@lru_cache(maxsize=1 << 17)
def name_key(name: str) -> str:
    """Return the key of all spellings of a name: folded words joined by spaces, no leading article; never empty."""
    words = token_keys(name)
    if len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    return " ".join(words) or fold(name).strip()


def find_numbers(key: str) -> list[str]:
    """Return the numbers in a name's key, in order: in digits, or Roman ones below 100 that stand alone."""
    return _NUMBER.findall(key)


def strip_parentheses(title: str) -> str:
    """Remove the trailing disambiguation of a title: `Fram (ship)` becomes `Fram`; other titles are unchanged."""
    shorter = re.sub(r"\s*[(（][^()（）]*[)）]\s*$", "", title)
    return shorter if shorter.strip() else title


def key_hash(key: str, salt: int = 0) -> int:
    """Return a 64-bit hash of a name's key, for sorted arrays; another salt (0 to 2**64 - 1) gives another hash."""
    encoded = key.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=8, salt=salt.to_bytes(8, "little")).digest(), "little")


def is_identifier(name: str) -> bool:
    """Return whether a name is an identifier of Freebase (`m.02mjmr`) or Wikidata (`Q42`), or an IRI (`<http://...>`)."""
    return _IDENTIFIER.fullmatch(name) is not None


# Function words, question words, and the letters left over after an apostrophe.
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "  # noqa: SIM905
    "to was will with s t what which who whom whose when where why how did does do".split()
)


def terms_of_words(keys: Iterable[str]) -> list[str]:
    """Return the term of each folded word (see `clew.text.normalization.token_keys`), "" for a word that is none."""
    return ["" if key in STOP_WORDS else stem(key) for key in keys]


_LANGUAGE_OF_LETTERS = (
    ("\u036f", ""), ("\u03ff", "greek"), ("\u052f", "russian"), ("\u058f", "armenian"),
    ("\u05ff", ""), ("\u06ff", "arabic"), ("\u08ff", ""), ("\u097f", "hindi"), ("\u0b7f", ""), ("\u0bff", "tamil"),
)  # fmt: skip
"""Languages by the last letter of their script, "" for scripts whose words stay; so do those of all later scripts."""


_own = threading.local()  # a stemmer must not be shared between threads


@lru_cache(maxsize=1 << 16)
def stem(key: str) -> str:
    """Return the stem of a folded word in the language that writes most in its script."""
    language = "english" if key.isascii() else next((name for last, name in _LANGUAGE_OF_LETTERS if key[0] <= last), "")
    if not language:
        return key
    stemmers: dict[str, Stemmer] = _own.__dict__
    stemmer = stemmers.get(language) or stemmers.setdefault(language, Stemmer(language))
    found: str = stemmer.stemWord(key)
    return found


def find_terms(text: str) -> list[str]:
    """Return the terms of a text, in scripts without spaces those of each letter and of each two neighbours."""
    found = [stem(key) for key in token_keys(text) if key not in STOP_WORDS]
    if not is_plain(text) or "++" in text:
        # Tokens without a gap occur only where one is a letter of a script without spaces, and in `C++20`.
        found += [left.key + right.key for left, right in pairwise(tokens(text)) if left.end == right.start]
    return found
