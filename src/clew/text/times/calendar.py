"""Arithmetic of the calendar: units of time, weekdays and months before and after a day.

Weeks begin on Monday. Source: ISO 8601. Differs from the source: nothing.
"""

from calendar import monthrange
from collections.abc import Callable
from datetime import date
from functools import lru_cache

from clew.text.times.spans import TimeSpan, calendar_span, join_spans, year_range

_YEARS = {"decade": (10, 0), "century": (100, 1)}  # how many, and the last digits of the first one


def each_end(base: TimeSpan, move: Callable[[int], TimeSpan | None]) -> TimeSpan | None:
    """Return the days from where the first day of a span is moved to where its last is; None without such days."""
    if base.first is None or base.last is None:
        return None
    first = move(base.first)
    last = first if base.first == base.last else move(base.last)
    return join_spans(first, last) if first is not None and last is not None else None


def unit_span(day: int, unit: str, count: int) -> TimeSpan | None:
    """Return the day, week, month, year, decade or century that lies some units after that of a day."""
    today = date.fromordinal(day)
    if unit == "day":
        return days_span(day + count, 1)
    if unit == "week":
        return days_span(day - today.weekday() + 7 * count, 7)
    if unit == "month":
        year, month = divmod(12 * today.year + today.month - 1 + count, 12)
        return calendar_span(year, month + 1)
    if unit == "year":
        return calendar_span(today.year + count)
    size, offset = _YEARS[unit]
    start = ((today.year - offset) // size + count) * size + offset
    return year_range(start, start + size - 1)


def shift_day(day: int, unit: str, count: int) -> TimeSpan | None:
    """Return the day some units after a day, the last of its month where that has no such day."""
    if unit in ("day", "week"):
        return days_span(day + count * (7 if unit == "week" else 1), 1)
    today = date.fromordinal(day)
    months = count * (1 if unit == "month" else 12 * _YEARS.get(unit, (1, 0))[0])
    year, month = divmod(12 * today.year + today.month - 1 + months, 12)
    if not 1 <= year <= date.max.year:
        return None
    return calendar_span(year, month + 1, min(today.day, monthrange(year, month + 1)[1]))


def days_span(first: int, count: int) -> TimeSpan | None:
    """Return some days from a first one; None where the calendar does not have them."""
    last = first + count - 1
    return TimeSpan(first, last) if first >= 1 and last <= date.max.toordinal() else None


def weekday_span(day: int, weekday: int, step: int) -> TimeSpan | None:
    """Return the last such weekday before a day for the step -1, the next after it for 1, that of its week for 0."""
    ahead = (weekday - date.fromordinal(day).weekday()) % 7
    if step:
        return days_span(day + (ahead or 7) - (7 if step < 0 and ahead else 14 if step < 0 else 0), 1)
    return days_span(day - date.fromordinal(day).weekday() + weekday, 1)


@lru_cache(maxsize=4096)
def lone_date(
    day: int, month: int, days: tuple[int, int], third: int | None, *, step: int | None = None, is_future: bool = False
) -> TimeSpan | None:
    """Return the month, or days of it, that a date without a year means at a day.

    By default that is the latest that begins by that day, or the first that does not end before it (`is_future`). With
    a step of -1 it is the latest that ends before it, with 1 the first that begins after it, with 0 that of its year.
    """
    year = date.fromordinal(day).year
    around = 8 if month == 2 and 29 in days else 1  # a year of 29 February may be eight years away
    found = [
        third_of(span, third)
        for other in range(year - around, year + around + 1)
        if (one := calendar_span(other, month, days[0])) and (two := calendar_span(other, month, days[1]))
        and (span := join_spans(one, two))
    ]  # fmt: skip
    ends = [(span, *span.ordinals) for span in found]
    if step == 0:
        return next((span for span, first, _ in ends if date.fromordinal(first).year == year), None)
    if step == 1 or (step is None and is_future):
        return next((span for span, first, last in ends if (first > day if step else last >= day)), None)
    return next((span for span, first, last in reversed(ends) if (last < day if step else first <= day)), None)


def third_of(span: TimeSpan, third: int | None) -> TimeSpan:
    """Return the first (0), middle (1) or last (2) third of a month or year, or all of it for None."""
    if third is None or span.first is None or span.last is None:
        return span
    first, last = date.fromordinal(span.first), date.fromordinal(span.last)
    if first.month == last.month:
        days = (first.replace(day=10 * third + 1), last if third == 2 else first.replace(day=10 * third + 10))
        return TimeSpan(days[0].toordinal(), days[1].toordinal())
    if (last.year - first.year) > 0:
        size = (last.year - first.year + 1) // 3
        parts = year_range(first.year + third * size, last.year if third == 2 else first.year + third * size + size - 1)
        return parts or span
    one, other = calendar_span(first.year, 4 * third + 1), calendar_span(first.year, 4 * third + 4)
    return (join_spans(one, other) if one and other else None) or span
