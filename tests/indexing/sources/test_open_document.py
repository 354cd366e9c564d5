"""OpenDocument files give what the same contents give in an Office file; Rich Text and old Word files are read."""

import io
import struct
import zipfile
from datetime import date

import docx
import openpyxl
import pptx
import pytest

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents
from clew.types import Place
from tests.indexing.sources.reading import read_one, saved

OASIS = "urn:oasis:names:tc:opendocument:xmlns"
SPACES = " ".join(
    f'xmlns:{name}="{OASIS}:{part}:1.0"'
    for name, part in {
        **{name: name for name in ("office", "style", "table", "text", "presentation")},
        "draw": "drawing",
    }.items()
)
STYLES = (
    '<style:style style:name="H"><style:text-properties text:display="none"/></style:style>'
    '<style:style style:name="T1" style:parent-style-name="Title"/>'
    '<style:style style:name="gone"><style:table-properties table:display="false"/></style:style>'
    '<style:style style:name="unseen"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
)
META = f'<m {SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A file</dc:title></m>'
P, SHEET_ROW = "<text:p>{}</text:p>", "<table:table-row{}>{}</table:table-row>"


def open_document(kind: str, body: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        content = f"<office:automatic-styles>{STYLES}</office:automatic-styles><office:body><office:{kind}>{body}"
        archive.writestr("content.xml", f"<c {SPACES}>{content}</office:{kind}></office:body></c>")
        archive.writestr("meta.xml", META)
    return file.getvalue()


def table(*rows: tuple[str, ...]) -> str:
    cells = (
        "".join(f'<table:table-cell office:value-type="string">{P.format(text)}</table:table-cell>' for text in row)
        for row in rows
    )
    return "<table:table>" + "".join(SHEET_ROW.format("", row) for row in cells) + "</table:table>"


def same(one: FileContents, other: FileContents) -> bool:
    return (one.text, one.places) == (other.text, other.places)


ROWS = (("Ship", "Built"), ("Fram", "1892"))


def test_a_text_is_read_as_that_of_word() -> None:
    document = docx.Document()
    document.add_heading("The Solan", 1)
    document.add_paragraph("She lies in Leith.")
    document.add_heading("Crew", 2)
    document.add_paragraph("Ada Holm", "List Bullet")
    for at, row in enumerate(ROWS):
        grid = document.add_table(2, 2) if not at else document.tables[0]
        for column, text in enumerate(row):
            grid.cell(at, column).text = text
    body = (
        '<text:h text:outline-level="1">The Solan</text:h><text:p>She <text:s/>lies in Leith.</text:p>'
        '<text:h text:outline-level="2">Crew</text:h><text:list><text:list-item><text:p>Ada Holm</text:p>'
        f"</text:list-item></text:list>{table(*ROWS)}"
    )
    read = read_one(".odt", open_document("text", body))
    assert same(read, read_one(".docx", saved(document.save)))
    assert (read.titles, read.places[-1].place) == (("A file", "The Solan"), Place(heading="The Solan > Crew"))


def test_what_a_text_hides_deletes_and_notes() -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><office:change-info>Bo</office:change-info>"
        '<text:p>old</text:p></text:deletion></text:changed-region></text:tracked-changes><text:p text:style-name="T1">'
        'The log</text:p><text:p>Ada<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>Of Leith.</text:p></text:note-body></text:note> came<text:line-break/>home"
        '<text:span text:style-name="H">secret</text:span>.</text:p>'
    )
    read = read_one(".odt", open_document("text", body))
    assert read.text == "The log\n\nAda came\nhome.\nFootnote: Of Leith."
    assert read.titles == ("The log", "A file")
    assert read.notes == ("left out: 6 characters of hidden text, 3 characters of deleted text",)


def test_slides_are_read_as_those_of_powerpoint() -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Leith", "Two quays"
    slide.notes_slide.notes_text_frame.text = "Speak up."
    frame = '<draw:frame presentation:class="{}"><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>'
    body = (
        f"<draw:page>{frame.format('title', 'Leith')}{frame.format('outline', 'Two quays')}<presentation:notes>"
        f"{frame.format('notes', 'Speak up.')}</presentation:notes></draw:page>"
        f'<draw:page draw:style-name="unseen">{frame.format("title", "Later")}</draw:page>'
    )
    read = read_one(".odp", open_document("presentation", body))
    assert same(read, read_one(".pptx", saved(presentation.save)))
    assert (read.notes, read.titles) == (("left out: 1 hidden slide",), ("A file", "Leith"))


def test_sheets_are_read_as_those_of_excel() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Stock"
    for row in (
        ("Town", "Ship", "Built", "Seen"),
        ("Leith", "Fram", 1892, date(1901, 5, 2)),
        (None, "Maud", 1.5, None),
    ):
        sheet.append(row)
    sheet.append(("Oslo", "Gone", 1, None))
    sheet.merge_cells("A2:A3")
    sheet.row_dimensions[4].hidden = True
    cell = "<table:table-cell {}>{}</table:table-cell>"
    text, number = cell.format("", P), cell.format('office:value-type="float" office:value="{}"', "")
    day = cell.format('office:value-type="date" office:date-value="1901-05-02"', "<text:p>2/5/01</text:p>")
    empty, covered = '<table:table-cell table:number-columns-repeated="16000"/>', "<table:covered-table-cell/>"
    rows = (
        SHEET_ROW.format("", "".join(map(text.format, ("Town", "Ship", "Built", "Seen"))) + empty),
        SHEET_ROW.format("", cell.format('table:number-rows-spanned="2"', P.format("Leith")) + text.format("Fram")
                         + number.format(1892) + day),
        SHEET_ROW.format("", covered + text.format("Maud") + number.format(1.5)),
        SHEET_ROW.format(' table:visibility="filter"', text.format("Oslo")),
        SHEET_ROW.format(' table:number-rows-repeated="1048000"', empty),
    )  # fmt: skip
    body = f'<table:table table:name="Stock">{"".join(rows)}</table:table>'
    body += (
        f'<table:table table:name="Old" table:style-name="gone">{SHEET_ROW.format("", text.format("x"))}</table:table>'
    )
    read = read_one(".ods", open_document("spreadsheet", body))
    assert same(read, read_one(".xlsx", saved(book.save)))
    assert read.text.split("\n\n")[1] == "Town: Leith; Ship: Maud; Built: 1.5"
    assert read.notes == ("left out: 1 hidden row, 1 hidden sheet",)


def test_entities_of_an_open_document_are_not_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        entity = '<!DOCTYPE c [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
        body = "<office:body><office:text><text:p>a&e;b</text:p></office:text></office:body>"
        archive.writestr("content.xml", f"{entity}<c {SPACES}>{body}</c>")
    assert read_one(".odt", file.getvalue()).text == "a&e;b"


def test_rich_text() -> None:
    data = (
        rb"{\rtf1\ansi\ansicpg1252{\info{\title The Solan}}\pard She lies in K\'f6ln.\par"
        rb"\trowd\intbl Ship\cell Built\cell\row\trowd\intbl Fram\cell 1892\cell\row\pard After.\par}"
    )
    read = read_one(".rtf", data)
    assert read.text == "She lies in Köln.\n\nShip: Fram; Built: 1892\n\nAfter."
    assert read.titles == ("The Solan",)
    assert read_one(".doc", data).text == read.text


def test_old_word_files() -> None:
    body = b"The Solan\rShe was built by Ada Holm.\r"
    head = bytearray(0x180)  # of Word 2, which has its text behind a head of fixed places
    struct.pack_into("<HH", head, 0, 0xA5DB, 45)
    struct.pack_into("<II", head, 0x18, len(head), len(head) + len(body))
    struct.pack_into("<I", head, 0x34, len(body))
    read = read_one(".doc", bytes(head) + body)
    assert (read.text, read.titles) == ("The Solan\n\nShe was built by Ada Holm.", ("The Solan",))
    with pytest.raises(InputError, match=r"suffix \.docx"):
        read_one(".doc", b"PK\3\4")
    with pytest.raises(InputError, match="damaged or locked"):
        read_one(".doc", b"words")
