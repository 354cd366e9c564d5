"""Rows of tables in texts: `ship: Fram; built: 1892`, as readers of files write them, or `| Fram | 1892 |` as given."""

import re
from collections.abc import Sequence
from typing import NamedTuple

# Of a column: no words of two sentences, and no bracket that the name does not close.
_NAME = r"(?![\s|#>])(?:(?![.!?]\s[^\W\d_a-z])[^:;()\n]|\([^:;()\n]{0,40}\)){1,80}"
_FIRST_NAME = re.compile(rf"(?P<name>{_NAME}): (?=\S)")
_UNNAMED = re.compile(rf"{_NAME}; ")
_NEXT_NAME = re.compile(rf"; (?P<name>{_NAME}): (?=\S)")  # a semicolon without the name of a column parts no cells
_NUMBER = re.compile(r"[#+-]?[\d.,\s]*%?")
_LINE_END = re.compile(r"[\r\n\v\f\x85\u2028\u2029]|\Z")
_PIPE_ROW = re.compile(r"[ \t]{0,3}\|[^|\n]*+\|")
_PIPE_CELL = re.compile(r"(?:[^|\\]|\\.)++")


class RowCell(NamedTuple):
    """A cell of a row, by its place in the text."""

    column: str  # the name of its column, "" where none is written
    start: int
    end: int


def row_cells(text: str, start: int, end: int) -> list[RowCell]:
    """Return the cells of the row that a line `text[start:end]` is; [] where it is none, with less than two cells."""
    if _PIPE_ROW.match(text, start, end):
        spans = [cell.span() for cell in _PIPE_CELL.finditer(text, start, end)]
        return [RowCell("", *span) for first, last in spans if (span := _strip(text, first, last))[0] < span[1]]
    first = _FIRST_NAME.match(text, start, end)
    if first is None and not _UNNAMED.match(text, start, end):
        return []
    names = list(_NEXT_NAME.finditer(text, start if first is None else first.end(), end))
    if len(names) < (2 if first is None else 1):
        return []
    starts = [(first["name"], first.end()) if first else ("", start), *((name["name"], name.end()) for name in names)]
    ends = [*(name.start() for name in names), end]
    return [RowCell(name, begin, last) for (name, begin), last in zip(starts, ends, strict=True)]


def find_key(text: str, cells: Sequence[RowCell]) -> int:
    """Return which cell tells what a row is of: the first that is no bare number."""
    return next((at for at, cell in enumerate(cells) if not _NUMBER.fullmatch(text, cell.start, cell.end)), 0)


def find_row_end(text: str, start: int) -> int:
    """Return where the row of a table that begins a line ends, -1 where that line is none."""
    if not (_FIRST_NAME.match(text, start) or _PIPE_ROW.match(text, start) or _UNNAMED.match(text, start)):
        return -1
    found = _LINE_END.search(text, start)
    end = len(text) if found is None else found.start()
    return end if row_cells(text, start, end) else -1


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end].rstrip()
    return start + len(piece) - len(piece.lstrip()), start + len(piece)
