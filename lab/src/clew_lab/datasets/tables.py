"""Tables of separated values with a header; each row keeps its line in the file."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from clew.datasets.questions import Record, open_text, preview
from clew.errors import InputError

_MAX_CELL_CHARACTERS = 1 << 24  # bounds what an unclosed quote can swallow


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text."""

    path: Path
    header: Sequence[str]
    # for each row the line on which it begins, and its cells, as many as in the header
    rows: Sequence[tuple[int, list[str]]]

    def location(self, line: int) -> str:
        """Return the location of a line, for errors."""
        return f"{self.path}: line {line}"

    def columns(self, *names: str) -> Iterator[tuple[int, list[str]]]:
        """Yield for each row its line and its cells of some columns."""
        positions = [self.header.index(name) for name in names]
        for line, cells in self.rows:
            yield line, [cells[position] for position in positions]

    def records(self) -> Iterator[Record]:
        """Yield each row as a record of strings."""
        for line, cells in self.rows:
            yield Record(self.location(line), dict(zip(self.header, cells, strict=True)))


def read_table(path: Path, required: Sequence[str], delimiter: str = ",") -> Table:
    """Read a table; columns that are not required are kept, blank lines are skipped.

    Cells may be quoted, and quoted cells may contain line breaks. Raises InputError if the file cannot be read, lacks a
    column or has a row of another length.
    """
    with open_text(path, "table", newline="") as file:
        table = _parse_table(path, file, delimiter)
    if missing := [name for name in required if name not in table.header]:
        raise InputError(
            f"{table.location(1)}: the columns are {', '.join(table.header)}; wanted {', '.join(required)}. "
            f"Add {', '.join(missing)} to the header"
        )
    return table


def _parse_table(path: Path, file: TextIO, delimiter: str) -> Table:
    csv.field_size_limit(_MAX_CELL_CHARACTERS)  # global to the process, so it is set before every table
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for cells in reader:
            if cells:
                rows.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}: line {line}: not a row of a table ({error}); check its quotes") from error
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
