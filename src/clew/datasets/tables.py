"""Tables of separated values with a header, each row with its line in the file."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from clew.datasets.records import Record, preview
from clew.errors import InputError

_MAX_CELL_CHARACTERS = 1 << 24  # characters: what a quote that is never closed may swallow


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text.

    Attributes:
        path: Where it was read.
        header: The names of the columns.
        rows: The line on which each row begins, and its cells, as many as the header has.
    """

    path: Path
    header: Sequence[str]
    rows: Sequence[tuple[int, list[str]]]

    def location(self, line: int) -> str:
        """Return how errors name a line."""
        return f"{self.path}: line {line}"

    def columns(self, *names: str) -> Iterator[tuple[int, list[str]]]:
        """Yield for each row its line and its cells of some columns of the header."""
        places = [self.header.index(name) for name in names]
        for line, cells in self.rows:
            yield line, [cells[place] for place in places]

    def records(self) -> Iterator[Record]:
        """Yield each row as a record of strings."""
        for line, cells in self.rows:
            yield Record(self.location(line), dict(zip(self.header, cells, strict=True)))


def read_table(path: Path, required: Sequence[str], delimiter: str = ",") -> Table:
    """Return a table; other columns than the wanted ones are kept, blank lines are not.

    Args:
        path: UTF-8; cells may be quoted, and a quoted one may hold ends of lines.
        required: Columns that must be there, in any order.
        delimiter: One character.

    Raises:
        InputError: The file cannot be read, lacks a column or has a row of another length.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = _parse_table(path, file, delimiter)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: holds a byte that is not UTF-8 ({error.reason}); save the file as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a readable table") from error
    if missing := [name for name in required if name not in table.header]:
        seen = ", ".join(table.header)
        raise InputError(
            f"{table.location(1)}: the columns are {seen}; wanted {', '.join(required)}. Name {', '.join(missing)} "
            f"there"
        )
    return table


def _parse_table(path: Path, file: TextIO, delimiter: str) -> Table:
    csv.field_size_limit(_MAX_CELL_CHARACTERS)  # the process's: whoever reads a table sets it anew
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for cells in reader:
            if cells:
                rows.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}: line {line}: no row of a table ({error}); check its quotes") from error
    if not rows:
        raise InputError(f"{path}: is empty; wanted a header and rows. Check how it was made")
    header = rows[0][1]
    for line, cells in rows[1:]:
        if len(cells) != len(header):
            raise InputError(
                f"{path}: line {line}: {len(cells)} cells ({preview(cells)}); wanted {len(header)} as in the header. "
                "Quote cells that hold the delimiter"
            )
    return Table(path, header, rows[1:])
