"""OpenDocument (`.odt`, `.ods`, `.odp`): texts and slides by the reader of HTML, sheets by that of spreadsheets."""

import io
import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.indexing.sources.readers.epub import parse_xml
from clew.indexing.sources.readers.spreadsheet import MAX_COLUMNS, Merge, SheetLayout, add_rows, read_rows
from clew.indexing.sources.readers.web import HtmlWalk, parse_html
from clew.indexing.sources.tables import MAX_SPAN
from clew.types import Place

if TYPE_CHECKING:
    from lxml.etree import _Element

_NAMES = {"draw": "drawing"} | {name: name for name in ("office", "style", "table", "text", "presentation")}
_SPACES = {prefix: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for prefix, name in _NAMES.items()}
_TAGS = {"p": "div", "list-item": "li", "line-break": "br", "br": "br", "div": "div", "deletion": "del", "a": "a"}
_TAGS |= {"table": "table", "table-header-rows": "thead", "table-row": "tr", "table-cell": "td"}
_DROPPED = ("automatic-styles", "annotation", "change-info", "note", "table-of-content", "notes", "desc", "title")
_TAGS |= dict.fromkeys((*_DROPPED, "hidden-text"), "template")  # which the reader of pages passes over


def read_text_document(data: bytes) -> FileContents:
    """Return the text of a file, with the headings above each part; hidden and deleted text is counted in a note."""
    content, title = _open(data)
    named = "@text:style-name='Title' or @text:style-name=//style:style[@style:parent-style-name='Title']/@style:name"
    own = _find(content, f"string(//text:p[{named}])")
    walk = _read_blocks(content)
    return walk.builder.contents([own, title, walk.main_heading])


def read_presentation(data: bytes) -> FileContents:
    """Return the text of a presentation, with the slide of each part, and its title as heading; no hidden slides."""
    content, title = _open(data)
    builder, first = TextBuilder(), ""
    hidden = set(_find(content, "//style:style[*/@presentation:visibility='hidden']/@style:name"))
    for number, page in enumerate(_find(content, "//draw:page"), 1):
        if _find(page, "string(@draw:style-name)") in hidden:
            builder.left_out["hidden slide"] += 1
            continue
        heading = ""
        for frame in _find(page, "draw:frame[@presentation:class='title'][1]"):
            heading = " ".join(" ".join(frame.itertext()).split())
            page.remove(frame)
        first, place = first or heading, Place(slide=number, heading=heading)
        lines = _find(page, "presentation:notes/draw:frame[@presentation:class='notes']//text:p")
        notes = "\n".join(" ".join("".join(line.itertext()).split()) for line in lines).strip()
        for block in (heading, _read_blocks(page).builder.contents().text, f"Notes: {notes}" if notes else ""):
            builder.add(block, place)
    return builder.contents([title, first])


def read_sheets(data: bytes) -> FileContents:
    """Return the rows of all sheets that are shown, as those of `.xlsx`, with the sheet and the row of each."""
    content, title = _open(data)
    builder = TextBuilder()
    hidden = set(_find(content, "//style:style[style:table-properties/@table:display='false']/@style:name"))
    for table in _find(content, "//office:spreadsheet/table:table"):
        if _own(table).get("style-name") in hidden:
            builder.left_out["hidden sheet"] += 1
            continue
        layout = SheetLayout()
        rows = list(_sheet_rows(table, layout))
        layout.merges.sort()
        add_rows(builder, _own(table).get("name", ""), read_rows(rows, layout, builder))
    return builder.contents([title])


def _open(data: bytes) -> tuple["_Element", str]:
    """Return the contents of a file as XML, and its title."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        meta = parse_xml(archive.read("meta.xml")) if "meta.xml" in archive.namelist() else None
        title = "" if meta is None else meta.findtext(".//{http://purl.org/dc/elements/1.1/}title") or ""
        return parse_xml(archive.read("content.xml")), title


def _find(element: "_Element", path: str) -> Any:
    return element.xpath(path, namespaces=_SPACES)


def _own(element: "_Element") -> dict[str, str]:
    """Return the attributes of an element, by their names without a space of names."""
    return {str(key).rpartition("}")[2]: str(value) for key, value in element.items()}


def _read_blocks(element: "_Element") -> HtmlWalk:
    """Return the blocks of a text or a slide, whose elements become those of HTML; notes are below their paragraph."""
    from lxml.etree import QName, SubElement, tostring

    hidden = set(_find(element, "//style:style[style:text-properties/@text:display='none']/@style:name"))
    for note in _find(element, ".//text:note[ancestor::text:p]"):
        paragraph = _find(note, "ancestor::text:p[1]")[0]
        below = SubElement(paragraph.getparent(), "div")
        text = " ".join(" ".join(_find(note, "text:note-body//text()")).split())
        below.text = f"{_own(note).get('note-class', 'note').capitalize()}: {text}"
        paragraph.addnext(below)
        paragraph.addnext(SubElement(paragraph.getparent(), "br"))
    for part in element.iter("{*}*"):
        own, name = _own(part), QName(part).localname
        part.attrib.clear()
        part.tag = f"h{own.get('outline-level', '1')[0]}" if name == "h" else _TAGS.get(name, "span")
        part.text = " " if name in ("s", "tab") else part.text
        part.set("colspan", own.get("number-columns-spanned", "1"))
        part.set("rowspan", own.get("number-rows-spanned", "1"))
        part.set("href", own.get("href", ""))
        if own.get("style-name") in hidden:
            part.set("hidden", "")
    walk = HtmlWalk(TextBuilder(), HeadingPath(), is_first_header=True)
    walk.read(parse_html(tostring(element, method="html", encoding="utf-8")))
    return walk


def _sheet_rows(table: "_Element", layout: SheetLayout) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows of a sheet with their numbers and values, and note merged cells, hidden rows and columns."""
    column = number = 1
    for element in _find(table, ".//table:table-column"):
        before, column = column, column + _count(element, "columns-repeated")
        if _own(element).get("visibility", "visible") != "visible":
            layout.hidden_columns.update(range(before, min(column, MAX_COLUMNS)))
    for row in _find(table, ".//table:table-row"):
        values, empty, count = list[Any](), 0, _count(row, "rows-repeated")
        for cell in _find(row, "table:table-cell|table:covered-table-cell"):
            times, value = _count(cell, "columns-repeated"), _cell_value(cell)
            if value is None:
                empty += times
                continue
            values += [*[None] * min(empty, MAX_COLUMNS - len(values)), *[value] * min(times, MAX_SPAN)]
            empty, at = 0, len(values)
            last = Merge(
                number, at, number + _count(cell, "rows-spanned") - 1, at + _count(cell, "columns-spanned") - 1
            )
            layout.merges += [last] if last[:2] != last[2:] else []
        places = range(number, number + min(count, MAX_SPAN) if values else number)
        layout.hidden_rows.update(places if _own(row).get("visibility", "visible") != "visible" else ())
        yield from ((place, values) for place in places)
        number += count


def _count(element: "_Element", name: str) -> int:
    return max(1, int(_own(element).get(f"number-{name}", 1)))


def _cell_value(cell: "_Element") -> Any:
    """Return the value of a cell: a number, a day, a text; None for a covered and for an empty one."""
    own = _own(cell)
    if "date-value" in own:
        return datetime.fromisoformat(own["date-value"])
    if own.get("value-type") in ("float", "currency", "percentage"):
        return float(own["value"])
    return "\n".join("".join(line.itertext()) for line in _find(cell, "self::table:table-cell/text:p")).strip() or None
