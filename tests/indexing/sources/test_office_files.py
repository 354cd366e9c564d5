"""Word, PowerPoint, PDF and HTML files, written here and read by the real converter."""

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import pptx
import pytest

from clew.indexing.sources.reader import read_documents
from clew.types import Document, Failure
from tests.indexing.sources.reading import pdf_bytes, read_failure, read_single, write_file


def write_docx(path: Path) -> None:
    document = docx.Document()
    document.add_heading("Polar Ship", 1)
    document.add_paragraph("The Fram sailed north.")
    document.save(str(path))


def write_pptx(path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Polar Ship"
    slide.placeholders[1].text = "The Fram sailed north."
    presentation.save(str(path))


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
