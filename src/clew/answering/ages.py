"""Ages at death, computed from the two dates that a reader finds: "How old was X when he died?".

Source: own rules. Differs from the source: nothing.
"""

import re
from datetime import date

COMPUTED_AGE_NOTE = "the answer is computed from the dates of birth and death in the quoted sentences"
_ASKS_AGE = re.compile(
    r"\bhow old (?:was|were) (?P<who>.+?) when (?:he|she|they) died\W*\Z"
    r"|\bat (?:what|which) age did (?P<other>.+?) die\W*\Z",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")  # any, since it is known to be of a date
_DAY = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


def questions_of_dates(question: str) -> tuple[str, str] | None:
    """Return the questions for birth and death of whom a question asks the age at death; None for another question."""
    match = _ASKS_AGE.search(question)
    if match is None:
        return None
    name = match["who"] or match["other"]
    return f"When was {name} born?", f"When did {name} die?"


def describe_age(birth: str, death: str) -> str:
    """Return the age, in whole years, between two dates as they are written; "" where the second is the earlier one."""
    years = [_YEAR.search(text) for text in (birth, death)]
    if years[0] is None or years[1] is None:
        return ""
    born, died = int(years[0].group()), int(years[1].group())
    days = [_read_day(text, year) for text, year in zip((birth, death), (born, died), strict=True)]
    if days[0] is not None and days[1] is not None:
        age = died - born - ((days[1].month, days[1].day) < (days[0].month, days[0].day))
        return str(age) if age >= 0 else ""
    return f"{died - born - 1} or {died - born}" if died > born else ""


def _read_day(text: str, year: int) -> date | None:
    month = next((_MONTHS.index(m.group()[:3].lower()) + 1 for m in _MONTH.finditer(text) if _is_month(m)), 0)
    day = _DAY.search(text)
    if not month or day is None:
        return None
    try:
        return date(year, month, int(day.group()))
    except ValueError:  # the 31st of June
        return None


def _is_month(match: "re.Match[str]") -> bool:
    return match.group()[:3].lower() in _MONTHS
