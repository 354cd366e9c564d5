"""Answers computed from two dates that a reader finds: ages, the years between two events, and which came first.

"How old was X when he died?" is read as "When was X born?" and "When did X die?"; the answer is the years between.

Source: own rules. Differs from the source: nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

COMPUTED_NOTE = "the answer is computed from the dates in the quoted sentences"
# Verbs that stand without an object: of others no pattern tells where the subject of the question ends.
_ALONE = "die|arrive|leave|begin|start|end|open|close|retire|resign|return|marry|sink|happen|occur"
_FORMS = tuple(
    (re.compile(rf"\A{pattern}\Z", re.IGNORECASE), first, second, kind)
    for pattern, first, second, kind in (
        (
            r"how old (?:was|were) (?P<who>.+?) when (?:he|she|they) died",
            "When was {who} born?", "When did {who} die?", "age",
        ),
        (
            r"(?:at (?:what|which) age|how old) did (?P<who>.+?) (?:die|become|get)",
            "When was {who} born?", "When did {who} die?", "age",
        ),
        (
            r"how old (?:was|were) (?P<who>.+?) when (?P<other>(?!(?:he|she|they) )\S+ .+)",
            "When was {who} born?", "When was it that {other}?", "age",
        ),
        (
            r"how many years (?:before|prior to) (?P<other>.+?) (?P<verb>did|was|were) (?P<one>.+)",
            "When {verb} {one}?", "When was {other}?", "years",
        ),
        (
            r"how many years after (?P<one>.+?) (?P<verb>did|was|were) (?P<other>.+)",
            "When was {one}?", "When {verb} {other}?", "years",
        ),
        (
            r"how many years (?:passed |elapsed |lie )?(?:between|from) (?P<one>.+?) (?:and|until) (?P<other>.+)",
            "When was {one}?", "When was {other}?", "years",
        ),
        (
            rf"(?P<verb>did) (?P<one>.+?) (?P<does>{_ALONE}) before (?P<other>.+?)(?: did)?",
            "When {verb} {one} {does}?", "When {verb} {other} {does}?", "before",
        ),
        (
            r"(?P<verb>was|were) (?P<one>.+?) (?P<does>\w+(?:ed|en|rn|lt|un)) before (?P<other>.+?)(?: (?:was|were))?",
            "When {verb} {one} {does}?", "When {verb} {other} {does}?", "before",
        ),
    )
)  # fmt: skip
_LONGEST = 300  # characters of a question that is looked at
_AFTER = re.compile(r"\bafter\b", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")  # any, since it is known to be of a date
_COUNTED_DAY = re.compile(r"\d{4}-\d\d-\d\d(?= \()")  # 2024-03-04 (yesterday)
_DAY = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


@dataclass(frozen=True, slots=True)
class DateQuestions:
    """The two questions for dates that a question is computed from, and how."""

    first: str
    second: str
    compute: Callable[[str, str], str]  # of the two dates as they are written; "" where they decide nothing


def questions_of_dates(question: str) -> DateQuestions | None:
    """Return the questions for the two dates that decide a question; None for a question of another form."""
    is_turned = question.lower().startswith(("did ", "was ", "were ")) and _AFTER.search(question) is not None
    text = (_AFTER.sub("before", question, count=1) if is_turned else question).strip().rstrip(" ?.!")
    for pattern, first, second, kind in _FORMS if len(text) <= _LONGEST else ():
        if match := pattern.match(text):
            parts = {name: part.lower() if name == "verb" else part for name, part in match.groupdict().items()}
            asked = first.format(**parts), second.format(**parts)
            earlier, later = asked[::-1] if is_turned else asked
            return DateQuestions(earlier, later, _COMPUTE[kind])
    return None


def describe_age(birth: str, death: str) -> str:
    """Return the age, in whole years, between two dates as they are written; "" where the second is the earlier one."""
    years = _read_years(birth, death)
    if years is None:
        return ""
    days = [_read_day(text, year) for text, year in zip((birth, death), years, strict=True)]
    if days[0] is not None and days[1] is not None:
        age = years[1] - years[0] - ((days[1].month, days[1].day) < (days[0].month, days[0].day))
        return str(age) if age >= 0 else ""
    return f"{years[1] - years[0] - 1} or {years[1] - years[0]}" if years[1] > years[0] else ""


def describe_years(first: str, second: str) -> str:
    """Return how many years the second date's year is after the first one's; "" where it is not after it."""
    years = _read_years(first, second)
    return str(years[1] - years[0]) if years is not None and years[1] > years[0] else ""


def is_before(first: str, second: str) -> str:
    """Return "yes" where the first date is the earlier one, "no" where it is the later one; "" where neither shows."""
    years = _read_years(first, second)
    if years is None:
        return ""
    days = [_read_day(text, year) for text, year in zip((first, second), years, strict=True)]
    places = days if years[0] == years[1] else years
    if None in places or places[0] == places[1]:
        return ""
    return "yes" if places[0] < places[1] else "no"  # type: ignore[operator]


_COMPUTE = {"age": describe_age, "years": describe_years, "before": is_before}


def _read_years(first: str, second: str) -> tuple[int, int] | None:
    years = [_YEAR.search(text) for text in (first, second)]
    return None if years[0] is None or years[1] is None else (int(years[0].group()), int(years[1].group()))


def _read_day(text: str, year: int) -> date | None:
    if counted := _COUNTED_DAY.match(text):
        return date.fromisoformat(counted.group())
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
