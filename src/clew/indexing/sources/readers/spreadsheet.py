"""Spreadsheets (`.xlsx`) by `openpyxl`: each row with the names of the first one, formulas as their last value."""

import io
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any

from clew.indexing.sources.contents import FileContents, TextBuilder
from clew.indexing.sources.tables import row_text
from clew.types import Place


def read_spreadsheet(data: bytes) -> FileContents:
    """Return the rows of all sheets, with the sheet and the row of each."""
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    builder = TextBuilder()
    try:
        for sheet in book.worksheets:
            _add_sheet(builder, sheet.title, sheet.iter_rows(values_only=True))
        title = (book.properties.title or "").strip()
    finally:
        book.close()
    return builder.contents([title])


def _add_sheet(builder: TextBuilder, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
    header: list[str] | None = None
    alone: tuple[str, Place] | None = None
    for number, row in enumerate(rows, 1):
        cells = [_cell_text(value) for value in row]
        if not any(cells):
            continue
        if header is None:
            header, alone = cells, (row_text((), cells), Place(sheet=name, row=number))
            continue
        alone = None
        builder.add(row_text(header, cells), Place(sheet=name, row=number))
    if alone is not None:
        builder.add(*alone)


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ", timespec="minutes")
    if isinstance(value, date | time):
        return value.isoformat()
    return " ".join(str(value).split())
