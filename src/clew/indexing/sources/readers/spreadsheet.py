"""Spreadsheets (`.xlsx`) by `openpyxl`: each row under the names of the header, formulas as their last value."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, final

from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.indexing.sources.tables import (
    EMPTY_CELL,
    MAX_SPAN,
    Cell,
    column_names,
    count_header_rows,
    own_texts,
    row_text,
)
from clew.text.display import format_count
from clew.types import Place

if TYPE_CHECKING:
    from lxml.etree import _Element
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

_OPENING_ROWS = 20  # among which the header is looked for
_FOLLOWING_ROWS = 5  # whose width a header has
_MAX_HEADING_CHARACTERS = 100
MAX_COLUMNS = 1 << 14
_MAX_REPEATED_CHARACTERS = 1 << 24  # of a sheet: far more than any that is written by hand


class _Row(NamedTuple):
    """A row with text in it."""

    number: int
    cells: list[Cell]  # a merged one stands in each column that it spans
    has_words: bool  # whether a cell of it is no number and no date

    @property
    def width(self) -> int:
        return sum(1 for cell in self.cells if cell.text)

    @property
    def cell_count(self) -> int:
        return len({id(cell) for cell in self.cells if cell.text})

    @property
    def text(self) -> str:
        return row_text((), own_texts(self.cells))


def read_spreadsheet(data: bytes) -> FileContents:
    """Return the rows of all sheets that are shown, with the sheet and the row of each.

    The text of a merged cell belongs to all rows and columns that it spans. Rows above the header are text of their
    own, and the first of them is the heading of those below. Hidden sheets, rows and columns are counted in a note.
    """
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    builder, bare = TextBuilder(), 0
    try:
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                builder.left_out["hidden sheet"] += 1
            else:
                layout = read_layout(sheet)
                sheet.reset_dimensions()  # those that a file states may be smaller than it is
                values = enumerate(sheet.iter_rows(values_only=True), 1)
                add_rows(builder, sheet.title, read_rows(values, layout, builder))
                bare += layout.bare_formulas
        title = (book.properties.title or "").strip()
    finally:
        book.close()
    if bare:
        counts = format_count(bare, "formula has no stored value", "formulas have no stored value")
        builder.notes.append(f"{counts}: open the file in a spreadsheet program and save it to have them read")
    return builder.contents([title])


def read_rows(rows: Iterable[tuple[int, Sequence[Any]]], layout: "SheetLayout", builder: TextBuilder) -> Iterator[_Row]:
    """Yield the rows that are shown and have text of their own, and count the others that have."""
    merged, hidden_columns = MergedCells(layout), set[int]()
    for number, values in rows:
        cells = [Cell(text) if (text := _cell_text(value)) else EMPTY_CELL for value in values]
        words = {id(cell) for cell, value in zip(cells, values, strict=True) if isinstance(value, str) and cell.text}
        if not merged.fill(number, cells):
            continue
        if number in layout.hidden_rows:
            builder.left_out["hidden row"] += 1
            continue
        if layout.hidden_columns:
            hidden_columns |= {at for at, cell in enumerate(cells, 1) if cell.text} & layout.hidden_columns
            cells = [cell for at, cell in enumerate(cells, 1) if at not in layout.hidden_columns]
        if any(cell.text for cell in cells):
            yield _Row(number, cells, any(id(cell) in words for cell in cells))
    builder.left_out["hidden column"] += len(hidden_columns)


def add_rows(builder: TextBuilder, name: str, rows: Iterator[_Row]) -> None:
    """Add the rows of a sheet of a name."""
    opening = list(islice(rows, _OPENING_ROWS))
    first = _find_header(opening)
    headings = HeadingPath()
    for title in opening[:first]:
        if not headings.path and title.has_words and len(title.text) <= _MAX_HEADING_CHARACTERS:
            headings.enter(1, title.text)
        builder.add(title.text, Place(sheet=name, row=title.number, heading=headings.path))
    grid = [row.cells for row in opening[first:]]
    end = first + count_header_rows(grid, 1)
    width = max(map(len, grid), default=0)
    header = column_names([row.cells for row in opening[first:end]], width)
    body = chain(opening[end:], rows)
    after = next(body, None)
    if after is None:  # the header is all there is
        for row in opening[first:end]:
            builder.add(row.text, Place(sheet=name, row=row.number, heading=headings.path))
        return
    for row in chain([after], body):
        is_section = row.cell_count == 1 < row.width and row.width >= sum(map(bool, header))
        if is_section:
            headings.enter(2, row.text[:_MAX_HEADING_CHARACTERS])
        text = row.text if is_section else row_text(header, [cell.text for cell in row.cells])
        builder.add(text, Place(sheet=name, row=row.number, heading=headings.path))


def _find_header(rows: Sequence[_Row]) -> int:
    """Return which row is the header: the first with words in most of the columns that the rows after it have."""
    for at, row in enumerate(rows[:-1]):
        width = max(other.width for other in rows[at + 1 : at + 1 + _FOLLOWING_ROWS])
        if row.has_words and row.cell_count > 1 and 2 * row.width > width:
            return at
    return 0


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ", timespec="minutes")
    if isinstance(value, date | time):
        return value.isoformat()
    return " ".join(str(value).split())


class Merge(NamedTuple):
    """A merged cell, by its first and last row and column."""

    row: int
    column: int
    last_row: int
    last_column: int


@dataclass(slots=True)
class SheetLayout:
    """Merged cells, and hidden rows and columns of a sheet, all counted from 1; and its formulas without a value."""

    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    merges: list[Merge] = field(default_factory=list)  # by their first rows
    bare_formulas: int = 0  # those without a value, as where a program wrote the file and none computed it


def read_layout(sheet: "ReadOnlyWorksheet") -> SheetLayout:
    """Return the layout of a sheet, which `openpyxl` does not tell where it reads row by row."""
    from openpyxl.utils.cell import range_boundaries

    layout, row = SheetLayout(), 0
    for name, element in _elements(sheet):
        if name == "row":
            row = int(element.get("r") or row + 1)
            if _is_true(element.get("hidden")):
                layout.hidden_rows.add(row)
        elif name == "c":
            layout.bare_formulas += _lacks_value(element)
        elif name == "col" and _is_true(element.get("hidden")):
            first, last = int(element.attrib["min"]), int(element.attrib["max"])
            layout.hidden_columns.update(range(max(first, 1), min(last, MAX_COLUMNS) + 1))
        elif name == "mergeCell":
            left, top, right, bottom = range_boundaries(element.get("ref") or "")
            if None not in (left, top, right, bottom):
                layout.merges.append(Merge(top, left, bottom, right))
    layout.merges.sort()
    return layout


def _elements(sheet: "ReadOnlyWorksheet") -> Iterator[tuple[str, "_Element"]]:
    """Yield the rows, columns, cells and merged cells of a sheet with their names."""
    from lxml.etree import iterparse

    names = [f"{{*}}{name}" for name in ("row", "col", "c", "mergeCell")]
    with sheet._get_source() as source:  # noqa: SLF001 - openpyxl has no other way to what it does not read
        for _, element in iterparse(source, tag=names, resolve_entities=False, no_network=True, huge_tree=True):
            yield element.tag.rpartition("}")[2], element
            element.clear()


def _lacks_value(cell: "_Element") -> bool:
    """Return whether a cell is a formula without a value; an empty value of a cell of strings is an empty string."""
    return cell.find("{*}f") is not None and not cell.findtext("{*}v") and cell.get("t") != "str"


def _is_true(value: str | None) -> bool:
    return value in ("1", "true")


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

    def _start(self, cells: list[Cell], merge: Merge) -> None:
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
