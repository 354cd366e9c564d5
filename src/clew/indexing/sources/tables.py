"""Tables of documents: rows of CSV, cells that span rows and columns, rows as text under the names of their columns."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

MAX_SPAN = 1000  # rows or columns, as in the standard of HTML
_MAX_SPANNED_CELLS = 1 << 20  # of a table: far more than any that is written by hand
_MAX_REPEATED_CHARACTERS = 1 << 20
_MAX_LABEL_CHARACTERS = 60


class Cell(NamedTuple):
    """A cell of a table, which may span rows and columns."""

    text: str
    columns: int = 1
    rows: int = 1
    is_label: bool = False  # whether its form says that it names others, as bold letters or a colon do


EMPTY_CELL = Cell("")
"""The cell of a place without text."""


def csv_rows(lines: Iterable[str], delimiter: str, longest: int) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield the line on which each row that is not blank starts, and its cells, or why it is none.

    Where quotes make no cells of a line, or join lines of tabs, those between delimiters are, if as many as the header
    has. `longest` bounds the characters of a cell, and so those that a quote takes; it applies to the process.
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


def table_rows(rows: Sequence[Sequence[Cell]], header_rows: int = 0, *, is_first_header: bool = True) -> list[str]:
    """Return the rows of a table as text, under the names of its first rows, which are text themselves if all alone.

    A cell that spans rows or columns stands in all of them. One that is a whole row by itself is text of its own,
    without a name, and above the header it is a title. Where no header is marked, a row of labels is one; labels that
    begin rows are the names of what follows them, as is the first of two columns that show no header.

    Args:
        rows: The cells that begin in each row, in order.
        header_rows: The marked rows of the header; more where a cell of it reaches down further than one over columns.
        is_first_header: Whether an unmarked first row is the header unless figures deny it, or only where it looks so.
    """
    expanded = expand_spans(rows)
    grid = _filled_rows(expanded)
    width = max(map(len, grid), default=0)
    titles = list(takewhile(lambda row: _is_section(row, width), grid))
    grid = grid[len(titles) :]
    marked = max(0, len(_filled_rows(expanded[:header_rows])) - len(titles))
    records = [row for row in grid if not _is_section(row, width)]
    if not (marked or _is_label_row(records)):
        evidence = _find_header_evidence(records, width)
        is_pairs = width == 2 and not is_first_header and all(_is_short(row[0].text) for row in records)
        if (is_pairs and evidence < width) or all(row[0].is_label and not row[-1].is_label for row in records):
            return [text for row in (*titles, *grid) if (text := _label_text(row))]
        marked = len(grid) if evidence < (not is_first_header) else 0
    count = count_header_rows(grid, marked) if marked < len(grid) else marked
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


def _is_label_row(grid: Sequence[Sequence[Cell]]) -> bool:
    """Return whether the cells of the first row are labels, at least two, and not those of all rows."""
    full = [[cell.is_label for cell in row if cell.text.strip()] for row in grid]
    return len(full) > 1 and len(full[0]) > 1 and all(full[0]) and not all(map(all, full))


def _label_text(row: Sequence[Cell]) -> str:
    """Return the values of a row under the labels before them; where none is marked, the first cell is one."""
    names, values, name, own = list[str](), list[str](), "", _own_cells(row)
    has_label = any(cell.is_label for cell in own)
    for at, cell in enumerate(own):
        if len(own) > 1 and (cell.is_label if has_label else not at):
            name = cell.text.strip().rstrip(":： ")
        else:
            names, values, name = [*names, name], [*values, cell.text], ""
    return row_text(names, values)


_FIGURE = re.compile(r"[^\w\s]{0,3}\s?\d[\d.,:/' –-]*\s?[^\W\d]{0,4}[%°²³/]?[^\W\d]{0,3}")
_VALUE_FORMS = ("figure", "code", "name")  # that a column of values has, and its name has not


def _is_short(text: str) -> bool:
    return len(text) <= _MAX_LABEL_CHARACTERS and ":" not in text.strip()[:-1]


def _form(text: str) -> str:
    """Return the form of a cell's text: figures, letters with digits, names, words, "" for none."""
    words = text.split()
    if any(sign.isdigit() for sign in text):
        return "figure" if _FIGURE.fullmatch(text.strip()) else "code"
    if text.islower():
        return "lower"
    return "name" if len(words) > 1 and all(word[0].isupper() for word in words) else "word" if words else ""


def _find_header_evidence(grid: Sequence[Sequence[Cell]], width: int) -> int:
    """Return in how many columns the first cell has another form than all below; -1 where one is a figure like them."""
    evidence = 0
    for at in range(width):
        first, *forms = (_form(row[at].text) if at < len(row) else "" for row in grid)
        below = set(filter(None, forms))
        if below == {first} == {"figure"}:
            return -1
        if len(below) == 1 and first not in (*below, "", "figure", "code") and _is_short(grid[0][at].text):
            is_figure = not at and below == {"figure"}  # which no label is
            evidence += (
                width
                if is_figure
                else not {"lower", first, *_VALUE_FORMS}.isdisjoint(below | {first} - {"name", "word"})
            )
    return evidence


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
