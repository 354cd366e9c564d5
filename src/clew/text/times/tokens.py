"""Tokens of a text for the rules of `clew.text.times.finding`: each has a letter for its role, and a value.

Beside the letters of `clew.text.times.lexicon` there are `n`, a number of one or two digits, `Y`, one of four that may
be a year, `y`, one of three that is a year beside a month, `0`, any other, `D` and `V`, dates in digits, `E`, a decade,
`q`, a quarter, `#` and `%`, signs before and behind a number, `Z`, a function word, `x`, any other word, and signs.
"""

import re
import sys
from functools import lru_cache
from itertools import accumulate
from typing import Any

from clew.text.times.lexicon import LANGUAGES, VOTE_BITS, Entry, load_lexicon
from clew.text.times.spans import TimeSpan, calendar_span

# Letters, by what is none: much faster than `[^\W\d_]`.
_LETTER = r"[^\x00-@\[-`{-©«-´¶-¹»-¿×÷\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff\u3000-\u3020]"
# All quantifiers are bounded or possessive. One group, so that a split gives tokens and what lies between them.
_TOKEN = (
    rf"(Q[1-4]\b|{_LETTER}++(?:_{{0,3}}(?<![\u3040-\u9fff\uac00-\ud7af])\d++(?:[.,:_]?\d++){{0,20}}+)?+|(?=\d)(?:"
    r"(?<![\w.,/-])(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:?\d\d(?::?\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)?|\d{4}/\d\d/\d\d"
    r"|\d{4}\.\d\d\.\d\d|\d{1,2}-\d{1,2}-\d{4}|\d{1,2}/\d{1,2}/\d{4}|\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)"
    r"|\d{1,2}\.\d{1,2}\.)(?![\w/-]|\.\d)"
    r"|(?<!\d)\d{3,4}年(?:\d{1,2}月(?:\d{1,2}日)?)?"
    r"|(?<![\w.,/])(?:1\d|20)?\d0(?:['’]?s|ern?)(?!\w)"
    r"|(?<![\w.,])\d{1,4}+(?:(?:st|nd|rd|th|er|[eºª])(?!\w))?+(?![\w%]|[.,:'’]\d)"
    r"|\d++(?:[.,:'’/\u202f\u00a0]?\d++){0,20}+\w{0,20}+)"
    r"|://\S{1,2000}+|(?<=www)\.\S{1,2000}+|[-–—,/.:;()\[\]+#$€£§°%&])"
)
_Phrase = tuple[tuple[str, ...], Entry]  # the pieces, in lower case
_MARKS = dict(zip("–-,/.([)]+#$€£§°%;:—&", "--,/.(())######%%;;;&", strict=True))
_ISO = re.compile(r"(\d{3,4})(?:[-/.](\d\d)[-/.](\d\d)|年(?:(\d+)月)?(?:(\d+)日)?)(?:[T ].*)?")
_DAY_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|(?<=\.)\d\d)")
_DAY_DOT = re.compile(r"(\d+)\.(\d+)\.")
_DECADE = re.compile(r"(\d*0)['’]?(?:s|er|ern)")
_COUNT = re.compile(r"(\d{1,4})(?:\D{0,2})")
_MAX_LETTERS = 1 << 15  # tokens whose letters are remembered, of a language
_VOTING = 200  # tokens of a text that tell its language
_VOTE_BYTES = VOTE_BITS // 8 * len(LANGUAGES)
_AMBIGUOUS = "A"  # the letter of "03/04/2024" and "1.2.20" until the language is known


@lru_cache(maxsize=1)
def _token_pattern() -> re.Pattern[str]:
    return re.compile(_TOKEN)  # on the first use: to compile it takes longer than to import Clew


class _Letters(dict[str, str]):
    """The letter of each token in a language."""

    def __init__(self, language: int) -> None:
        super().__init__(_MARKS)
        self._language = language
        for form, word in load_lexicon().words.items():
            plain = _plain_entry(form, language)
            if plain is not None:
                self[form] = plain.letter
            elif word.vote >> (VOTE_BITS * language) & 1:
                self[form] = "Z"

    def __missing__(self, piece: str) -> str:
        letter = _read_number(piece)[0] if piece[0].isdigit() or piece[-1].isdigit() else "x"
        if letter == _AMBIGUOUS or (letter == "V" and not self._language):
            letter = "D" if self._language else "0"
        if len(self) < _MAX_LETTERS:
            self[piece] = letter
        return letter


class Tokens:
    """The tokens of a text: a row of letters, and the offsets and the value of each."""

    def __init__(self, text: str) -> None:
        lexicon = load_lexicon()
        parts = _token_pattern().split(text)
        bounds = list(accumulate(map(len, parts)))
        self._pieces, self.starts, self.ends = parts[1::2], bounds[::2], bounds[1::2]
        number = _most_frequent(sum(filter(None, map(lexicon.votes.get, self._pieces[:_VOTING]))))
        self._language, self.language = number, LANGUAGES[number]
        self._phrases: dict[int, Entry] = {}
        letters, phrases = _tables(number)
        self.letters = "".join(map(letters.__getitem__, self._pieces))
        firsts = phrases.keys() & self._pieces if not phrases.keys().isdisjoint(self._pieces) else ()
        if firsts:
            lower = text.lower()
            found = [phrase for first in sorted(firsts) for written, phrase in phrases[first] if written in lower]
            if found:
                self._join_phrases(text, found)
        if "R" in self.letters:
            self._tell_morning_from_tomorrow(text)

    def value(self, at: int) -> Any:
        """Return the value of a token: a whole number, the name of a unit, or a `TimeSpan`."""
        if at in self._phrases:
            return self._phrases[at].value
        piece = self._pieces[at]
        if self.letters[at] in "nYy0DEqV":
            return _read_number(piece)[1]
        entry = _plain_entry(piece, self._language)
        return entry.value if entry is not None else 0

    def values(self, start: int, end: int) -> dict[str, Any]:
        """Return the values of some tokens by their letters."""
        return {self.letters[at]: self.value(at) for at in range(start, end)}

    def word(self, at: int) -> str:
        """Return the text of a token, "" before the first and behind the last."""
        return self._pieces[at] if 0 <= at < len(self._pieces) else ""

    def _join_phrases(self, text: str, phrases: list[_Phrase]) -> None:
        """Make one token of each phrase, such as "up to", the longest first."""
        pieces, (old_starts, old_ends) = [piece.lower() for piece in self._pieces], (self.starts, self.ends)
        phrases = sorted(phrases, key=lambda phrase: -len(phrase[0]))
        firsts, at = {phrase[0] for phrase, _ in phrases}, 0
        letters: list[str] = []
        self.starts, self.ends = [], []
        while at < len(pieces):
            size, letter = 1, self.letters[at]
            for phrase, entry in phrases if pieces[at] in firsts else ():
                if tuple(pieces[at : at + len(phrase)]) == phrase:
                    size, letter = len(phrase), entry.letter
                    self._phrases[len(letters)] = entry
                    break
            self.starts.append(old_starts[at])
            self.ends.append(old_ends[at + size - 1])
            letters.append(letter)
            at += size
        self.letters = "".join(letters)
        self._pieces = [text[start:end] for start, end in zip(self.starts, self.ends, strict=True)]

    def _tell_morning_from_tomorrow(self, text: str) -> None:
        """Make a part of the day of the noun that is the same word as "tomorrow": "am nächsten Morgen"."""
        for at, letter in enumerate(self.letters):
            if at and letter == "R" and self.value(at) == 1:
                before = self.letters[at - 1]
                if before in "odTGL" or (text[self.starts[at]].isupper() and before != "."):
                    self.letters = f"{self.letters[:at]}H{self.letters[at + 1 :]}"


@lru_cache(maxsize=len(LANGUAGES))
def _tables(language: int) -> tuple[_Letters, dict[str, list[tuple[str, _Phrase]]]]:
    """Return the letters of a language, and by first words its phrases, with the text to look for."""
    phrases: dict[str, list[tuple[str, _Phrase]]] = {}
    for form, word in load_lexicon().words.items():
        for entry in word.entries.get(language, ()):
            if entry.rest:
                pieces = (form.lower(), *entry.rest)
                phrases.setdefault(form, []).append((" ".join(pieces).replace(" - ", "-"), (pieces, entry)))
    return _Letters(language), phrases


@lru_cache(maxsize=4096)
def _plain_entry(form: str, language: int) -> Entry | None:
    """Return the entry of a word; months of other languages, in lower case, are such beside a number."""
    word = load_lexicon().words.get(form)
    if word is None:
        return None
    if language in word.entries or not form.islower():
        return next((entry for entry in word.entries.get(language, ()) if not entry.rest), None)
    months = (entry for entries in word.entries.values() for entry in entries if entry.letter == "M" and not entry.rest)
    return next((entry._replace(letter="m") for entry in months), None)


def _most_frequent(votes: int) -> int:
    counts = memoryview(votes.to_bytes(_VOTE_BYTES, sys.byteorder)).cast("H").tolist()
    counts = counts if sys.byteorder == "little" else counts[::-1]
    return counts.index(max(counts))


@lru_cache(maxsize=4096)
def _read_number(piece: str) -> tuple[str, int | TimeSpan]:
    """Return the letter and value of a token with a digit."""
    if match := _DECADE.fullmatch(piece):
        return "E", int(match[1])
    if match := _COUNT.fullmatch(piece):
        digits, value = match[1], int(match[1])
        if len(digits) == 3 and value > 99:
            return "y", value
        return "n" if len(digits) < 3 else "Y" if 1000 <= value < 2100 else "0", value
    span: TimeSpan | None = None
    if match := _ISO.fullmatch(piece):
        year, *rest = (int(part or 0) for part in match.groups())
        span = calendar_span(year, rest[0] or rest[2], rest[1] or rest[3])
    elif match := _DAY_FIRST.fullmatch(piece):
        day, month, year = (int(match[number]) for number in (1, 3, 4))
        is_short = year < 100  # 1.2.20 may be a version, and 1/2/2020 in January
        year += 0 if not is_short else 2000 if year < 69 else 1900  # as `time.strptime` does
        span = calendar_span(year, month, day) or (calendar_span(year, day, month) if match[2] == "/" else None)
        if span is not None and (is_short or (match[2] == "/" and max(day, month) <= 12 and day != month)):
            return _AMBIGUOUS, span
    elif match := _DAY_DOT.fullmatch(piece):
        day, month = int(match[1]), int(match[2])
        return ("V", 100 * day + month) if day and calendar_span(2000, month, day) else ("0", 0)
    elif piece[0] == "Q":
        return "q", int(piece[1])
    return ("D", span) if span is not None else ("0" if piece[0].isdigit() else "x", 0)
