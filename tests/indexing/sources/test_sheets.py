"""Merged cells of sheets, titles above the header, sections, and the place of each row."""

from collections.abc import Sequence
from typing import Any

import openpyxl
import pytest

from clew.indexing.sources.contents import FileContents
from clew.types import Place
from tests.indexing.sources.reading import read_one, repacked, saved

Rows = Sequence[Sequence[Any]]


def save(rows: Rows, merges: Sequence[str] = ()) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for merge in merges:
        book.active.merge_cells(merge)
    return saved(book.save)


def read(rows: Rows, merges: Sequence[str] = ()) -> FileContents:
    return read_one(".xlsx", save(rows, merges))


def lines(rows: Rows, merges: Sequence[str] = ()) -> list[str]:
    return read(rows, merges).text.split("\n\n")


def test_a_merged_cell_belongs_to_all_rows_and_columns_that_it_spans() -> None:
    rows: Rows = [
        ["port", "ship", "built", "sunk"],
        ["Leith", "Fram", 1892, None],
        [None, "Gjoa", 1872],
        ["Oslo", "Maud", 9, 9],
    ]
    assert lines(rows, ["A2:A3", "C2:D2"]) == [
        "port: Leith; ship: Fram; built: 1892; sunk: 1892",
        "port: Leith; ship: Gjoa; built: 1872",
        "port: Oslo; ship: Maud; built: 9; sunk: 9",
    ]


def test_a_row_of_nothing_but_a_cell_from_above_is_none() -> None:
    assert lines([["port", "ship"], ["Leith", "Fram"], [None, None], ["Oslo", "Maud"]], ["A2:A3", "B2:B3"]) == [
        "port: Leith; ship: Fram",
        "port: Oslo; ship: Maud",
    ]


def test_a_header_of_two_rows() -> None:
    rows: Rows = [["ship", "size", None], [None, "length", "beam"], ["Fram", 39, 11]]
    assert lines(rows, ["A1:A2", "B1:C1"]) == ["ship: Fram; size length: 39; size beam: 11"]


@pytest.mark.parametrize("merges", [[], ["A1:C1"]])
def test_a_title_above_the_header_is_the_heading_of_the_rows(merges: list[str]) -> None:
    rows: Rows = [["Ships of the north"], ["as of May"], [], ["ship", "built", "port"], ["Fram", 1892, "Oslo"]]
    contents = read(rows, merges)
    assert contents.text.split("\n\n")[2:] == ["ship: Fram; built: 1892; port: Oslo"]
    heading = "Ships of the north"
    assert [start.place for start in contents.places] == [
        Place(sheet="Sheet", row=1, heading=heading),
        Place(sheet="Sheet", row=2, heading=heading),
        Place(sheet="Sheet", row=5, heading=heading),
    ]


def test_a_merged_row_within_a_table_is_the_heading_of_the_rows_below() -> None:
    rows: Rows = [["ship", "built"], ["Retired"], ["Fram", 1892], ["In use"], ["Vega", 2025]]
    contents = read(rows, ["A2:B2", "A4:B4"])
    assert contents.text.split("\n\n") == ["Retired", "ship: Fram; built: 1892", "In use", "ship: Vega; built: 2025"]
    assert [start.place.heading for start in contents.places] == ["Retired", "Retired", "In use", "In use"]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([["ship", 1890, 1891], ["Fram", 1, 2]], ["ship: Fram; 1890: 1; 1891: 2"]),  # a header of years
        ([["ship", "built"], ["Fram", 1892], ["see the log"]], ["ship: Fram; built: 1892", "ship: see the log"]),
        ([["ship"], ["Fram"], ["Gjoa"]], ["ship: Fram", "ship: Gjoa"]),
        ([["ship", "built"]], ["ship; built"]),
        ([[1, 2], [3, 4]], ["1: 3; 2: 4"]),
        ([["note"], ["a", "b", "c"], [1, None, None], [1, 2, 3]], ["note", "a: 1", "a: 1; b: 2; c: 3"]),
    ],
)
def test_which_row_is_the_header(rows: Rows, text: list[str]) -> None:
    assert lines(rows) == text


def replaced(data: bytes, *changes: tuple[bytes, bytes]) -> FileContents:
    """Return the contents of a spreadsheet with other bytes in the file of its sheet."""

    def change(name: str, content: bytes) -> bytes:
        for old, new in changes:
            assert old in content or "sheet1" not in name
            content = content.replace(old, new)
        return content

    return read_one(".xlsx", repacked(data, change))


def test_rows_beyond_the_stated_size_of_a_sheet_are_read() -> None:
    contents = replaced(save([["ship"], ["Fram"], ["Gjoa"]]), (b'ref="A1:A3"', b'ref="A1"'))
    assert contents.text == "ship: Fram\n\nship: Gjoa"


def test_a_merged_cell_of_a_whole_sheet_ends() -> None:
    data = save([["a", "ship"], *[[None, f"Fram {n}"] for n in range(3)]], ["A1:A2"])
    contents = replaced(data, (b'ref="A1:A2"', b'ref="A1:XFD1048576"'))
    assert [row[:18] for row in contents.text.split("\n\n")] == [f"a: a; ship: Fram {n}" for n in range(3)]
    assert len(contents.text) < 20_000
    contents = replaced(data, (b'ref="A1:A2"', b'ref="A2:XFD1048576"'))
    assert contents.text.split("\n\n") == ["ship: Fram 0", "ship: Fram 1", "ship: Fram 2"]


def test_formulas_without_a_stored_value_are_noted_and_empty_strings_are_not() -> None:
    data = save([["route", "adult"], ["Molde", 49], ["Return", "=B2*2"], ["Both", "=SUM(B2:B3)"]])
    assert read_one(".xlsx", data).notes == (
        "2 formulas have no stored value: open the file in a spreadsheet program and save it to have them read",
    )
    stored = (b"<f>B2*2</f><v></v>", b"<f>B2*2</f><v>98</v>"), (b'<c r="B4"><f>', b'<c r="B4" t="str"><f>')
    contents = replaced(data, *stored)
    assert contents.text.split("\n\n")[1:] == ["route: Return; adult: 98", "route: Both"]
    assert contents.notes == ()
