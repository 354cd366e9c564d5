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

_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
_SPACES = {name: f"{_OASIS}:{name}:1.0" for name in ("office", "style", "table", "text", "presentation")}
_SPACES["draw"] = f"{_OASIS}:drawing:1.0"
_TABLE, _PRESENTATION = (f"{{{_SPACES[name]}}}" for name in ("table", "presentation"))
_TO_HTML = f"""
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:link="http://www.w3.org/1999/xlink"
 {" ".join(f'xmlns:{name}="{space}"' for name, space in _SPACES.items())}>
<xsl:output method="html" encoding="UTF-8"/>
<xsl:key name="hidden" match="style:style[style:text-properties/@text:display='none']" use="@style:name"/>
<xsl:template match="/"><html><body><xsl:apply-templates/></body></html></xsl:template>
<xsl:template match="office:meta|office:styles|office:automatic-styles|office:annotation|office:change-info|text:note|
 text:table-of-content|text:hidden-text|presentation:notes|draw:text-box[ancestor::text:p]|*[local-name()='desc']|
 *[local-name()='title']"/>
<xsl:template match="text:deletion"><del><xsl:apply-templates/></del></xsl:template>
<xsl:template match="text:h"><xsl:element name="h{{substring(concat(@text:outline-level, '1'), 1, 1)}}">
 <xsl:apply-templates/></xsl:element></xsl:template>
<xsl:template match="text:p"><p><xsl:if test="key('hidden', @text:style-name)"><xsl:attribute name="hidden"/></xsl:if>
 <xsl:apply-templates/></p>
 <xsl:for-each select=".//text:note"><br/><p><xsl:value-of select="concat(translate(substring(@text:note-class, 1, 1),
 'fe', 'FE'), substring(@text:note-class, 2), ': ')"/><xsl:for-each select="text:note-body//text:p">
 <xsl:value-of select="concat(., ' ')"/></xsl:for-each></p></xsl:for-each>
 <xsl:for-each select=".//draw:text-box"><xsl:apply-templates/></xsl:for-each></xsl:template>
<xsl:template match="text:span[key('hidden', @text:style-name)]"><span hidden=""><xsl:apply-templates/></span>
</xsl:template>
<xsl:template match="text:s|text:tab"><xsl:text> </xsl:text></xsl:template>
<xsl:template match="text:line-break"><br/></xsl:template>
<xsl:template match="text:list-item"><li><xsl:apply-templates/></li></xsl:template>
<xsl:template match="text:a"><a href="{{@link:href}}"><xsl:apply-templates/></a></xsl:template>
<xsl:template match="table:table"><table><xsl:apply-templates/></table></xsl:template>
<xsl:template match="table:table-header-rows"><thead><xsl:apply-templates/></thead></xsl:template>
<xsl:template match="table:table-row"><tr><xsl:apply-templates/></tr></xsl:template>
<xsl:template match="table:table-cell"><td colspan="{{@table:number-columns-spanned}}"
 rowspan="{{@table:number-rows-spanned}}"><xsl:apply-templates/></td></xsl:template>
</xsl:stylesheet>"""


def read_text_document(data: bytes) -> FileContents:
    """Return the text of a file, with the headings above each part; hidden and deleted text is counted in a note."""
    content, title = _open(data)
    walk = _read_blocks(content)
    named = "@text:style-name='Title' or @text:style-name=//style:style[@style:parent-style-name='Title']/@style:name"
    titles = [" ".join("".join(found.itertext()).split()) for found in _find(content, f"//text:p[{named}]")[:1]]
    return walk.builder.contents([*titles, title, walk.main_heading])


def read_presentation(data: bytes) -> FileContents:
    """Return the text of a presentation, with the slide of each part, and its title as heading; no hidden slides."""
    content, title = _open(data)
    builder, first = TextBuilder(), ""
    hidden = set(_find(content, "//style:style[*/@presentation:visibility='hidden']/@style:name"))
    for number, page in enumerate(_find(content, "//draw:page"), 1):
        if page.get(f"{{{_SPACES['draw']}}}style-name") in hidden:
            builder.left_out["hidden slide"] += 1
            continue
        frames = _find(page, "draw:frame[@presentation:class='title']")
        heading = " ".join(" ".join(frames[0].itertext()).split()) if frames else ""
        first = first or heading
        for frame in frames[:1]:
            page.remove(frame)
        place = Place(slide=number, heading=heading)
        builder.add(heading, place)
        builder.add(_read_blocks(page).builder.contents().text, place)
        lines = _find(page, "presentation:notes/draw:frame[@presentation:class='notes']//text:p")
        notes = "\n".join(" ".join("".join(line.itertext()).split()) for line in lines).strip()
        builder.add(f"Notes: {notes}" if notes else "", place)
    return builder.contents([title, first])


def read_sheets(data: bytes) -> FileContents:
    """Return the rows of all sheets that are shown, as those of `.xlsx`, with the sheet and the row of each."""
    content, title = _open(data)
    builder = TextBuilder()
    hidden = set(_find(content, "//style:style[style:table-properties/@table:display='false']/@style:name"))
    for table in _find(content, "//office:spreadsheet/table:table"):
        if table.get(f"{_TABLE}style-name") in hidden:
            builder.left_out["hidden sheet"] += 1
            continue
        layout = SheetLayout()
        rows = list(_sheet_rows(table, layout))
        layout.merges.sort()
        add_rows(builder, table.get(f"{_TABLE}name") or "", read_rows(rows, layout, builder))
    return builder.contents([title])


def _open(data: bytes) -> tuple["_Element", str]:
    """Return the contents of a file as XML, and its title."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = parse_xml(archive.read("content.xml"))
        names = archive.namelist()
        meta = parse_xml(archive.read("meta.xml")) if "meta.xml" in names else content
    return content, (meta.findtext(".//{http://purl.org/dc/elements/1.1/}title") or "").strip()


def _find(element: "_Element", path: str) -> list[Any]:
    found: list[Any] = element.xpath(path, namespaces=_SPACES)
    return found


def _read_blocks(element: "_Element") -> HtmlWalk:
    from lxml.etree import XSLT

    walk = HtmlWalk(TextBuilder(), HeadingPath(), is_first_header=True)
    walk.read(parse_html(bytes(XSLT(parse_xml(_TO_HTML.encode()))(element))))
    return walk


def _sheet_rows(table: "_Element", layout: SheetLayout) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows of a sheet with their numbers and values, and note merged cells, hidden rows and columns."""
    column = number = 1
    for element in _find(table, ".//table:table-column"):
        column, before = column + _count(element, "number-columns-repeated"), column
        if element.get(f"{_TABLE}visibility", "visible") != "visible":
            layout.hidden_columns.update(range(before, min(column, MAX_COLUMNS)))
    for row in _find(table, ".//table:table-row"):
        count, values, empty = _count(row, "number-rows-repeated"), list[Any](), 0
        for cell in _find(row, "table:table-cell|table:covered-table-cell"):
            times, value = _count(cell, "number-columns-repeated"), _cell_value(cell)
            if value is None:
                empty += times
                continue
            values += [*[None] * min(empty, MAX_COLUMNS - len(values)), *[value] * min(times, MAX_SPAN)]
            empty, at = 0, len(values)
            wide, high = _count(cell, "number-columns-spanned"), _count(cell, "number-rows-spanned")
            if wide * high > 1:
                layout.merges.append(Merge(number, at, number + high - 1, at + wide - 1))
        for place in range(number, number + (min(count, MAX_SPAN) if values else 0)):
            if row.get(f"{_TABLE}visibility", "visible") != "visible":
                layout.hidden_rows.add(place)
            yield place, list(values)
        number += count


def _count(element: "_Element", name: str) -> int:
    return max(1, int(element.get(f"{_TABLE}{name}") or 1))


def _cell_value(cell: "_Element") -> Any:
    """Return the value of a cell: a number, a day, a text; None for a covered and for an empty one."""
    values = {key.rpartition("}")[2]: value for key, value in cell.items() if f"{{{_SPACES['office']}}}" in key}
    if cell.tag != f"{_TABLE}table-cell":
        return None
    if "date-value" in values:
        return datetime.fromisoformat(str(values["date-value"]))
    if values.get("value-type") in ("float", "currency", "percentage"):
        return float(values["value"])
    return "\n".join("".join(line.itertext()) for line in _find(cell, "text:p")).strip() or None
