"""Times as spans of days: a day, a month, a year, or any two days, either end open.

Source: the proleptic Gregorian calendar of `datetime.date`. Differs from the source: nothing.
"""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from clew.errors import InputError

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

    @property
    def first_day(self) -> str:
        """The first day as `YYYY-MM-DD`, "0001-01-01" where it is open: in the order of text as in that of time."""
        return date.fromordinal(self.ordinals[0]).isoformat()

    @property
    def last_day(self) -> str:
        """The last day as `YYYY-MM-DD`, "9999-12-31" where it is open."""
        return date.fromordinal(self.ordinals[1]).isoformat()

    def contains(self, day: int) -> bool:
        """Return whether a day, as an ordinal, is in the span."""
        first, last = self.ordinals
        return first <= day <= last

    def overlaps(self, other: "TimeSpan") -> bool:
        """Return whether the two spans have a day in common."""
        return self.ordinals[0] <= other.ordinals[1] and other.ordinals[0] <= self.ordinals[1]

    def __str__(self) -> str:
        """Return the span for people: "2024-03-05", "2024-03", "1998", "1990 to 1998", "since 1998", "until 2003"."""
        if self.first is None or self.last is None:
            if self.last is not None:
                return f"until {_describe_end(self.last, is_last=True)}"
            return "at any time" if self.first is None else f"since {_describe_end(self.first, is_last=False)}"
        first, last = date.fromordinal(self.first), date.fromordinal(self.last)
        if first == last:
            return first.isoformat()
        for width, (one, other) in ((4, _year_bounds(first, last)), (7, _month_bounds(first, last))):
            if (first, last) == (one, other):
                start, end = first.isoformat()[:width], last.isoformat()[:width]
                return start if start == end else f"{start} to {end}"
        return f"{first.isoformat()} to {last.isoformat()}"


def _describe_end(ordinal: int, *, is_last: bool) -> str:
    """Return an end of an open span: its year where it begins or ends one, else its month, else its day."""
    day = date.fromordinal(ordinal)
    if day == _year_bounds(day, day)[is_last]:
        return day.isoformat()[:4]
    return day.isoformat()[: 7 if day == _month_bounds(day, day)[is_last] else 10]


def _year_bounds(first: date, last: date) -> tuple[date, date]:
    return date(first.year, 1, 1), date(last.year, 12, 31)


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
