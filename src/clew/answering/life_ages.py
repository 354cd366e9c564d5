"""Ages at death, from the dates in the brackets after a name: "How old was X when he died?".

Source: own rules. Differs from the source: nothing.
"""

import re
from datetime import date

from clew.answering.named_subject import LifeDate, find_subject, read_life
from clew.answering.question_analysis import QuestionAnalysis
from clew.types import Mention

COMPUTED_AGE_NOTE = "the answer is computed from the dates in the brackets after the name, in the first quoted sentence"
_ASKS_AGE = re.compile(
    r"\bhow old (?:was|were)\b.*\bwhen (?:he|she|they) died\W*\Z|\bat (?:what|which) age did\b.*\bdie\W*\Z",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")  # any, since it is known to be of a date
_DAY = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


def find_age(analysis: QuestionAnalysis) -> LifeDate | None:
    """Return the age at death that a question asks for, and the sentence with both dates; None where it is unclear.

    It is one number where both dates have a day, else the two that the years leave open: "47 or 48".
    """
    if not _ASKS_AGE.search(analysis.question) or (subject := find_subject(analysis)) is None:
        return None
    found: dict[str, LifeDate] = {}
    for sentence in analysis.sentences:
        if sentence.passage.id in subject.passages:
            birth, death = (read_life(sentence, is_birth=is_birth) for is_birth in (True, False))
            text = describe_age(birth, death) if birth and death else ""
            if text:
                found.setdefault(text, LifeDate(text, sentence))
    return next(iter(found.values())) if len(found) == 1 else None


def describe_age(birth: Mention, death: Mention) -> str:
    """Return the age, in whole years, between two dates as they are written; "" where the second is the earlier one."""
    years = [_YEAR.search(mention.name) for mention in (birth, death)]
    if years[0] is None or years[1] is None:
        return ""
    born, died = int(years[0].group()), int(years[1].group())
    days = [_read_day(mention.name, year) for mention, year in zip((birth, death), (born, died), strict=True)]
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
