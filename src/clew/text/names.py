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
def _token_pattern() -> re.Pattern[str]:
    # Python's \w leaves out combining marks, which would cut Devanagari, Thai or pointed Hebrew words into pieces.
    marks = "".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
    return re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_][{re.escape(marks)}]*)+")


class _LatinWithoutAccents(dict[int, str]):
    """A translation table that fills itself: Latin letters lose their marks, everything else stays."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if unicodedata.name(letter, "").startswith("LATIN"):
            letter = "".join(c for c in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(c))
        self[code] = letter
        return letter


_WITHOUT_ACCENTS = _LatinWithoutAccents()


def fold(text: str) -> str:
    """Return `text` as it is matched: NFKC, casefold, Latin letters without accents."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold().translate(_WITHOUT_ACCENTS)


@lru_cache(maxsize=1 << 17)
def _fold_word(word: str) -> str:
    return fold(word)


def tokens(text: str) -> list[Token]:
    """Return the words of `text` in order, folded, with their character places.

    Scripts written without spaces give one token a letter.
    """
    found = _token_pattern().finditer(text)
    if text.isascii():
        lower = text.lower()
        return [Token(lower[m.start() : m.end()], m.start(), m.end()) for m in found]
    return [Token(_fold_word(m.group()), m.start(), m.end()) for m in found]


@lru_cache(maxsize=1 << 17)
def name_key(name: str) -> str:
    """Return what all spellings of one name share: folded words joined by spaces, without a leading article.

    A name without a single letter or digit keeps its folded characters, so that it still equals itself.
    """
    words = [token.key for token in tokens(name)]
    if len(words) > 1 and words[0] in ARTICLES:
        words = words[1:]
    return " ".join(words) or fold(name).strip()


def without_parentheses(title: str) -> str:
    """Return a title without its trailing disambiguation: `Fram (ship)` gives `Fram`; others stay as they are."""
    shorter = re.sub(r"\s*[(（][^()（）]*[)）]\s*$", "", title)
    return shorter if shorter.strip() else title


def key_hash(key: str) -> int:
    """Return 64 bits that stand for a name's key in sorted arrays; equal keys have equal hashes."""
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
