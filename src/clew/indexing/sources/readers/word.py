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

_WRAPPERS = ("ins", "moveTo", "sdt", "smartTag", "customXml")
_DELETED = ("del", "moveFrom")


def read_word(data: bytes) -> FileContents:
    """Return the text of a Word file, with the headings above each part."""
    from docx import Document
    from docx.table import Table

    document = Document(io.BytesIO(data))
    _accept_changes(document.element.body)
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


def _accept_changes(body: Any) -> None:
    """Put tracked insertions and the contents of content controls in their places, and take deletions out.

    `python-docx` passes over whatever is wrapped in these. A control that shows its prompt is empty, and one that holds
    the table of contents repeats the headings.
    """
    for element in list(body.iter(*map(_word_name, (*_DELETED, *_WRAPPERS)))):
        parent, name = element.getparent(), element.tag.rpartition("}")[2]
        if parent is None:
            continue
        if name == "del" and parent.tag == _word_name("trPr"):
            row = parent.getparent()
            if row is not None and row.getparent() is not None:
                row.getparent().remove(row)
            continue
        if name not in _DELETED and not _is_prompt_or_contents(element):
            inner = element.find(_word_name("sdtContent")) if name == "sdt" else element
            for child in [] if inner is None else list(inner):
                element.addprevious(child)
        parent.remove(element)


def _is_prompt_or_contents(control: Any) -> bool:
    properties = control.find(_word_name("sdtPr"))
    if properties is None:
        return False
    gallery = properties.find(f"{_word_name('docPartObj')}/{_word_name('docPartGallery')}")
    is_contents = gallery is not None and gallery.get(_word_name("val")) == "Table of Contents"
    return is_contents or properties.find(_word_name("showingPlcHdr")) is not None


def _word_name(name: str) -> str:
    return f"{{http://schemas.openxmlformats.org/wordprocessingml/2006/main}}{name}"


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
