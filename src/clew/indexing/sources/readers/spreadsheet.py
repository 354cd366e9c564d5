"""Spreadsheets (`.xlsx`) by `openpyxl`: each row under the names of the header, formulas as their last value."""

import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.indexing.sources.readers.sheet_layout import MergedCells, count_bare_formulas, read_layout
from clew.indexing.sources.tables import EMPTY_CELL, Cell, column_names, count_header_rows, own_texts, row_text
from clew.text.counts import format_count
from clew.types import Place

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

_OPENING_ROWS = 20  # among which the header is looked for
_FOLLOWING_ROWS = 5  # whose width a header has
_MAX_HEADING_CHARACTERS = 100


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
                _add_rows(builder, sheet.title, _read_rows(sheet, builder))
                bare += count_bare_formulas(sheet)
        title = (book.properties.title or "").strip()
    finally:
        book.close()
    if bare:
        counts = format_count(bare, "formula has no stored value", "formulas have no stored value")
        builder.notes.append(f"{counts}: open the file in a spreadsheet program and save it to have them read")
    return builder.contents([title])


def _read_rows(sheet: "ReadOnlyWorksheet", builder: TextBuilder) -> Iterator[_Row]:
    """Yield the rows that are shown and have text of their own, and count the others that have."""
    layout = read_layout(sheet)
    merged, hidden_columns = MergedCells(layout), set[int]()
    sheet.reset_dimensions()  # those that a file states may be smaller than it is
    for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
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


def _add_rows(builder: TextBuilder, name: str, rows: Iterator[_Row]) -> None:
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
