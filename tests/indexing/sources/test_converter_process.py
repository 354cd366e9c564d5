"""Files that are made to hang, to take all memory or to end the converter: one line for each, and others go on."""

import io
import os
import signal
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import docx
import pytest

from clew.errors import InputError
from clew.indexing.sources.conversion import ConverterProcess, convert
from clew.indexing.sources.reader import read_documents
from clew.indexing.sources.readers.web import MAX_DEPTH
from clew.text.display import MEBIBYTE
from clew.types import Document, Failure
from tests.indexing.sources.reading import pdf_bytes, repacked, saved

needs_limits = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the platform has no such limits")


@pytest.fixture(scope="module")
def converter() -> Iterator[ConverterProcess]:
    made = ConverterProcess(seconds=1, memory=256 * MEBIBYTE, file_size=MEBIBYTE)
    yield made
    made.close()


@pytest.fixture(scope="module")
def pdf() -> bytes:
    return pdf_bytes([["The Fram sailed north."]])


def packed_pdf(content: bytes) -> bytes:
    """Return a PDF whose page has a compressed content."""
    stream = zlib.compress(content, 9)
    packed = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream)
    data = pdf_bytes([[]])
    start = data.index(b"<< /Length")
    return data[:start] + packed + data[data.index(b"endstream", start) + len(b"endstream") :]


def docx_of(body: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("word/document.xml", body)
    return packed.getvalue()


def long_docx(paragraphs: int) -> bytes:
    """Return a Word file whose paragraphs pack to nearly nothing."""
    more = b"<w:body>" + b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" * paragraphs
    return repacked(saved(docx.Document().save), lambda _, part: part.replace(b"<w:body>", more))


def check_works(converter: ConverterProcess, pdf: bytes) -> int:
    """Convert a file, and return the id of the child."""
    assert "The Fram sailed north." in converter.convert(".pdf", pdf)[0].text
    assert converter._child is not None
    return converter._child.pid


def test_one_child_converts_many_files(converter: ConverterProcess, pdf: bytes) -> None:
    assert len({check_works(converter, pdf) for _ in range(3)}) == 1


@needs_limits
@pytest.mark.slow
def test_a_file_that_hangs_is_one_line_and_the_next_is_converted(converter: ConverterProcess, pdf: bytes) -> None:
    before = check_works(converter, pdf)
    hanging = long_docx(60_000)
    assert len(hanging) < 60_000
    with pytest.raises(InputError, match=r"the \.docx file takes more than \d seconds to be read"):
        converter.convert(".docx", hanging)
    assert check_works(converter, pdf) != before


@pytest.mark.slow
@needs_limits
def test_a_file_that_takes_all_memory_is_one_line(converter: ConverterProcess, pdf: bytes) -> None:
    greedy = packed_pdf(bytes(300 * MEBIBYTE))
    assert len(greedy) < MEBIBYTE
    with pytest.raises(InputError) as caught:
        converter.convert(".pdf", greedy)
    assert "\n" not in str(caught.value)
    assert "memory" in str(caught.value) or "more than 1 seconds" in str(caught.value)
    check_works(converter, pdf)


def test_an_archive_that_inflates_without_end_is_refused_unread() -> None:
    bomb = docx_of(bytes(64 * MEBIBYTE))
    with pytest.raises(InputError, match=rf"of {len(bomb)} bytes inflates to {64 * MEBIBYTE}, which no document needs"):
        convert(".docx", bomb)


@pytest.mark.parametrize("before", [b"x", b"%PDF-1.7\n"])
def test_bytes_before_an_archive_hide_it_not(before: bytes) -> None:
    """A converter looks for an archive's end: one byte before it skipped the check."""
    with pytest.raises(InputError, match="which no document needs"):
        convert(".docx", before + docx_of(bytes(64 * MEBIBYTE)))


def test_a_file_above_the_limit_is_refused(converter: ConverterProcess) -> None:
    with pytest.raises(InputError, match=r"the \.html file has 2 MiB, more than 1"):
        converter.convert(".html", bytes(2 * MEBIBYTE))


@pytest.mark.parametrize("page", ["<div>" * 200_000, "<div>" * 1000 + "text" + "</div>" * 1000], ids=["open", "closed"])
def test_a_page_that_nests_its_elements_too_deep_is_refused_unread(page: str) -> None:
    """The first took minutes, and the second was said to be damaged."""
    with pytest.raises(InputError, match=r"nested [\d,]+ deep, and at most 400 are read: save it again"):
        convert(".html", page.encode())


@pytest.mark.parametrize(("start", "end"), [("<div>", "</div>"), ("<b>", "</b>"), ("<ul><li>", "</li></ul>")])
def test_a_page_of_the_greatest_depth_is_read(start: str, end: str) -> None:
    count = (MAX_DEPTH - 2) // start.count("<")
    page = f"<html><body>{start * count}the text{end * count}</body></html>"
    assert "the text" in convert(".html", page.encode())[0].text


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_child_that_was_ended_from_outside_is_replaced(converter: ConverterProcess, pdf: bytes) -> None:
    child = check_works(converter, pdf)
    os.kill(child, signal.SIGKILL)
    assert converter._child is not None
    converter._child.wait()
    assert check_works(converter, pdf) != child


def test_a_bomb_in_a_folder_stops_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "b.docx").write_bytes(docx_of(bytes(64 * MEBIBYTE)))
    (tmp_path / "c.docx").write_bytes(long_docx(1))
    (tmp_path / "d.txt").write_text("Oslo", encoding="utf-8")
    results = list(read_documents([tmp_path]))
    assert [type(result) for result in results] == [Failure, Document, Document]
