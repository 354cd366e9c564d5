"""Files of records that are no lines of JSON: tables with a header, and whole files of JSON; a check of columns."""

import csv
import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import IO

from clew.errors import InputError
from clew.indexing.sources.contents import TextBuilder
from clew.indexing.sources.discovery import (
    JSON_LINES_SUFFIXES,
    TABLE_SUFFIXES,
    SourcedDocument,
    SourceFile,
    find_sources,
)
from clew.indexing.sources.plain_text import UTF_8, decode_bytes, find_encoding
from clew.indexing.sources.reading_report import ReadingReport
from clew.indexing.sources.records import (
    DOCUMENT_COLUMNS,
    STANDARD_COLUMNS,
    RecordColumns,
    make_record_document,
    make_row_document,
    parse_json,
)
from clew.indexing.sources.tables import csv_rows
from clew.text.display import format_count
from clew.types import Document, Failure

_DELIMITERS = (",", ";", "\t", "|")
_STATED_DELIMITER = re.compile(r"\ufeff?\"?sep=([^\w\"\r\n])\"?[\r\n]+", re.I)
# The csv module's default limit is 131,072 characters; the largest possible one is a C long, which may have 32 bits.
_MAX_CELL_CHARACTERS = 2**31 - 1
_BLOCK = 1 << 20
_MAX_JSON_BYTES = 1 << 28
_MAX_DEPTH = 64
_JSON_LINES = 100  # whose keys are looked at
_MAX_LISTED = 200  # characters


def read_table_file(
    source: SourceFile, columns: RecordColumns, report: ReadingReport
) -> Iterator[tuple[SourcedDocument | Failure, int]]:
    """Yield a document or failure for each row of a table, and the bytes of the file that were read by then."""
    with _open_table(source, columns) as (raw, text, encoding, delimiter):
        if encoding != UTF_8:
            report.encodings[source.item] = encoding
        if delimiter not in (",", "\t") or not columns.is_standard:
            report.columns[source.item] = _describe(delimiter, columns)
        for row in read_table_rows(text, delimiter, source.id, source.item, columns):
            yield row, raw.tell()


@contextmanager
def _open_table(source: SourceFile, columns: RecordColumns) -> Iterator[tuple[IO[bytes], Iterable[str], str, str]]:
    """Yield a table as bytes and as lines, its encoding, and what separates its cells; InputError where it is binary.

    A first line `sep=;`, which Excel reads as the delimiter, is no row.
    """
    with source.path.open("rb") as raw:
        encoding = _table_encoding(raw)
        raw.seek(0)
        # Bytes that are not UTF-8 become lone surrogates, so that only their row fails.
        name, errors = ("utf-8-sig", "surrogateescape") if encoding == UTF_8 else (encoding, "strict")
        with TextIOWrapper(raw, encoding=name, errors=errors, newline="") as text, _refuse_invalid(raw, encoding):
            stated = _STATED_DELIMITER.fullmatch(text.readline())
            rows: Iterable[str] = chain(["\n"], text)  # the lines keep their numbers
            if stated is None:
                text.seek(0)
                found = "\t" if source.suffix == ".tsv" else _find_delimiter(text)
                text.seek(0)
                rows = text
            yield raw, rows, encoding, columns.delimiter or (found if stated is None else stated[1])


def read_table_rows(
    lines: Iterable[str], delimiter: str, name: str, item: str, columns: RecordColumns
) -> Iterator[SourcedDocument | Failure]:
    """Yield a document or failure for each row under the header; bytes that are not UTF-8 come as lone surrogates."""
    header: list[str] | None = None
    seen = False
    for line, row in csv_rows(lines, delimiter, _MAX_CELL_CHARACTERS):
        try:
            if isinstance(row, csv.Error):
                raise InputError(f"not a row of a table: {row}; check its quotes")
            if header is None:
                header = _read_header(row, columns)
                continue
            seen = True
            yield SourcedDocument(f"{item}:{line}", make_row_document(header, row, f"{name}:{line}", columns))
        except InputError as error:
            if header is None:
                yield Failure(item, f"the header cannot be read: {error}")
                return
            seen = True
            yield Failure(f"{item}:{line}", str(error))
    if not seen:
        yield Failure(item, "empty: the file holds no row under a header")


def read_json_file(
    source: SourceFile, columns: RecordColumns, report: ReadingReport
) -> Iterator[SourcedDocument | Failure]:
    """Yield the documents of a file of JSON: of each object of a list, or of the only list in an object, else one.

    An object without a text is one by its keys and values, a line each, and so is what has words beside such a list.
    """
    if (size := source.path.stat().st_size) > _MAX_JSON_BYTES:
        raise InputError(f"a file of JSON of {size} bytes is read as a whole; save it as JSON lines (.jsonl)")
    text, encoding = decode_bytes(source.path.read_bytes())
    if encoding != UTF_8:
        report.encodings[source.item] = encoding
    if not text.strip():
        raise InputError("empty: the file holds no JSON")
    value = parse_json(text, "of the file")
    records = _find_records(value)
    if records is None:
        yield SourcedDocument(source.item, _make_whole_document(source, value))
        return
    if (rest := _find_rest(value, records)) is not None:
        report.notes.append(f"{source.item}: what stands beside its list of records is a document of its own")
        yield SourcedDocument(source.item, _make_whole_document(source, rest))
    for number, record in enumerate(records, 1):
        item = f"{source.item}:{number}"
        try:
            yield SourcedDocument(item, _make_document(record, f"{source.id}:{number}", columns))
        except InputError as error:
            yield Failure(item, str(error))


@contextmanager
def open_lines(path: Path) -> Iterator[tuple[Iterable[bytes], str]]:
    """Yield the lines of a file, those of UTF-16 and UTF-32 in UTF-8, and its encoding; else as they are."""
    with path.open("rb") as raw:
        encoding = _wide_encoding(raw)
        raw.seek(0)
        if not encoding:
            yield raw, UTF_8
            return
        with TextIOWrapper(raw, encoding) as text, _refuse_invalid(raw, encoding):
            yield (line.encode("utf-8", "surrogatepass") for line in text), encoding


@contextmanager
def _refuse_invalid(raw: IO[bytes], encoding: str) -> Iterator[None]:
    """Raise an InputError where what is read of a file's text is no text of its encoding."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(
            f"invalid {encoding.upper()} in its first {raw.tell()} bytes; save the file as UTF-8"
        ) from error


def _wide_encoding(raw: IO[bytes]) -> str:
    """Return the encoding of a file, read from its beginning, whose letters have NULs; "" where they have none."""
    start = raw.read(8192)
    if b"\0" not in start:
        return ""
    encoding, mark = find_encoding(start[: len(start) // 4 * 4 or None])
    return encoding.removesuffix("-le").removesuffix("-be") if mark else encoding


def _table_encoding(raw: IO[bytes]) -> str:
    """Return the encoding of a table, whose file is read from its beginning; InputError where it is binary."""
    if wide := _wide_encoding(raw):
        return wide
    raw.seek(0)
    decoder = getincrementaldecoder(UTF_8)()
    try:
        while block := raw.read(_BLOCK):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raw.seek(0)
        try:
            return find_encoding(raw.read())[0]
        except InputError:
            return UTF_8  # only the rows that are not are refused
    return UTF_8


def _find_delimiter(lines: Iterable[str]) -> str:
    """Return what separates the names of the header: that which makes the most columns of it, else a comma."""
    header = next((line for line in lines if line.strip()), "")
    counts: dict[str, int] = {}
    for delimiter in _DELIMITERS:
        try:
            counts[delimiter] = len(next(csv.reader([header], delimiter=delimiter), ()))
        except csv.Error:
            counts[delimiter] = 0
    return max(_DELIMITERS, key=lambda delimiter: counts[delimiter])


def _describe(delimiter: str, columns: RecordColumns) -> str:
    parts = [f"separated by {'a tab' if delimiter == chr(9) else delimiter!r}"]
    parts += [f"{key} from {name}" for key, name in (("title", columns.title), ("id", columns.id)) if name]
    parts += [f"text from {', '.join(columns.text)}"] if columns.text else []
    return ", ".join(parts)


def _read_header(row: list[str], columns: RecordColumns) -> list[str]:
    """Return the names of a table's columns; `text`, `title` and `id` in small letters unless they are named so.

    A column without a name is called by its number. Raises InputError where a column that is named is missing, or a
    name is given twice.
    """
    names = [cell.strip() or f"column {number}" for number, cell in enumerate(row, 1)]
    named = (*columns.text, columns.title, columns.id)
    names = [name.lower() if name.lower() in DOCUMENT_COLUMNS and name not in named else name for name in names]
    for wanted in named:
        if wanted and wanted not in names:
            raise InputError(f'it has no column "{wanted}", only: {", ".join(names)[:200]}')
    if len(set(names)) < len(names):
        raise InputError(f"a column's name is given twice: {', '.join(names)[:200]}")
    return names


def _find_records(value: object) -> list[Mapping[str, object]] | None:
    """Return the records of a value of JSON: the objects of a list, or of the only list in an object; else None."""
    if isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list) and item]
        value = lists[0] if len(lists) == 1 and "text" not in value else None
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return value
    return None


def _find_rest(value: object, records: Sequence[object]) -> dict[str, object] | None:
    """Return what an object holds beside its list of records, None where that has no words."""
    if not isinstance(value, dict):
        return None
    rest = {key: item for key, item in value.items() if item is not records}
    return rest if any(_has_words(item) for item in rest.values()) else None


def _has_words(value: object) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and any(letter.isalpha() for letter in item):
            return True
        waiting += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return False


def _make_document(record: Mapping[str, object], fallback_id: str, columns: RecordColumns) -> Document:
    renamed = columns.rename(record)
    if "text" not in renamed:
        renamed["text"] = _describe_value(record)
    return make_record_document(renamed, fallback_id)


def _make_whole_document(source: SourceFile, value: object) -> Document:
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        return make_record_document({"title": source.name, **value}, source.id)
    return Document(source.id, source.name, _describe_value(value))


def _describe_value(value: object) -> str:
    """Return the keys and values of JSON, a line each: `ship.built: 1892`."""
    builder = TextBuilder()
    for path, leaf in _leaves(value, "", 0):
        builder.add(f"{path}: {leaf}" if path else leaf, separator="\n")
    text = builder.contents().text
    if not text.strip():
        raise InputError("empty: the JSON holds no value")
    return text


def _leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list) and depth < _MAX_DEPTH:
        if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
            yield path, ", ".join(_leaf(item) for item in value)
            return
        pairs = value.items() if isinstance(value, dict) else ((str(n), item) for n, item in enumerate(value, 1))
        for key, item in pairs:
            yield from _leaves(item, f"{path}.{key}" if path else str(key), depth + 1)
    elif value is not None:
        yield path, _leaf(value)


def _leaf(value: object) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    return "" if value is None else json.dumps(value)


def check_columns(paths: Sequence[str | Path], columns: RecordColumns) -> None:
    """Raise an InputError where a column is named that no table and no file of JSON among the files has.

    Standard input is not read, and files that cannot be are left to the reader, which says why.
    """
    wanted = [*(("--text-column", name) for name in columns.text)]
    wanted += [("--title-column", columns.title)] if columns.title else []
    wanted += [("--id-column", columns.id)] if columns.id else []
    if not wanted or "-" in paths:
        return
    sources = (source for path in paths for source in find_sources(Path(path)) if isinstance(source, SourceFile))
    found = [(source, names) for source in sources if (names := _read_names(source, columns))]
    for option, name in wanted:
        if found and not any(name in names for _, names in found):
            source, names = found[0]
            others = format_count(len(found) - 1, "more file has", "more files have")
            more = f", and {others} others" if len(found) > 1 else ""
            raise InputError(
                f"{option} is {name!r}, and there is no such column: {source.item} has "
                f"{', '.join(names)[:_MAX_LISTED]}{more}"
            )


def _read_names(source: SourceFile, columns: RecordColumns) -> list[str]:
    """Return the columns or keys of a file in their order; none where it has no records, or cannot be read."""
    try:
        if source.suffix in TABLE_SUFFIXES:
            with _open_table(source, columns) as (_, text, _, delimiter):
                _, header = next(csv_rows(text, delimiter, _MAX_CELL_CHARACTERS), (0, []))
                return [] if isinstance(header, csv.Error) else _read_header(header, STANDARD_COLUMNS)
        if source.suffix in JSON_LINES_SUFFIXES:
            with open_lines(source.path) as (lines, _):
                records: list[object] = [json.loads(line) for line in islice(lines, _JSON_LINES) if line.strip()]
        elif source.suffix == ".json":
            records = list(_find_records(json.loads(decode_bytes(source.path.read_bytes())[0])) or ())
        else:
            return []
    except (OSError, ValueError, RecursionError, InputError):
        return []
    return list(dict.fromkeys(key for row in records if isinstance(row, dict) for key in row))
