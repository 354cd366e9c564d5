"""Tables of web pages and Office files: cells over rows and columns, and rows apart from each other."""

from typing import Any

import docx
import openpyxl
import pptx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.sources.tables import Cell, expand_spans
from clew.text.mentions import find_mentions
from clew.text.sentences import passage_sentence_spans, sentence_spans
from tests.indexing.sources.reading import read_one, saved

CREW = (
    ("ship", "owner", "role"),
    ("Fram, the polar vessel of Norway", "Anna Reid", "Builder of vessels for the ice"),
    ("Sloop Gjoa, of the passage in the north", "Carl Bell", "Builder of sloops"),
)


def read_table(rows: str) -> list[str]:
    return read_one(".html", f"<table>{rows}</table>".encode()).text.split("\n\n")


def make_table(suffix: str, rows: tuple[tuple[str, ...], ...], merges: tuple[tuple[int, ...], ...] = ()) -> bytes:
    """Return a file with a table, of whose cells some are merged: first row and column, last row and column."""
    if suffix == ".html":
        html = "".join("<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>" for row in rows)
        return f"<table>{html}</table>".encode()
    if suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        return saved(book.save)
    document: Any
    if suffix == ".docx":
        document = docx.Document()
        table = document.add_table(len(rows), len(rows[0]))
    else:
        document = pptx.Presentation()
        slide = document.slides.add_slide(document.slide_layouts[6])
        table = slide.shapes.add_table(len(rows), len(rows[0]), 0, 0, 9, 9).table
    for at, row in enumerate(rows):
        for column, text in enumerate(row):
            table.cell(at, column).text = text
    for top, left, bottom, right in merges:
        text = table.cell(top, left).text
        table.cell(top, left).merge(table.cell(bottom, right))
        table.cell(top, left).text = text
    return saved(document.save)


HEADER_OF_TWO_ROWS = (("Name", "Address", ""), ("", "Street", "City"), ("Ann", "Quay 1", "Oslo"))


@pytest.mark.parametrize("suffix", [".docx", ".pptx"])
def test_a_header_of_two_rows_is_one_name_for_each_column(suffix: str) -> None:
    data = make_table(suffix, HEADER_OF_TWO_ROWS, ((0, 0, 1, 0), (0, 1, 0, 2)))
    assert read_one(suffix, data).text == "Name: Ann; Address Street: Quay 1; Address City: Oslo"


def test_a_header_of_two_rows_of_a_page() -> None:
    header = "<tr><th rowspan=2>Name</th><th colspan=2>Address</th></tr><tr><th>Street</th><th>City</th></tr>"
    assert read_table(f"{header}<tr><td>Ann</td><td>Quay 1</td><td>Oslo</td></tr>") == [
        "Name: Ann; Address Street: Quay 1; Address City: Oslo"
    ]


@pytest.mark.parametrize("suffix", [".docx", ".pptx"])
def test_a_cell_that_is_a_row_is_no_value_of_a_column(suffix: str) -> None:
    rows = (("Crew of 1893", ""), ("Name", "Year"), ("Of the north", ""), ("Ann", "1990"))
    text = read_one(suffix, make_table(suffix, rows, ((0, 0, 0, 1), (2, 0, 2, 1)))).text
    assert text.split("\n\n") == ["Crew of 1893", "Of the north", "Name: Ann; Year: 1990"]


@pytest.mark.slow
def test_spans_are_bounded() -> None:
    many = "<tr><th>a</th></tr>" + f"<tr><td colspan=99999999 rowspan=99999999>{'x' * 2000}</td></tr>" * 60
    assert len("".join(read_table(many))) < 1 << 22
    grid = expand_spans([[Cell("x", 10**9, 10**9)]] * 3000)
    assert max(map(len, grid)) <= 2000


@given(st.lists(st.lists(st.builds(Cell, st.just("x"), st.integers(1, 4), st.integers(1, 4)), max_size=4), max_size=6))
def test_spans_take_the_places_that_the_standard_of_html_gives(rows: list[list[Cell]]) -> None:
    """The oracle marks every cell of a table as taken, one after the other."""
    taken: dict[tuple[int, int], tuple[int, int]] = {}
    for at, row in enumerate(rows):
        column = 0
        for number, cell in enumerate(row):
            while (at, column) in taken:
                column += 1
            for place in range(column, column + cell.columns):
                if (at, place) in taken:
                    break
                for line in range(at, min(at + cell.rows, len(rows))):
                    taken[line, place] = (at, number)
            column = place + ((at, place) not in taken)
    # Each cell of its own text, so that the grid says which one stands where.
    named = [[Cell(f"{at} {n}", cell.columns, cell.rows) for n, cell in enumerate(row)] for at, row in enumerate(rows)]
    found = {
        (at, column): tuple(map(int, cell.text.split()))
        for at, row in enumerate(expand_spans(named))
        for column, cell in enumerate(row)
        if cell.text
    }
    assert found == taken


@pytest.mark.parametrize("suffix", [".html", ".xlsx", ".docx", ".pptx"])
def test_rows_do_not_run_into_each_other(suffix: str) -> None:
    text = read_one(suffix, make_table(suffix, CREW)).text
    for spans in (sentence_spans(text), passage_sentence_spans(text)):
        assert ["Anna Reid" in text[start:end] for start, end in spans] == [True, False]
    names = [mention.name for start, end in sentence_spans(text) for mention in find_mentions(text, start, end)]
    assert "Anna Reid" in names
    assert not any("\n" in name for name in names)


@pytest.mark.parametrize("content", ["<p>{}</p>", "<ul><li>{}</li></ul>", "<div>{}</div>"])
def test_cells_with_paragraphs_and_lists_keep_the_rows(content: str) -> None:
    cells = "".join(f"<td>{content.format(text)}</td>" for text in ("Fram", "1892"))
    assert read_table(f"<tr><th>ship</th><th>built</th></tr><tr>{cells}</tr>") == ["ship: Fram; built: 1892"]


def test_the_items_of_a_cell_are_no_single_name() -> None:
    header = "<tr><th>ship</th><th>crew</th></tr>"
    row = "<tr><td>Fram</td><td><ul><li>Otto Bell</li><li>Anna Reid</li></ul>Of Oslo.<br>Late</td></tr>"
    assert read_table(header + row) == ["ship: Fram; crew: Otto Bell, Anna Reid, Of Oslo. Late"]


def test_a_table_that_is_the_frame_of_a_page_is_read_block_by_block() -> None:
    assert read_table("<tr><td><p>One.</p><p>Two.</p></td></tr>") == ["One.", "Two."]
    assert read_table("<tr><td><h2>One</h2></td><td>Two</td></tr><tr><td>3</td></tr>") == ["One", "Two", "3"]


def row(*cells: str) -> str:
    return f"<tr>{''.join(cell if cell.startswith('<t') else f'<td>{cell}</td>' for cell in cells)}</tr>"


LABELS = (
    [row("<th>Captain</th>", "Ada Holm"), row("<th>Built</th>", "1911")],
    [row("<b>Captain</b>", "Ada Holm"), row("<td><strong>Built</strong>:</td>", "1911")],
    [row("Captain:", "Ada Holm"), row("Built:", "1911")],
    [row("Captain", "Ada Holm"), row("Built", "1911")],
)


@pytest.mark.parametrize("rows", LABELS)
def test_labels_before_values_are_their_names(rows: list[str]) -> None:
    section = row("<td colspan=2>In service</td>")
    assert read_table("".join(rows)) == ["Captain: Ada Holm", "Built: 1911"]
    assert read_table(section.join(rows)) == ["Captain: Ada Holm", "In service", "Built: 1911"]


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        ([("Bolt M8", "12", "Kiel"), ("Nut M8", "13", "Lund")], ["Bolt M8; 12; Kiel", "Nut M8; 13; Lund"]),
        ([("Ada Holm", "captain", "Kiel"), ("Bo", "cook", "Lund")], ["Ada Holm; captain; Kiel", "Bo; cook; Lund"]),
        ([("Item", "Price", "Town"), ("Bolt", "12 kr", "Kiel")], ["Item: Bolt; Price: 12 kr; Town: Kiel"]),
        ([("ship", "port"), ("Fram", "Oslo")], ["ship: Fram; port: Oslo"]),
        ([("<b>Ship</b>", "<b>Port</b>"), ("Fram", "Oslo")], ["Ship: Fram; Port: Oslo"]),
        ([("Date", "Event"), ("2024-01-01", "Sailed from Oslo")], ["Date: 2024-01-01; Event: Sailed from Oslo"]),
        ([("<td></td>", "<th>1990</th>", "<th>2000</th>"), ("<th>Fram</th>", "1", "2")], ["Fram; 1990: 1; 2000: 2"]),
        ([("Captain:", "Ada Holm", "Owner:", "Bo Hale")] * 2, ["Captain: Ada Holm; Owner: Bo Hale"] * 2),
        ([("Name", "Fulmar"), ("Length", "23 m"), ("Beam", "5 m")], ["Name: Fulmar", "Length: 23 m", "Beam: 5 m"]),
        ([("Ada Holm", "Ida Quist", "Bo Hale")], ["Ada Holm", "Ida Quist", "Bo Hale"]),
    ],
)
def test_rows_without_a_marked_header_have_no_invented_names(rows: list[tuple[str, ...]], texts: list[str]) -> None:
    assert read_table("".join(row(*cells) for cells in rows)) == texts


def test_labels_of_a_word_file_are_names() -> None:
    data = make_table(".docx", (("Captain:", "Ada Holm"), ("Built:", "1911")))
    assert read_one(".docx", data).text.split("\n\n") == ["Captain: Ada Holm", "Built: 1911"]
