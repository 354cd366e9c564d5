"""Statements of graph files, triples and names of entities, and those of lines of cells: delimited, or CSV."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from clew.errors import InputError
from clew.indexing.sources.tables import csv_rows
from clew.text.display import format_count, has_surrogate

MAX_NAME_CHARACTERS = 65_536  # maximum length of a name; a longer one is a fault of the file
MAX_LINE_CHARACTERS = 1 << 20  # more than three of the longest names
SHORTEN = "shorten it, or index long texts as documents"  # what to do with a name or line that is too long
CUT = "\0\0"  # at the end of a longer line, which is not read whole
MAX_RECORD_CHARACTERS = 1 << 26
"""Length of a JSON record, at most: the largest published ones, questions with their graphs, have a fiftieth of it."""
# Kinds of stored names: of an entity that the file lists, a label (`label@de` in a language), another name.
NODE, LABEL, ALIAS = "node", "label", "alias"
RawTriple = tuple[str, str, str]  # head, relation, tail: exact texts without surrounding white space
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class EntityNames:
    """Names of an entity."""

    id: str  # the entity, as triples write it
    label: str = ""  # the label, "" for none
    aliases: tuple[str, ...] = ()
    language: str = ""  # language of the label, such as "en"; "" when it is not stated
    is_listed: bool = False  # whether the file lists the entity, so that it exists even without a triple

    def to_triples(self) -> list[RawTriple]:
        """Return the names in stored form."""
        kind = NODE if self.is_listed else f"{LABEL}@{self.language}" if self.language else LABEL
        own = [(self.id, kind, self.label)] if self.label or self.is_listed else []
        return [*own, *((self.id, ALIAS, alias) for alias in self.aliases)]


@dataclass(frozen=True, slots=True)
class EntityMention:
    """An entity, as triples write it, and the id of a document or passage that mentions it."""

    entity: str
    place: str


@dataclass(frozen=True, slots=True)
class MalformedStatement:
    """A line, or another part of a file, that cannot be used."""

    position: str  # the file's name and the line, `kg.tsv:17`
    reason: str  # the fault

    def __str__(self) -> str:
        return f"{self.position}: {self.reason}"


@dataclass(frozen=True, slots=True)
class DroppedTriple:
    """A triple that is left out, since its relation is not wanted."""


Statement = RawTriple | EntityNames | EntityMention | MalformedStatement | DroppedTriple
_DROPPED = DroppedTriple()


def drop_relations(statements: Iterable[Statement], prefixes: tuple[str, ...]) -> Iterator[Statement]:
    """Yield statements, with a `DroppedTriple` for each triple whose relation begins with one of some prefixes."""
    for statement in statements:
        yield _DROPPED if isinstance(statement, tuple) and statement[1].startswith(prefixes) else statement


def require_statement(statements: Iterable[Statement], kind: type, place: str, noun: str) -> Iterator[Statement]:
    """Yield statements; InputError at their end where none is of a kind: the place states none by its noun."""
    first, faults, is_stated = None, 0, False
    for statement in statements:
        is_stated = is_stated or isinstance(statement, kind)
        if isinstance(statement, MalformedStatement):
            first, faults = first or statement, faults + 1
        yield statement
    if not is_stated:
        raise InputError(nothing_stated(place, noun, faults, first))


def nothing_stated(place: str, noun: str, faults: int, first: MalformedStatement | None, dropped: int = 0) -> str:
    """Return the message for a place that states nothing by a noun.

    It has the number of its faults with the first of them, and that of the triples dropped by their relations.
    """
    others = f" but {format_count(dropped, 'triple')} of dropped relations" if dropped else ""
    first_fault = "" if first is None else f"; the first fault: {first}"
    malformed = f" ({format_count(faults, 'fault')}{first_fault})" if faults else ""
    return f"{place} states no {noun}{others}{malformed}"


def find_name_fault(*names: str) -> str:
    """Return the reason why one of some names cannot be used, "" when all can."""
    for name in names:
        if not name:
            return "a name is empty"
        if len(name) > MAX_NAME_CHARACTERS:
            return f"a name has {len(name):,} characters, at most {MAX_NAME_CHARACTERS:,} are allowed: {SHORTEN}"
        if "\0" in name:
            return "a NUL byte in a name"
        if has_surrogate(name):
            return "half a character (a lone surrogate) in a name"
    return ""


def is_iri(id_: str) -> bool:
    """Return whether an entity's id is an IRI as RDF writes it: `<http://...>`."""
    return id_.startswith("<") and id_.endswith(">") and ":" in id_


def last_segment(address: str) -> str:
    """Return the text after the last `#`, `/` or `:` of an IRI, ignoring trailing ones."""
    shortened = address.rstrip("/#:")
    return re.split(r"[/#:]", shortened)[-1] or shortened


def relation_to_words(address: str) -> str:
    """Return a relation's IRI as words: `http://example.org/birthPlace` gives `birth place`."""
    segment = last_segment(address).replace("_", " ").replace("-", " ")
    return " ".join(_CAMEL.sub(" ", segment).split()).lower() or address


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
