"""Turns of a conversation as documents: their ids, times and metadata, and the filters that select them."""

import secrets
import time as clock
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from clew.errors import InputError
from clew.models.validation import require_unicode
from clew.plugins.arguments import check_string, describe_value
from clew.query.time_limits import NO_LIMITS, TimeLimits
from clew.types import Document, Filter

USER, SESSION, SPEAKER, TIME = "user", "session", "speaker", "time"
FIELDS = frozenset({USER, SESSION, SPEAKER, TIME})
"""The keys of a turn's metadata; one that is not given is absent."""
MAX_TEXT = 100_000
"""Characters of a turn, at most: it is encoded before it is stored."""
_MAX_NAME = 200  # characters of an id, a user, a session or a speaker
_DAY_CHARACTERS = 10  # of 2024-04-02


def make_turn(
    text: str,
    user: str = "",
    session: str = "",
    speaker: str = "",
    time: str | date | None = None,
    id: str | None = None,  # noqa: A002
) -> Document:
    """Return a turn as a document, titled by who speaks; errors are those of `Memory.remember`."""
    check_string(text, "text")
    check_string(id, "id", optional=True)
    if not text.strip():
        raise InputError("the text of a turn is empty: give it at least a word")
    if len(text) > MAX_TEXT:
        size = f"{len(text):,} characters; a turn has {MAX_TEXT:,} at most"
        raise InputError(f"the text of a turn has {size}: cut it, or add a document to the index")
    names = {USER: user, SESSION: session, SPEAKER: speaker}
    for name, value in {**names, "id": id or ""}.items():
        _check_name(value, name)
    if id is not None and (not id or "#" in id):
        raise InputError(f"the id is {id!r}; give at least one character, and no #, which numbers passages")
    require_unicode([text])
    metadata = {name: value for name, value in names.items() if value}
    metadata[TIME] = format_time(datetime.now(UTC) if time is None else time)
    return Document(_make_id() if id is None else id, speaker or user, text, metadata)


def turn_record(turn: Document) -> dict[str, Any]:
    """Return a turn as JSON holds it."""
    return {"id": turn.id, "title": turn.title, "text": turn.text, "metadata": dict(turn.metadata)}


def read_turn(record: Mapping[str, Any]) -> Document:
    """Return the turn of a record."""
    return Document(record["id"], record["title"], record["text"], record["metadata"])


def format_time(time: str | date) -> str:
    """Return a time as it is stored: a day as `2024-04-02`, else in UTC as `2024-04-02T10:30:00.000Z`.

    A time without a zone is taken for UTC. The texts sort as the times do, a day before its hours. Raises InputError
    for what is no time in ISO 8601.
    """
    if isinstance(time, str):
        try:
            time = date.fromisoformat(time) if len(time) == _DAY_CHARACTERS else datetime.fromisoformat(time)
        except ValueError as error:
            raise InputError(f"the time is {time!r:.80}; give ISO 8601, such as 2024-04-02T10:30:00+02:00") from error
    if not isinstance(time, date):
        raise InputError(f"the time is {describe_value(time)}; give a datetime, a date or text in ISO 8601")
    if not isinstance(time, datetime):
        return time.isoformat()
    try:
        moment = (time.replace(tzinfo=UTC) if time.tzinfo is None else time).astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"the time is {time}; give one whose year in UTC is 1 to 9999") from error
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def conditions_of(**fields: str) -> tuple[Filter, ...]:
    """Return the condition of each field that is to have a value; "" stands for any."""
    return tuple(f'"{name}" = {_quote(value, name)}' for name, value in fields.items() if value)


def exclude(**fields: str) -> Filter:
    """Return the condition that one of the fields has another value than the given one, or none."""
    return " OR ".join(
        f'"{name}" IS NULL OR "{name}" != {_quote(value, name)}' for name, value in fields.items() if value
    )


def limit_time(as_of: str | date | None) -> tuple[TimeLimits, Filter | None]:
    """Return the days that are seen as of a time, and the condition of turns of its day that are no later than it.

    A day, month or year, as people write them, counts to its end; None is today's state. InputError: it is no time.
    """
    if as_of is None:
        return NO_LIMITS, None
    try:
        last = format_time(as_of)
    except InputError:
        if not isinstance(as_of, str):
            raise
        limits = TimeLimits(as_of)
        _ = limits.day  # raises what is wrong with it
        return limits, None
    has_hours = len(last) > _DAY_CHARACTERS
    return TimeLimits(last[:_DAY_CHARACTERS]), f'"{TIME}" IS NULL OR "{TIME}" <= \'{last}\'' if has_hours else None


def all_of(*conditions: Filter | None) -> Filter | None:
    """Return the filter that all of some conditions are met, each of which was parsed by itself; None for none."""
    given = [condition for condition in conditions if condition is not None]
    return " AND ".join(f"({condition})" for condition in given) or None


def _check_name(value: str, name: str) -> None:
    check_string(value, name)
    if len(value) > _MAX_NAME or not value.isprintable():
        raise InputError(f"{name} is {value!r:.80}; give at most {_MAX_NAME} characters that can be printed")


def _quote(value: str, name: str) -> str:
    _check_name(value, name)
    return "'" + value.replace("'", "''") + "'"


def _make_id() -> str:
    """Return an id that is unique, and sorts after those that were made before on this machine."""
    return f"turn-{clock.time_ns() // 1000:016}-{secrets.token_hex(4)}"
