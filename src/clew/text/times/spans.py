"""Times as spans of days: a day, a month, a year, or any two days, either end open.

Source: the proleptic Gregorian calendar of `datetime.date`. Differs from the source: nothing.
"""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from clew.errors import InputError
from clew.types import Time

_LAST_ORDINAL = date.max.toordinal()


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time, as its first and last day, both inclusive, in days since 0001-01-01, which is day 1 (`date.toordinal`).

    An end that is None is open: "since 1998" has no last day. A span of days that do not exist or are in no order is
    an `InputError`.
    """

    first: int | None
    last: int | None

    def __post_init__(self) -> None:
        first, last = self.ordinals
        if not 1 <= first <= last <= _LAST_ORDINAL:
            raise InputError(f"a time from day {first} to day {last}; days ascend from 1 to {_LAST_ORDINAL}")

    @property
    def ordinals(self) -> tuple[int, int]:
        """The first and last day as numbers to compare; an open end is the first or last day of all."""
        return (1 if self.first is None else self.first), (_LAST_ORDINAL if self.last is None else self.last)

    @classmethod
    def from_days(cls, first: str, last: str) -> "TimeSpan":
        """Return the span of two days as `days` writes them."""
        start, end = (date.fromisoformat(day).toordinal() if day else None for day in (first, last))
        return cls(start, end)

    @property
    def days(self) -> tuple[str, str]:
        """The first and the last day as `YYYY-MM-DD`, "" for an open end."""
        first, last = ("" if end is None else date.fromordinal(end).isoformat() for end in (self.first, self.last))
        return first, last

    def __str__(self) -> str:
        """Return the span for people, as `clew.types.Time`."""
        return str(Time(*self.days))


def _month_bounds(first: date, last: date) -> tuple[date, date]:
    return first.replace(day=1), last.replace(day=monthrange(last.year, last.month)[1])


@lru_cache(maxsize=4096)
def calendar_span(year: int, month: int = 0, day: int = 0) -> TimeSpan | None:
    """Return a day, a month where the day is 0, or a year where the month is 0 too; None where there is no such."""
    if not 1 <= year <= date.max.year or not 0 <= month <= 12 or not 0 <= day <= 31 or (day and not month):
        return None
    if month and day > monthrange(year, month)[1]:
        return None
    first, last = date(year, month or 1, day or 1), date(year, month or 12, day or 28)
    return TimeSpan(first.toordinal(), (last if day else _month_bounds(last, last)[1]).toordinal())


def year_range(first: int, last: int) -> TimeSpan | None:
    """Return whole years from one to another; None where they are in no order or there are no such years."""
    start, end = calendar_span(first), calendar_span(last)
    return join_spans(start, end) if start is not None and end is not None else None


def join_spans(one: TimeSpan, other: TimeSpan) -> TimeSpan | None:
    """Return the span from the first day of one to the last of another; None where that is before it."""
    return TimeSpan(one.first, other.last) if one.ordinals[0] <= other.ordinals[1] else None
