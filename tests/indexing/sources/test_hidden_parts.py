"""What files hide or mark as deleted is left out, and counted in one note."""

import io

import docx
import openpyxl
import pptx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml

from clew.errors import InputError
from clew.indexing.sources.converter_process import convert_file
from clew.indexing.sources.readers.spreadsheet import read_layout
from tests.indexing.sources.reading import read_one, repacked, saved

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


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
    deleted = f'<w:del {WORD}><w:r><w:delText xml:space="preserve"> south</w:delText></w:r></w:del>'
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
    article = '<div class="cookie-policy-notice"><h1>Baking</h1><p>Cookies of Leith are round.</p></div>'
    contents = read_one(
        ".html", f"<body>{notice}{other}{article}<p class='cookie-bar'>It closes at six.</p></body>".encode()
    )
    assert contents.text == "Baking\n\nCookies of Leith are round.\n\nIt closes at six."
    assert contents.notes == ("left out: 48 characters of cookie-notice text",)
