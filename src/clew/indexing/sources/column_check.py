"""A check, before anything is written, that the columns which options name are in the files."""

import csv
import json
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from pathlib import Path

from clew.errors import InputError
from clew.indexing.sources.discovery import JSON_LINES_SUFFIXES, TABLE_SUFFIXES, SourceFile, find_sources
from clew.indexing.sources.encodings import UTF_8, decode_bytes
from clew.indexing.sources.record_files import find_delimiter, find_records, read_header, table_encoding
from clew.indexing.sources.records import STANDARD_COLUMNS, RecordColumns
from clew.text.counts import format_count

_JSON_LINES = 100  # whose keys are looked at
_MAX_LISTED = 200  # characters


def check_columns(paths: Sequence[str | Path], columns: RecordColumns) -> None:
    """Raise an InputError where a column is named that no table and no file of JSON among the files has.

    Standard input is not read, and files that cannot be are left to the reader, which says why.
    """
    wanted = [*(("--text-column", name) for name in columns.text)]
    wanted += [("--title-column", columns.title)] if columns.title else []
    wanted += [("--id-column", columns.id)] if columns.id else []
    if not wanted or "-" in paths:
        return
    found = [(source, names) for source in _sources(paths) if (names := _read_names(source, columns))]
    for option, name in wanted:
        if found and not any(name in names for _, names in found):
            source, names = found[0]
            others = format_count(len(found) - 1, "more file has", "more files have")
            more = f", and {others} others" if len(found) > 1 else ""
            raise InputError(
                f"{option} is {name!r}, and there is no such column: {source.item} has "
                f"{', '.join(names)[:_MAX_LISTED]}{more}"
            )


def _sources(paths: Sequence[str | Path]) -> Iterator[SourceFile]:
    for path in paths:
        yield from (source for source in find_sources(Path(path)) if isinstance(source, SourceFile))


def _read_names(source: SourceFile, columns: RecordColumns) -> list[str]:
    """Return the columns or keys of a file in their order; none where it has no records, or cannot be read."""
    try:
        if source.suffix in TABLE_SUFFIXES:
            return _read_table_header(source, columns)
        if source.suffix in JSON_LINES_SUFFIXES:
            with source.path.open("rb") as lines:
                rows = [json.loads(line) for line in islice(lines, _JSON_LINES) if line.strip()]
        elif source.suffix == ".json":
            rows = list(find_records(json.loads(decode_bytes(source.path.read_bytes())[0])) or ())
        else:
            return []
    except (OSError, ValueError, RecursionError, InputError, csv.Error):
        return []
    return list(dict.fromkeys(key for row in rows if isinstance(row, dict) for key in row))


def _read_table_header(source: SourceFile, columns: RecordColumns) -> list[str]:
    with source.path.open("rb") as raw:
        encoding = table_encoding(raw)
        raw.seek(0)
        name = "utf-8-sig" if encoding == UTF_8 else encoding
        with TextIOWrapper(raw, encoding=name, errors="surrogateescape", newline="") as text:
            delimiter = columns.delimiter or ("\t" if source.suffix == ".tsv" else find_delimiter(text))
            text.seek(0)
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            return read_header(next((row for row in rows if any(cell.strip() for cell in row)), []), STANDARD_COLUMNS)
