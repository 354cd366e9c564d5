"""reStructuredText (`.rst`) by `docutils`: the text as it is, with its lines, and the headings that docutils finds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.indexing.sources.contents import FileContents
from clew.indexing.sources.plain_text import decode_bytes
from clew.text.places import HEADING_SEPARATOR
from clew.types import Place, PlaceStart

if TYPE_CHECKING:
    from docutils.nodes import Element

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 6,
    "warning_stream": False,
    "_disable_config": True,
}


def read_restructured_text(data: bytes) -> FileContents:
    """Return the text of a file, with the line and the headings above each part; nothing that it names is read."""
    from docutils.core import publish_doctree

    text, _ = decode_bytes(data)
    tree = publish_doctree(text, settings_overrides={**_SETTINGS, "doctitle_xform": False})
    places = [PlaceStart(0, Place(line=1))]
    title, at = "", 0
    for path, raw in _headings(tree, ()):
        found = _find_line(text, raw, at)
        title = title or path[-1]
        if found >= 0:
            at = found + len(raw)
            place = Place(line=text.count("\n", 0, found) + 1, heading=HEADING_SEPARATOR.join(path))
            places = [start for start in places if start.offset < found]
            places.append(PlaceStart(found, place))
    return FileContents(text, (title,) if title else (), tuple(places))


def _headings(node: "Element", above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    from docutils.nodes import section, title

    for child in node.children:
        if isinstance(child, section):
            heading = next((part for part in child.children if isinstance(part, title)), None)
            path = above if heading is None else (*above, " ".join(heading.astext().split()))
            if heading is not None:
                yield path, heading.rawsource or heading.astext()
            yield from _headings(child, path)


def _find_line(text: str, line: str, start: int) -> int:
    """Return the offset of the next line with these words and nothing else, -1 where there is none."""
    at = text.find(line, start)
    while at >= 0:
        before = text[text.rfind("\n", 0, at) + 1 : at]
        end = text.find("\n", at)
        after = text[at + len(line) : end if end >= 0 else len(text)]
        if not before.strip() and not after.strip():
            return at
        at = text.find(line, at + 1)
    return -1
