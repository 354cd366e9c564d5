"""Atoms of times in a row of tokens: dates, months, years, decades, centuries and relative words, each by itself.

Source: own rules. Differs from the source: nothing.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from clew.text.times.calendar import third_of
from clew.text.times.spans import TimeSpan, calendar_span, join_spans, year_range
from clew.text.times.tokens import Tokens

_P = "(?:P[-do]{0,3})?"
# All quantifiers are bounded, so that no text takes more than linear time.
_ATOM = (
    r"(?=[LNTCnvsFIwGSUDMmkWRXPrJEOVqY@0])(?:(?P<span>[LN][Cn][UJ]|[Cn][LN]U)"
    r"|(?P<ago>v[Cnm]o?[UJ]|[Cn][UJ]g)"
    r"|(?P<since>s[doi]?[Cnm]U(?!g)|sv[Cnm]U)"
    r"|(?P<ahead>[FIw][Cnm]U(?![gleJ]))"
    r"|(?P<later>[Cnm]U[le])"
    r"|(?P<following>[GS]o?[UJ]|UG)"
    r"|(?P<date>D)"
    r"|(?P<days>n\.?[-tu&/]o?n\.?[do]{0,2}(?:M|[mk]\.?)(?:[do,]{0,2}[Yy])?)"
    r"|(?P<month_days>(?:M|m\.?)n[-tu&]n(?:,?Y)?)"
    r"|(?P<day>n\.?[do]{0,2}(?:M|m\.?)(?:[do,]{0,2}[Yy])?|n[do]{0,2}k[Yy]|(?<=[iIo])nk)"
    r"|(?P<month_day>(?:M|m\.?|(?<=[iI])k)n(?!U)(?:,?[Yy])?)"
    rf"|(?P<month>{_P}(?:M|[mk]\.?)[do,]{{0,2}}(?:Y|y(?![xUdo])))"
    rf"|(?P<step>{_P}(?:[LNT][UMmkWJ]|[UMW][LN]))"
    r"|(?P<part>TH)|(?P<near>R[HR]?)|(?P<next_day>X)"
    rf"|(?P<century>{_P}(?:[nr][.-]?J|J[do]?[nr]))"
    rf"|(?P<decade>{_P}(?:E|U[do]?[nCY]|(?<=[odP])O))|(?P<day_dot>(?<=[iIfusoatvw&-])V)"
    r"|(?P<month_year>n/Y)|(?P<quarter>q[,/]?Y|Yq)|(?P<ad>@[nyY]|[yn]@)"
    rf"|(?P<year>{_P}Y(?:[-/]n)?)"
    r"|(?P<lone>P[-do]{0,3}M|(?<=[iIdsubafwvt&-])M|(?<=[iI])[mk]|M(?=[-tu&,]M)))"
)
_BC = re.compile(r"\s{0,3}(?:B\.?\s?C|v\.?\s?(?:Chr|u\.\s?Z)|av(?:ant|\.)?\s?J|a\.\s?(?:de\s)?C|antes de Cristo)")
_DECADE_PARTS = {None: (0, 9), 0: (0, 3), 1: (4, 6), 2: (7, 9)}  # early, mid, late
_DECADE_WORDS = ("années", "años", "anni", "anos", "jaren")  # "los años 60"
_COUNTED_FROM = 1400  # a number below is a year only where a word such as "in" is before it, or no noun behind it
_PLAIN_BEFORE = frozenset("iIsufbawt&(,dP")
_LABELS = frozenset(
    "no nr nº n° № num number room zimmer raum saal bureau salle sala habitación aula stanza kamer quarto iso din "  # noqa: SIM905 - a list
    "norm norme norma article artikel artículo articolo artigo art page seite p s pp line zeile flight flug vol "
    "bus gate section abschnitt chapter kapitel chapitre capítulo capitolo hoofdstuk rev code tel telefon model "
    "modell windows office law loi ley rfc port version v tél phone id paragraph ref order invoice bestellung "
    "rechnung facture factura n numero número numéro".split()
)
_QUANTITIES = frozenset(
    "ms euro euros dollar dollars pound pounds eur usd gbp chf franc francs franken pesetas pesos kelvin grad degrees "  # noqa: SIM905 - a list
    "degrés grados gradi km m kg g mm cm ml l mb gb kb kw mw w v hz mhz metres meters meter mètres metros metri "
    "miles people personen personnes personas persone pessoas times mal fois veces volte words wörter mots "
    "palabras steps inhabitants einwohner habitants habitantes stück pieces units hours stunden heures horas "
    "tonnes tons tonnen mark percent prozent yen rubles watts watt volt employees mitarbeiter feet yards acres "
    "hectares hektar kilometres kilometers kilometer kilómetros pages seiten visitors besucher soldiers soldaten "
    "ships schiffe men seats".split()
)


class Atom(NamedTuple):
    """A date in a row of tokens; its year is 0 where none is stated, and relative ones have no span."""

    kind: str
    start: int  # number of the first token
    end: int  # number of the token behind it
    year: int = 0
    month: int = 0
    days: tuple[int, int] = (0, 0)
    third: int | None = None  # early, mid, late
    span: TimeSpan | None = None


@lru_cache(maxsize=1)
def _atom_pattern() -> re.Pattern[str]:
    return re.compile(_ATOM)  # on the first use, since it takes long


def find_atoms(text: str, tokens: Tokens) -> Iterator[Atom]:
    """Yield the atoms of a text, in order."""
    position, pattern = 0, _atom_pattern()
    while match := pattern.search(tokens.letters, position):
        kind, start, end = match.lastgroup or "", match.start(), match.end()
        if _BC.match(text, tokens.ends[end - 1]):
            position = end
            continue
        atoms = _read_atom(text, tokens, kind, start, end)
        yield from atoms
        position = atoms[-1].end if atoms else start + 1


def month_of(values: dict[str, Any]) -> int:
    """Return the month of some tokens' values by their letters; 0 without."""
    return int(values.get("M") or values.get("m") or values.get("k") or 0)


def _read_atom(text: str, tokens: Tokens, kind: str, start: int, end: int) -> list[Atom]:
    """Return the atoms of a match, two for "3 and 5 May"; none where it states no date after all."""
    if kind == "year":
        return _read_year(text, tokens, start, end)
    values = tokens.values(start, end)
    numbers = [int(tokens.value(at)) for at in range(start, end) if tokens.letters[at] == "n"]
    year = values.get("Y") or values.get("y") or 0
    atom = Atom(kind, start, end, year, month_of(values), third=values.get("P"))
    match kind:
        case "days" | "month_days":
            return _read_days(tokens.letters, atom, numbers, is_list="&" in values)
        case "day" | "month_day":
            days = numbers[0], numbers[0]
        case "day_dot":
            atom, days = atom._replace(month=values["V"] % 100), (values["V"] // 100,) * 2
        case "date":
            before = text[max(tokens.starts[start] - 1, 0) : tokens.starts[start]]
            if _label(tokens, start) in _LABELS or (before.isascii() and before.isalnum()) or before in tuple("./,-_"):
                return []
            day = date.fromordinal(values["D"].first)
            return [atom._replace(span=values["D"], year=day.year, month=day.month, days=(day.day, day.day))]
        case "month_year":
            is_month = len(tokens.word(start)) == 2 and 1 <= numbers[0] <= 12
            return (
                [atom._replace(month=numbers[0])]
                if is_month and tokens.ends[start] + 1 == tokens.starts[start + 2]
                else []
            )
        case "century" | "quarter" | "decade":
            span = _read_years(tokens, atom, values, numbers)
            return [atom._replace(span=span)] if span is not None else []
        case "ad":
            return [atom._replace(year=year or numbers[0])]
        case _:
            days = 0, 0
    return [atom._replace(days=days)] if max(days) <= 31 else []


def _read_days(letters: str, atom: Atom, numbers: list[int], *, is_list: bool) -> list[Atom]:
    first, last = numbers
    if max(numbers) > 31:
        return []
    if is_list:
        middle = letters.index("&", atom.start)
        return [atom._replace(end=middle, days=(first,) * 2), atom._replace(start=middle + 1, days=(last,) * 2)]
    return [atom._replace(days=(first, last))] if first < last else []


def _read_years(tokens: Tokens, atom: Atom, values: dict[str, Any], numbers: list[int]) -> TimeSpan | None:
    """Return the days of a century, a quarter of a year or a decade."""
    if atom.kind == "century":
        count = numbers[0] if numbers else values["r"]
        span = year_range(100 * count - 99, 100 * count) if count <= 21 else None
        return third_of(span, atom.third) if span is not None else None
    if atom.kind == "quarter":
        first, last = (calendar_span(atom.year, 3 * values["q"] - before) for before in (2, 0))
        return join_spans(first, last) if first is not None and last is not None else None
    start = next(int(values[letter]) for letter in "EOYnC" if letter in values)
    if "U" in values and values["U"] != "decade":
        word = tokens.word(tokens.letters.index("U", atom.start)).lower()
        if word not in _DECADE_WORDS:
            return None
    if "E" in values and start % 100 == 0 and 1000 <= start < 2000 and tokens.language == "en":
        span = year_range(start, start + 99)  # the 1800s
        return third_of(span, atom.third) if span is not None else None
    start += 1900 if 20 <= start < 100 else 0
    early, late = _DECADE_PARTS[atom.third]
    return year_range(start + early, start + late) if start >= 1000 and start % 10 == 0 else None


def _read_year(text: str, tokens: Tokens, start: int, end: int) -> list[Atom]:
    """Return a year, or the years of "1990-98" and "2018/19", or a month, "2024-03"."""
    if end == start + 1:
        return [Atom("year", start, end, tokens.value(start))] if _is_year(text, tokens, start) else []
    at = tokens.letters.index("Y", start)
    if not _is_year(text, tokens, at):
        return []
    year, third, behind = tokens.value(at), tokens.value(start) if at > start else None, tokens.ends[at]
    if end == at + 3 and tokens.starts[at + 2] == behind + 1 and tokens.ends[at + 2] == behind + 3:
        if tokens.letters[end : end + 1] == "-" and tokens.starts[end] == tokens.ends[end - 1]:
            return []  # the name of a file: 2026-11-22-notes.md
        last, (century, short) = tokens.value(at + 2), divmod(year, 100)
        if text[behind] == "-" and 1 <= last <= 12 and last != short + 1:
            return [Atom("month", start, end, year, last)]
        if last > short:
            return [Atom("year", start, end, year, span=year_range(year, 100 * century + last))]
    return [Atom("year", start, at + 1, year, third=third)]


def _label(tokens: Tokens, at: int) -> str:
    """Return the word before a token, beyond a full stop or colon: "No. 1904"."""
    back = 1
    while back < 3 and tokens.letters[at - back : at - back + 1] in (".", ";"):
        back += 1
    word = tokens.word(at - back).lower()
    return word if len(word) > 1 or back > 1 else ""  # the "s" of "Nixon's" is none


def _is_year(text: str, tokens: Tokens, at: int) -> bool:
    """Return whether a number of four digits is a year and no quantity, label or part of another number."""
    letters = tokens.letters
    before, behind = letters[at - 1 : at], letters[at + 1 : at + 2]
    if before in _PLAIN_BEFORE and behind not in "x%0yY":
        return True
    earlier, start, end = letters[at - 2 : at - 1] if at > 1 else "", tokens.starts[at], tokens.ends[at]
    if before and before in "-/" and earlier and earlier in "0ny" and tokens.ends[at - 2] + 1 == start:
        return False  # of a telephone number
    if before and before in "0nyY" and text[tokens.ends[at - 1] : start] == " ":
        return False
    if (
        before == "-"
        and earlier == "Y"
        and letters[at - 3 : at - 2] == "-"
        and tokens.ends[at - 3] == tokens.starts[at - 2]
    ):
        return False  # the last of a row of numbers
    label, unit = _label(tokens, at), tokens.word(at + 1)
    if (
        (before and before in "#%")
        or label in _LABELS
        or (before == "x" and len(label) > 1 and tokens.word(at - 1).isupper())
    ):
        return False
    if behind and behind in "0yY" and text[end : tokens.starts[at + 1]] == " ":
        return False
    if behind == "%" or unit.lower() in _QUANTITIES:
        return False
    value = tokens.value(at)
    is_doubtful = value % 100 == 0 or value < _COUNTED_FROM
    is_noun = behind == "x" and unit[0].isupper() == (tokens.language == "de")
    return not (is_doubtful and is_noun and before in ("", *"xoZz,"))
