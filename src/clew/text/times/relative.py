"""Days that relative words mean: "last week", "two years ago", "the following year", and dates without a year.

Source: own rules. Differs from the source: nothing.
"""

import re
from typing import Any

from clew.text.times.atoms import Atom, month_of
from clew.text.times.calendar import each_end, lone_date, shift_day, third_of, unit_span, weekday_span
from clew.text.times.spans import TimeSpan, join_spans
from clew.text.times.tokens import Tokens

_FIRST = re.compile(r"\b(?:first|times?|once|twice|\w+est)\b[^.]{0,40}\Z")  # "the first in three years" is no future
_PLURALS = frozenset(
    "days weeks months years decades centuries tage tagen wochen monate monaten jahre jahren jours semaines années ans "  # noqa: SIM905
    "días semanas meses años giorni settimane mesi anni dias anos dagen weken maanden jaren".split()
)
_POSSESSIVES = frozenset("his her their its my our your whose".split())  # noqa: SIM905 - a list
_FINAL = ("dern", "últim", "ultim")  # before the noun these mean the final one
_FUTURE = re.compile(r"\w(?:r[áà]|rán|ranno|rão)\b")  # tenses of Spanish, Italian, Portuguese
_NEAR = 60  # characters around a date in which "will" turns it to the future
_NEAR_TOKENS = 12


def date_without_year(text: str, tokens: Tokens, atom: Atom, reference: TimeSpan) -> TimeSpan | None:
    """Return the days of "on 3 May" or "in March" at a reference."""
    near = tokens.letters[max(atom.start - _NEAR_TOKENS, 0) : atom.end + _NEAR_TOKENS]
    start, end = max(tokens.starts[atom.start] - _NEAR, 0), tokens.ends[atom.end - 1] + _NEAR
    has_tense = tokens.language in ("es", "it", "pt") and _FUTURE.search(text, start, end) is not None
    is_future = "z" in near or has_tense
    return each_end(reference, lambda day: lone_date(day, atom.month, atom.days, atom.third, is_future=is_future))


def follows_a_date(tokens: Tokens, atom: Atom, anchor: TimeSpan | None) -> bool:
    """Return whether relative words mean days after the date before them in the text, not after the reference."""
    if atom.kind in ("later", "following", "next_day"):
        return True
    if atom.kind != "step" or tokens.letters[atom.start : atom.start + 2] != "NU":
        return False
    is_narrative = tokens.language == "en" and tokens.letters[atom.start - 1 : atom.start] == "o"  # "the next year"
    return tokens.value(atom.start + 1) == "day" or (is_narrative and anchor is not None)


def relative_span(text: str, tokens: Tokens, atom: Atom, base: TimeSpan) -> TimeSpan | None:
    """Return the days of relative words, given the time that they are relative to; None where they are no time."""
    if _is_no_time(text, tokens, atom):
        return None
    values = tokens.values(atom.start, atom.end)
    unit = str(values.get("U") or "century")
    if atom.kind in ("ago", "ahead", "later", "span", "since"):
        return _counted_span(atom.kind, base, unit, values)
    if atom.kind in ("near", "next_day", "part", "following"):
        count = tokens.value(atom.start) if atom.kind != "part" else 0
        if atom.kind == "following":
            return each_end(base, lambda day: unit_span(day, unit, int("G" in values)))
        return each_end(
            base, lambda day: unit_span(day, "year" if count == "year" else "day", 1 if count == "year" else count)
        )
    span = _stepped_span(base, unit, values)
    is_divided = "P" in values and ("M" in values or unit in ("month", "year"))
    return third_of(span, values["P"]) if span is not None and is_divided else span


def _stepped_span(base: TimeSpan, unit: str, values: dict[str, Any]) -> TimeSpan | None:
    step = 1 if "N" in values else -1 if "L" in values else 0
    if "W" in values:
        return each_end(base, lambda day: weekday_span(day, values["W"], step))
    if month := month_of(values):
        return each_end(base, lambda day: lone_date(day, month, (0, 0), None, step=step))
    return each_end(base, lambda day: unit_span(day, unit, step))


def _counted_span(kind: str, base: TimeSpan, unit: str, values: dict[str, Any]) -> TimeSpan | None:
    # The only abbreviated month here is the French "sept", which is the number seven.
    count = next((int(values[letter]) for letter in "Cn" if letter in values), 7)
    if kind in ("ago", "ahead", "later"):
        steps = -count if kind == "ago" or "e" in values else count
        return each_end(base, lambda day: unit_span(day, unit, steps))
    steps = count if "N" in values else -count
    other = each_end(base, lambda day: shift_day(day, unit, steps))
    if other is None:
        return None
    if kind == "since":
        return TimeSpan(other.first, None)
    return join_spans(base, other) if steps > 0 else join_spans(other, base)


def _is_no_time(text: str, tokens: Tokens, atom: Atom) -> bool:
    """Return whether it is "the first in three years", "his last year", "the last year of the war" or "Last Days"."""
    if atom.kind == "ahead":
        start = tokens.starts[atom.start]
        return _FIRST.search(text, max(start - _NEAR, 0), start) is not None
    if atom.kind not in ("step", "following", "part"):
        return False
    first, last, letter = tokens.word(atom.start), tokens.word(atom.end - 1), tokens.letters[atom.end - 1]
    if letter in "UH" and last[0].isupper() and tokens.language != "de":
        return True
    if {first.lower(), last.lower()} & _PLURALS or tokens.word(atom.start - 1).lower() in _POSSESSIVES:
        return True
    is_final = first.lower().startswith(_FINAL) or tokens.letters[atom.end : atom.end + 1] == "d"
    return letter == "U" and is_final
