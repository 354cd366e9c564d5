"""Places in citations: `python bench/places.py [KIND ...]`.

Makes a file of each kind whose pages, slides, rows, lines and headings are known, each about lakes of its own, indexes
them all in one go and asks one question for each lake. Every citation of an answer that names a lake must give the
place of the first lake that it names. Printed for each kind of file: the citations of it, those with the right place,
and its lakes that no citation of the answer about them names.
"""

import argparse
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

from clew import index as indexes
from clew.types import Citation, Place
from printed_pages import lay_out, write_pdf
from workbench import WORK, describe_machine, print_table, run_clew

CHAPTERS, SECTIONS, LAKES = 3, 2, 2  # of a file, of a chapter, of a section
_FIRST = ("Or", "Vel", "Tam", "Ski", "Bre", "Gul", "Nor", "Hav", "Lun", "Fjel", "Mor", "Rys")
_LAST = ("menvann", "dravann", "vikvann", "lundvann", "stavann", "gardvann", "bekvann", "holmvann", "tangvann")
_GIVEN = ("Sigrid", "Anders", "Maren", "Halvor", "Ragna", "Torstein", "Liv", "Eskil")
_FAMILY = ("Vang", "Brekke", "Solheim", "Nygard", "Fossum", "Lien", "Myhre", "Haugen", "Dahl", "Ruud", "Tveit", "Moe")
_WORK = ("mapped", "sounded", "stocked with trout", "dammed", "drained", "painted")


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake, and what a file says about it."""

    name: str
    person: str
    work: str

    @property
    def sentences(self) -> str:
        """Two sentences about the lake; the first answers the question."""
        return (
            f"{self.name} was {self.work} by {self.person}. In dry summers {self.name} shows the stumps of old pines."
        )

    @property
    def question(self) -> str:
        """The question for the person."""
        return f"Who {self.work} {self.name}?"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, the one above it, and the lakes under it."""

    chapter: str
    heading: str
    lakes: tuple[Lake, ...]

    @property
    def path(self) -> str:
        """The headings from the highest to the lowest, as a citation gives them."""
        return f"{self.chapter} > {self.heading}"


@dataclass(slots=True)
class Tally:
    """Counts for one kind of file, and a line for each fault."""

    citations: int = 0
    right: int = 0
    not_cited: int = 0
    faults: list[str] = field(default_factory=list)


Places = dict[str, Place]  # of each lake by its name
Maker = Callable[[Path, Sequence[Section]], Places]


def main() -> None:
    """Make the files, ask the questions, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(MAKERS)}; else all")
    kinds = parser.parse_args().kinds or list(MAKERS)
    if unknown := [kind for kind in kinds if kind not in MAKERS]:
        parser.error(f"{unknown[0]!r} is no kind of file; choose among {', '.join(MAKERS)}")
    print(describe_machine())
    folder, index_folder = WORK / "places", WORK / "places-index"
    for path in (folder, index_folder):
        shutil.rmtree(path, ignore_errors=True)
    folder.mkdir(parents=True)
    books = {kind: make_book(row) for row, kind in enumerate(MAKERS) if kind in kinds}
    wanted = {kind: MAKERS[kind](folder / f"{kind}-lakes.{kind}", book) for kind, book in books.items()}
    print(run_clew("index", str(folder), "--index", str(index_folder)).output)
    with indexes.open(index_folder) as index:
        tallies = count_places(index, books, wanted)
    print_tallies(tallies)


def make_book(number: int) -> list[Section]:
    """Return the sections of the file with a number, with lakes that no other file has."""
    count = CHAPTERS * SECTIONS * LAKES
    names = islice(product(_LAST, _FIRST), number * count, (number + 1) * count)
    lakes = iter(
        [
            Lake(first + last, f"{_GIVEN[(row + number) % 8]} {_FAMILY[(row * 5 + number) % 12]}", _WORK[row % 6])
            for row, (last, first) in enumerate(names)
        ]
    )
    chapters = [f"{name} lakes" for name in ("Upper", "Middle", "Lower")]
    sections = [f"{side} shore" for side in ("Northern", "Southern")]
    return [
        Section(chapter, f"{heading} of the {chapter.split()[0].lower()} valley", tuple(islice(lakes, LAKES)))
        for chapter, heading in product(chapters, sections)
    ]


def count_places(index: indexes.Index, books: dict[str, list[Section]], wanted: dict[str, Places]) -> dict[str, Tally]:
    """Return for each kind of file how many citations of all answers have the place that was made."""
    kinds = {name: kind for kind, places in wanted.items() for name in places}
    tallies = {kind: Tally() for kind in wanted}
    for kind, lake in ((kind, lake) for kind, book in books.items() for lake in _lakes(book)):
        cited = set()
        for citation in index.ask(lake.question).citations:
            named = sorted((name for name in kinds if name in citation.quote), key=citation.quote.index)
            cited.update(named)
            if named:
                _count_citation(tallies[kinds[named[0]]], citation, wanted[kinds[named[0]]][named[0]])
        tallies[kind].not_cited += lake.name not in cited
    return tallies


def _count_citation(tally: Tally, citation: Citation, wanted: Place) -> None:
    tally.citations += 1
    if is_right(citation.place, wanted):
        tally.right += 1
    else:
        tally.faults.append(f"{citation.quote[:60]!r}: {citation.place}, not {wanted}")


def is_right(place: Place | None, wanted: Place) -> bool:
    """Return whether a place has all that is wanted, and no number that is not."""
    if place is None or (wanted.heading and place.heading != wanted.heading):
        return False
    numbers = ("page", "slide", "sheet", "row")
    if any(getattr(place, name) != getattr(wanted, name) for name in numbers):
        return False
    return wanted.line is None or place.line == wanted.line


def print_tallies(tallies: dict[str, Tally]) -> None:
    """Print a row for each kind of file and for all, then the faults."""
    total = [sum(getattr(tally, name) for tally in tallies.values()) for name in ("citations", "right", "not_cited")]
    rows = [[kind, str(t.citations), str(t.right), str(t.not_cited)] for kind, t in tallies.items()]
    print_table(("kind", "citations", "right place", "lakes not cited"), [*rows, ["all", *map(str, total)]])
    for kind, tally in tallies.items():
        for fault in tally.faults:
            print(f"{kind}: {fault}")


def make_markdown(path: Path, book: Sequence[Section]) -> Places:
    """Write Markdown; the place is the line and the headings."""
    lines, places = [], {}
    for section, opens_chapter in _with_chapters(book):
        lines += [f"# {section.chapter}", ""] if opens_chapter else []
        lines += [f"## {section.heading}", ""]
        for lake in section.lakes:
            lines += [lake.sentences, ""]
            places[lake.name] = Place(line=len(lines) - 1, heading=section.path)
    path.write_text("\n".join(lines), encoding="utf-8")
    return places


def make_text(path: Path, book: Sequence[Section]) -> Places:
    """Write plain text, a paragraph a lake; the place is the line."""
    lines, places = [], {}
    for lake in _lakes(book):
        lines += [lake.sentences, ""]
        places[lake.name] = Place(line=len(lines) - 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    return places


def make_pdf(path: Path, book: Sequence[Section]) -> Places:
    """Write a PDF of short pages with running heads; the place is the page."""
    blocks = []
    for section, opens_chapter in _with_chapters(book):
        blocks += [f"# {section.chapter}"] if opens_chapter else []
        blocks += [f"## {section.heading}", *(lake.sentences for lake in section.lakes)]
    pages = lay_out("\n\n".join(blocks), lines_per_page=12)
    write_pdf(path, pages, "Lakes of three valleys")
    texts = [" ".join(line.text for line in page) for page in pages]
    return {
        lake.name: Place(page=number)
        for number, text in enumerate(texts, 1)
        for lake in _lakes(book)
        if f"{lake.name} was" in text
    }


def make_docx(path: Path, book: Sequence[Section]) -> Places:
    """Write a Word document with headings, paragraphs, and tables; the place is the headings."""
    from docx import Document

    document = Document()
    for section, opens_chapter in _with_chapters(book):
        if opens_chapter:
            document.add_heading(section.chapter, 1)
        document.add_heading(section.heading, 2)
        if opens_chapter:
            for lake in section.lakes:
                document.add_paragraph(lake.sentences)
            continue
        table = document.add_table(rows=1, cols=2)
        table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Lake", "History"
        for lake in section.lakes:
            cells = table.add_row().cells
            cells[0].text, cells[1].text = lake.name, f"{lake.work} by {lake.person}"
    document.save(str(path))
    return {lake.name: Place(heading=section.path) for section in book for lake in section.lakes}


def make_pptx(path: Path, book: Sequence[Section]) -> Places:
    """Write slides, of each section one, the second lake in the notes; the place is the slide."""
    from pptx import Presentation

    deck, places = Presentation(), {}
    for number, section in enumerate(book, 1):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = section.heading
        first, *others = section.lakes
        slide.placeholders[1].text = first.sentences
        slide.notes_slide.notes_text_frame.text = "\n".join(lake.sentences for lake in others)
        places.update({lake.name: Place(slide=number) for lake in section.lakes})
    deck.save(str(path))
    return places


def make_html(path: Path, book: Sequence[Section]) -> Places:
    """Write a page with navigation; the place is the headings."""
    parts = ["<html><head><title>Lakes</title><script>var a = 1;</script></head><body>"]
    parts.append("<nav><a href='#a'>Home</a> <a href='#b'>Contact</a></nav><main>")
    parts += [_section_html(section, opens_chapter) for section, opens_chapter in _with_chapters(book)]
    path.write_text("\n".join([*parts, "</main></body></html>"]), encoding="utf-8")
    return {lake.name: Place(heading=section.path) for section in book for lake in section.lakes}


def make_xlsx(path: Path, book: Sequence[Section]) -> Places:
    """Write a workbook with a sheet for each chapter and a header; the place is the sheet and the row."""
    from openpyxl import Workbook

    workbook, places = Workbook(), {}
    workbook.remove(workbook.active)
    for section, opens_chapter in _with_chapters(book):
        if opens_chapter:
            workbook.create_sheet(section.chapter).append(["lake", "shore", "history"])
        sheet = workbook[section.chapter]
        for lake in section.lakes:
            sheet.append([lake.name, section.heading, f"{lake.name} was {lake.work} by {lake.person}."])
            places[lake.name] = Place(sheet=section.chapter, row=sheet.max_row)
    workbook.save(str(path))
    return places


def make_epub(path: Path, book: Sequence[Section]) -> Places:
    """Write an EPUB with a file for each chapter; the place is the headings."""
    chapters = list(dict.fromkeys(section.chapter for section in book))
    names = [f"chapter{number}.xhtml" for number in range(1, len(chapters) + 1)]
    items = "".join(
        f'<item id="c{i}" href="{name}" media-type="application/xhtml+xml"/>' for i, name in enumerate(names)
    )
    spine = "".join(f'<itemref idref="c{i}"/>' for i in range(len(names)))
    with ZipFile(path, "w", ZIP_STORED) as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
            "</container>",
        )
        archive.writestr(
            "book.opf",
            '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">lakes</dc:identifier>'
            "<dc:title>Lakes of three valleys</dc:title><dc:language>en</dc:language></metadata>"
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for name, chapter in zip(names, chapters, strict=True):
            body = "".join(_section_html(s, first) for s, first in _with_chapters(book) if s.chapter == chapter)
            page = f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{body}</body></html>'
            archive.writestr(name, f'<?xml version="1.0" encoding="utf-8"?>{page}')
    return {lake.name: Place(heading=section.path) for section in book for lake in section.lakes}


MAKERS: dict[str, Maker] = {
    "md": make_markdown,
    "txt": make_text,
    "pdf": make_pdf,
    "docx": make_docx,
    "pptx": make_pptx,
    "html": make_html,
    "xlsx": make_xlsx,
    "epub": make_epub,
}


def _section_html(section: Section, opens_chapter: bool) -> str:
    above = f"<h1>{section.chapter}</h1>" if opens_chapter else ""
    return above + f"<h2>{section.heading}</h2>" + "".join(f"<p>{lake.sentences}</p>" for lake in section.lakes)


def _with_chapters(book: Sequence[Section]) -> Iterator[tuple[Section, bool]]:
    """Yield each section, and whether a chapter begins with it."""
    chapter = ""
    for section in book:
        yield section, section.chapter != chapter
        chapter = section.chapter


def _lakes(book: Sequence[Section]) -> list[Lake]:
    return [lake for section in book for lake in section.lakes]


if __name__ == "__main__":
    main()
