"""Times that values state: of metadata, of options and of file names.

Source: ISO 8601, RFC 2822 (by `email.utils`), and the forms that `clew.text.times.finding` reads in texts. Differs from
the source: the zone of a time is not converted, so that a value states the day that it shows.
"""

import math
import re
from datetime import UTC, date, datetime, timedelta

from clew.text.times.finding import find_times
from clew.text.times.spans import TimeSpan, calendar_span

_CLOCK = r"(?:[T ]\d\d(?::?\d\d){0,2}(?:[.,]\d{1,9})?\s?(?:Z|UTC|[+-]\d\d:?(?:\d\d)?)?)?"
_PDF_CLOCK = r"\d{6}(?:Z|[+-]\d\d'?\d\d'?)?"  # "D:20240305101500+01'00'"
_ISO = re.compile(
    r"(?:D:(?=\d{8}))?(?P<y>\d{4})"
    rf"(?:-(?P<m>\d\d)(?:-(?P<d>\d\d){_CLOCK})?|(?P<m2>\d\d)(?P<d2>\d\d)(?:{_PDF_CLOCK}|{_CLOCK}))?"
)
_MAIL = re.compile(r"(?:\w{3,9},\s*)?\d{1,2}\s+\w{3,9}\s+\d{2,4}\s+\d\d:\d\d")
_WEEKDAY = re.compile(r"\w{2,12}\.?, *")  # before a date in words, and a time of day behind it
_TIME_OF_DAY = re.compile(
    r"[ ,]*(?:(?:at|um|à|a las) )?\d{1,2}[:.h]\d\d(?:[:.]\d\d)?\s?(?:[AaPp]\.?[Mm]\.?|Uhr)?"
    r"(?:\s?(?:[A-Z]{1,5}|[+-]\d\d:?\d\d))?"
)
_MAX_VALUE = 80  # characters: a longer text is no date
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_SECONDS = (10**8, 4 * 10**9)  # from 1973 to 2096; a thousand times as much is milliseconds
# In a name, digits, letters and dots around a date would make it a part of something else: v2024-03, 20240305001.
_NAME_DATE = re.compile(
    r"(?<![\d.])(?P<y2>(?:19|20)\d\d)(?P<m2>\d\d)(?P<d2>\d\d)(?:T\d{4,6}Z?)?(?!\d)"
    r"|(?<![\d.])(?<!\d[-_])(?P<y>(?:19|20)\d\d)(?P<by>[-_./])(?P<m>\d\d)(?:(?P=by)(?P<d>\d\d))?(?!\d|[-.]\d)"
    r"|(?<![\d.])(?P<d3>\d\d)(?P<by3>[-_.])(?P<m3>\d\d)(?P=by3)(?P<y3>(?:19|20)\d\d)(?!\d|[-.]\d)"
)


def read_time(value: object) -> TimeSpan | None:
    """Return the time that a value plainly states; None for any other.

    Read are ISO 8601 (a day, month or year, with a time of day and zone), mail dates (RFC 2822), a date in words of the
    languages of `find_times`, with weekday and time of day, and "12.03.1998" with the day first; of numbers, seconds or
    milliseconds since 1970 from 1973 to 2096, years from 1000 to 2099, and days from 19000101 to 20991231; `date` and
    `datetime`. "03/04/2024" may be in March or April and states none; "13/04/2024" is in April.
    """
    if isinstance(value, date):  # a datetime too
        return TimeSpan(value.toordinal(), value.toordinal())
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return _read_number(value)
    text = value.strip()
    if not text or len(text) > _MAX_VALUE:
        return None
    if match := _ISO.fullmatch(text):
        return _read_parts(match["y"], match["m"] or match["m2"], match["d"] or match["d2"])
    if text.isascii() and text.isdigit():
        return _read_number(int(text))
    if _MAIL.match(text):
        return _read_mail_date(text)
    found = find_times(text, None)
    if len(found) != 1:
        return None
    before, behind = text[: found[0].start], text[found[0].end :]
    is_plain = (not before or _WEEKDAY.fullmatch(before)) and (not behind or _TIME_OF_DAY.fullmatch(behind))
    return found[0].span if is_plain else None


def _read_number(value: float) -> TimeSpan | None:
    if not math.isfinite(value):
        return None
    if 1000 <= value < 2100:
        return calendar_span(int(value)) if value == int(value) else None
    if isinstance(value, int) and 19000101 <= value <= 20991231:
        return _read_parts(str(value)[:4], str(value)[4:6], str(value)[6:])
    low, high = _EPOCH_SECONDS
    seconds = value / 1000 if value >= low * 1000 else value
    if not low <= seconds < high:
        return None
    ordinal = (_EPOCH + timedelta(seconds=seconds)).toordinal()
    return TimeSpan(ordinal, ordinal)


def _read_parts(year: str, month: str | None, day: str | None) -> TimeSpan | None:
    return None if "00" in (month, day) else calendar_span(int(year), int(month or 0), int(day or 0))


def _read_mail_date(text: str) -> TimeSpan | None:
    from email.utils import parsedate

    fields = parsedate(text)
    return calendar_span(*fields[:3]) if fields is not None else None


def find_file_time(name: str) -> TimeSpan | None:
    """Return the time in the name or path of a file, the last one that it states; None without.

    Read are a year and month with a separator, "report-2024-03.pdf", and a day with or without, "IMG_20240305_1.jpg",
    "2024/03/05.md", in the years 1900 to 2099; also "05.03.2024", the day first.
    """
    found = None
    for match in _NAME_DATE.finditer(name[-4096:]):
        part = match.groupdict(default="0")
        year, month, day = (sum(int(part[key]) for key in keys.split()) for keys in ("y y2 y3", "m m2 m3", "d d2 d3"))
        found = calendar_span(year, month, day) or found
    return found
