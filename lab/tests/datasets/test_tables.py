"""Tables with a header: cells of any text, and errors with file and line."""

from pathlib import Path

import pytest

from clew.errors import InputError
from clew_lab.datasets.tables import read_table


def write_table(folder: Path, text: str | bytes) -> Path:
    path = folder / "t.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_columns_by_name_and_lines_as_an_editor_shows_them(tmp_path: Path) -> None:
    path = write_table(tmp_path, '\ufeffb,a,more\n"two\nlines","x,""y""",1\n\n c ,,2\r\n')
    table = read_table(path, ("a", "b"))
    assert list(table.columns("a", "b")) == [(2, ['x,"y"', "two\nlines"]), (5, ["", " c "])]
    assert [(record.location, record.fields) for record in table.records()] == [
        (f"{path}: line 2", {"b": "two\nlines", "a": 'x,"y"', "more": "1"}),
        (f"{path}: line 5", {"b": " c ", "a": "", "more": "2"}),
    ]


def test_another_delimiter(tmp_path: Path) -> None:
    table = read_table(write_table(tmp_path, "a\tb\n1,2\t3\n"), ("a",), "\t")
    assert table.rows == [(2, ["1,2", "3"])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"t\.csv: is empty; wanted a header"),
        ("a,c\n1,2\n", r"t\.csv: line 1: the columns are a, c; wanted a, b\. Add b to the header"),
        ("a,b\n1,2\n1,2,3\n", r"t\.csv: line 3: 3 cells .* wanted 2"),
        ('a,b\n1,2\n"1"x,2\n', r"t\.csv: line 3: not a row of a table"),
        ('a,b\n1,2\n1,"2\n3,4\n', r"t\.csv: line 3: not a row of a table"),
        (b"a,b\n\xff,1\n", r"t\.csv: holds a byte that is not UTF-8"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_table(write_table(tmp_path, text), ("a", "b"))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read"):
        read_table(tmp_path / "none.csv", ("a",))
