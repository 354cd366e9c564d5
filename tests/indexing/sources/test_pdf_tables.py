"""Tables of PDFs, found by the places of words."""

from collections.abc import Sequence

import pytest

from clew.indexing.sources.readers.pdf_tables import Segment, find_rows
from tests.indexing.sources.reading import pdf_bytes, read_one

HEADER = ("Pump", "Flow", "Maker")
BODY = [("P-1", "7 l", "Ilo Ltd"), ("P-2", "9 l", "Brandt"), ("P-3", "", ""), ("P-4", "8 l", "Ilo Ltd")]


def lay_out(rows: Sequence[Sequence[str]], *, shift: float = 0.0) -> list[list[Segment]]:
    """Return lines with a cell at each hundred points."""
    return [
        [Segment(100.0 * at + shift, 100.0 * at + 6.0 * len(cell) + shift, cell) for at, cell in enumerate(row) if cell]
        for row in rows
    ]


def test_the_next_page_goes_on_under_the_same_header() -> None:
    first, second = find_rows(
        [lay_out([("Pumps",), HEADER, *BODY]), lay_out([*BODY[:3], BODY[3], ("End of the list",)])]
    )
    rows = ["Pump: P-1; Flow: 7 l; Maker: Ilo Ltd", "Pump: P-2; Flow: 9 l; Maker: Brandt", "Pump: P-3"]
    assert list(first.values()) == ["", *rows, "Pump: P-4; Flow: 8 l; Maker: Ilo Ltd"]
    assert [second[at] for at in range(3)] == rows
    assert set(first) == {1, 2, 3, 4, 5}
    assert set(second) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([("City", "People"), ("Turin", "870,000"), ("Oslo", "700,000")], 3),
        ([("City", "People"), ("Turin", "870,000")], 0),
        ([("Name:", "Ilse"), ("Role:", "Keeper"), ("Room:", "12")], 0),  # a form
        ([("Turin is a large", "city of the north"), ("of Italy with some", "people and some"), ("old", "cars")], 0),
        ([("1", "Introduction", "5"), ("2", "Methods", "9"), ("3", "Results", "12")], 0),
        ([("Pump", "Flow", "Maker"), ("a long name of a pump", "x", "7"), ("b", "8", "c")], 0),  # it covers two columns
    ],
)
def test_what_is_a_table(rows: list[tuple[str, ...]], count: int) -> None:
    (found,) = find_rows([lay_out(rows)])
    assert len(found) == count


def test_rows_of_a_pdf_are_paragraphs_with_the_names_of_columns() -> None:
    lines = ["".join(f"{cell}) Tj 120 0 Td (" for cell in row) + ") Tj -360 0 Td (" for row in (HEADER, *BODY)]
    contents = read_one(".pdf", pdf_bytes([["The pumps of the yard.", *lines, "The list ends."]]))
    assert contents.text.split("\n\n") == [
        "The pumps of the yard.",
        "Pump: P-1; Flow: 7 l; Maker: Ilo Ltd",
        "Pump: P-2; Flow: 9 l; Maker: Brandt",
        "Pump: P-3",
        "Pump: P-4; Flow: 8 l; Maker: Ilo Ltd",
        "The list ends.",
    ]
