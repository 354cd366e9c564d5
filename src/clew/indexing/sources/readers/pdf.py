"""PDF by `pypdfium2`: the words of each page, without running heads, feet and page numbers."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.text.counts import format_count
from clew.types import Place

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_HYPHENS = re.compile("[\ufffe\x02]\n?|\u00ad\n")  # pdfium's marks of a word that goes on in the next line
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|p\.|seite|стр\.|第)?\s*(?:[ivxlc]{1,7}|\d{1,4})\s*(?:(?:of|/|von|из)\s*\d{1,4}|页)?\W*", re.I
)
_EDGE_LINES = 2  # at the top and at the bottom of a page where heads and feet stand
_MIN_PAGES = 3
_FULL_LINE = 0.6  # of the length of a page's long lines: shorter ones end a paragraph
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,4}\.?\s+[^\W\d_].{0,70}(?<![.,;:])")
_FILE_TITLE = re.compile(
    r".*\.(?:docx?|pptx?|xlsx?|tex|dvi|indd|pdf|html?|fo|qxd)|microsoft word - .*|untitled|.*\d{6,}.*", re.I
)


def read_pdf(data: bytes) -> FileContents:
    """Return the text of a PDF, with the page of each part, and its headings where it has an outline."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if "password" in str(error).lower():
            raise InputError("the .pdf file is locked by a password; save it without one, or leave it out") from error
        raise
    try:
        return _read_pages(document)
    finally:
        document.close()


def _read_pages(document: "PdfDocument") -> FileContents:
    pages = [_page_lines(document, number) for number in range(len(document))]
    repeated = _find_repeated(pages)
    outline = _read_outline(document)
    builder, headings, seen = TextBuilder(), HeadingPath(), set[str]()
    for number, lines in enumerate(pages):
        entries = outline.get(number, [])
        titles = {_key(title) for _, title in entries}
        body = [line for at, line in enumerate(lines) if _key(line) in titles or not _is_margin(lines, at, seen)]
        seen |= {key for at in _edges(lines) if (key := _edge_key(lines, at)) in repeated}  # the first one stays
        for line in _join_lines(body, titles):
            if entries and (match := next((e for e in entries if _key(e[1]) == _key(line)), None)):
                for level, title in entries[: entries.index(match) + 1]:
                    headings.enter(level, title)
                entries = entries[entries.index(match) + 1 :]
            builder.add(line, Place(page=number + 1, heading=headings.path), "\n")
        for level, title in entries:  # those whose words do not stand on the page hold from the next one on
            headings.enter(level, title)
    empty = sum(not lines for lines in pages)
    if empty:
        verb = "has" if empty == 1 else "have"
        counts = f"{empty} of {format_count(len(pages), 'page')} {verb}"
        builder.notes.append(f"{counts} no text; pages that are pictures need OCR first")
    title = " ".join((document.get_metadata_dict().get("Title") or "").split())
    return builder.contents([] if _FILE_TITLE.fullmatch(title) else [title])


def _page_lines(document: "PdfDocument", number: int) -> list[str]:
    page = document[number]
    try:
        text_page = page.get_textpage()
        try:
            text: str = text_page.get_text_range()
        finally:
            text_page.close()
    finally:
        page.close()
    text = _HYPHENS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = (" ".join(_CONTROL.sub(" ", line).split()) for line in text.split("\n"))
    return [line for line in lines if line]


def _read_outline(document: "PdfDocument") -> dict[int, list[tuple[int, str]]]:
    """Return the level, from 1, and the title of each heading of a page, counted from 0."""
    found: dict[int, list[tuple[int, str]]] = {}
    for level, title, page in _outline_entries(document):
        found.setdefault(page, []).append((level, title))
    return found


def _outline_entries(document: "PdfDocument") -> Iterator[tuple[int, str, int]]:
    for bookmark in document.get_toc(max_depth=8):
        target = bookmark.get_dest()
        page = None if target is None else target.get_index()
        title = " ".join(bookmark.get_title().split())
        if page is not None and title:
            yield bookmark.level + 1, title, page


def _key(line: str) -> str:
    """Return a line without its number and punctuation, since outlines write headings with or without them."""
    return re.sub(r"^[\d.\s]+|\W+", "", line).casefold()


def _edge_key(lines: Sequence[str], at: int) -> str:
    """Return a line of an edge for comparison; numbers in the outermost ones are those of pages."""
    line = lines[at].casefold()
    return re.sub(r"\d+|\b[ivxlc]{1,7}\b", "#", line) if at in (0, len(lines) - 1) else line


def _find_repeated(pages: Sequence[Sequence[str]]) -> set[str]:
    """Return the lines that stand at the edge of half of the pages, with any number in them."""
    count: Counter[str] = Counter()
    for lines in pages:
        count.update({_edge_key(lines, at) for at in _edges(lines)})
    least = max(_MIN_PAGES, len(pages) / 2)
    return {key for key, pages_with in count.items() if pages_with >= least}


def _edges(lines: Sequence[str]) -> list[int]:
    return [at for at in range(len(lines)) if at < _EDGE_LINES or at >= len(lines) - _EDGE_LINES]


def _is_margin(lines: Sequence[str], at: int, seen: set[str]) -> bool:
    if _EDGE_LINES <= at < len(lines) - _EDGE_LINES:
        return False
    return _edge_key(lines, at) in seen or (
        at in (0, len(lines) - 1) and len(lines) > 1 and _PAGE_NUMBER.fullmatch(lines[at]) is not None
    )


def _join_lines(lines: Sequence[str], headings: set[str]) -> list[str]:
    """Return the paragraphs of a page: a line that is nearly as long as the long ones goes on in the next one."""
    if not lines:
        return []
    lengths = sorted(map(len, lines))
    full = _FULL_LINE * lengths[int(0.9 * (len(lengths) - 1))]
    paragraphs: list[str] = []
    goes_on = False
    for line in lines:
        is_heading = _key(line) in headings or (len(line) < full and _NUMBERED.fullmatch(line) is not None)
        if goes_on and not is_heading:
            paragraphs[-1] += f" {line}"
        else:
            paragraphs.append(line)
        goes_on = len(line) >= full and not is_heading and len(lines) > 2
    return paragraphs
