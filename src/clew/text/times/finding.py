"""Times that texts state, found by rules: each word becomes a letter for its role, and patterns match rows of letters.

Decisions, where a text may be read in two ways:

- Two dates joined by a dash or "to" are one time from the first to the last, life dates in brackets too.
- "until 1975" and "since 1975" include the year, "before" and "after" do not; "by" and "as of" change nothing.
- "three weeks ago" is a whole week, from Monday, "two months ago" a month, "two years ago" a year.
- "last Tuesday" and "last March" are the latest before the reference, "next" the first after it, "this" in its week or
  year. A date without a year is the latest that begins by the reference; where a word such as "will" is near, the first
  that does not end before it. A weekday alone is read as no time: only the tense would tell which.
- Without a reference a date without a year is the first one after the date before it in the text, if there is one.
- Early, mid and late are thirds; of decades the years 0 to 3, 4 to 6 and 7 to 9. The
  English "1800s" are a century, seasons count for their year alone.
- "03/04/2024" is read as the day first where the language is not English, and left out in English.
- A reference of several days, such as a year, gives all days that could be meant.

Source: own rules. Differs from the source: nothing.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from clew.text.times.atoms import Atom, find_atoms
from clew.text.times.calendar import lone_date, third_of
from clew.text.times.lexicon import load_lexicon
from clew.text.times.relative import date_without_year, follows_a_date, relative_span
from clew.text.times.spans import TimeSpan, calendar_span, join_spans
from clew.text.times.tokens import Tokens

_RANGE = re.compile(r"[,)]?[-tu][doiIW,]{0,4}")
_SHARE = re.compile(r"[do)]{0,2}[-tu&,/][doiIW,]{0,4}")
_BETWEEN = re.compile(r"[do,]{0,2}&[doW]{0,3}")
_ROLE = re.compile(r"[subavwf][doiItUW,]{0,4}\Z")  # "since about the year"
_ROLE_LETTERS, _JOINING = frozenset("subavwfdoiItUW,"), frozenset("-tu&,)/do")  # next to a date in such places
_LAST_LETTERS = 6  # of a role with the words after it
_PRESENT = re.compile(r",?[-tu][doiI]{0,3}(?P<end>[pR])")
_RELATIVE = frozenset("span ago since ahead later following step part near next_day".split())  # noqa: SIM905 - a list
_MAX_TEXT = 1 << 20
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]+")


class TextTime(NamedTuple):
    """A time that a text states: the offsets of the words that state it, the days, and whether the reference told."""

    start: int
    end: int
    span: TimeSpan
    is_relative: bool = False


def find_times(text: str, reference: TimeSpan | None) -> list[TextTime]:
    """Return the times that a text states, in order, without overlaps; offsets are in the text.

    Words such as "yesterday", and dates without a year, are relative to the reference, the time of the text; without
    one, or with one whose end is open, such words state nothing. "The following year" is relative to the date before
    it. The part of a text beyond 1,048,576 characters is not read. Nothing depends on the machine's clock or locale.
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
        self._letters = self._tokens.letters
        self._anchor: TimeSpan | None = None
        self._is_relative = False  # whether the time that is read depends on the reference

    def read(self) -> Iterator[TextTime]:
        """Yield the times, ranges and open ones joined."""
        atoms = self._share_years(list(find_atoms(self._text, self._tokens)))
        number = 0
        while number < len(atoms):
            atom, following = atoms[number], atoms[number + 1] if number + 1 < len(atoms) else None
            self._is_relative = False
            span = self._resolve(atom)
            number += 1
            if span is not None:
                found, end = self._extend(atom, span, following)
                number += following is not None and following.start < end
                yield found

    def _extend(self, atom: Atom, span: TimeSpan, following: Atom | None) -> tuple[TextTime, int]:
        """Return the time of an atom with the words and the atom that belong to it, and the token behind it."""
        letters, role, start = self._letters, "", atom.start
        if letters[start - 1 : start] in _ROLE_LETTERS:
            before = _ROLE.search(letters[max(start - _LAST_LETTERS, 0) : start])
            role, start = (before.group()[0], start - len(before.group())) if before else ("", start)
        if letters[atom.end : atom.end + 1] in _JOINING:
            joined = self._join(atom, span, following, role)
            if joined is not None and following is not None:
                return self._time(start if role in "fsw" else atom.start, following.end, joined)
            present = _PRESENT.match(letters, atom.end)
            if present and (present["end"] == "p" or self._tokens.value(present.end() - 1) == 0):
                return self._time(start if role in "fs" else atom.start, present.end(), TimeSpan(span.first, None))
        if not role:
            return self._time(atom.start, atom.end, span)
        opened = self._open(atom, span, role)
        return self._time(atom.start if opened is None else start, atom.end, opened or span)

    def _time(self, first: int, end: int, span: TimeSpan) -> tuple[TextTime, int]:
        return TextTime(self._tokens.starts[first], self._tokens.ends[end - 1], span, self._is_relative), end

    def _join(self, atom: Atom, span: TimeSpan, following: Atom | None, role: str) -> TimeSpan | None:
        """Return the time from an atom to the next one, None where no words join the two."""
        if following is None or span.last is None:
            return None
        between = self._letters[atom.end : following.start]
        is_range = _RANGE.fullmatch(between) or (role == "w" and _BETWEEN.fullmatch(between))
        is_slash = between == "/" and atom.kind == following.kind == "year"
        if not is_range and not is_slash:
            return None
        was_relative = self._is_relative
        other = self._resolve(following)
        joined = join_spans(span, other) if other is not None else None
        self._is_relative = was_relative or (self._is_relative and joined is not None)
        if joined is not None and self._letters[atom.start - 1 : atom.start] == "(":
            self._anchor = None  # of a life in brackets nothing that is told later follows
        return joined

    def _open(self, atom: Atom, span: TimeSpan, role: str) -> TimeSpan | None:
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

    def _share_years(self, atoms: list[Atom]) -> list[Atom]:
        """Return atoms of which those without a year have that of the next one: "between March and May 2004"."""
        for number in range(len(atoms) - 2, -1, -1):
            atom, following = atoms[number], atoms[number + 1]
            if atom.month and not atom.year and following.year and following.month:
                between = self._letters[atom.end : following.start]
                if _SHARE.fullmatch(between):
                    is_earlier = (atom.month, atom.days) > (following.month, following.days) and "&" not in between
                    atoms[number] = atom._replace(year=following.year - is_earlier)
        return atoms

    def _resolve(self, atom: Atom) -> TimeSpan | None:
        """Return the days of an atom, and remember them for "the following year"."""
        if atom.span is not None:
            span: TimeSpan | None = atom.span
        elif atom.year:
            span = _stated_days(atom)
        elif atom.kind in _RELATIVE:
            is_anchored = follows_a_date(self._tokens, atom, self._anchor)
            base = self._anchor if is_anchored else self._reference
            self._is_relative |= not is_anchored
            span = relative_span(self._text, self._tokens, atom, base) if base is not None else None
        elif self._reference is not None and atom.month:
            self._is_relative = True
            span = date_without_year(self._text, self._tokens, atom, self._reference)
        elif self._anchor is not None and self._anchor.first is not None and atom.month:
            span = lone_date(self._anchor.first, atom.month, atom.days, atom.third, is_future=True)
        else:
            return None
        if span is not None and span.first is not None and span.last is not None:
            self._anchor = span
        return span


def _stated_days(atom: Atom) -> TimeSpan | None:
    first, last = atom.days
    span = calendar_span(atom.year, atom.month, first)
    if first != last:
        end = calendar_span(atom.year, atom.month, last)
        span = join_spans(span, end) if span is not None and end is not None else None
    return span if span is None or atom.third is None else third_of(span, atom.third)
