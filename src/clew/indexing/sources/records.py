"""Documents from records: objects of JSON and rows of tables; a record that cannot be used does not stop the next."""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from clew.errors import InputError
from clew.indexing.sources.discovery import SourcedDocument
from clew.indexing.sources.markdown import is_int64
from clew.indexing.sources.plain_text import join_line_ends, read_structure
from clew.indexing.sources.tables import row_text
from clew.text.display import format_count
from clew.types import Document, Failure

_DOCUMENT_KEYS = frozenset({"id", "title", "text", "metadata", "aliases", "links"})
DOCUMENT_COLUMNS = frozenset({"id", "title", "text"})
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99}(?:[eE][+-]?[0-9]{1,2})?|[eE][+-]?[0-9]{1,2})")


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """The columns of tables, or keys of JSON, that are a record's text, title and id; "" for those of that name."""

    text: tuple[str, ...] = ()  # the text is that of all, line by line
    title: str = ""
    id: str = ""
    delimiter: str = ""  # of tables; "" for the one that the header shows

    @property
    def is_standard(self) -> bool:
        """Whether no column was named."""
        return not (self.text or self.title or self.id)

    def rename(self, record: Mapping[str, object]) -> dict[str, object]:
        """Return a record with the keys `text`, `title` and `id`.

        A record may lack its title, and some of the keys of its text; without all of those, or its id, it is an
        InputError.
        """
        renamed = dict(record)
        if self.title and self.title != "title":
            renamed["title"] = record.get(self.title)
            renamed.pop(self.title, None)
        if self.id and self.id != "id":
            renamed["id"] = _value(record, self.id)
            renamed.pop(self.id, None)
        if self.text and self.text != ("text",):
            present = [own for own in self.text if own in record] or self.text[:1]
            values = [_value(record, own) for own in present]
            renamed["text"] = "\n".join(str(value) for value in values if value not in (None, ""))
            for own in {*self.text} - {"text"}:
                renamed.pop(own, None)
        return renamed


STANDARD_COLUMNS = RecordColumns()


def _value(record: Mapping[str, object], key: str) -> object:
    if key not in record:
        raise InputError(f'it has no "{key}", only: {", ".join(sorted(record))[:200] or "nothing"}')
    return record[key]


def read_json_lines(
    lines: Iterable[bytes], name: str, item: str, columns: RecordColumns = STANDARD_COLUMNS
) -> Iterator[SourcedDocument | Failure]:
    """Yield for each JSON line its document, or a failure; without an `id` it gets the id `name:line number`."""
    seen = False
    for number, line in enumerate(lines, 1):
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
            if b"\0" in line:
                yield Failure(item, "binary content (a NUL byte in line 1), not lines of JSON; save it as UTF-8")
                return
        if not line.strip():
            continue
        seen = True
        item_line = f"{item}:{number}"
        try:
            record = columns.rename(_parse_json_object(line))
            yield SourcedDocument(item_line, make_record_document(record, f"{name}:{number}"))
        except InputError as error:
            yield Failure(item_line, str(error))
    if not seen:
        yield Failure(item, "empty: the file holds no line of JSON")


def make_record_document(record: Mapping[str, object], fallback_id: str) -> Document:
    """Return the document of an object of JSON; one that cannot be used is an InputError."""
    fields = _flatten({key: value for key, value in record.items() if key not in _DOCUMENT_KEYS})
    extra = {key: value for key, value in fields.items() if _is_metadata_value(value)}
    own_metadata = record.get("metadata")
    if own_metadata is not None and not isinstance(own_metadata, dict):
        raise InputError(f'"metadata" is {_describe_type(own_metadata)}; wanted an object or nothing')
    own_metadata = _flatten(own_metadata or {})
    for key, value in own_metadata.items():
        if value is not None and not _is_metadata_value(value):
            wanted = "a string, a finite number below 2^63, a boolean or strings"
            raise InputError(f'metadata "{key}" is {_describe_type(value)}; wanted {wanted}')
    metadata = {key: value for key, value in (extra | own_metadata).items() if value is not None}
    title = record.get("title")
    if title is not None and not isinstance(title, str):
        raise InputError(f'"title" is {_describe_type(title)}; wanted a string or nothing')
    text, places, heading = read_structure(_read_text(record))
    return Document(
        id=_read_id(record.get("id"), fallback_id),
        title=" ".join((title or "").split()) or heading or (places[0].place.heading if places else ""),
        text=text,
        metadata=metadata,
        aliases=_read_strings(record, "aliases"),
        links=_read_strings(record, "links"),
        places=places,
    )


def _flatten(record: Mapping[str, object]) -> dict[str, object]:
    """Return a record with the keys of objects in it as `outer.inner`."""
    flat = dict(record)
    while nested := {key: value for key, value in flat.items() if isinstance(value, dict)}:
        flat = {key: value for key, value in flat.items() if key not in nested}
        flat |= {f"{key}.{inner}": own for key, value in nested.items() for inner, own in value.items()}
    return flat


def _parse_json_object(line: bytes) -> Mapping[str, object]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"invalid UTF-8 at byte {error.start} of the line; save the file as UTF-8") from error
    record = parse_json(text, "of the line")
    if not isinstance(record, dict):
        raise InputError(f'the line is {_describe_type(record)}; wanted an object such as {{"id": "a", "text": "..."}}')
    return record


def parse_json(text: str, place: str) -> object:
    """Return a value of JSON; what is none is an InputError that says at which character of the place."""
    try:
        value: object = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg} at character {error.pos + 1} {place}") from error
    except RecursionError as error:
        raise InputError("JSON that cannot be read: its brackets are nested too deep; make it flatter") from error
    except ValueError as error:  # numbers of thousands of digits
        raise InputError(f"JSON that cannot be read: {error}") from error
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _read_text(record: Mapping[str, object]) -> str:
    if "text" not in record:
        keys = ", ".join(sorted(record)[:10]) or "no key at all"
        raise InputError(f'no "text"; the record has: {keys} (--text-column names the one to take)')
    text = record["text"]
    if not isinstance(text, str):
        raise InputError(f'"text" is {_describe_type(text)}; wanted a string')
    if not text or text.isspace():
        raise InputError('empty: "text" holds nothing')
    return join_line_ends(text)


def _read_id(value: object, fallback: str) -> str:
    if value is None:
        return fallback
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f'"id" is {_describe_type(value)}; wanted a string or a number')
    if not str(value).strip():
        raise InputError('"id" is empty; give one, or leave the key out to have the file name and line number')
    return str(value)


def _read_strings(record: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = record.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise InputError(f'"{key}" is {_describe_type(value)}; wanted a list of strings')
    return tuple(dict.fromkeys(entry.strip() for entry in value if entry.strip()))


def _is_metadata_value(value: object) -> bool:
    if isinstance(value, int):
        return is_int64(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(entry, str) for entry in value))


def _describe_type(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names[type(value)]


def make_row_document(header: list[str], row: list[str], fallback_id: str, columns: RecordColumns) -> Document:
    """Return the document of a row; where no column is its text, that is all cells with the names of their columns."""
    while len(row) > len(header) and not row[-1].strip():
        row = row[:-1]
    if len(row) > len(header):
        raise InputError(
            f"the row has {format_count(len(row), 'cell')}, its header {len(header)}; quote cells that hold the "
            "delimiter"
        )
    if any("\udc80" <= sign <= "\udcff" for cell in row if not cell.isascii() for sign in cell):
        raise InputError("invalid UTF-8 in the row; save the file as UTF-8")
    whole = [*row, *[""] * (len(header) - len(row))]
    cells = columns.rename(dict(zip(header, row if columns.is_standard else whole, strict=False)))
    if "text" not in header and not columns.text:
        cells["text"] = row_text(header, whole)
    title = cells.get("title", "")
    return Document(
        id=_read_id(cells["id"], "") if "id" in cells else fallback_id,
        title=" ".join(str(title).split()),
        text=_read_text(cells),
        metadata={
            key: _parse_cell(str(cell))
            for key, cell in cells.items()
            if key not in DOCUMENT_COLUMNS and str(cell).strip()
        },
    )


def _parse_cell(cell: str) -> str | int | float:
    """Return a cell as a number where that loses nothing: `007` and numbers beyond 64 bits stay strings."""
    plain = cell.strip()
    if _INTEGER.fullmatch(plain):
        return int(plain)
    return float(plain) if _DECIMAL.fullmatch(plain) else cell
