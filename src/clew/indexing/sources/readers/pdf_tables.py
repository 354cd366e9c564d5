"""Tables in the lines of a PDF, by the places of words: cells stand apart in a line, and below each other in columns.

A table is three lines or more. Its first line has a cell in each column, and no bare numbers; it is the header, and
that of the lines at the top of the next page whose columns are the same. Two columns are a table where one of them has
numbers below its header: else they may be a form.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from clew.indexing.sources.tables import row_text

_MIN_LINES = 3
_TOLERANCE = 6.0  # points that columns of one table may differ by on two pages
_NO_NAME = re.compile(r"[\W\d]*|.*:")  # what names no column


class Segment(NamedTuple):
    """Words of a line without a gap between them, by their place across the page."""

    left: float
    right: float
    text: str


class _Table(NamedTuple):
    header: list[str]
    columns: list[tuple[float, float]]


def find_rows(pages: Sequence[Sequence[Sequence[Segment]]]) -> Iterator[dict[int, str]]:
    """Yield for each page the lines that are of a table as rows under the names of columns, "" for a header."""
    last: _Table | None = None  # that the page before ends with
    for lines in pages:
        found: dict[int, str] = {}
        above, last = last, None
        for first, end in _find_runs(lines):
            columns = _join_columns(lines[first:end])
            grid = [_sort_cells(line, columns) for line in lines[first:end]]
            if len(columns) < 2 or any(row is None for row in grid):
                continue
            rows = [row for row in grid if row is not None]
            if above and first <= 2 and rows[0] != above.header and _are_same(columns, above.columns):
                table, start = above, first
            elif _is_header(rows):
                table, start = _Table(rows[0], columns), first + 1
                found[first] = ""
            else:
                continue
            found.update((at, row_text(table.header, rows[at - first])) for at in range(start, end))
            last = table if end >= len(lines) - 2 else None
        yield found


def _find_runs(lines: Sequence[Sequence[Segment]]) -> Iterator[tuple[int, int]]:
    """Yield first and end of the lines with several segments that follow each other.

    One line of a single segment between two of them, that begins as they do, is a row with other cells empty.
    """
    is_row = [len(line) > 1 for line in lines]
    for at in range(1, len(lines) - 1):
        if len(lines[at]) == 1 and len(lines[at - 1]) > 1 and len(lines[at + 1]) > 1:
            is_row[at] = all(abs(lines[at][0].left - lines[at + step][0].left) <= _TOLERANCE for step in (-1, 1))
    for is_run, run in groupby(range(len(lines)), is_row.__getitem__):
        places = list(run)
        if is_run and len(places) >= _MIN_LINES:
            yield places[0], places[-1] + 1


def _join_columns(lines: Sequence[Sequence[Segment]]) -> list[tuple[float, float]]:
    """Return the stretches across the page that words of the lines stand in."""
    columns: list[tuple[float, float]] = []
    for left, right, _ in sorted(segment for line in lines for segment in line):
        if columns and left < columns[-1][1]:
            columns[-1] = columns[-1][0], max(right, columns[-1][1])
        else:
            columns.append((left, right))
    return columns


def _sort_cells(line: Sequence[Segment], columns: Sequence[tuple[float, float]]) -> list[str] | None:
    """Return the cell in each column, None where two segments are in one."""
    cells = [[segment.text for segment in line if left <= segment.left < right] for left, right in columns]
    return None if any(len(cell) > 1 for cell in cells) else ["".join(cell) for cell in cells]


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    header, *body = rows
    if not all(cell and not _NO_NAME.fullmatch(cell) for cell in header):
        return False
    numbers = [sum(any(c.isdigit() for c in row[at]) for row in body) for at in range(len(header))]
    return len(header) > 2 or max(numbers) > len(body) / 2


def _are_same(columns: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]) -> bool:
    return len(columns) == len(others) and all(
        min(abs(one[side] - other[side]) for side in (0, 1)) <= _TOLERANCE
        for one, other in zip(columns, others, strict=True)
    )
