"""Tokens of a text for the rules of `clew.text.times.finding`: each has a letter for its role, and a value.

Beside the letters of `clew.text.times.lexicon` there are `n`, a number of one or two digits, `Y`, one of four that may
be a year, `0`, any other, `D`, a date in digits, `E`, a decade, `q`, a quarter, `#`, a sign before a number, `Z`, a
function word, `x`, any other word, and the signs themselves.
"""

import re
from typing import Any, NamedTuple

from clew.text.times.lexicon import LANGUAGES, VOTE_BITS, Entry, Word, load_lexicon
from clew.text.times.spans import calendar_span

# All quantifiers are bounded or possessive.
_TOKEN = re.compile(
    r"(?P<skip>(?:https?://|www\.)\S{1,2000}+)|(?P<quarter>\bQ[1-4]\b)|(?P<word>[^\W\d_]++)"
    r"|(?<![\w.,/-])(?P<iso>(?P<y>\d{4})(?P<by>[-/.])(?P<m>\d\d)(?P=by)(?P<d>\d\d)(?:[T ]\d\d:?\d\d(?::?\d\d)?"
    r"(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)?)(?![\w/-]|\.\d)"
    r"|(?<![\w.,/-])(?P<dmy>(?P<d2>\d{1,2})(?P<by2>[-/.])[ ]?(?P<m2>\d{1,2})(?P=by2)[ ]?(?P<y2>\d{4}|(?<=\.)\d\d))"
    r"(?![\w/-]|\.\d)"
    r"|(?<!\d)(?P<cjk>(?P<y3>\d{3,4})年(?:(?P<m3>\d{1,2})月(?:(?P<d3>\d{1,2})日)?)?)"
    r"|(?<![\w.,/])(?P<decade>(?P<e>(?:1\d|20)?\d0)(?:['’]?s|ern?)(?!\w))"
    r"|(?P<number>(?<![\w.,])\d{1,4}+(?:(?:st|nd|rd|th|er|[eºª])(?!\w))?+(?![\w%]|[.,:'’]\d))"
    r"|(?P<other>\d++(?:[.,:'’/\u202f\u00a0]?\d++){0,20}+\w{0,20}+)"
    r"|(?P<mark>[-–,/.(+#$€£§°;%&])"
)
_MARKS = dict(zip("–-,/.(+#$€£§°%;&", "--,/.(######%%;&", strict=True))
_PREPOSITIONS = "iIsubafwvtdo"


class Token(NamedTuple):
    """A word, number or sign of a text: its offsets, the letter for its role, and its value."""

    start: int
    end: int
    letter: str
    value: Any = 0  # a whole number, the name of a unit, or a `TimeSpan`


def read_tokens(text: str) -> tuple[list[Token], str]:
    """Return the tokens of a text, and the code of the language that most of its words are known in."""
    words = load_lexicon().words
    tokens: list[Token | tuple[int, int, Word]] = []
    votes = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "word":
            word = words.get(match.group())
            if word is None:
                tokens.append(Token(*match.span(), "x"))
            else:
                votes += word.vote
                tokens.append((*match.span(), word))
        elif kind == "mark":
            tokens.append(Token(*match.span(), _MARKS[match.group()]))
        else:
            tokens.append(_read_number(kind or "", match))
    language = _winner(votes)
    return _assign_letters(text, tokens, language), LANGUAGES[language]


def _winner(votes: int) -> int:
    counts = [(votes >> (VOTE_BITS * number)) & ((1 << VOTE_BITS) - 1) for number in range(len(LANGUAGES))]
    return counts.index(max(counts))


def _read_number(kind: str, match: "re.Match[str]") -> Token:
    start, end = match.span()
    if kind == "iso" or kind == "cjk":
        keys = ("y", "m", "d") if kind == "iso" else ("y3", "m3", "d3")
        span = calendar_span(*(int(match[key] or 0) for key in keys))
        return Token(start, end, "D", span) if span else Token(start, end, "0")
    if kind == "dmy":
        return _read_day_first(match)
    if kind == "decade":
        return Token(start, end, "E", int(match["e"]))
    if kind == "quarter":
        return Token(start, end, "q", int(match.group()[1]))
    if kind == "number":
        digits = match.group().rstrip("stndrheºª")
        value = int(digits)
        letter = "n" if len(digits) < 3 else "Y" if 1000 <= value < 2100 and len(digits) == 4 else "0"
        return Token(start, end, letter, value)
    return Token(start, end, "0" if kind == "other" else "x")


def _read_day_first(match: "re.Match[str]") -> Token:
    day, month, year = (int(match[key]) for key in ("d2", "m2", "y2"))
    year += 0 if year > 99 else 2000 if year < 69 else 1900  # as `time.strptime` does
    by = match["by2"]
    if by == "/" and day <= 12 and month <= 12 and day != month:
        span = calendar_span(year, month, day)
        return Token(*match.span(), "A", span) if span else Token(*match.span(), "0")
    span = calendar_span(year, month, day) or (calendar_span(year, day, month) if by == "/" else None)
    return Token(*match.span(), "D", span) if span else Token(*match.span(), "0")


def _assign_letters(text: str, found: "list[Token | tuple[int, int, Word]]", language: int) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(found):
        item = found[position]
        position += 1
        if isinstance(item, Token):
            if item.letter == "A":  # the day first, but for English
                item = item._replace(letter="0" if language == 0 else "D")
            tokens.append(item)
            continue
        start, end, word = item
        entry = next(
            (e for e in word.entries.get(language, ()) if not e.rest or _follows(text, found, position, e)), None
        )
        if entry is None:
            tokens.append(Token(start, end, "Z" if word.vote >> (VOTE_BITS * language) & 1 else "x"))
            continue
        position += len(entry.rest)
        letter = _letter_in_context(text, start, tokens, entry)
        tokens.append(Token(start, found[position - 1][1], letter, entry.value))
    return tokens


def _follows(text: str, found: "list[Token | tuple[int, int, Word]]", position: int, entry: Entry) -> bool:
    pieces = found[position : position + len(entry.rest)]
    return tuple(text[piece[0] : piece[1]].lower() for piece in pieces) == entry.rest


def _letter_in_context(text: str, start: int, tokens: list[Token], entry: Entry) -> str:
    """Return the letter of a word; "morning" for the noun that is the same word as "tomorrow" in some languages."""
    if entry.letter != "R" or entry.value != 1 or not tokens:
        return entry.letter
    is_noun = tokens[-1].letter in "odTGL" or (text[start].isupper() and tokens[-1].letter != ".")
    return "H" if is_noun else "R"
