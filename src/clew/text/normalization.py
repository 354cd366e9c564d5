"""Names as they are matched: folding, tokens with their places, and the key that two spellings of one name share.

Names are stored as written. Matching applies Unicode NFKC and casefold; accents are dropped from Latin letters only, so
that no other script loses a letter or a vowel sign.
"""

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

ARTICLES = frozenset({"the", "a", "an"})
# Letters of scripts written without spaces count as one token each, so that a name inside a run can be found.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f\u0e80-\u0eff\U00020000-\U0003134f"


class Token(NamedTuple):
    """A folded word and its place: it was written `text[start:end]`."""

    key: str
    start: int
    end: int


@lru_cache(maxsize=1)
def _combining_marks() -> str:
    # Python's \w leaves out combining marks, which would cut Devanagari, Thai or pointed Hebrew words into pieces.
    return re.escape("".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc")))


@lru_cache(maxsize=1)
def _token_pattern() -> re.Pattern[str]:
    return re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_][{_combining_marks()}]*)+")


_WORD = re.compile(r"[^\W_]+")
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")


@lru_cache(maxsize=1)
def _special_pattern() -> re.Pattern[str]:
    """Find what the plain pattern of a word would get wrong: letters that count alone, and combining marks."""
    return re.compile(rf"[{_UNSPACED}{_combining_marks()}]")


def is_word_character(letter: str) -> bool:
    """Tell whether a character is part of a longer word: a letter, digit, mark or `_`, of a script that has spaces."""
    of_word = letter.isalnum() or letter == "_" or unicodedata.category(letter) in ("Mn", "Mc")
    return of_word and not is_unspaced_letter(letter)


def is_unspaced_letter(letter: str) -> bool:
    """Tell whether a character is of a script without spaces, in which a name may stand anywhere."""
    return _UNSPACED_LETTER.match(letter) is not None


def is_plain(text: str) -> bool:
    """Tell whether a text has no combining marks and no letters that count as a word each; most are."""
    return text.isascii() or not _special_pattern().search(text)


def _word_pattern(text: str) -> "re.Pattern[str]":
    # The plain pattern is several times as fast.
    return _WORD if is_plain(text) else _token_pattern()


class _AccentStripper(dict[int, str]):
    """A translation table that fills itself: Latin letters lose their marks, everything else stays."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if unicodedata.name(letter, "").startswith("LATIN"):
            letter = "".join(c for c in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(c))
        self[code] = letter
        return letter


_STRIP_ACCENTS = _AccentStripper()


def fold(text: str) -> str:
    """Return `text` as it is matched: NFKC, casefold, Latin letters without accents."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold().translate(_STRIP_ACCENTS)


@lru_cache(maxsize=1 << 17)
def _fold_word(word: str) -> str:
    return fold(word)


def tokens(text: str) -> list[Token]:
    """Return the words of `text` in order, folded, with their character places.

    Scripts written without spaces give one token a letter.
    """
    found = _word_pattern(text).finditer(text)
    make = Token._make
    if text.isascii():
        return [make((m.group().lower(), *m.span())) for m in found]
    return [make((_fold_word(m.group()), *m.span())) for m in found]


def token_keys(text: str) -> list[str]:
    """Return the keys of `tokens(text)` alone, which is faster."""
    found = _word_pattern(text).findall(text.lower() if text.isascii() else text)
    return found if text.isascii() else [_fold_word(word) for word in found]


def token_spans(text: str) -> list[tuple[int, int]]:
    """Return the places of `tokens(text)` alone, which is faster."""
    return [found.span() for found in _word_pattern(text).finditer(text)]


@lru_cache(maxsize=1 << 17)
def name_key(name: str) -> str:
    """Return what all spellings of one name share: folded words joined by spaces, without a leading article.

    A name without a single letter or digit keeps its folded characters, so that it still equals itself.
    """
    words = token_keys(name)
    if len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    return " ".join(words) or fold(name).strip()


def strip_parentheses(title: str) -> str:
    """Return a title without its trailing disambiguation: `Fram (ship)` gives `Fram`; others stay as they are."""
    shorter = re.sub(r"\s*[(（][^()（）]*[)）]\s*$", "", title)
    return shorter if shorter.strip() else title


def key_hash(key: str) -> int:
    """Return 64 bits that stand for a name's key in sorted arrays; equal keys have equal hashes."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
