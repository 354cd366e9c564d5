"""Word files (`.docx`) by `python-docx`: paragraphs, lists, and tables as rows with their header."""

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.indexing.sources.tables import Cell, table_rows
from clew.types import Place

if TYPE_CHECKING:
    from docx.table import Table, _Row
    from docx.text.paragraph import Paragraph

_HEADING = re.compile(r"heading (\d)", re.I)
_STOCK_TITLES = frozenset({"word document"})


def read_word(data: bytes) -> FileContents:
    """Return the text of a Word file, with the headings above each part."""
    from docx import Document
    from docx.table import Table

    document = Document(io.BytesIO(data))
    builder, headings = TextBuilder(), HeadingPath()
    title, first = "", ""
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            for row in _rows(block):
                builder.add(row, Place(heading=headings.path))
            continue
        style = "" if block.style is None else str(block.style.name or "")
        text, level = _paragraph_text(block), _HEADING.match(style)
        if style.lower() == "title":
            title = title or text.strip()
        elif level and text.strip():
            headings.enter(int(level[1]), " ".join(text.split()))
            first = first or (" ".join(text.split()) if level[1] == "1" else "")
        is_item = _is_item(block, style)
        builder.add(f"- {text}" if is_item else text, Place(heading=headings.path), "\n" if is_item else "\n\n")
        for link in block.hyperlinks:
            if link.address:
                builder.links[link.address] = None
    own = (document.core_properties.title or "").strip()
    return builder.contents([title, "" if own.lower() in _STOCK_TITLES else own, first])


def _paragraph_text(paragraph: "Paragraph") -> str:
    return "\n".join(" ".join(line.split()) for line in paragraph.text.split("\n"))


def _is_item(paragraph: "Paragraph", style: str) -> bool:
    properties = paragraph._p.pPr  # noqa: SLF001 - python-docx has no other way to a list's number
    return style.lower().startswith("list") or (properties is not None and properties.numPr is not None)


def _rows(table: "Table") -> list[str]:
    cells: dict[Any, Cell] = {}  # by element, since a merged cell comes once for each row and column
    return table_rows([list(_row_cells(row, cells)) for row in table.rows])


def _row_cells(row: "_Row", cells: dict[Any, Cell]) -> Iterator[Cell]:
    yield from [Cell("")] * row.grid_cols_before
    for cell in row.cells:
        element = cell._tc  # noqa: SLF001 - python-docx has no other way to tell a merged cell
        if element not in cells:
            cells[element] = Cell(cell.text)
        yield cells[element]
