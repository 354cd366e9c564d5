"""Records of JSON files read one by one, with checks of their fields, and questions with their evidence.

A question is {id, question, answers, gold, type, hops, topic, paths}, one JSON object a line. Only `id` and `question`
are required. `gold` are ids of passages or documents; `topic` is an entity, or a list of entities, that the question is
about; `paths` are lists of [head, relation, tail]. Layouts of published data sets are read by the package `clew_lab`,
whose `clew questions convert` writes this one.
"""

import gzip
import json
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeVar, cast

from clew.errors import InputError
from clew.text.display import to_single_line
from clew.types import Question

Value = TypeVar("Value")


class HasIdAndText(Protocol):
    """A question of any kind."""

    @property
    def id(self) -> str:
        """The question's id."""

    @property
    def text(self) -> str:
        """The question itself."""


AnyQuestion = TypeVar("AnyQuestion", bound=HasIdAndText)


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object and its location, for example "dev.jsonl: line 7"; a missing or wrong field raises InputError."""

    location: str
    fields: dict[str, Any]

    def text(self, *keys: str) -> str:
        """Return the string under the first of `keys` that exists."""
        return self._typed_value(keys, str, "a string")

    def identifier(self, *keys: str) -> str:
        """Return the id under the first of `keys` that exists: a non-blank string, or a whole number."""
        value = self.value(*keys)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{self._key(keys)!r} is {preview(value)}", "an id: a string that is not blank")
        return value

    def items(self, *keys: str) -> list[Any]:
        """Return the list under the first of `keys` that exists."""
        return self._typed_value(keys, list, "a list")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the strings in the list under `key`."""
        values = self.items(key)
        if strange := [value for value in values if not isinstance(value, str)]:
            raise self.error(f"{key!r} holds {preview(strange[0])}", "a list of strings")
        return tuple(values)

    @property
    def key_names(self) -> str:
        """The keys in one line of a message."""
        return to_single_line(", ".join(self.fields)) or "none"

    def value(self, *keys: str) -> Any:
        """Return the value under the first of `keys` that exists."""
        if not any(key in self.fields for key in keys):
            raise self.error(f"the keys are {self.key_names}", " or ".join(map(repr, keys)))
        return self.fields[self._key(keys)]

    def nested_record(self, value: Any, name: str) -> "Record":
        """Return an object inside this one as a record of its own."""
        if not isinstance(value, dict):
            raise self.error(f"{name} is {preview(value)}", "a JSON object")
        return Record(f"{self.location}, {name}", value)

    def error(self, seen: str, wanted: str) -> InputError:
        """Return an error with the location, the value seen and the value wanted."""
        return InputError(f"{self.location}: {seen}; wanted {wanted}. Correct the file, or leave this record out")

    def _typed_value(self, keys: tuple[str, ...], kind: type[Value], wanted: str) -> Value:
        value = self.value(*keys)
        if not isinstance(value, kind):
            raise self.error(f"{self._key(keys)!r} is {preview(value)}", wanted)
        return value

    def _key(self, keys: tuple[str, ...]) -> str:
        return next(key for key in keys if key in self.fields)


def preview(value: Any) -> str:
    """Return `value` as JSON, shortened for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def check_unique(questions: Iterable[tuple[str, AnyQuestion]]) -> list[AnyQuestion]:
    """Return questions, given with their locations, in order; InputError for an id used twice or a blank text."""
    locations: dict[str, str] = {}
    checked = []
    for location, question in questions:
        if question.id in locations:
            used = locations[question.id]
            raise InputError(f"{location}: question id {question.id!r} was already used at {used}; give each its own")
        if not question.text.strip():
            raise InputError(f"{location}: the question is blank; wanted a text. Leave this record out")
        locations[question.id] = location
        checked.append(question)
    return checked


@contextmanager
def open_text(path: Path, kind: str, newline: str | None = None) -> Iterator[TextIO]:
    """Open a UTF-8 file for the block, with or without a byte order mark; one that ends in .gz is decompressed.

    Raises InputError if the file, a `kind` of file, cannot be read or is not UTF-8, at the opening or within the block.
    """
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8-sig", newline=newline) as file:
            yield cast("TextIO", file)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: holds a byte that is not UTF-8 ({error.reason}); save the file as UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}); give a readable {kind}") from error


def read_records(path: Path) -> Generator[Record, None, None]:
    """Yield the objects of a JSON list, or of a file with one JSON object per line; blank lines are skipped.

    Raises InputError if the file cannot be read, is empty, is not UTF-8, or holds something other than JSON objects.
    """
    with open_text(path, "JSON or JSONL file") as file:
        yield from _parse_records(path, file)


def _parse_records(path: Path, file: TextIO) -> Iterator[Record]:
    is_empty = True
    for line, text in enumerate(file, 1):
        if not text.strip():
            continue
        if is_empty and text.lstrip().startswith("["):
            yield from _parse_list(path, "\n" * (line - 1) + text + file.read())
            return
        is_empty = False
        yield _make_record(f"{path}: line {line}", _parse(path, text.rstrip(), line - 1))
    if is_empty:
        raise InputError(f"{path}: is empty; wanted a JSON list or one JSON object per line. Check how it was made")


def _parse_list(path: Path, text: str) -> Iterator[Record]:
    values = _parse(path, text, 0)
    if not values:
        raise InputError(f"{path}: is an empty list; wanted at least one record. Check how it was made")
    for number, value in enumerate(values, 1):
        yield _make_record(f"{path}: record {number}", value)


def _parse(path: Path, text: str, lines_before: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        position = f"line {lines_before + error.lineno}, column {error.colno}"
        raise InputError(
            f"{path}: {position}: invalid JSON ({error.msg}); wanted a JSON list or one whole JSON object per line"
        ) from error
    except ValueError as error:  # a number of thousands of digits
        message = f"{path}: line {lines_before + 1}: holds a number that is too long; check the file"
        raise InputError(message) from error
    except RecursionError as error:
        message = f"{path}: line {lines_before + 1}: nested too deeply to be a record; check the file"
        raise InputError(message) from error


def _make_record(location: str, value: Any) -> Record:
    if not isinstance(value, dict):
        raise InputError(f"{location}: {preview(value)} is not a JSON object; wanted one object per record")
    return Record(location, value)


QUESTION_FILE = "questions.jsonl"


def load_questions(path: str | Path) -> list[Question]:
    """Load questions in the order of the file.

    `path` is a file, a JSON list or JSON lines, or a folder with `questions.jsonl`. Raises InputError with file and
    line if the file cannot be read, a key is missing or has the wrong type, or an id repeats.
    """
    source = Path(path)
    if source.is_dir():
        if not (source / QUESTION_FILE).is_file():
            raise InputError(f"{source}: has no {QUESTION_FILE}; give a file of questions")
        source = source / QUESTION_FILE
    return check_unique((record.location, make_question(record)) for record in read_records(source))


def make_question(record: Record) -> Question:
    """Return the question of a record; raises InputError for a missing or wrong field."""
    return Question(
        record.identifier("id"),
        record.text("question"),
        record.texts("answers") if "answers" in record.fields else (),
        tuple(dict.fromkeys(record.texts("gold"))) if "gold" in record.fields else (),
        question_type(record),
        hop_count(record),
        _topics(record),
        _graph_paths(record),
    )


def _topics(record: Record) -> tuple[str, ...]:
    topic = record.fields.get("topic")
    if topic is None:
        return ()
    return (record.text("topic"),) if isinstance(topic, str) else record.texts("topic")


def _graph_paths(record: Record) -> tuple[tuple[tuple[str, str, str], ...], ...]:
    if record.fields.get("paths") is None:
        return ()
    paths = []
    for path in record.items("paths"):
        match path:
            case [*steps] if steps and all(map(_is_triple, steps)):
                paths.append(tuple((str(h), str(r), str(t)) for h, r, t in steps))
            case _:
                raise record.error(f"'paths' holds {preview(path)}", "lists of [head, relation, tail]")
    return tuple(paths)


def _is_triple(step: object) -> bool:
    return isinstance(step, list) and len(step) == 3 and all(isinstance(part, str) for part in step)


def question_type(record: Record) -> str:
    """Return the type that a record states; "" for none."""
    return record.text("type") if record.fields.get("type") is not None else ""


def hop_count(record: Record) -> int:
    """Return the number of hops that a record states; 0 for none."""
    hops = record.fields.get("hops", 0)
    if not isinstance(hops, int) or isinstance(hops, bool) or hops < 0:
        raise record.error(f"'hops' is {preview(hops)}", "a whole number, 0 or more")
    return hops
