"""Tables of documents: rows of CSV, cells that span rows and columns, rows as text under the names of their columns."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

MAX_SPAN = 1000  # rows or columns, as in the standard of HTML
_MAX_SPANNED_CELLS = 1 << 20  # of a table: far more than any that is written by hand
_MAX_REPEATED_CHARACTERS = 1 << 20


class Cell(NamedTuple):
    """A cell of a table, which may span rows and columns."""

    text: str
    columns: int = 1
    rows: int = 1


EMPTY_CELL = Cell("")
"""The cell of a place without text."""


def csv_rows(lines: Iterable[str], delimiter: str, longest: int) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield the line on which each row that is not blank starts, and its cells, or why it is none.

    A line in which quotes make no cells, as one that opens a quote and never closes it, is a row where the delimiters
    alone make as many cells of it as the header has; so is each line of tabs that a quote joins to the next. `longest`
    bounds the characters of a cell, and so those that a quote takes; it applies to the process.
    """
    csv.field_size_limit(longest)
    line_iterator, waiting, taken = iter(lines), list[str](), list[str]()

    def take() -> Iterator[str]:
        while (line := waiting.pop() if waiting else next(line_iterator, None)) is not None:
            taken.append(line)
            yield line

    rows, number, width = csv.reader(take(), delimiter=delimiter, strict=True), 1, 0
    while True:
        try:
            row: list[str] | csv.Error | None = next(rows, None)
        except csv.Error as error:
            row = error
        if row is None:
            return
        is_joined = len(taken) > 1 and delimiter == "\t" and all(line.count("\t") == width - 1 for line in taken)
        if isinstance(row, csv.Error) or is_joined:
            plain = taken[0].rstrip("\r\n").split(delimiter)
            row = plain if len(plain) == width else row
            waiting += reversed(taken[1:])
            del taken[1:]
            rows = csv.reader(take(), delimiter=delimiter, strict=True)
        width = width or (0 if isinstance(row, csv.Error) else len(row))
        if isinstance(row, csv.Error) or any(cell.strip() for cell in row):
            yield number, row
        number += len(taken)
        taken.clear()


def row_text(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row of a table as text, each cell with the name of its column: `ship: Fram; built: 1892`."""
    width = max(len(header), len(cells))
    names = [*header, *[""] * (width - len(header))]
    values = [*cells, *[""] * (width - len(cells))]
    pairs = [
        (" ".join(re.split(r"[\s:;]+", name)).strip(), " ".join(value.split()))  # a name ends at its colon
        for name, value in zip(names, values, strict=True)
    ]
    return "; ".join(f"{name}: {value}" if name else value for name, value in pairs if value)


def table_rows(rows: Sequence[Sequence[Cell]], header_rows: int = 1) -> list[str]:
    """Return the rows of a table as text, under the names of its first rows, which are text themselves if all alone.

    A cell that spans rows or columns stands in all of them. One that is a whole row by itself is text of its own,
    without a name, and above the header it is a title.

    Args:
        rows: The cells that begin in each row, in order.
        header_rows: The rows of the header; more where a cell of it reaches further down beside one over columns.
    """
    expanded = expand_spans(rows)
    grid = _filled_rows(expanded)
    width = max(map(len, grid), default=0)
    titles = list(takewhile(lambda row: _is_section(row, width), grid))
    grid = grid[len(titles) :]
    count = count_header_rows(grid, len(_filled_rows(expanded[:header_rows])) - len(titles))
    header, body = (column_names(grid[:count], width), grid[count:]) if len(grid) > count else (None, grid)
    return [
        *(row_text((), [row[0].text]) for row in titles),
        *(
            row_text((), own_texts(row))
            if header is None or _is_section(row, width)
            else row_text(header, [cell.text for cell in row])
            for row in body
        ),
    ]


def expand_spans(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return the cell at each row and column, the same one wherever it spans; no span is above `MAX_SPAN`.

    Where the spans of a table add up to more than any table needs, the rest of them count as one row and column, and
    texts that would be repeated without end are empty after their first place.
    """
    grid: list[list[Cell]] = []
    below: dict[int, tuple[Cell, int]] = {}  # column: the cell from above, and its rows that are to come
    cells_left, characters_left = _MAX_SPANNED_CELLS, _MAX_REPEATED_CHARACTERS
    for number, row in enumerate(rows):
        own = iter(row)
        line: list[Cell] = []
        next_below: dict[int, tuple[Cell, int]] = {}
        cell = next(own, None)
        last_below = max(below, default=-1)
        while cell is not None or len(line) <= last_below:
            column = len(line)
            if column in below:
                above, left = below.pop(column)
                line.append(above)
                if left > 1:
                    next_below[column] = (above, left - 1)
                continue
            if cell is None:
                line.append(EMPTY_CELL)
                continue
            high = max(1, min(cell.rows, MAX_SPAN, len(rows) - number))
            wide = max(1, min(cell.columns, MAX_SPAN))
            if high * wide > 1:
                size = high * (column + wide) if high > 1 else wide  # rows below are filled up to this column
                if size > cells_left:
                    high = wide = size = 1
                cells_left -= size
                characters_left -= (high * wide - 1) * len(cell.text)
            repeated = cell if characters_left >= 0 else EMPTY_CELL
            for place in range(column, column + wide):
                if place in below:  # spans that overlap: the one from above stays
                    break
                line.append(cell if place == column else repeated)
                if high > 1:
                    next_below[place] = (repeated, high - 1)
            cell = next(own, None)
        grid.append(line)
        below = next_below
    return grid


def _filled_rows(grid: Sequence[list[Cell]]) -> list[list[Cell]]:
    """Return the rows with text in them, without those that have only the cells of the row before."""
    ids = [[id(cell) for cell in row] for row in grid]
    return [
        row
        for at, row in enumerate(grid)
        if any(cell.text.strip() for cell in row) and not (at and ids[at] == ids[at - 1])
    ]


def _is_section(row: Sequence[Cell], width: int) -> bool:
    return 1 < width == len(row) and all(cell is row[0] for cell in row)


def count_header_rows(grid: Sequence[Sequence[Cell]], least: int) -> int:
    """Return how many rows are the header: those that a cell of it reaches beside one over columns belong to it."""
    count = least if 1 <= least < len(grid) else 1
    if not grid or len(_own_cells(grid[0])) == len(grid[0]):
        return count
    first = {id(cell) for cell in grid[0] if cell is not EMPTY_CELL}
    while count < len(grid) and any(id(cell) in first for cell in grid[count]):
        count += 1
    return count if count < len(grid) else 1


def _own_cells(row: Sequence[Cell]) -> list[Cell]:
    return [cell for at, cell in enumerate(row) if not at or cell is not row[at - 1] or cell is EMPTY_CELL]


def own_texts(row: Sequence[Cell]) -> list[str]:
    """Return the texts of a row, that of a cell over several columns once."""
    return [cell.text for cell in _own_cells(row)]


def column_names(rows: Sequence[Sequence[Cell]], width: int) -> list[str]:
    """Return the names of columns, each from the highest row of the header to the lowest."""
    columns = [[row[at].text for row in rows if at < len(row)] for at in range(width)]
    return [" ".join(dict.fromkeys(" ".join(text.split()) for text in column)).strip() for column in columns]
