"""Times of day in a text: 9:30, 18:00, 7 am, 2.15 p.m., noon; they answer "when" and "at what time".

Source: own rules, none of them fitted to data. Differs from the source: nothing.
"""

import re

from clew.types import Mention

_HALF = r"[ap]\.?\s?m\b\.?"
_CLOCK_TIME = re.compile(
    rf"(?<![\w:.,])(?:(?:[01]?\d|2[0-3]):[0-5]\d(?:\s?{_HALF})?|(?:1[0-2]|[1-9])(?:\.[0-5]\d)?\s?(?:{_HALF}|o['’]clock\b)"
    r"|noon\b|midnight\b)(?![:\w])",
    re.I,
)


def find_clock_times(text: str, start: int, end: int) -> list[Mention]:
    """Return the times of day in `text[start:end]`, as dates; a full stop that ends the sentence is no part of one."""
    found = []
    for match in _CLOCK_TIME.finditer(text, start, end):
        name = match.group() if "." in match.group()[:-1] else match.group().rstrip(".")
        found.append(Mention(name, "date", match.start(), match.start() + len(name)))
    return found


def is_clock_time(text: str) -> bool:
    """Return whether a text begins and ends with a time of day: it is one, or a range of two."""
    times = find_clock_times(text, 0, len(text))
    return bool(times) and times[0].start == 0 and times[-1].end == len(text)
