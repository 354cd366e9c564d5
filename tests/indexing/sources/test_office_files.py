"""Word, PowerPoint, PDF and HTML files: through the real converter, with what they hide, change, or break."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from pptx.util import Inches

from clew.errors import InputError
from clew.indexing.sources.conversion import convert_file
from clew.indexing.sources.reader import read_documents
from clew.indexing.sources.readers.spreadsheet import read_layout
from clew.types import Document, Failure
from tests.indexing.sources.reading import pdf_bytes, read_one, read_single, repacked, saved, write_file


def write_pdf(path: Path) -> None:
    path.write_bytes(pdf_bytes([["The Fram sailed north."]]))


def write_html(path: Path) -> None:
    path.write_text(
        "<html><head><title>Polar Ship – Site</title></head><body><h1>Polar Ship</h1><p>The Fram sailed north. Zürich "
        '<a href="nansen.html">Nansen</a> <a href="https://example.org/x">x</a></p><script>no()</script></body></html>',
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    ("make", "title"),
    [(write_html, "Polar Ship"), (write_pdf, "the fram")],
)
def test_files_that_are_converted(tmp_path: Path, make: Callable[[Path], None], title: str) -> None:
    path = tmp_path / "n" / f"the_fram.{make.__name__.removeprefix('write_')}"
    path.parent.mkdir()
    make(path)
    document = read_single(tmp_path / "n")
    assert document.id == path.name
    assert document.title == title
    assert "The Fram sailed north." in document.text
    if make is write_html:
        assert document.links == ("nansen.html", "https://example.org/x")
        assert document.aliases == ("Polar Ship – Site", "the fram")
        assert "Zürich" in document.text
        assert "no()" not in document.text


def test_utf_8_is_not_guessed_away(tmp_path: Path) -> None:
    # A guess from the first few thousand bytes would see only ASCII.
    path = write_file(tmp_path / "a.html", f"<p>{'plain words ' * 500}</p><p>Zürich, Łódź, 東京</p>")
    assert "Zürich, Łódź, 東京" in read_single(path).text


def test_html_in_the_charset_it_declares(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.html", '<meta charset="iso-8859-1"><p>Zürich and Genève</p>'.encode("latin-1"))
    assert "Zürich and Genève" in read_single(path).text


def test_without_a_package_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bs4", None)
    write_html(tmp_path / "a.html")
    write_file(tmp_path / "b.txt", "text")
    broken, fine = read_documents([tmp_path])
    assert isinstance(broken, Failure)
    assert "pip install 'clew[files]'" in broken.reason
    assert isinstance(fine, Document)


KIND = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def run(text: str, element: str = "t") -> str:
    return f'<w:r><w:{element} xml:space="preserve">{text}</w:{element}></w:r>'


def read_word(*blocks: str) -> str:
    """Return the text of a Word file whose body is these elements."""
    document = docx.Document()
    for block in blocks:
        document.element.body.append(parse_xml(block.replace(">", f" {KIND}>", 1)))
    return read_one(".docx", saved(document.save)).text


def test_line_breaks_of_slides_part_words() -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Crew of\vthe Fram"
    box = slide.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame
    box.text = "Anna Reid\vbuilt it"
    table = slide.shapes.add_table(1, 1, 0, 0, 9, 9).table
    table.cell(0, 0).text = "Carl\vBell"
    slide.notes_slide.notes_text_frame.text = "See the\vlog"
    assert (
        read_one(".pptx", saved(presentation.save)).text
        == "Crew of the Fram\n\nAnna Reid\nbuilt it\n\nCarl Bell\n\nNotes: See the\nlog"
    )


def test_tracked_insertions_are_text_and_deletions_are_none() -> None:
    inserted, deleted = f"<w:ins>{run('north ')}</w:ins>", f"<w:del>{run('south ', 'delText')}</w:del>"
    moved = f"<w:moveFrom>{run('twice ')}</w:moveFrom><w:moveTo>{run('once ')}</w:moveTo>"
    both = f"<w:ins><w:del>{run('never ')}</w:del>{run('late')}</w:ins>"
    text = read_word(f"<w:p>{run('It sailed ')}{inserted}{deleted}{moved}{both}</w:p>")
    assert text == "It sailed north once late"


def test_content_controls_are_text() -> None:
    inner = f"<w:sdt><w:sdtPr/><w:sdtContent>{run('Anna Reid')}</w:sdtContent></w:sdt>"
    block = f"<w:sdt><w:sdtPr/><w:sdtContent><w:p>{run('It was built by ')}{inner}</w:p></w:sdtContent></w:sdt>"
    cells = f"<w:tc><w:sdt><w:sdtContent><w:p>{run('Fram')}</w:p></w:sdtContent></w:sdt></w:tc>"
    rows = f"<w:tr>{cells}</w:tr><w:sdt><w:sdtContent><w:tr><w:tc><w:p>{run('1892')}</w:p></w:tc></w:tr></w:sdtContent>"
    grid = '<w:tblPr/><w:tblGrid><w:gridCol w:w="9"/></w:tblGrid>'
    text = read_word(block, f"<w:tbl>{grid}{rows}</w:sdt></w:tbl>")
    assert text == "It was built by Anna Reid\n\nFram: 1892"


def test_rows_that_are_deleted_in_a_tracked_change_are_no_text() -> None:
    cell = f"<w:tc><w:p>{run('{}')}</w:p></w:tc>"
    rows = "".join(f"<w:tr>{marks}{cell.format(name)}</w:tr>" for marks, name in (
        ("", "ship"), ("<w:trPr><w:ins/></w:trPr>", "Fram"), ("<w:trPr><w:del/></w:trPr>", "Gjoa"),
    ))  # fmt: skip
    assert read_word(f'<w:tbl><w:tblPr/><w:tblGrid><w:gridCol w:w="9"/></w:tblGrid>{rows}</w:tbl>') == "ship: Fram"


@pytest.mark.parametrize(
    "properties",
    ["<w:showingPlcHdr/>", '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'],
)
def test_prompts_and_the_table_of_contents_are_no_text(properties: str) -> None:
    control = f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent><w:p>{run('Click')}</w:p></w:sdtContent></w:sdt>"
    assert read_word(control, f"<w:p>{run('Fram')}</w:p>") == "Fram"


@pytest.mark.parametrize(("kind", "word"), [("footnote", "Footnote"), ("endnote", "Endnote")])
def test_notes_of_a_word_file_stand_below_what_refers_to_them(kind: str, word: str) -> None:
    document = docx.Document()
    reference = f'<w:r><w:{kind}Reference w:id="2"/></w:r>'
    cell = f"<w:tc><w:p>{run('Leith')}{reference.replace('2', '3')}</w:p></w:tc>"
    grid = '<w:tblPr/><w:tblGrid><w:gridCol w:w="9"/></w:tblGrid>'
    for block in (
        f"<w:p>{run('The harbour is deep.')}{reference}</w:p>",
        f"<w:p>{run('It is old.')}</w:p>",
        f"<w:tbl>{grid}<w:tr>{cell}</w:tr></w:tbl>",
    ):
        document.element.body.append(parse_xml(block.replace(">", f" {KIND}>", 1)))
    own = (
        f'<w:{kind} w:id="2"><w:p>{run("Measured by ")}<w:ins>{run("Anna Reid.")}</w:ins>'
        f"<w:del>{run('Nobody.', 'delText')}</w:del></w:p><w:p>{run('In 1892.')}</w:p></w:{kind}>"
        f'<w:{kind} w:id="3"><w:p>{run("By rail.")}</w:p></w:{kind}>'
    )
    separator = f'<w:{kind} w:type="separator" w:id="0"><w:p><w:r><w:separator/></w:r></w:p></w:{kind}>'
    part = Part(
        PackURI(f"/word/{kind}s.xml"),
        f"application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}s+xml",
        f"<w:{kind}s {KIND}>{separator}{own}</w:{kind}s>".encode(),
        document.part.package,
    )
    document.part.relate_to(part, f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}s")
    contents = read_one(".docx", saved(document.save))
    assert contents.text == (
        f"The harbour is deep.\n{word}: Measured by Anna Reid. In 1892.\n\nIt is old.\n\nLeith\n{word}: By rail."
    )
    assert contents.notes == ("left out: 7 characters of deleted text",)


def text_box(text: str, *, old: bool = False) -> str:
    """Return a run with a text box, as newer programs or as older ones store it."""
    inner = f"<w:txbxContent><w:p>{run(text)}</w:p></w:txbxContent>"
    if old:
        return f'<w:pict><v:textbox xmlns:v="urn:schemas-microsoft-com:vml">{inner}</v:textbox></w:pict>'
    shape = "http://schemas.microsoft.com/office/word/2010/wordprocessingShape"
    return f'<w:drawing><s:txbx xmlns:s="{shape}">{inner}</s:txbx></w:drawing>'


def test_text_boxes_are_read_once_below_the_paragraph_that_they_stand_in() -> None:
    forms = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f'<mc:Choice Requires="wps">{text_box("Built in 1892.")}</mc:Choice>'
        f"<mc:Fallback>{text_box('Built in 1892.', old=True)}</mc:Fallback></mc:AlternateContent>"
    )
    text = read_word(
        f"<w:p>{run('The Fram')}<w:r>{forms}</w:r></w:p>",
        f"<w:p><w:r>{text_box('Sunk in 1931.', old=True)}</w:r></w:p>",
        f"<w:p>{run('The Maud')}</w:p>",
    )
    assert text == "The Fram\n\nBuilt in 1892.\n\nSunk in 1931.\n\nThe Maud"


def make_sheets() -> bytes:
    book = openpyxl.Workbook()
    shown, hidden = book.active, book.create_sheet("Notes")
    for row in (("ship", "built", "price"), ("Fram", 1892, 40), ("Gjoa", 1872, 9), ("Maud", 1916, 30)):
        shown.append(row)
        hidden.append(row)
    shown.row_dimensions[3].hidden = True
    shown.column_dimensions["C"].hidden = True
    hidden.sheet_state = "hidden"
    return saved(book.save)


def test_hidden_sheets_rows_and_columns() -> None:
    contents = read_one(".xlsx", make_sheets())
    assert contents.text == "ship: Fram; built: 1892\n\nship: Maud; built: 1916"
    assert [start.place.row for start in contents.places] == [2, 4]
    assert contents.notes == ("left out: 1 hidden row, 1 hidden column, 1 hidden sheet",)


def test_hidden_columns_are_those_that_there_may_be() -> None:
    """A sheet that hides the columns from a number far below 1 on took all memory before it was refused."""
    data = repacked(make_sheets(), lambda _, part: part.replace(b'min="3" max="3"', b'min="-9" max="99999"'))
    sheet = openpyxl.load_workbook(io.BytesIO(data), read_only=True).worksheets[0]
    assert read_layout(sheet).hidden_columns == set(range(1, (1 << 14) + 1))
    with pytest.raises(InputError, match="damaged"):
        read_one(".xlsx", data)


def test_hidden_slides_and_shapes() -> None:
    presentation = pptx.Presentation()
    for number in range(3):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text = f"Words {number}"
    presentation.slides[1].element.set("show", "0")
    presentation.slides[2].placeholders[1].element.nvSpPr.cNvPr.set("hidden", "1")
    contents = read_one(".pptx", saved(presentation.save))
    assert contents.text == "Slide 0\n\nWords 0\n\nSlide 2"
    assert [start.place.slide for start in contents.places] == [1, 3]
    assert contents.notes == ("left out: 1 hidden slide, 1 hidden shape",)


def test_hidden_and_deleted_text_of_word() -> None:
    document = docx.Document()
    ghost = document.styles.add_style("Ghost", WD_STYLE_TYPE.PARAGRAPH)
    ghost.font.hidden = True
    below = document.styles.add_style("Below", WD_STYLE_TYPE.PARAGRAPH)
    below.base_style = ghost
    paragraph = document.add_paragraph("She sailed")
    paragraph.add_run(" unseen").font.hidden = True
    deleted = f'<w:del {KIND}><w:r><w:delText xml:space="preserve"> south</w:delText></w:r></w:del>'
    paragraph._p.append(parse_xml(deleted))
    document.add_paragraph("not read", style="Below")
    shown = document.add_paragraph(style="Below").add_run("She came back")
    shown.font.hidden = False
    contents = read_one(".docx", saved(document.save))
    assert contents.text == "She sailed\n\nShe came back"
    assert contents.notes == ("left out: 6 characters of deleted text, 15 characters of hidden text",)


@pytest.mark.parametrize(
    ("page", "text", "note"),
    [
        ("<p>one<p hidden>two", "one", "3 characters of hidden text"),
        ('<p>one<p style="color: red; DISPLAY : none">two', "one", "3 characters of hidden text"),
        ('<p>one<div style="visibility:hidden">two<p hidden>six</p></div>', "one", "7 characters of hidden text"),
        ("<p>one <del>two</del> three", "one three", "3 characters of deleted text"),
        (
            "<table><tr><th>a<th>b<tr hidden><td>1<td>2<tr><td>3<td>4</table>",
            "a: 3; b: 4",
            "3 characters of hidden text",
        ),
        ('<p>one<p hidden="until-found">two<p style="display: block">six', "one\n\ntwo\n\nsix", ""),
        ("<nav hidden>menu</nav><p>one<p hidden></p>", "one", ""),
    ],
)
def test_hidden_and_deleted_text_of_pages(page: str, text: str, note: str) -> None:
    contents = read_one(".html", page.encode())
    assert contents.text == text
    assert contents.notes == ((f"left out: {note}",) if note else ())


def test_a_file_of_hidden_text_alone_says_so() -> None:
    with pytest.raises(InputError, match=r"no text \(left out: 4 characters of hidden text\)"):
        convert_file(".html", b"<p hidden>Fram</p>")


def test_the_note_of_a_page_in_a_message() -> None:
    message = b"Subject: a\nContent-Type: text/html\n\n<p>one</p><p hidden>two</p>"
    assert read_one(".eml", message).notes == ("left out: 3 characters of hidden text",)


def test_a_notice_on_cookies_is_left_out_and_an_article_on_them_is_not() -> None:
    notice = '<div id="cookie-banner" class="box"><h2>We value your privacy</h2><p>We use cookies.</p></div>'
    other = "<section class='x-consent-modal'><p>Accept all?</p></section>"
    inner = "<div class='gdpr-popup'><p>Vi ber om lov.</p><button>Godkänn</button></div>"
    article = '<div class="cookie-policy-notice"><h1>Baking</h1><p>Cookies of Leith are round.</p></div>'
    bar = "<div class='cookie-bar'><p>In Bergen we opened a cookie bar.</p><a href='/menu'>Menu</a></div>"
    form = "<section id='informed-consent'><p>Forms lie in Lund.</p><a href='/f'>Accepted forms</a></section>"
    contents = read_one(
        ".html",
        f"<body>{notice}{other}{article}<p class='cookie-bar'>It closes at six.</p>{bar}"
        f"<main>{inner}{form}</main></body>".encode(),
    )
    assert contents.text.split("\n\n") == [
        *("Baking", "Cookies of Leith are round.", "It closes at six.", "In Bergen we opened a cookie bar.", "Menu"),
        *("Forms lie in Lund.", "Accepted forms"),
    ]
    assert contents.notes == ("left out: 70 characters of cookie-notice text",)
