"""The layout of a sheet of a spreadsheet: its merged cells, and the rows and columns that are hidden."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, final

from clew.indexing.sources.tables import EMPTY_CELL, MAX_SPAN, Cell

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})")
_BARE_FORMULA = re.compile(  # an empty value of a cell of strings is an empty string
    rb'<(?:\w+:)?c\b(?![^<>]*\bt="str")[^<>]*>\s*<(?:\w+:)?f\b(?:[^<>]*/>|[^<>]*>[^<]*</(?:\w+:)?f>)\s*'
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_BLOCK, _MAX_CELL = 1 << 20, 10_000  # bytes: read at once, and of the longest cell with a formula
_MAX_COLUMNS = 1 << 14
_MAX_REPEATED_CHARACTERS = 1 << 24  # of a sheet: far more than any that is written by hand


class _Merge(NamedTuple):
    """A merged cell, by its first and last row and column."""

    row: int
    column: int
    last_row: int
    last_column: int


@dataclass(slots=True)
class SheetLayout:
    """Merged cells, and hidden rows and columns of a sheet, all counted from 1."""

    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    merges: list[_Merge] = field(default_factory=list)  # by their first rows


def read_layout(sheet: "ReadOnlyWorksheet") -> SheetLayout:
    """Return the layout of a sheet, which `openpyxl` does not tell where it reads row by row."""
    layout, row = SheetLayout(), 0
    for name, attributes in _elements(sheet):
        if name == "row":
            row = int(attributes.get("r") or row + 1)
            if _is_true(attributes.get("hidden")):
                layout.hidden_rows.add(row)
        elif name == "col" and _is_true(attributes.get("hidden")):
            first, last = int(attributes["min"]), int(attributes["max"])
            layout.hidden_columns.update(range(max(first, 1), min(last, _MAX_COLUMNS) + 1))
        elif name == "mergeCell" and (corners := _RANGE.fullmatch(attributes.get("ref") or "")):
            left, top, right, bottom = corners.groups()
            layout.merges.append(_Merge(int(top), _column_number(left), int(bottom), _column_number(right)))
    layout.merges.sort()
    return layout


def count_bare_formulas(sheet: "ReadOnlyWorksheet") -> int:
    """Return how many formulas of a sheet have no value, as where a program wrote the file and none computed it."""
    count, tail = 0, b""
    with sheet._get_source() as source:  # noqa: SLF001 - as below
        while block := source.read(_BLOCK):
            data = tail + block
            matches = list(_BARE_FORMULA.finditer(data))
            count += len(matches)
            start = matches[-1].end() if matches else 0
            tail = data[max(start, len(data) - _MAX_CELL) :]
    return count


def _elements(sheet: "ReadOnlyWorksheet") -> Iterator[tuple[str, Any]]:
    """Yield the names and attributes of the rows, columns and merged cells of a sheet."""
    from lxml.etree import iterparse

    names = [f"{{*}}{name}" for name in ("row", "col", "mergeCell")]
    with sheet._get_source() as source:  # noqa: SLF001 - openpyxl has no other way to what it does not read
        for _, element in iterparse(source, tag=names, resolve_entities=False, no_network=True, huge_tree=True):
            yield element.tag.rpartition("}")[2], element.attrib
            element.clear()


def _is_true(value: str | None) -> bool:
    return value in ("1", "true")


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


@final
class MergedCells:
    """Puts merged cells in all of their places, row by row; `rows` ascend.

    A cell with a text of its own keeps it. Texts that would be repeated without end, and columns of one cell above
    `MAX_SPAN`, are left empty.
    """

    def __init__(self, layout: SheetLayout) -> None:
        self._merges = layout.merges
        self._next = 0
        self._below: dict[int, tuple[Cell, int]] = {}  # column from 0: the cell from above, and its last row
        self._characters_left = _MAX_REPEATED_CHARACTERS

    def fill(self, number: int, cells: list[Cell]) -> bool:
        """Put the cells that span a row into it, and return whether it has a text that does not come from above."""
        has_own = any(cell.text for cell in cells)
        for column, (cell, last_row) in list(self._below.items()):
            if last_row < number:
                del self._below[column]
            else:
                self._put(cells, column, cell)
        while self._next < len(self._merges) and self._merges[self._next].row <= number:
            merge = self._merges[self._next]
            self._next += 1
            if merge.row == number and merge.column <= len(cells) and cells[merge.column - 1].text:
                self._start(cells, merge)
        return has_own

    def _start(self, cells: list[Cell], merge: _Merge) -> None:
        cell = cells[merge.column - 1]
        for column in range(merge.column - 1, min(merge.last_column, merge.column - 1 + MAX_SPAN)):
            if column != merge.column - 1:
                self._put(cells, column, cell)
            if merge.last_row > merge.row:
                self._below[column] = (cell, merge.last_row)

    def _put(self, cells: list[Cell], column: int, cell: Cell) -> None:
        self._characters_left -= len(cell.text)
        if self._characters_left >= 0:
            cells.extend([EMPTY_CELL] * (column + 1 - len(cells)))
            cells[column] = cells[column] if cells[column].text else cell
