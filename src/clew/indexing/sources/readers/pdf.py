"""PDF by `pypdfium2`: the words of each page, tables as rows, without running heads, feet and page numbers.

Words that a hyphen at a line's end breaks: whole again, or compounds that keep their hyphen.

"recon-/struct" is one word, "third-/order" a compound; the rest of the document tells which. The hyphen goes where the
document has the whole word, or another form of it; it stays where the document has the compound, where both halves are
words of the document, each of its own, or where what stands before is a compound itself ("state-of-the-/art"). Else it
goes, as most such hyphens do.
"""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple, final

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.indexing.sources.readers.pdf_tables import Segment, find_rows
from clew.text.casing import COMMON_WORDS
from clew.text.display import format_count
from clew.types import Place

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage


BREAK = "\ufffe"
"""Stands for a hyphen and the line break after it."""
_BREAK = re.compile(rf"(?P<before>[^\W_][\w’'-]*)?{BREAK}(?P<after>[^\W_][\w’']*)?")
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_WORD = re.compile(r"[^\W\d_]+")
_BROKEN = re.compile(rf"\S*{BREAK}\S*")
_MAX_ENDING, _MIN_BEYOND = 3, 2  # letters in which forms of a word differ; letters they share after the break


@final
class BrokenWords:
    """The words of a document, by which broken ones are joined; its `texts` have a `BREAK` where a word breaks."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._compounds: set[str] = set()
        words: set[str] = set()
        for text in texts:
            whole = _BROKEN.sub(" ", text).casefold()
            self._compounds.update(_COMPOUND.findall(whole))
            words.update(_WORD.findall(_COMPOUND.sub(" ", whole)))
        self._first_parts = {compound.partition("-")[0] for compound in self._compounds}
        self._words = words
        self._sorted = sorted(words)

    def join(self, text: str) -> str:
        """Return a text with each break gone, or a hyphen in its place."""
        return _BREAK.sub(self._join, text) if BREAK in text else text

    def _join(self, match: re.Match[str]) -> str:
        before, after = match["before"] or "", match["after"] or ""
        return f"{before}{'-' if self._keeps_hyphen(before, after) else ''}{after}"

    def _keeps_hyphen(self, before: str, after: str) -> bool:
        if "-" in before or not (before[-1:].isalpha() and after[:1].isalpha()):
            return True
        if after[0].isupper() and not before.isupper():
            return True  # "Anglo-Saxon"
        first, second = before.casefold(), after.casefold()
        if self._has_form(first + second, len(first)):
            return False
        if f"{first}-{second}" in self._compounds:
            return True
        is_word = [half in self._words and half not in COMMON_WORDS for half in (first, second)]
        return all(is_word) or (first in self._first_parts and is_word[1])

    def _has_form(self, word: str, broken_at: int) -> bool:
        """Return whether the document has a word, or one that differs from it in a short ending after the break."""
        if word in self._words:
            return True
        shared = word[: max(broken_at + _MIN_BEYOND, len(word) - _MAX_ENDING)]
        at = bisect_left(self._sorted, shared)
        near = self._sorted[at : at + 1]
        return bool(near) and near[0].startswith(shared) and len(near[0]) <= len(word) + _MAX_ENDING


_HYPHENS = re.compile("[\ufffe\x02]\n?")  # pdfium's marks of a word that goes on in the next line
_SOFT_HYPHEN = "\u00ad\n"  # it parts no compound
_LINE = re.compile("(?:[\ufffe\x02](?:\r\n?|\n)?|\u00ad(?:\r\n?|\n)|[^\r\n])+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|p\.|seite|стр\.|第)?\s*(?:[ivxlc]{1,7}|\d{1,4})\s*(?:(?:of|/|von|из)\s*\d{1,4}|页)?\W*", re.I
)
_EDGE_LINES = 2  # at the top and at the bottom of a page where heads and feet stand
_MIN_PAGES = 3
_OTHER_SIZE = 0.12  # of the larger of two sizes of letters: from this difference on they are of two paragraphs
_TITLE_SIZE = 1.3  # of the size of most letters
_MAX_TITLE_LINES, _MAX_TITLE_CHARACTERS = 4, 200
_GAP = 0.8  # of the size of its letters: wider spaces are between cells, and those between words are narrower
_FULL_LINE = 0.6  # of the length of a page's long lines: shorter ones end a paragraph
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,4}\.?\s+[^\W\d_].{0,70}(?<![.,;:])")
_FILE_TITLE = re.compile(
    r".*\.(?:docx?|pptx?|xlsx?|tex|dvi|indd|pdf|html?|fo|qxd)|microsoft word - .*|untitled|.*\d{6,}.*", re.I
)


class _Line(NamedTuple):
    """A line of a page."""

    text: str
    size: float  # of most of its letters, in points; 0 where it is not known, or the line is turned
    segments: tuple[Segment, ...] = ()
    is_row: bool = False  # of a table


def read_pdf(data: bytes) -> FileContents:
    """Return the text of a PDF, with the page of each part, and its headings where it has an outline.

    Where its properties have no title, that is the line of the first page in the largest letters.
    """
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if "password" in str(error).lower():
            raise InputError("the .pdf file is locked by a password; save it without one, or leave it out") from error
        raise
    with closing(document):
        return _read_pages(document)


def _read_pages(document: "PdfDocument") -> FileContents:
    pages = _write_rows([_page_lines(document, number) for number in range(len(document))])
    words = BrokenWords(line.text for lines in pages for line in lines)
    pages = [[line._replace(text=words.join(line.text)) for line in lines] for lines in pages]
    repeated = _find_repeated([[line.text for line in lines] for lines in pages])
    outline = _read_outline(document)
    builder, headings, seen, after_row = TextBuilder(), HeadingPath(), set[str](), False
    for number, lines in enumerate(pages):
        entries = outline.get(number, [])
        titles = {_key(title) for _, title in entries}
        texts = [line.text for line in lines]
        is_body = [_key(line.text) in titles or not _is_margin(texts, at, seen) for at, line in enumerate(lines)]
        body = [line for line, own in zip(lines, is_body, strict=True) if own or line.is_row]
        seen |= {key for at in _edges(texts) if (key := _edge_key(texts, at)) in repeated}  # the first one stays
        for line, _, _, is_row in _join_lines(body, titles):
            if entries and (match := next((e for e in entries if _key(e[1]) == _key(line)), None)):
                for level, title in entries[: entries.index(match) + 1]:
                    headings.enter(level, title)
                entries = entries[entries.index(match) + 1 :]
            builder.add(line, Place(page=number + 1, heading=headings.path), "\n\n" if is_row or after_row else "\n")
            after_row = is_row
        for level, title in entries:  # those whose words do not stand on the page hold from the next one on
            headings.enter(level, title)
    empty = sum(not lines for lines in pages)
    if empty:
        verb = "has" if empty == 1 else "have"
        counts = f"{empty} of {format_count(len(pages), 'page')} {verb}"
        builder.notes.append(f"{counts} no text: pages that are pictures need OCR first")
    title = " ".join((document.get_metadata_dict().get("Title") or "").split())
    return builder.contents([_find_large_title(pages) if not title or _FILE_TITLE.fullmatch(title) else title])


def _find_large_title(pages: Sequence[Sequence[_Line]]) -> str:
    """Return the first lines of the first page that are in its largest letters, "" where they are of the usual size."""
    characters: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            characters[line.size] += len(line.text)
    del characters[0.0]
    if not characters or not pages[0]:
        return ""
    usual = max(characters, key=lambda size: characters[size])
    largest = max(line.size for line in pages[0])
    if largest < _TITLE_SIZE * usual:
        return ""
    start = next(at for at, line in enumerate(pages[0]) if line.size == largest)
    lines = pages[0][start : start + _MAX_TITLE_LINES + 1]
    title = " ".join(line.text for line in takewhile(lambda line: line.size and not _differ(line.size, largest), lines))
    is_title = len(title) <= _MAX_TITLE_CHARACTERS and any(letter.isalpha() for letter in title)
    return title if is_title and not _PAGE_NUMBER.fullmatch(title) else ""


def _differ(size: float, other: float) -> bool:
    return bool(size and other) and abs(size - other) > _OTHER_SIZE * max(size, other)


def _page_lines(document: "PdfDocument", number: int) -> list[_Line]:
    with closing(document[number]) as page, closing(page.get_textpage()) as text_page:
        return list(_read_lines(text_page))


def _read_lines(page: "PdfTextPage") -> Iterator[_Line]:
    """Yield the lines of a page that have words; a line goes on where a word does, with `BREAK` between."""
    for match in _LINE.finditer(page.get_text_range()):
        words = match[0].replace("\r\n", "\n").replace("\r", "\n").replace(_SOFT_HYPHEN, "")
        words = _HYPHENS.sub(BREAK, words)
        if line := " ".join(_CONTROL.sub(" ", words).split()):
            size = _letter_size(page, match)
            yield _Line(line, size, tuple(_find_segments(page, match, size)))


def _find_segments(page: "PdfTextPage", line: re.Match[str], size: float) -> Iterator[Segment]:
    """Yield the words of a line between its gaps; none of a line that goes on, or is turned."""
    if not size or _HYPHENS.search(line[0]):
        return
    start, left, right, words = 0, 0.0, 0.0, _CONTROL.sub(" ", line[0])
    for at in (at for at, sign in enumerate(words) if not sign.isspace()):
        box = page.get_charbox(line.start() + at)
        if right and box[0] - right > _GAP * size:
            yield Segment(left, right, " ".join(words[start:at].split()))
            start, right = at, 0.0
        left, right = (left, max(right, box[2])) if right else (box[0], box[2])
    yield Segment(left, right, " ".join(words[start:].split()))


def _write_rows(pages: Sequence[Sequence[_Line]]) -> list[list[_Line]]:
    """Return the lines of each page, those of tables with the names of their columns, without the headers."""
    rows = find_rows([[line.segments for line in lines] for lines in pages])
    written = [
        [line._replace(text=own.get(at, line.text), is_row=at in own) for at, line in enumerate(lines)]
        for lines, own in zip(pages, rows, strict=True)
    ]
    return [[line for line in lines if line.text] for lines in written]


def _letter_size(page: "PdfTextPage", line: re.Match[str]) -> float:
    """Return the size of the letters of a line in half points, 0.0 where it is not known or the line is turned."""
    from pypdfium2.raw import FS_MATRIX, FPDFText_GetFontSize, FPDFText_GetMatrix

    sizes = []
    letters = [line.start() + at for at, sign in enumerate(line[0]) if not sign.isspace()]  # spaces have other sizes
    for at in (letters[len(letters) * part // 4] for part in (1, 2, 3)):
        matrix = FS_MATRIX()
        if FPDFText_GetMatrix(page.raw, at, matrix) and abs(matrix.a) > abs(matrix.b):
            sizes.append(FPDFText_GetFontSize(page.raw, at) * math.hypot(matrix.c, matrix.d))
    known = sorted(size for size in sizes if size > 0)
    return round(2 * known[len(known) // 2]) / 2 if known else 0.0


def _read_outline(document: "PdfDocument") -> dict[int, list[tuple[int, str]]]:
    """Return the level, from 1, and the title of each heading of a page, counted from 0."""
    found: dict[int, list[tuple[int, str]]] = {}
    for bookmark in document.get_toc(max_depth=8):
        target = bookmark.get_dest()
        page = None if target is None else target.get_index()
        title = " ".join(bookmark.get_title().split())
        if page is not None and title:
            found.setdefault(page, []).append((bookmark.level + 1, title))
    return found


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


def _join_lines(lines: Sequence[_Line], headings: set[str]) -> list[_Line]:
    """Return the paragraphs of a page: lines joined, and rows of tables.

    A line that is nearly as long as the long ones goes on in the next one. Letters of another size are of another
    paragraph, unless the line begins with a small one, as below a line of code.
    """
    if not lines:
        return []
    lengths = sorted(len(line.text) for line in lines if not line.is_row) or [0]
    full = _FULL_LINE * lengths[int(0.9 * (len(lengths) - 1))]
    paragraphs: list[_Line] = []
    goes_on, last_size = False, 0.0
    for line, size, _, is_row in lines:
        is_heading = _key(line) in headings or (len(line) < full and _NUMBERED.fullmatch(line) is not None)
        if goes_on and not (is_heading or is_row) and (line[0].islower() or not _differ(size, last_size)):
            paragraphs[-1] = paragraphs[-1]._replace(text=f"{paragraphs[-1].text} {line}")
        else:
            paragraphs.append(_Line(line, size, (), is_row))
        goes_on, last_size = len(line) >= full and not (is_heading or is_row) and len(lines) > 2, size
    return paragraphs
