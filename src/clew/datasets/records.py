"""JSON records read one by one, each with its place in the file, and their fields checked."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeVar

from clew.errors import InputError


class Identified(Protocol):
    """A question of any kind."""

    @property
    def id(self) -> str:
        """Distinct in its set."""
        ...

    @property
    def text(self) -> str:
        """What is asked."""
        ...


AnyQuestion = TypeVar("AnyQuestion", bound=Identified)


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object and where it stands, for example "dev.jsonl: line 7"."""

    location: str
    fields: dict[str, Any]

    def text(self, *keys: str) -> str:
        """Return the string under the first of `keys` that is there.

        Raises:
            InputError: None is there, or it is not a string.
        """
        value = self.value(*keys)
        if not isinstance(value, str):
            raise self.error(f"{self._key(keys)!r} is {preview(value)}", "a string")
        return value

    def identifier(self, *keys: str) -> str:
        """Return the id under the first of `keys` that is there: a string that is not blank, or a whole number.

        Raises:
            InputError: None is there, or it is neither.
        """
        value = self.value(*keys)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{self._key(keys)!r} is {preview(value)}", "an id: a string that is not blank")
        return value

    def items(self, *keys: str) -> list[Any]:
        """Return the list under the first of `keys` that is there.

        Raises:
            InputError: None is there, or it is not a list.
        """
        value = self.value(*keys)
        if not isinstance(value, list):
            raise self.error(f"{self._key(keys)!r} is {preview(value)}", "a list")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the strings in the list under `key`.

        Raises:
            InputError: It is missing, or not a list of strings.
        """
        values = self.items(key)
        for value in values:
            if not isinstance(value, str):
                raise self.error(f"{key!r} holds {preview(value)}", "a list of strings")
        return tuple(values)

    def value(self, *keys: str) -> Any:
        """Return what is under the first of `keys` that is there.

        Raises:
            InputError: None is there.
        """
        if not any(key in self.fields for key in keys):
            raise self.error(f"the keys are {', '.join(self.fields) or 'none'}", " or ".join(map(repr, keys)))
        return self.fields[self._key(keys)]

    def nested(self, value: Any, name: str) -> "Record":
        """Return an object inside this one as a record of its own.

        Raises:
            InputError: `value` is not a JSON object.
        """
        if not isinstance(value, dict):
            raise self.error(f"{name} is {preview(value)}", "a JSON object")
        return Record(f"{self.location}, {name}", value)

    def error(self, seen: str, wanted: str) -> InputError:
        """Return the error that says what stands here and what should."""
        return InputError(f"{self.location}: {seen}; wanted {wanted}. Correct the file, or leave this record out")

    def _key(self, keys: tuple[str, ...]) -> str:
        return next(key for key in keys if key in self.fields)


def preview(value: Any) -> str:
    """Return `value` as JSON, short enough for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def check_unique(questions: Iterable[tuple[str, AnyQuestion]]) -> list[AnyQuestion]:
    """Return questions as they come.

    Args:
        questions: Each with its place in its file.

    Raises:
        InputError: Two have one id, or one asks nothing.
    """
    places: dict[str, str] = {}
    kept = []
    for place, question in questions:
        if question.id in places:
            raise InputError(
                f"{place}: question id {question.id!r} was already used at {places[question.id]}; give each its own"
            )
        if not question.text.strip():
            raise InputError(f"{place}: the question is blank; wanted a text. Leave this record out")
        places[question.id] = place
        kept.append(question)
    return kept


def read_records(path: Path) -> Iterator[Record]:
    """Yield the objects of a JSON list or of a file with one JSON object a line, in order; blank lines are skipped.

    Raises:
        InputError: The file cannot be read, is empty, is not UTF-8, or holds something other than JSON objects.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from _parse_records(path, file)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: holds a byte that is not UTF-8 ({error.reason}); save the file as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a readable JSON or JSONL file") from error


def _parse_records(path: Path, file: TextIO) -> Iterator[Record]:
    line = 0
    seen = False
    for line, text in enumerate(file, 1):
        if not text.strip():
            continue
        if not seen and text.lstrip().startswith("["):
            yield from _parse_list(path, "\n" * (line - 1) + text + file.read())
            return
        seen = True
        place = f"{path}: line {line}"
        yield Record(place, _require_object(place, _parse(path, text.rstrip(), line - 1)))
    if not seen:
        raise InputError(f"{path}: is empty; wanted a JSON list or one JSON object a line. Check how it was made")


def _parse_list(path: Path, text: str) -> Iterator[Record]:
    values = _parse(path, text, 0)
    if not values:
        raise InputError(f"{path}: is an empty list; wanted at least one record. Check how it was made")
    for number, value in enumerate(values, 1):
        place = f"{path}: record {number}"
        yield Record(place, _require_object(place, value))


def _parse(path: Path, text: str, lines_before: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {lines_before + error.lineno}, column {error.colno}"
        raise InputError(
            f"{path}: {place}: invalid JSON ({error.msg}); wanted a JSON list or one whole JSON object a line"
        ) from error
    except RecursionError as error:
        raise InputError(
            f"{path}: line {lines_before + 1}: nested too deeply to be a record; check the file"
        ) from error


def _require_object(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: {preview(value)} is not a JSON object; wanted an object a record")
    return value
