"""Times that texts state, found by rules: each word becomes a letter for its role, and patterns match rows of letters.

Decisions, where a text may be read in two ways:

- Two dates joined by a dash or "to" are one time from the first to the last, life dates in brackets too.
- "until 1975" and "since 1975" include the year, "before" and "after" do not; "by" and "as of" change nothing.
- "three weeks ago" is a whole week, from Monday, "two months ago" a month, "two years ago" a year.
- "last Tuesday" and "last March" are the latest before the reference, "next" the first after it, "this" in its week or
  year. A date without a year is the latest that begins by the reference; where a word such as "will" is near, the first
  that does not end before it. A weekday alone is read as no time: only the tense would tell which.
- Early, mid and late are thirds; of decades the years 0 to 3, 4 to 6 and 7 to 9. Seasons count for their year alone.
- "03/04/2024" is read as the day first where the language is not English, and left out in English.
- A reference of several days, such as a year, gives all days that could be meant.

Source: own rules. Differs from the source: nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from clew.text.times.calendar import each_end, lone_date, shift_day, third_of, unit_span, weekday_span
from clew.text.times.lexicon import load_lexicon
from clew.text.times.spans import TimeSpan, calendar_span, join_spans, year_range
from clew.text.times.tokens import Token, read_tokens

_SKIP = "[doiIU,]{0,4}"  # words between "since" and a date: "since about the year"
_P = "(?:P[-do]{0,3})?"
# All quantifiers are bounded, so that no text takes more than linear time.
_ATOM = re.compile(
    r"(?P<span>[LN][Cn][UJ]|[Cn][LN]U)"
    r"|(?P<ago>v[Cnm]o?[UJ]|[Cn][UJ]g)"
    r"|(?P<since>s[doi]?[Cnm]U(?!g)|sv[Cnm]U)"
    r"|(?P<ahead>[FIw][Cnm]U(?![gleJ]))"
    r"|(?P<later>[Cnm]U[le])"
    r"|(?P<following>[GS]o?[UJ]|UG)"
    r"|(?P<date>D)"
    r"|(?P<days>n\.?[-tu&]o?n\.?[do]{0,2}(?:M|[mk]\.?)(?:[do,]{0,2}Y)?)"
    r"|(?P<month_days>(?:M|m\.?)n[-tu&]n(?:,?Y)?)"
    r"|(?P<day>n\.?[do]{0,2}(?:M|m\.?)(?:[do,]{0,2}Y)?|n[do]{0,2}kY|(?<=[iIo])nk)"
    r"|(?P<month_day>(?:M|m\.?|(?<=[iI])k)n(?!U)(?:,?Y)?)"
    rf"|(?P<month>{_P}(?:M|[mk]\.?)[do,]{{0,2}}Y)"
    r"|(?P<step>[LNT][UMmkWJ]|[UMW][LN])"
    r"|(?P<part>TH)|(?P<near>R[HR]?)|(?P<next_day>X)"
    rf"|(?P<century>{_P}(?:[nr]\.?J|J[do]?[nr]))"
    rf"|(?P<decade>{_P}(?:E|U[do]?[nCY]))"
    r"|(?P<quarter>q[,/]?Y)|(?P<ad>@[n0Y]|[0n]@)"
    rf"|(?P<year>{_P}Y(?:[-/]n)?)"
    r"|(?P<lone>P[-do]{0,3}M|(?<=[iIdsubafwvt&-])M|(?<=[iI])[mk]|M(?=[-tu&,]M))"
)
_RANGE = re.compile(r",?[-tu][doiI]{0,3}")
_SHARE = re.compile(r"[do]{0,2}[-tu&,/][doiI]{0,3}")
_BETWEEN = re.compile(r"[do,]{0,2}&[do]{0,3}")
_ROLE = re.compile(rf"[subavwf]{_SKIP}\Z")
_PRESENT = re.compile(r",?[-tu][doiI]{0,3}(?P<end>[pR])")
_LAST_LETTERS = 6  # of a role with the words after it
_BC = re.compile(r"\s{0,3}(?:B\.?\s?C|v\.?\s?(?:Chr|u\.\s?Z)|av(?:ant|\.)?\s?J|a\.\s?(?:de\s)?C|antes de Cristo)")
_FUTURE = re.compile(r"\w(?:r[áà]|rán|ranno|rão)\b")  # tenses of Spanish, Italian, Portuguese
_NEAR = 60  # characters around a date in which "will" turns it to the future
_MAX_TEXT = 1 << 20
_CACHED_TEXT = 512  # characters: texts up to this length are cached
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]+")
_ABSOLUTE = frozenset("date days month_days day month_day month century decade quarter ad year lone".split())  # noqa: SIM905
_LABELS = frozenset(
    "no nr nº n° № num number room zimmer raum saal bureau salle sala habitación aula stanza kamer quarto iso din norm "  # noqa: SIM905
    "norme norma article artikel artículo articolo artigo art page seite p s pp line zeile flight flug vol bus gate "
    "section abschnitt chapter kapitel code tel telefon model modell windows office law loi ley rfc port version v "
    "tél phone id paragraph ref order invoice bestellung rechnung facture factura n numero número numéro".split()
)
_QUANTITIES = frozenset(
    "euro euros dollar dollars pound pounds eur usd gbp chf franc francs franken pesetas pesos kelvin grad degrees "  # noqa: SIM905
    "degrés grados gradi km m kg g mm cm ml l mb gb kb kw mw w v hz mhz metres meters meter mètres metros metri miles "
    "people personen personnes personas persone pessoas times mal fois veces volte words wörter mots palabras steps "
    "inhabitants einwohner habitants habitantes stück pieces units hours stunden heures horas tonnes tons tonnen mark "
    "percent prozent yen rubles watts watt volt employees mitarbeiter feet yards acres hectares hektar kilometres "
    "kilometers kilometer kilómetros pages seiten visitors besucher soldiers soldaten ships schiffe men seats".split()
)


class TextTime(NamedTuple):
    """A time that a text states: the offsets of the words that state it, and the days."""

    start: int
    end: int
    span: TimeSpan


@dataclass(frozen=True, slots=True)
class _Atom:
    """A date in a row of tokens; its year is 0 where none is stated, its span is None until it is known."""

    kind: str
    start: int
    end: int  # number of the token behind it
    year: int = 0
    month: int = 0
    days: tuple[int, int] = (0, 0)
    third: int | None = None
    span: TimeSpan | None = None


def find_times(text: str, reference: TimeSpan | None) -> list[TextTime]:
    """Return the times that a text states, in order, without overlaps; offsets are in the text.

    Words such as "yesterday", and dates without a year, are relative to the reference, the time of the text; without
    one, or with one whose end is open, they state nothing. "The following year" is relative to the date before it. Of
    a text of more than 1,048,576 characters the rest is not read. Nothing depends on the machine's clock or locale.
    """
    if reference is not None and (reference.first is None or reference.last is None):
        reference = None
    if len(text) <= _CACHED_TEXT:
        return list(_find_cached(text, reference))
    return _find(text[:_MAX_TEXT], reference)


@lru_cache(maxsize=4096)
def _find_cached(text: str, reference: TimeSpan | None) -> tuple[TextTime, ...]:
    return tuple(_find(text, reference))


def _find(text: str, reference: TimeSpan | None) -> list[TextTime]:
    if _DIGIT.search(text) or (reference is not None and _has_trigger(text)):
        return list(_Reader(text, reference).read())
    return []


def _has_trigger(text: str) -> bool:
    return not load_lexicon().triggers.isdisjoint(_WORD.findall(text.lower()))


class _Reader:
    """Reader of one text: its tokens, and the date last read, which later ones are relative to."""

    def __init__(self, text: str, reference: TimeSpan | None) -> None:
        self._text, self._reference = text, reference
        self._tokens, self._language = read_tokens(text)
        self._letters = "".join([token.letter for token in self._tokens])
        self._anchor: TimeSpan | None = None

    def read(self) -> Iterator[TextTime]:
        """Yield the times, ranges and open ones joined."""
        atoms = self._share_years(list(self._find_atoms()))
        number = 0
        while number < len(atoms):
            atom, following = atoms[number], atoms[number + 1] if number + 1 < len(atoms) else None
            number += 1
            span = self._resolve(atom)
            if span is None:
                continue
            before = _ROLE.search(self._letters[max(atom.start - _LAST_LETTERS, 0) : atom.start])
            role, start = (before.group()[0], atom.start - len(before.group())) if before else ("", atom.start)
            joined = self._join(atom, span, following, role)
            if joined is not None and following is not None:
                number += 1
                yield self._time(start if role in "fsw" else atom.start, following.end, joined)
                continue
            present = _PRESENT.match(self._letters, atom.end)
            if present and (present["end"] == "p" or self._tokens[present.end() - 1].value == 0):
                skipped = following is not None and following.start < present.end()
                number += skipped
                yield self._time(start if role in "fs" else atom.start, present.end(), TimeSpan(span.first, None))
                continue
            opened = self._open(atom, span, role)
            yield self._time(atom.start if opened is None else start, atom.end, opened or span)

    def _time(self, first: int, end: int, span: TimeSpan) -> TextTime:
        return TextTime(self._tokens[first].start, self._tokens[end - 1].end, span)

    def _join(self, atom: _Atom, span: TimeSpan, following: _Atom | None, role: str) -> TimeSpan | None:
        if following is None or span.last is None:
            return None
        between = self._letters[atom.end : following.start]
        is_range = _RANGE.fullmatch(between) or (role == "w" and _BETWEEN.fullmatch(between))
        is_slash = between == "/" and atom.kind == following.kind == "year"
        other = self._resolve(following) if is_range or is_slash else None
        return join_spans(span, other) if other is not None else None

    def _open(self, atom: _Atom, span: TimeSpan, role: str) -> TimeSpan | None:
        """Return the open time of "since 1998", None for a date that no such word opens."""
        if span.first is None or span.last is None:
            return None
        if role == "s" or (role == "f" and self._letters[atom.end : atom.end + 1] == "h"):
            return TimeSpan(span.first, None)
        if role == "u":
            return TimeSpan(None, span.last)
        if role in ("b", "v"):
            return TimeSpan(None, span.first - 1) if span.first > 1 else None
        return TimeSpan(span.last + 1, None) if role == "a" else None

    def _find_atoms(self) -> Iterator[_Atom]:
        position = 0
        while match := _ATOM.search(self._letters, position):
            atoms = self._read_atom(match.lastgroup or "", match.start(), match.end())
            yield from atoms
            position = atoms[-1].end if atoms else match.start() + 1

    def _read_atom(self, kind: str, start: int, end: int) -> list[_Atom]:
        """Return the atoms of a match, two for "3 and 5 May"; none where it states no date after all."""
        tokens = self._tokens[start:end]
        values: dict[str, Any] = {token.letter: token.value for token in tokens}
        numbers = [int(token.value) for token in tokens if token.letter == "n"]
        atom = _Atom(kind, start, end, values.get("Y", 0), _month(values), third=values.get("P"))
        if kind in ("days", "month_days"):
            first, last = numbers
            if "&" in values:
                middle = start + 1 + (kind == "month_days")
                return [
                    replace(atom, end=middle, days=(first, first)),
                    replace(atom, start=middle + 1, days=(last, last)),
                ]
            return [replace(atom, days=(first, last))] if first < last <= 31 else []
        if kind in ("day", "month_day"):
            return [replace(atom, days=(numbers[0], numbers[0]))] if 1 <= numbers[0] <= 31 else []
        if kind == "date":
            return [replace(atom, span=values["D"])] if isinstance(values["D"], TimeSpan) else []
        if kind == "ad":
            year = values.get("Y") or values.get("0") or values.get("n")
            return [replace(atom, year=year)] if isinstance(year, int) and 1 <= year < 2100 else []
        if kind == "year":
            return self._read_year(atom, tokens)
        if kind == "decade":
            return self._read_decade(atom, values)
        if kind == "century":
            count = numbers[0] if numbers else values["r"]
            span = year_range(100 * count - 99, 100 * count) if 1 <= count <= 21 else None
            return [replace(atom, span=third_of(span, atom.third))] if span else []
        if kind == "quarter":
            one, other = (calendar_span(atom.year, 3 * int(values["q"]) - more) for more in (2, 0))
            return [replace(atom, span=join_spans(one, other))] if one and other else []
        return [atom]

    def _read_year(self, atom: _Atom, tokens: list[Token]) -> list[_Atom]:
        at = next(number for number, token in enumerate(tokens) if token.letter == "Y")
        year, behind = tokens[at], tokens[at + 1 :]
        if not self._is_year(atom.start + at, year):
            return []
        if len(behind) == 2 and behind[1].start == year.end + 1 and behind[1].end == year.end + 3:
            last = int(behind[1].value)
            century, start = divmod(atom.year, 100)
            is_month = behind[0].letter == "-" and 1 <= last <= 12 and last != start + 1
            if is_month and self._text[year.end] == "-":
                return [replace(atom, kind="month", month=last)]
            if last > start:
                return [replace(atom, span=year_range(atom.year, 100 * century + last))]
        return [replace(atom, end=atom.start + at + 1)]

    def _is_year(self, at: int, year: Token) -> bool:
        """Return whether a number of four digits is a year and no quantity, label or part of another number."""
        before = self._tokens[at - 1] if at else None
        behind = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        if before is not None and before.letter in "-/" and at > 1 and before.end == year.start:
            number = self._tokens[at - 2]
            if number.letter in "0n" and number.end == before.start:
                return False  # of a telephone number
        label = self._tokens[at - 2] if before is not None and before.letter == "." and at > 1 else before
        word = self._text[label.start : label.end] if label is not None else ""
        if word.lower() in _LABELS or (before is not None and before.letter in "#0nY%"):
            return False
        if before is not None and before.letter == "x" and len(word) > 1 and word.isupper():
            return False
        if _BC.match(self._text, year.end):
            return False
        if behind is None:
            return True
        unit = self._text[behind.start : behind.end]
        if behind.letter in "%0Y" or unit.lower() in _QUANTITIES:
            return False
        is_round = int(year.value) % 100 == 0 or int(year.value) < 1400
        is_counted = behind.letter == "x" and unit[0].isupper() == (self._language == "de")
        return not (is_round and is_counted and (before is None or before.letter in "xoZz,"))

    def _read_decade(self, atom: _Atom, values: dict[str, Any]) -> list[_Atom]:
        if "E" in values:
            start = int(values["E"])
        else:
            start, unit = int(next(values[letter] for letter in "YnC" if letter in values)), values["U"]
            at = next(number for number in range(atom.start, atom.end) if self._letters[number] == "U")
            word = self._text[self._tokens[at].start : self._tokens[at].end].lower()
            if unit != "decade" and word not in ("années", "años", "anni", "anos", "jaren"):
                return []
        if start < 100:
            start = 1900 + start if start >= 20 else 0
        first, last = {0: (0, 3), 1: (4, 6), 2: (7, 9)}.get(-1 if atom.third is None else atom.third, (0, 9))
        span = year_range(start + first, start + last) if start >= 1000 and start % 10 == 0 else None
        return [replace(atom, span=span)] if span else []

    def _share_years(self, atoms: list[_Atom]) -> list[_Atom]:
        """Return atoms of which those without a year have that of the next one: "between March and May 2004"."""
        for number in range(len(atoms) - 2, -1, -1):
            atom, following = atoms[number], atoms[number + 1]
            if atom.month and not atom.year and following.year and following.month:
                between = self._letters[atom.end : following.start]
                if _SHARE.fullmatch(between):
                    is_earlier = (atom.month, atom.days) > (following.month, following.days) and "&" not in between
                    atoms[number] = replace(atom, year=following.year - is_earlier)
        return atoms

    def _resolve(self, atom: _Atom) -> TimeSpan | None:
        """Return the days of an atom, and remember them for "the following year"."""
        span = self._absolute(atom) if atom.kind in _ABSOLUTE else self._relative(atom)
        if span is not None and span.first is not None and span.last is not None:
            self._anchor = span
        return span

    def _absolute(self, atom: _Atom) -> TimeSpan | None:
        if atom.span is not None:
            return atom.span
        first, last = atom.days
        if not atom.year:
            if self._reference is None or not atom.month:
                return None
            is_future = self._is_future(atom)
            return each_end(
                self._reference, lambda day: lone_date(day, atom.month, atom.days, atom.third, is_future=is_future)
            )
        start, end = calendar_span(atom.year, atom.month, first), calendar_span(atom.year, atom.month, last)
        span = join_spans(start, end) if start is not None and end is not None else None
        return third_of(span, atom.third) if span else None

    def _is_future(self, atom: _Atom) -> bool:
        start, end = self._tokens[atom.start].start - _NEAR, self._tokens[atom.end - 1].end + _NEAR
        near = range(max(atom.start - 12, 0), min(atom.end + 12, len(self._tokens)))
        return any(self._letters[n] == "z" for n in near) or (
            self._language in ("es", "it", "pt") and _FUTURE.search(self._text, max(start, 0), end) is not None
        )

    def _relative(self, atom: _Atom) -> TimeSpan | None:
        tokens = self._tokens[atom.start : atom.end]
        values: dict[str, Any] = {token.letter: token.value for token in tokens}
        unit = str(values.get("U") or "century")
        count = next((t.value if t.letter in "Cn" else 7 for t in tokens if t.letter in "Cnm"), 1)  # the French "sept"
        steps = int(count) * (-1 if atom.kind == "ago" or "e" in values else 1)
        base = self._reference
        is_next_day = atom.kind == "step" and "N" in values and unit == "day" and "U" in values
        is_english_next = self._language == "en" and self._letters[: atom.start].endswith("o") and "N" in values
        if atom.kind in ("later", "following", "next_day") or is_next_day or (is_english_next and self._anchor):
            base = self._anchor
        if base is None:
            return None
        if atom.kind in ("ago", "ahead", "later"):
            return each_end(base, lambda day: unit_span(day, unit, steps))
        if atom.kind == "following":
            return each_end(base, lambda day: unit_span(day, unit, int("G" in values)))
        if atom.kind in ("next_day", "near", "part"):
            moved = values.get("X", values["R"] if atom.kind == "near" and "R" in values else 0)
            if atom.kind == "near":
                moved = tokens[0].value
            return each_end(
                base, lambda day: unit_span(day, "day", moved) if moved != "year" else unit_span(day, "year", 1)
            )
        if atom.kind == "since":
            start = each_end(base, lambda day: shift_day(day, unit, -steps))
            return TimeSpan(start.first, None) if start else None
        if atom.kind == "span":
            moved_to = each_end(base, lambda day: shift_day(day, unit, steps if "N" in values else -steps))
            return (
                None
                if moved_to is None
                else join_spans(base, moved_to)
                if "N" in values
                else join_spans(moved_to, base)
            )
        step = 1 if "N" in values else -1 if "L" in values else 0
        if "W" in values:
            return each_end(base, lambda day: weekday_span(day, int(values["W"]), step))
        if "U" in values or "J" in values:
            return each_end(base, lambda day: unit_span(day, unit, step))
        return each_end(base, lambda day: lone_date(day, _month(values), (0, 0), None, step=step))


def _month(values: dict[str, Any]) -> int:
    return int(values.get("M") or values.get("m") or values.get("k") or 0)
