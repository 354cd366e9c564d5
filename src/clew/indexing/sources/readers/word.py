"""Word files (`.docx`) by `python-docx`: paragraphs, lists, text boxes, and tables as rows with their header."""

import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.indexing.sources.tables import Cell, table_rows
from clew.types import Place

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import Table, _Row
    from docx.text.paragraph import Paragraph

_HEADING = re.compile(r"heading (\d)", re.I)
_STOCK_TITLES = frozenset({"word document"})

_WRAPPERS = ("ins", "moveTo", "sdt", "smartTag", "customXml")
_NOTES = {"footnotes": ("footnoteReference", "Footnote"), "endnotes": ("endnoteReference", "Endnote")}
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_DELETED = ("del", "moveFrom")
_DELETED_TEXT, _HIDDEN_TEXT = "character of deleted text", "character of hidden text"


def read_word(data: bytes) -> FileContents:
    """Return the text of a Word file, with the headings above each part; hidden and deleted text is counted in a note.

    Deleted is what a tracked change takes out.
    """
    from docx import Document
    from docx.table import Table

    document = Document(io.BytesIO(data))
    builder, headings = TextBuilder(), HeadingPath()
    hidden_styles = _find_hidden_styles(document)
    _keep_one_alternative(document.element.body)
    _accept_changes(document.element.body, builder.left_out)
    _take_out_hidden(document.element.body, hidden_styles, builder.left_out)
    _lift_text_boxes(document.element.body)
    notes = _read_notes(document, hidden_styles, builder.left_out)
    title, first = "", ""
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            for row in _rows(block):
                builder.add(row, Place(heading=headings.path))
            _add_notes(builder, block._tbl, notes)  # noqa: SLF001 - python-docx does not tell of footnotes
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
        _add_notes(builder, block._p, notes)  # noqa: SLF001 - as above
        for link in block.hyperlinks:
            if link.address:
                builder.links[link.address] = None
    own = (document.core_properties.title or "").strip()
    return builder.contents([title, "" if own.lower() in _STOCK_TITLES else own, first])


def _read_notes(
    document: "Document", hidden_styles: frozenset[str], left_out: Counter[str]
) -> dict[tuple[str, str], str]:
    """Return the texts of footnotes and endnotes, by the name of what refers to them and their id."""
    from docx.oxml.parser import parse_xml

    found: dict[tuple[str, str], str] = {}
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind not in _NOTES or relation.is_external:
            continue
        root = parse_xml(relation.target_part.blob)
        _accept_changes(root, left_out)
        _take_out_hidden(root, hidden_styles, left_out)
        name, word = _NOTES[kind]
        for note in root:
            paragraphs = (
                "".join(own.text or "" for own in p.iter(_word_name("t"))) for p in note.iter(_word_name("p"))
            )
            if text := " ".join(" ".join(paragraphs).split()):
                found[name, note.get(_word_name("id")) or ""] = f"{word}: {text}"
    return found


def _add_notes(builder: TextBuilder, element: Any, notes: dict[tuple[str, str], str]) -> None:
    """Add the notes that a paragraph or a table refers to, below it."""
    for reference in element.iter(*(_word_name(name) for name, _ in _NOTES.values())):
        name = reference.tag.rpartition("}")[2]
        builder.add(notes.get((name, reference.get(_word_name("id")) or ""), ""), separator="\n")


def _keep_one_alternative(body: Any) -> None:
    """Leave one of the forms in which a text box is stored, for newer and for older programs."""
    for forms in list(body.iter(_ALTERNATIVES)):
        with_text = [form for form in forms if next(form.iter(_word_name("txbxContent")), None) is not None]
        for other in with_text[1:]:
            forms.remove(other)


def _lift_text_boxes(body: Any) -> None:
    """Put the paragraphs and tables of text boxes below the block that each box is anchored in."""
    for box in list(body.iter(_word_name("txbxContent"))):
        anchor = next((above for above in box.iterancestors() if above.getparent() is body), None)
        for block in reversed(list(box)):
            if anchor is not None:
                anchor.addnext(block)


def _accept_changes(body: Any, left_out: Counter[str]) -> None:
    """Put tracked insertions and the contents of content controls in their places, and take deletions out, counted.

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
                left_out["deleted row"] += 1
                row.getparent().remove(row)
            continue
        if name == "del":
            left_out[_DELETED_TEXT] += _count_characters(element)
        if name not in _DELETED and not _is_prompt_or_contents(element):
            inner = element.find(_word_name("sdtContent")) if name == "sdt" else element
            for child in [] if inner is None else list(inner):
                element.addprevious(child)
        parent.remove(element)


def _take_out_hidden(body: Any, styles: frozenset[str], left_out: Counter[str]) -> None:
    """Take out, and count, the rows of tables that are hidden and the runs of text that are."""
    for mark in list(body.iter(_word_name("hidden"))):
        row = mark.getparent().getparent()
        if _is_on(mark) and row is not None and row.tag == _word_name("tr"):
            left_out["hidden row"] += 1
            row.getparent().remove(row)
    for run in list(body.iter(_word_name("r"))):
        if _is_hidden(run, styles):
            left_out[_HIDDEN_TEXT] += _count_characters(run)
            run.getparent().remove(run)


def _is_hidden(run: Any, styles: frozenset[str]) -> bool:
    """Return whether a run is not shown: as it says itself, else as its style or that of its paragraph does."""
    mark = run.find(f"{_word_name('rPr')}/{_word_name('vanish')}")
    if mark is not None:
        return _is_on(mark)
    own = run.find(f"{_word_name('rPr')}/{_word_name('rStyle')}")
    paragraph = next(run.iterancestors(_word_name("p")), None)
    above = None if paragraph is None else paragraph.find(f"{_word_name('pPr')}/{_word_name('pStyle')}")
    return any(style is not None and style.get(_word_name("val")) in styles for style in (own, above))


def _find_hidden_styles(document: "Document") -> frozenset[str]:
    """Return the ids of the styles whose text is hidden, by themselves or by the style that they are based on."""
    hidden: dict[str, bool | None] = {}  # None where the style does not say it
    based: dict[str, str] = {}
    for style in document.styles.element.iter(_word_name("style")):
        name = style.get(_word_name("styleId")) or ""
        mark = style.find(f"{_word_name('rPr')}/{_word_name('vanish')}")
        hidden[name] = None if mark is None else _is_on(mark)
        base = style.find(_word_name("basedOn"))
        based[name] = "" if base is None else base.get(_word_name("val")) or ""
    for name in hidden:
        above, seen = name, set[str]()
        while hidden.get(above) is None and above in based and above not in seen:
            seen.add(above)
            above = based[above]
        hidden[name] = bool(hidden.get(above))
    return frozenset(name for name, is_hidden in hidden.items() if is_hidden)


def _is_on(mark: Any) -> bool:
    return mark.get(_word_name("val")) not in ("0", "false", "off")


def _count_characters(element: Any) -> int:
    return sum(len(text.text or "") for text in element.iter(*map(_word_name, ("t", "delText"))))


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
            runs = [run for paragraph in cell.paragraphs for run in paragraph.runs if run.text.strip()]
            is_bold = bool(runs) and all(run.bold for run in runs)
            cells[element] = Cell(cell.text, is_label=is_bold or cell.text.rstrip().endswith(":"))
        yield cells[element]
