"""Triples, and names of entities, from lines of cells: delimited, or CSV with quoted cells."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from clew.indexing.kg_formats.statements import (
    CUT,
    MAX_LINE_CHARACTERS,
    MAX_NAME_CHARACTERS,
    SHORTEN,
    EntityMention,
    EntityNames,
    MalformedStatement,
    RawTriple,
    find_name_fault,
)
from clew.indexing.sources.tables import csv_rows
from clew.text.counts import format_count

HEADERS = (("head", "relation", "tail"), ("subject", "predicate", "object"), ("source", "relation", "target"))
_ESCAPED_BYTES = "\udc80", "\udcff"

Record = TypeVar("Record")


CellRow = tuple[int, list[str]]  # a line number and the cells of the line


def read_delimited_rows(lines: Iterable[str], delimiter: str, file_name: str) -> Iterator[CellRow | MalformedStatement]:
    """Yield each line that is not blank as stripped cells; quotes mean nothing; bad bytes come as lone surrogates."""
    for number, line in enumerate(lines, 1):
        if fault := find_text_fault(line):
            yield MalformedStatement(f"{file_name}:{number}", fault)
        elif not line.isspace():
            yield number, [cell.strip() for cell in line.split(delimiter)]


def read_csv_rows(lines: Iterable[str], delimiter: str, file_name: str) -> Iterator[CellRow | MalformedStatement]:
    """Yield each row of a CSV file that is not blank as stripped cells (see `read_delimited_rows`)."""
    for number, row in csv_rows(lines, delimiter, MAX_NAME_CHARACTERS + 2):
        if isinstance(row, csv.Error):
            yield MalformedStatement(f"{file_name}:{number}", f"not a row of a table: {row}; check its quotes")
        elif fault := next(filter(None, map(find_text_fault, row)), ""):
            yield MalformedStatement(f"{file_name}:{number}", fault)
        else:
            yield number, [cell.strip() for cell in row]


def read_triple_rows(
    rows: Iterator[CellRow | MalformedStatement], file_name: str
) -> Iterator[RawTriple | MalformedStatement]:
    """Yield the triple of each row of three cells; the first row may name the columns, in any order."""
    first = next(rows, None)
    order = None if first is None or isinstance(first, MalformedStatement) else _header_order(first[1])
    if first is not None and order is None:
        rows = chain([first], rows)
    head, relation, tail = order or (0, 1, 2)

    def read(cells: list[str]) -> RawTriple | str:
        if len(cells) != 3:
            return f"{format_count(len(cells), 'cell')}, wanted 3: head, relation, tail"
        h, r, t = cells[head], cells[relation], cells[tail]
        is_usable = h and r and t and len(h) + len(r) + len(t) <= MAX_NAME_CHARACTERS
        return (h, r, t) if is_usable else find_name_fault(h, r, t) or (h, r, t)

    yield from _read_records(rows, file_name, read)


def read_name_rows(
    rows: Iterator[CellRow | MalformedStatement], file_name: str
) -> Iterator[EntityNames | MalformedStatement]:
    """Yield the names of each row: an entity's id, its label, and any number of other names."""

    def read(cells: list[str]) -> EntityNames | str:
        if len(cells) < 2:
            return f"{format_count(len(cells), 'cell')}, wanted at least 2: id, label, further names"
        others = tuple(dict.fromkeys(filter(None, cells[2:])))
        return find_name_fault(*cells[:2], *others) or EntityNames(cells[0], cells[1], others)

    yield from _read_records(rows, file_name, read)


def read_mention_rows(
    rows: Iterator[CellRow | MalformedStatement], file_name: str
) -> Iterator[EntityMention | MalformedStatement]:
    """Yield the mention of each row: an entity as triples write it, and the id of a document or passage."""

    def read(cells: list[str]) -> EntityMention | str:
        if len(cells) != 2:
            return f"{format_count(len(cells), 'cell')}, wanted 2: entity, document or passage"
        return find_name_fault(*cells) or EntityMention(*cells)

    yield from _read_records(rows, file_name, read)


def _read_records(
    rows: Iterator[CellRow | MalformedStatement], file_name: str, read: Callable[[list[str]], Record | str]
) -> Iterator[Record | MalformedStatement]:
    """Yield what `read` makes of the cells of each row, which is a record or the fault of the row."""
    for row in rows:
        if isinstance(row, MalformedStatement):
            yield row
            continue
        number, cells = row
        record = read(cells)
        yield MalformedStatement(f"{file_name}:{number}", record) if isinstance(record, str) else record


def find_text_fault(text: str, longest: int = MAX_LINE_CHARACTERS) -> str:
    """Return the reason why a line or cell cannot be used, "" when it can.

    The line was cut, since it has more than `longest` characters, or it has a NUL or another byte.
    """
    if CUT in text:
        return f"a line has more than {longest:,} characters, the most that are read of one: {SHORTEN}"
    if "\0" in text:
        return "a NUL byte"
    if text.isascii():
        return ""
    for position, character in enumerate(text):
        if _ESCAPED_BYTES[0] <= character <= _ESCAPED_BYTES[1]:
            byte_offset = len(text[:position].encode("utf-8", "surrogateescape"))
            byte = ord(character) - 0xDC00
            return f"not valid text: byte 0x{byte:02x} at {byte_offset}; give --encoding if it is not UTF-8"
    return ""


def _header_order(cells: Sequence[str]) -> tuple[int, int, int] | None:
    names = [cell.lower() for cell in cells]
    for header in HEADERS:
        if sorted(names) == sorted(header):
            head, relation, tail = (names.index(name) for name in header)
            return head, relation, tail
    return None
