"""The time of a document: from a field of its metadata, else its file's name, else a line of its beginning.

Nothing is guessed: the day on which a file was changed is no time of its text, and a date within a sentence is that
sentence's own.

Source: none.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from clew.text.times import TimeSpan, find_file_time, find_times, read_time
from clew.types import Document, StatedTime, Time

TIMES_VERSION = "times-1"
"""Changes where a document of the same content may get other times."""
_FIELD = re.compile(
    r"(?:date|time|datetime|timestamp|published|created|sent|posted|issued)(?:[ _-]?(?:at|on|date|time))?"
    r"|(?:publication|publish|pub|creation|issue)[ _-]?(?:date|time)|dc[.:]date",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\W*(?:(?:date|published|posted|created|sent|updated|datum|erstellt|gesendet|fecha|publicado|publié|data|dato)"
    r"(?: on| am| le| el)?\W{1,4})?",
    re.IGNORECASE,
)
_LINES, _LINE = 6, 80  # that are looked at, and characters of one that states a date alone


def find_document_time(document: Document, field: str = "") -> Time | None:
    """Return the time of a document, None where nothing states it plainly.

    Args:
        document: Any document.
        field: The field of its metadata that holds it; "" for those that usually do, and then the other sources.
    """
    if field:
        return _with_source(read_time(_find_value(document.metadata, field)), f"field {field}")
    for name, value in document.metadata.items():
        if _FIELD.fullmatch(name) and (found := read_time(value)):
            return _with_source(found, f"field {name}")
    path = document.origin.get("path")
    if path and (found := find_file_time(PurePosixPath(str(path)).as_posix())):
        return _with_source(found, "file name")
    return _find_in_lines(document.text)


def _find_value(metadata: Mapping[str, Any], field: str) -> Any:
    value: Any = metadata
    if field in metadata:
        return metadata[field]
    for name in field.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _find_in_lines(text: str) -> Time | None:
    """Return the time of the first line that is a day and no more, but for a label such as "Date:"."""
    lines = [line.strip() for line in text[: 4 * _LINES * _LINE].splitlines()]
    for line in [line for line in lines if line][:_LINES]:
        label = _LABEL.match(line)
        rest = line[label.end() if label else 0 :].strip(" \t*_#()[]|.,-")
        found = read_time(rest) if 0 < len(rest) <= _LINE else None
        if found is not None and found.days[0][:7] == found.days[1][:7]:
            return _with_source(found, "first lines")
    return None


def find_stated_times(text: str, time: Time | None) -> tuple[StatedTime, ...]:
    """Return the times that a text states, ascending, words such as "last March" as seen from the time of the text."""
    written = None if time is None else TimeSpan.from_days(time.first, time.last)
    return tuple(StatedTime(one.start, one.end, *one.span.days) for one in find_times(text, written))


def _with_source(span: TimeSpan | None, source: str) -> Time | None:
    return None if span is None else Time(*span.days, source)
