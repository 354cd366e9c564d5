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
from typing import Any, NamedTuple

from clew.text.times.calendar import each_end, lone_date, shift_day, third_of, unit_span, weekday_span
from clew.text.times.lexicon import load_lexicon
from clew.text.times.spans import TimeSpan, calendar_span, join_spans, year_range
from clew.text.times.tokens import Tokens

_SKIP = "[doiIU,]{0,4}"  # words between "since" and a date: "since about the year"
_P = "(?:P[-do]{0,3})?"
# All quantifiers are bounded, so that no text takes more than linear time.
_ATOM = re.compile(
    r"(?=[LNTCnvsFIwGSUDMmkWRXPrJEqY@0])(?:(?P<span>[LN][Cn][UJ]|[Cn][LN]U)"
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
    r"|(?P<lone>P[-do]{0,3}M|(?<=[iIdsubafwvt&-])M|(?<=[iI])[mk]|M(?=[-tu&,]M)))"
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


class _Atom(NamedTuple):
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
    text = text[:_MAX_TEXT]
    if _DIGIT.search(text) or (reference is not None and _has_trigger(text)):
        return list(_Reader(text, reference).read())
    return []


def _has_trigger(text: str) -> bool:
    return not load_lexicon().triggers.isdisjoint(_WORD.findall(text.lower()))


class _Reader:
    """Reader of one text: its tokens, and the date last read, which later ones are relative to."""

    def __init__(self, text: str, reference: TimeSpan | None) -> None:
        self._text, self._reference, self._tokens = text, reference, Tokens(text)
        self._letters, self._language = self._tokens.letters, self._tokens.language
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
            if present and (present["end"] == "p" or self._tokens.value(present.end() - 1) == 0):
                skipped = following is not None and following.start < present.end()
                number += skipped
                yield self._time(start if role in "fs" else atom.start, present.end(), TimeSpan(span.first, None))
                continue
            opened = self._open(atom, span, role)
            yield self._time(atom.start if opened is None else start, atom.end, opened or span)

    def _time(self, first: int, end: int, span: TimeSpan) -> TextTime:
        return TextTime(self._tokens.starts[first], self._tokens.ends[end - 1], span)

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
        if kind == "year" and end == start + 1:
            span = calendar_span(self._tokens.value(start)) if self._is_year(start) else None
            return [_Atom(kind, start, end, self._tokens.value(start), span=span)] if span else []
        values = self._values(start, end)
        numbers = [int(self._tokens.value(at)) for at in range(start, end) if self._letters[at] == "n"]
        atom = _Atom(kind, start, end, values.get("Y", 0), _month(values), third=values.get("P"))
        if kind in ("days", "month_days"):
            first, last = numbers
            if "&" in values:
                middle = start + 1 + (kind == "month_days")
                return [
                    atom._replace(end=middle, days=(first, first)),
                    atom._replace(start=middle + 1, days=(last, last)),
                ]
            return [atom._replace(days=(first, last))] if first < last <= 31 else []
        if kind in ("day", "month_day"):
            return [atom._replace(days=(numbers[0], numbers[0]))] if 1 <= numbers[0] <= 31 else []
        if kind == "date":
            return [atom._replace(span=values["D"])] if isinstance(values["D"], TimeSpan) else []
        if kind == "ad":
            year = values.get("Y") or values.get("0") or values.get("n")
            return [atom._replace(year=year)] if isinstance(year, int) and 1 <= year < 2100 else []
        if kind == "year":
            return self._read_year(atom)
        if kind == "decade":
            return self._read_decade(atom, values)
        if kind == "century":
            count = numbers[0] if numbers else values["r"]
            span = year_range(100 * count - 99, 100 * count) if 1 <= count <= 21 else None
            return [atom._replace(span=third_of(span, atom.third))] if span else []
        if kind == "quarter":
            one, other = (calendar_span(atom.year, 3 * int(values["q"]) - more) for more in (2, 0))
            return [atom._replace(span=join_spans(one, other))] if one and other else []
        return [atom]

    def _read_year(self, atom: _Atom) -> list[_Atom]:
        at = self._letters.index("Y", atom.start)
        if not self._is_year(at):
            return []
        end = self._tokens.ends[at]
        if atom.end == at + 3 and self._tokens.starts[at + 2] == end + 1 and self._tokens.ends[at + 2] == end + 3:
            last, (century, start) = int(self._tokens.value(at + 2)), divmod(atom.year, 100)
            if self._text[end] == "-" and 1 <= last <= 12 and last != start + 1:
                return [atom._replace(kind="month", month=last)]
            if last > start:
                return [atom._replace(span=year_range(atom.year, 100 * century + last))]
        return [atom._replace(end=at + 1)]

    def _is_year(self, at: int) -> bool:
        """Return whether a number of four digits is a year and no quantity, label or part of another number."""
        tokens, value = self._tokens, int(self._tokens.value(at))
        behind = self._letters[at + 1 : at + 2] or " "
        earlier, before = self._letters[at - 2 : at] if at > 1 else " " + (self._letters[:at] or " ")
        label, unit = tokens.word(at - 1 - (before == ".")), tokens.word(at + 1)
        if before in "-/" and earlier in "0n" and tokens.ends[at - 2] + 1 == tokens.starts[at] - 1 + (before == " "):
            return False  # of a telephone number
        if before in "#0nY%" or label.lower() in _LABELS or (before == "x" and len(label) > 1 and label.isupper()):
            return False
        if behind in "%0Y" or unit.lower() in _QUANTITIES or _BC.match(self._text, tokens.ends[at]):
            return False
        is_counted = behind == "x" and unit[0].isupper() == (self._language == "de") and before in " xoZz,"
        return not (is_counted and (value % 100 == 0 or value < 1400))

    def _values(self, start: int, end: int) -> dict[str, Any]:
        """Return the values of some tokens by their letters."""
        return {self._letters[at]: self._tokens.value(at) for at in range(start, end)}

    def _read_decade(self, atom: _Atom, values: dict[str, Any]) -> list[_Atom]:
        if "E" in values:
            start = int(values["E"])
        else:
            start, unit = int(next(values[letter] for letter in "YnC" if letter in values)), values["U"]
            at = next(number for number in range(atom.start, atom.end) if self._letters[number] == "U")
            word = self._tokens.word(at).lower()
            if unit != "decade" and word not in ("années", "años", "anni", "anos", "jaren"):
                return []
        if start < 100:
            start = 1900 + start if start >= 20 else 0
        first, last = {0: (0, 3), 1: (4, 6), 2: (7, 9)}.get(-1 if atom.third is None else atom.third, (0, 9))
        span = year_range(start + first, start + last) if start >= 1000 and start % 10 == 0 else None
        return [atom._replace(span=span)] if span else []

    def _share_years(self, atoms: list[_Atom]) -> list[_Atom]:
        """Return atoms of which those without a year have that of the next one: "between March and May 2004"."""
        for number in range(len(atoms) - 2, -1, -1):
            atom, following = atoms[number], atoms[number + 1]
            if atom.month and not atom.year and following.year and following.month:
                between = self._letters[atom.end : following.start]
                if _SHARE.fullmatch(between):
                    is_earlier = (atom.month, atom.days) > (following.month, following.days) and "&" not in between
                    atoms[number] = atom._replace(year=following.year - is_earlier)
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
        span = calendar_span(atom.year, atom.month, first)
        if first != last:
            end = calendar_span(atom.year, atom.month, last)
            span = join_spans(span, end) if span is not None and end is not None else None
        return span if span is None or atom.third is None else third_of(span, atom.third)

    def _is_future(self, atom: _Atom) -> bool:
        start, end = self._tokens.starts[atom.start] - _NEAR, self._tokens.ends[atom.end - 1] + _NEAR
        near = range(max(atom.start - 12, 0), min(atom.end + 12, len(self._letters)))
        return any(self._letters[n] == "z" for n in near) or (
            self._language in ("es", "it", "pt") and _FUTURE.search(self._text, max(start, 0), end) is not None
        )

    def _relative(self, atom: _Atom) -> TimeSpan | None:
        values = self._values(atom.start, atom.end)
        unit = str(values.get("U") or "century")
        count = next((values[key] for key in "Cn" if key in values), 7 if "m" in values else 1)  # the French "sept"
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
                moved = self._tokens.value(atom.start)
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
