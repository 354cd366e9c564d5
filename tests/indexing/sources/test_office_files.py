"""Word, PowerPoint, PDF and HTML files, written here and read by the real converter."""

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.indexing.sources.reader import read_documents
from clew.types import Document, Failure
from tests.indexing.sources.reading import read_failure, read_single, write_file
from tests.indexing.sources.test_readers import pdf_bytes


def write_docx(path: Path) -> None:
    kind = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    styles = (
        f'<w:styles xmlns:w="{kind}"><w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/></w:style>'
        "</w:styles>"
    )
    body = (
        f'<w:document xmlns:w="{kind}"><w:body><w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>Polar Ship</w:t>'
        "</w:r></w:p><w:p><w:r><w:t>The Fram sailed north.</w:t></w:r></w:p></w:body></w:document>"
    )
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.'
            'openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            + "".join(
                f'<Override PartName="/word/{part}.xml" ContentType="application/vnd.openxmlformats-officedocument.'
                f'wordprocessingml.{kind_of_part}+xml"/>'
                for part, kind_of_part in (("document", "document.main"), ("styles", "styles"))
            )
            + "</Types>",
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/_rels/document.xml.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/styles" '
            'Target="styles.xml"/></Relationships>',
        )
        archive.writestr("word/styles.xml", styles)
        archive.writestr("word/document.xml", body)


def write_pptx(path: Path) -> None:
    presentation = pytest.importorskip("pptx").Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Polar Ship"
    slide.placeholders[1].text = "The Fram sailed north."
    presentation.save(str(path))


def write_pdf(path: Path) -> None:
    stream = b"BT /F1 12 Tf 72 700 Td (The Fram sailed north.) Tj ET"
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font 5 0 R >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>",
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    path.write_bytes(data + end % (table, len(data)))


def write_html(path: Path) -> None:
    path.write_text(
        "<html><head><title>Polar Ship – Site</title></head><body><h1>Polar Ship</h1><p>The Fram sailed north. Zürich "
        '<a href="nansen.html">Nansen</a> <a href="https://example.org/x">x</a></p><script>no()</script></body></html>',
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    ("make", "title"),
    [(write_docx, "Polar Ship"), (write_pptx, "Polar Ship"), (write_html, "Polar Ship"), (write_pdf, "the fram")],
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


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".pdf"])
def test_damaged_files_are_failures(tmp_path: Path, suffix: str) -> None:
    result = read_failure(write_file(tmp_path / f"a{suffix}", b"PK\3\4 this is no document of any kind \0\1\2"))
    assert f"the {suffix} file is damaged or locked" in result.reason


def test_without_a_package_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bs4", None)
    write_html(tmp_path / "a.html")
    write_file(tmp_path / "b.txt", "text")
    broken, fine = read_documents([tmp_path])
    assert isinstance(broken, Failure)
    assert "pip install 'clew[files]'" in broken.reason
    assert isinstance(fine, Document)


def test_a_file_of_another_kind_is_said(tmp_path: Path) -> None:
    assert 'does not begin with "%PDF"' in read_failure(write_file(tmp_path / "a.pdf", "only words")).reason
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("a.txt", "words")
    assert "an archive without [Content_Types].xml, so no file of Office" in read_failure(tmp_path / "a.docx").reason


def test_a_pdf_of_pictures_is_told_once(tmp_path: Path) -> None:
    reason = read_failure(write_file(tmp_path / "a.pdf", pdf_bytes([[]]))).reason
    assert reason == (
        "empty: the file has no text (1 of 1 page has no text: pages that are pictures need OCR first); leave it out"
    )
