"""Shared helpers of the tests of reading: make a file, read it, expect one result."""

import io
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from clew.indexing.sources.contents import FileContents
from clew.indexing.sources.conversion import convert
from clew.indexing.sources.reader import read_documents
from clew.indexing.sources.register import SourceRegister
from clew.types import Document, Failure


def only_documents(results: Iterable[Document | Failure]) -> list[Document]:
    """Return the documents of results without a failure."""
    found = list(results)
    assert [result for result in found if isinstance(result, Failure)] == []
    return [result for result in found if isinstance(result, Document)]


def read_ids(*paths: Path | str, register: SourceRegister | None = None) -> list[str]:
    """Return the ids of the documents of paths."""
    return [document.id for document in only_documents(read_documents(paths, register=register))]


def read_single(path: Path) -> Document:
    (document,) = only_documents(read_documents([path]))
    return document


def read_failure(path: Path) -> Failure:
    (result,) = read_documents([path])
    assert isinstance(result, Failure)
    return result


def write_file(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def read_one(suffix: str, data: bytes) -> FileContents:
    """Return the contents of a file that is no mailbox."""
    (contents,) = convert(suffix, data)
    return contents


def saved(save: Callable[[io.BytesIO], None]) -> bytes:
    """Return the bytes that a library saves."""
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def repacked(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """Return an archive with its parts changed."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new,
    ):
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return file.getvalue()


def pdf_bytes(
    pages: list[list[str]], outline: dict[int, str] | None = None, title: str = "", sizes: dict[str, int] | None = None
) -> bytes:
    """Return a PDF of lines in letters of ten points or a size of their own, with an outline entry for some pages."""
    marks = outline or {}
    objects: list[bytes] = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        rows = b"".join(
            b"/F1 %d Tf (%s) Tj 0 -24 Td " % ((sizes or {}).get(line, 10), line.encode("latin-1")) for line in lines
        )
        stream = b"BT 40 760 Td " + rows + b"ET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(len(objects))
    first = len(objects) + 1
    for at, (page, name) in enumerate(marks.items()):
        link = b" /Next %d 0 R" % (first + at + 1) if at + 1 < len(marks) else b""
        entry = b"<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /Fit]%s >>"
        objects.append(entry % (name.encode(), first + len(marks), kids[page], link))
    objects.append(b"<< /First %d 0 R /Last %d 0 R >>" % (first, first + len(marks) - 1) if marks else b"<< >>")
    root = len(objects)
    objects.append(b"<< /Title (%s) >>" % title.encode())
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R >>" % root
    refs = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (refs, len(kids))
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, part) for number, part in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n%%%%EOF\n" % (root + 2, root + 1)
