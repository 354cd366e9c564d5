"""Files of known places, made here, and read by the readers of their kinds."""

import io
import json
import zipfile
from email.message import EmailMessage

import docx
import openpyxl
import pptx
import pytest
from lxml import etree

from clew.errors import InputError
from clew.indexing.chunking import Chunker
from clew.indexing.sources.contents import FileContents
from clew.indexing.sources.conversion import convert
from clew.indexing.sources.plain_text import make_contents_document
from clew.types import Passage, Place
from tests.indexing.sources.reading import pdf_bytes, read_one, repacked, saved

OFFICES = ("Wren", "Teal", "Knot", "Rail", "Dove")


def sentence(number: int) -> str:
    return f"The {OFFICES[number]} office holds {number + 3} crates of rope for the ferry to Leith."


def make_pdf() -> tuple[bytes, list[Place]]:
    pages = [
        ["Handbook of ropes", f"{n + 1} Part {n}", sentence(n), f"and no more than {n}.", f"- {n + 1} -"]
        for n in range(5)
    ]
    outline = {n: f"{n + 1} Part {n}" for n in range(5)}
    return pdf_bytes(pages, outline), [Place(page=n + 1, heading=f"{n + 1} Part {n}") for n in range(5)]


def make_docx() -> tuple[bytes, list[Place]]:
    document = docx.Document()
    document.core_properties.title = "Offices of the north"
    for n in range(5):
        document.add_heading(f"Chapter {n}", 1)
        document.add_heading(f"Section {n}", 2)
        if n % 2:
            document.add_paragraph(sentence(n))
        else:
            table = document.add_table(rows=2, cols=2)
            for cell, text in zip(table._cells, ("office", "stock", OFFICES[n], sentence(n)), strict=True):
                cell.text = text
    return saved(document.save), [Place(heading=f"Chapter {n} > Section {n}") for n in range(5)]


def make_pptx() -> tuple[bytes, list[Place]]:
    presentation = pptx.Presentation()
    for n in range(5):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Office {n}"
        if n == 3:
            slide.notes_slide.notes_text_frame.text = sentence(n)
        else:
            slide.placeholders[1].text = sentence(n)
    return saved(presentation.save), [Place(slide=n + 1, heading=f"Office {n}") for n in range(5)]


def make_xlsx() -> tuple[bytes, list[Place]]:
    book = openpyxl.Workbook()
    book.active.title = "Stock"
    book.active.append(["office", "note"])
    for n in range(5):
        book.active.append([OFFICES[n], sentence(n)])
    book.create_sheet("Empty")
    return saved(book.save), [Place(sheet="Stock", row=n + 2) for n in range(5)]


def make_html() -> tuple[bytes, list[Place]]:
    body = "".join(
        f"<h2>Office {n}</h2><h3>Stock</h3>"
        + (f"<p>{sentence(n)}</p>" if n % 2 else f"<ul><li>{sentence(n)}</li></ul>")
        for n in range(5)
    )
    frame = "<nav>Home | Shop</nav><header>A firm</header>"
    page = f"<html><head><title>Offices - Site</title></head><body>{frame}<h1>Offices</h1>{body}<footer>c</footer>"
    return page.encode(), [Place(heading=f"Offices > Office {n} > Stock") for n in range(5)]


def make_epub() -> tuple[bytes, list[Place]]:
    chapters = [f"<html><body><h1>Chapter {n}</h1><p>{sentence(n)}</p></body></html>" for n in range(5)]
    items = "".join(f'<item id="c{n}" href="t/c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(5))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in (1, 0, 2, 3, 4))
    meta = '<dc:title xmlns:dc="d">The Offices</dc:title><dc:creator xmlns:dc="d">A. Writer</dc:creator>'
    package = (
        f'<package xmlns="p"><metadata>{meta}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>'
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("META-INF/container.xml", '<c><rootfiles><rootfile full-path="o/b.opf"/></rootfiles></c>')
        archive.writestr("o/b.opf", f'<package xmlns="p">{package}</package>')
        for n, chapter in enumerate(chapters):
            archive.writestr(f"o/t/c{n}.xhtml", chapter)
    return packed.getvalue(), [Place(heading=f"Chapter {n}") for n in range(5)]


def make_rst() -> tuple[bytes, list[Place]]:
    lines = ["=======", "Offices", "=======", ""]
    places = []
    for n in range(5):
        lines += [f"Office {n}", "-" * 8, "", ".. note:: empty", "", sentence(n), ""]
        places.append(Place(line=len(lines) - 1, heading=f"Offices > Office {n}"))
    return "\n".join(lines).encode(), places


def make_notebook() -> tuple[bytes, list[Place]]:
    cells = [{"cell_type": "markdown", "source": ["# Offices\n", "text\n"]}]
    sources = [[f"Before.\n\n## Office {n}\n", sentence(n)] for n in range(5)]
    cells += [{"cell_type": "markdown", "source": source} for source in sources]
    places = [Place(heading=f"Offices > Office {n} > cell {n + 2}") for n in range(5)]
    return json.dumps({"cells": cells}).encode(), places


def cite(contents: FileContents, words: str, tokens: int = 24) -> Passage:
    """Return the passage of words, in passages of a few tokens."""
    passages = Chunker(tokens).split(make_contents_document("a", "", contents))
    return next(passage for passage in passages if words in passage.text)


MADE = {
    ".pdf": make_pdf,
    ".docx": make_docx,
    ".pptx": make_pptx,
    ".xlsx": make_xlsx,
    ".html": make_html,
    ".epub": make_epub,
    ".rst": make_rst,
    ".ipynb": make_notebook,
}
TITLES = {
    ".docx": "Offices of the north",
    ".pptx": "Office 0",
    ".html": "Offices",
    ".epub": "The Offices",
    ".rst": "Offices",
    ".ipynb": "Offices",
}


@pytest.mark.parametrize("suffix", MADE)
@pytest.mark.parametrize("tokens", [24, 1000])
def test_each_citation_has_the_place_of_its_words(suffix: str, tokens: int) -> None:
    data, places = MADE[suffix]()
    contents = read_one(suffix, data)
    for number, place in enumerate(places):
        words = f"The {OFFICES[number]} office holds {number + 3} crates"
        passage = cite(contents, words, tokens)
        start = passage.text.index(words)
        assert passage.cite(start, start + len(words)).place == place
    assert make_contents_document("a", "", contents).title == TITLES.get(suffix, "")


def test_running_heads_and_page_numbers_are_no_text_of_a_pdf() -> None:
    contents = read_one(".pdf", make_pdf()[0])
    assert contents.text.count("Handbook of ropes") == 1  # the first, which may be the title
    assert "- 3 -" not in contents.text
    assert f"{sentence(2)} and no more than 2." in contents.text  # lines are joined


def test_compounds_of_a_pdf_that_break_at_a_lines_end_keep_their_hyphen() -> None:
    lines = ["The drift is described by a term of the third-", "order, which no other ship of this size recon-"]
    lines += ["structed. The third term is of a low order."]
    text = read_one(".pdf", pdf_bytes([lines])).text
    assert "the third-order, which" in text
    assert "size reconstructed." in text


def test_a_title_of_a_pdf_that_is_a_file_name_is_none() -> None:
    assert read_one(".pdf", pdf_bytes([["Some words."]], title="Rope guide")).titles == ("Rope guide",)
    assert read_one(".pdf", pdf_bytes([["Some words."]], title="report_v3.docx")).titles == ()


def test_the_title_of_a_pdf_without_one_is_its_largest_line_and_a_paragraph_of_its_own() -> None:
    head, title, second = "Journal of Coastal Lights and Harbours", "The Lighthouse of Quarry Bay and its", "Keepers"
    words = ["It was finished by the engineer Anna Reid in", "the year 1911, of stone from the island of Hitra."]
    sizes = {head: 8, title: 16, second: 16}
    contents = read_one(".pdf", pdf_bytes([[head, title, second, *words], words], sizes=sizes))
    assert contents.titles == (f"{title} {second}",)
    assert contents.text.split("\n")[:3] == [head, f"{title} {second}", " ".join(words)]
    assert read_one(".pdf", pdf_bytes([[head, title, *words]], title="Lights", sizes=sizes)).titles == ("Lights",)
    assert read_one(".pdf", pdf_bytes([[head, title, *words]], sizes={head: 8, title: 11})).titles == ()
    assert read_one(".pdf", pdf_bytes([["12", *words]], sizes={"12": 30})).titles == ()


def test_pages_without_text_are_noted() -> None:
    assert "1 of 2 pages has no text" in read_one(".pdf", pdf_bytes([["Some words."], []])).notes[0]


@pytest.mark.parametrize(
    "declarations",
    ['<!ENTITY x "y">', '<!ENTITY x SYSTEM "file:///etc/hosts">\n<!ENTITY y "]>">', "<!-- it's ]> --><!ENTITY x 'z'> "],
)
def test_declarations_of_a_page_and_what_refers_to_them_are_no_text(declarations: str) -> None:
    page = f"<!DOCTYPE html [{declarations}]><html><body><p>Fram &amp; crew&x; sailed.</p></body></html>"
    assert read_one(".html", page.encode()).text == "Fram & crew sailed."
    assert read_one(".html", b"<!DOCTYPE html [<p>Fram sailed.</p>").text == "Fram sailed."
    assert f"office: Knot; stock: {sentence(2)}" in read_one(".docx", make_docx()[0]).text
    assert f"office: Knot; note: {sentence(2)}" in read_one(".xlsx", make_xlsx()[0]).text


def test_menus_and_scripts_are_no_text() -> None:
    text = read_one(".html", make_html()[0] + b"<script>no()</script><style>p{}</style>").text
    assert not {"Home", "firm", "no()", "p{}"} & set(text.replace("|", " ").split())


def message(subject: str, body: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann Lee <ann@example.org>", "bob@example.org", subject
    mail["Date"] = "Fri, 03 May 2024 10:00:00 +0200"
    mail.set_content(body)
    return mail


def test_a_message_with_attachments() -> None:
    mail = message("Ropes for Leith", "The ropes are late.\n")
    mail.add_attachment(make_pdf()[0], maintype="application", subtype="pdf", filename="ropes.pdf")
    mail.add_attachment(b"?", maintype="application", subtype="x", filename="photo.xyz")
    contents = read_one(".eml", mail.as_bytes())
    assert contents.titles == ("Ropes for Leith",)
    assert contents.metadata == {
        "from": "Ann Lee <ann@example.org>",
        "to": "bob@example.org",
        "date": "2024-05-03T10:00:00+02:00",
    }
    passage = cite(contents, "The Knot office", 30)
    assert passage.place_at(passage.text.index("The Knot")) == Place(page=3, heading="attachment ropes.pdf > 3 Part 2")
    assert "attachment photo.xyz is not read: not a kind of file that can be read: .xyz" in contents.notes[0]
    assert "The ropes are late." in contents.text


def test_a_mailbox_is_a_document_for_each_message() -> None:
    bodies = [("One", "First.\n\nFrom the quay.\n"), ("Two", "Second.\n")]
    box = b"".join(
        b"From ann@example.org Fri May  3 10:00:00 2024\n"
        + message(*pair).as_bytes().replace(b"\nFrom the", b"\n>From the")
        + b"\n"
        for pair in bodies
    )
    first, second = convert(".mbox", box)
    assert (first.titles, second.titles) == (("One",), ("Two",))
    assert "\nFrom the quay." in first.text


def test_books_have_an_author() -> None:
    assert read_one(".epub", make_epub()[0]).metadata == {"author": "A. Writer"}


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx", ".epub", ".pdf"])
def test_truncated_files_are_one_line(suffix: str) -> None:
    data = MADE[suffix]()[0]
    with pytest.raises(InputError, match=rf"the \{suffix} file is damaged or locked") as caught:
        convert(suffix, data[: len(data) // 2] if suffix != ".pdf" else data[:20])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx"])
def test_encrypted_office_files_are_said(suffix: str) -> None:
    with pytest.raises(InputError, match="it is encrypted, or of Office before 2007"):
        convert(suffix, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))


def test_entities_of_a_bomb_are_not_expanded() -> None:
    bomb = (
        "<!DOCTYPE b [" + '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    )
    package = f'{bomb}]><package xmlns="p"><metadata><title>&a11;</title></metadata><manifest/><spine/></package>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("META-INF/container.xml", '<c><rootfiles><rootfile full-path="b.opf"/></rootfiles></c>')
        archive.writestr("b.opf", package)
    try:
        (contents,) = convert(".epub", packed.getvalue())
    except InputError:
        return
    assert sum(map(len, contents.titles)) < 100


def test_a_file_that_rst_includes_is_not_read() -> None:
    assert "root:" not in read_one(".rst", b"Title\n=====\n\n.. include:: /etc/passwd\n").text


def test_lxml_resolves_no_entity_of_a_word_file() -> None:
    def declare(name: str, part: bytes) -> bytes:
        if name != "word/document.xml":
            return part
        root = etree.tostring(etree.fromstring(part)).replace(b"The Teal", b"&x;")
        return b"".join((b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>', root))

    assert "root:" not in read_one(".docx", repacked(make_docx()[0], declare)).text
