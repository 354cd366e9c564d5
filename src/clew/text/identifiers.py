"""Identifiers: words and names of several parts, as `AX-4000-12`, `getUserById`, `/conf/main.ini`, `1.2.10`, `.NET`.

A passage has the words of its identifiers as terms, and in addition each part that is no word (`user`), each two
neighbouring parts joined, and all joined, twice: so the whole is found in any spelling (`ax400012`), before others of
the same parts. A word with one hyphen (`sign-off`) has its joined form alone. These terms add nothing to the length of
a passage, and most begin with a mark that no word has, so that text without identifiers is ranked as before.

Source: none. Differs from the source: nothing.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from clew.text.normalization import STOP_WORDS, Token, fold, terms_of_words, tokens

HYPHENS = "-\u2010\u2011"
JOINERS = HYPHENS + "_./\\@:&+"
LONG_JOINERS = ("://", ":\\", "::", "__")  # each stands for its first character
LAST_JOINED = "\u052f"  # of Latin, Greek and Cyrillic; words of other letters are not joined
BEFORE_DOT = " \t\n([{\"'“‘«`"  # where a word may begin with a full stop
MARKED = "~="  # the first character of joined terms: of an identifier, of a word with hyphens
_MAX_PARTS, _MAX_MIXED, _MAX_LETTERS = 64, 6, 200  # of an identifier, of a word with digits; letters of a joined term
_MIN_HYPHENATED = 4  # letters of a word that is looked for with hyphens
_MIN_DIGITS = 7  # of a number that is written with separators or without
_PART, _MIXED = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+"), re.compile(r"\d+|\D+")
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{12,}")
_SHORT_HASHES = range(7, 13)
# `20km`, `1990s`; `McDonald`, `DeVito`, `MacArthur`; `DVDs`, `PhD`.
_UNDIVIDED = re.compile(r"\d+[^\W\d_]{1,3}|(?:[A-Z][a-z]|Mac|Fitz|Van|Von|Del)[A-Z][a-z]+|[A-Z]{2,}s|[^\W\d_]{1,3}")
_NAME_TERMS = 5  # fewer for `YouTube`, whose parts a question does not mean
_UNDIVIDED_SIGN, _DATED = re.compile(r"[\d_@\\]"), re.compile(r"(?:[a-z]+|\d+)[-\u2010\u2011](?:1\d|20)?\d\ds?")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_JOINER = re.compile(f"[{re.escape(JOINERS)},]")
_POSSIBLE = re.compile(rf"[{re.escape(JOINERS)},]\w|[a-z][A-Z]|[A-Z]{{2}}[a-z]|[A-Za-z][\d+]|\d[A-Za-z]")


def find_identifiers(text: str, words: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """Yield the identifiers of a text among its words: the first word, the one after the last, and what is written."""
    if text.isascii() and not _POSSIBLE.search(text):
        return
    first, written = 0, ""
    for number, word in enumerate(words):
        surface = text[word.start : word.end]
        if not written and word.start and _follows_dot(text, word.start):
            written = "."
        written += surface
        joiner = _joiner(text, word, words[number + 1]) if number + 1 < len(words) else ""
        if joiner:
            written += joiner
            continue
        if _precedes_plus(text, word.end):
            written += "+"
        if identifier_terms(written):
            yield first, number + 1, written
        first, written = number + 1, ""


def find_undivided(text: str, words: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the first word of each identifier that no name is a part of, and the one after its last.

    Those have digits, `_`, `@` or a backslash; a year, and words of letters, may be names in `mid-1990s`, `Paris/Rome`.
    """
    return [
        (first, last)
        for first, last, written in find_identifiers(text, words)
        if last > first + 1 and "/" not in written and _UNDIVIDED_SIGN.search(written) and not _DATED.fullmatch(written)
    ]


def _joiner(text: str, word: Token, following: Token) -> str:
    gap, before, after = text[word.end : following.start], text[word.end - 1], text[following.start]
    if before > LAST_JOINED or after > LAST_JOINED:
        return ""
    if gap == ",":  # of thousands
        return "," if before.isdecimal() and after.isdecimal() and following.end - following.start == 3 else ""
    return gap[0] if gap in LONG_JOINERS or (len(gap) == 1 and gap in JOINERS) else ""


def _follows_dot(text: str, start: int) -> bool:
    return text[start - 1] == "." and _is_letter(text[start]) and (start < 2 or text[start - 2] in BEFORE_DOT)


def _precedes_plus(text: str, end: int) -> bool:
    return text[end : end + 1] == "+" and _is_letter(text[end - 1]) and text[end + 1 : end + 2] != "+"


def _is_letter(character: str) -> bool:
    return character.isalpha() and character <= LAST_JOINED


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
    for word in map(fold, words):
        if _HASH.fullmatch(word):
            terms += [MARKED[0] + word[:length] for length in _SHORT_HASHES]
    is_plain = _is_plain(written, words, parts)
    if is_plain and len(parts) > 1 and ("." in written or len(parts) == 2):
        return (MARKED[1] + "".join(parts),)
    if len(parts) > 2:
        terms += [MARKED[1] + one + other if is_plain else _join((one, other)) for one, other in pairwise(parts)]
    return (*terms, *[_join(parts)] * 2) if len(parts) > 1 and len(written) <= _MAX_LETTERS else tuple(terms)


def _join(parts: Sequence[str]) -> str:
    """Return the joined term of parts; few digits would else be those of another number."""
    joined = "".join(parts)
    return MARKED[0] + (".".join(parts) if joined.isdecimal() and len(joined) < _MIN_DIGITS else joined)


def _is_plain(written: str, words: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether an identifier is a word with hyphens, or initials."""
    if len(words) != len(parts) or not all(map(str.isalpha, words)):
        return False
    joiners = set(_JOINER.findall(written))
    return joiners <= set(HYPHENS) or (joiners == {"."} and all(len(word) == 1 for word in words))


def _split_word(word: str) -> list[str]:
    if word.isdecimal() or (word[1:].islower() and word.isalpha()) or _UNDIVIDED.fullmatch(word):
        return [word]
    parts = (_PART if word.isascii() else _MIXED).findall(word)
    is_mixed = len(parts) > _MAX_MIXED and any(map(str.isdecimal, parts))
    return [word] if is_mixed or _HASH.fullmatch(fold(word)) else parts


def question_terms(text: str) -> list[str]:
    """Return the terms that a question has besides its words: of its identifiers, and of other spellings of words."""
    words = tokens(text)
    terms: list[str] = []
    joined: set[int] = set()
    for first, last, written in find_identifiers(text, words):
        if _INITIALS.fullmatch(written):
            continue
        joined.update(range(first, last))
        own = identifier_terms(written)
        is_name = last == first + 1 and written.isalpha() and written[0].isupper() and len(own) < _NAME_TERMS
        terms += [term for term in own if term[0] in MARKED or not is_name]
        if last > first + 1 and own[-1][0] in MARKED:
            terms += terms_of_words([own[-1][1:]])
    for number, word in enumerate(words):
        if number not in joined and word.key not in STOP_WORDS:
            terms += [MARKED[0] + word.key, *([MARKED[1] + word.key] if len(word.key) >= _MIN_HYPHENATED else [])]
    for one, other in pairwise(words):
        if text[one.end : other.start] == " " and STOP_WORDS.isdisjoint((one.key, other.key)):
            terms.append(_join((one.key, other.key)))
    return list(dict.fromkeys(terms))
