"""Books (`.epub`): the chapters in reading order, each by the reader of HTML."""

import io
import posixpath
import zipfile
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.indexing.sources.readers.web import HtmlWalk, parse_html

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER = "META-INF/container.xml"
_PAGES = frozenset({"application/xhtml+xml", "text/html"})


def read_epub(data: bytes) -> FileContents:
    """Return the text of a book, with the headings of its chapters, and its author and language as metadata."""
    builder = TextBuilder()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        if any(name.endswith("encryption.xml") for name in names) and "META-INF/rights.xml" in names:
            raise InputError("the .epub file is locked by its seller; leave it out")
        package_path = _find_text(parse_xml(archive.read(_CONTAINER)), "rootfile", "full-path")
        package = parse_xml(archive.read(package_path))
        items = {item.get("id"): item for item in _elements(package, "item")}
        for reference in _elements(package, "itemref"):
            item = items.get(reference.get("idref"))
            if item is None or item.get("media-type") not in _PAGES:
                continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(package_path), unquote(item.get("href") or "")))
            if path not in names:
                builder.notes.append(f"the chapter {path} is missing in the book")
                continue
            HtmlWalk(builder, HeadingPath()).read(parse_html(archive.read(path)))
    metadata: dict[str, Any] = {}
    for field, element in (("author", "creator"), ("language", "language"), ("publisher", "publisher")):
        if value := _first(package, element):
            metadata[field] = value
    return builder.contents([_first(package, "title")], metadata)


def parse_xml(data: bytes) -> "_Element":
    """Return XML as a tree; nothing that it names is fetched or put in its place."""
    from lxml.etree import XMLParser, fromstring

    return fromstring(data, XMLParser(resolve_entities=False, no_network=True))


def _elements(root: "_Element", name: str) -> list["_Element"]:
    return list(root.iter("{*}" + name))


def _find_text(root: "_Element", name: str, attribute: str) -> str:
    for element in _elements(root, name):
        if value := element.get(attribute):
            return str(value)
    raise InputError(f"the .epub file is damaged: it names no {name}; save it again or leave it out")


def _first(root: "_Element", name: str) -> str:
    return next((" ".join(element.text.split()) for element in _elements(root, name) if element.text), "")
