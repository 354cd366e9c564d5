"""Rich Text (`.rtf`) by `striprtf`, and Word files before 2007 (`.doc`) by `office-oxide`."""

import re
from itertools import groupby

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents, TextBuilder
from clew.indexing.sources.readers.web import read_html
from clew.indexing.sources.tables import Cell, table_rows

_TITLE = re.compile(r"\{\\title ([^{}\\]+)\}")


def read_rich_text(data: bytes) -> FileContents:
    """Return the paragraphs of a file and the rows of its tables."""
    from striprtf.striprtf import rtf_to_text

    raw, builder = data.decode("cp1252", "replace"), TextBuilder()
    text: str = rtf_to_text(raw, errors="replace")
    for is_table, lines in groupby(text.split("\n"), lambda line: line.endswith("|")):
        cells = [[Cell(" ".join(cell.split())) for cell in line.removesuffix("|").split("|")] for line in lines]
        for block in table_rows(cells) if is_table else ("|".join(cell.text for cell in row) for row in cells):
            builder.add(block)
    return builder.contents(_TITLE.findall(raw)[:1])


def read_old_word(data: bytes) -> FileContents:
    """Return the text of a file, with headings and tables; one that is Rich Text by its contents is read as that."""
    from office_oxide import Document

    if data.startswith(b"PK"):
        raise InputError("the .doc file is a newer one of Word by its contents: give it the suffix .docx")
    if data.startswith(b"{\\rtf"):
        return read_rich_text(data)
    return read_html(Document.from_bytes(data, "doc").to_html().encode())
