"""Records: JSON lines and rows of tables; a bad one fails alone, and parts of files give what one reading gives."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.selected_snapshot import Part
from clew.indexing.sources.reader import read_documents
from clew.types import Document, Failure
from tests.indexing.sources.reading import only_documents, read_single, write_file


def test_json_lines(tmp_path: Path) -> None:
    lines = (
        '\ufeff{"id": "a/\\"b\\" 🙂", "title": " A  B ", "text": "one", "metadata": {"year": 1911, "tags": ["x"],'
        ' "no": null}, "lang": "en", "year": 1, "no": {"x": {"y": 1}}, "aliases": ["AB", " "], "links": ["c", "c"]}\n'
        "\n"
        '{"id": 7, "text": " two "}\r\n'
        '{"text": "three"}'
    )
    first, second, third = only_documents(read_documents([write_file(tmp_path / "r" / "x.jsonl", lines).parent]))
    assert first == Document(
        'a/"b" 🙂',
        "A B",
        "one",
        {"lang": "en", "no.x.y": 1, "year": 1911, "tags": ["x"]},
        aliases=("AB",),
        links=("c",),
    )
    assert second == Document("7", "", " two ")
    assert third == Document("x.jsonl:4", "", "three")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{not json}", "not valid JSON"),
        (b'["text"]', "the line is a list"),
        (b'{"id": "a"}', 'no "text"; the record has: id'),
        (b'{"text": 5}', '"text" is a number'),
        (b'{"text": null}', '"text" is null'),
        (b'{"text": " "}', "empty"),
        (b'{"id": "", "text": "t"}', '"id" is empty'),
        (b'{"id": true, "text": "t"}', '"id" is a boolean'),
        (b'{"id": ["a"], "text": "t"}', '"id" is a list'),
        (b'{"title": 5, "text": "t"}', '"title" is a number'),
        (b'{"metadata": [], "text": "t"}', '"metadata" is a list'),
        (b'{"metadata": {"a": [{}]}, "text": "t"}', 'metadata "a" is a list'),
        (b'{"metadata": {"a": 9223372036854775808}, "text": "t"}', 'metadata "a" is a number'),
        (b'{"metadata": {"a": 1e999}, "text": "t"}', 'metadata "a" is a number'),
        (b'{"metadata": {"a": NaN}, "text": "t"}', "NaN"),
        (b'{"aliases": "a", "text": "t"}', '"aliases" is a string'),
        (b'{"links": [1], "text": "t"}', '"links" is a list'),
        (b'{"text": "\\ud800"}', "text holds a lone surrogate"),
        (b'{"id": "\\udfff", "text": "t"}', "id holds a lone surrogate"),
        (b'{"metadata": {"\\ud800": "v"}, "text": "t"}', "metadata holds a lone surrogate"),
        (b'{"metadata": {"k": ["\\ud800"]}, "text": "t"}', "metadata holds a lone surrogate"),
        (b'{"links": ["\\ud800"], "text": "t"}', "links holds a lone surrogate"),
        (b'{"text": "\xff"}', "invalid UTF-8 at byte 10"),
        (b'{"text": ' + b"[" * 100_000 + b"}", "JSON"),
        (b'{"text": ' + b"9" * 10_000 + b"}", "JSON that cannot be read"),
        (b"[" * 200_000, "JSON that cannot be read: its brackets are nested too deep; make it flatter"),
        (b'{"id": "good", "text": "again"}', '"good" was already read'),
    ],
)
def test_bad_lines_fail_alone(tmp_path: Path, line: bytes, reason: str) -> None:
    path = write_file(
        tmp_path / "x.ndjson", b'{"id": "good", "text": "t"}\n' + line + b'\n{"id": "after", "text": "t"}\n'
    )
    first, broken, last = read_documents([path])
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert last.id == "after"
    assert isinstance(broken, Failure)
    assert broken.item == f"{path}:2"
    assert reason in broken.reason


def test_a_surrogate_pair_is_a_letter(tmp_path: Path) -> None:
    assert read_single(write_file(tmp_path / "x.jsonl", '{"text": "\\ud83d\\ude42"}')).text == "🙂"


def test_tables(tmp_path: Path) -> None:
    content = (
        "\ufeffid,Title,TEXT,year,height,zip,note\r\n"
        '1,One,"first, with ""quotes""\r\nand a line",1911,1.5,00714,\r\n'
        "\r\n"
        '2,,second,-3,1e3,99999999999999999999,"a\tb"\r\n'
    )
    first, second = only_documents(read_documents([write_file(tmp_path / "t.csv", content)]))
    metadata = {"year": 1911, "height": 1.5, "zip": "00714"}
    assert first == Document("1", "One", 'first, with "quotes"\nand a line', metadata)
    assert second == Document(
        "2", "", "second", {"year": -3, "height": 1000.0, "zip": "99999999999999999999", "note": "a\tb"}
    )
    assert type(first.metadata["year"]) is int
    assert type(second.metadata["height"]) is float


def test_rows_without_an_id_are_called_by_the_line_they_start_on(tmp_path: Path) -> None:
    content = 'text\tkind\n"one\nmore"\ta\n\ntwo\tb\n'
    assert [document.id for document in only_documents(read_documents([write_file(tmp_path / "t.tsv", content)]))] == [
        "t.tsv:2",
        "t.tsv:5",
    ]


def test_bad_rows_fail_alone(tmp_path: Path) -> None:
    content = (
        b'id,text\na,fine\nb,one,two\nc\n,text\nd,"\xe9"\ne,"x"y,z\nf,\xff\na,again\n'
        b'g,f\xc3\xadne \xc3\xa9\nh,"open, and\ni,to the end\n'
    )
    results = list(read_documents([write_file(tmp_path / "t.csv", content)]))
    assert [result.id for result in results if isinstance(result, Document)] == ["a", "g", "i"]
    failures = {result.item.rpartition(":")[2]: result.reason for result in results if isinstance(result, Failure)}
    assert {line: reason[:24] for line, reason in failures.items()} == {
        "3": "the row has 3 cells, its",
        "4": 'no "text"; the record ha',
        "5": '"id" is empty; give one,',
        "6": "invalid UTF-8 in the row",
        "7": "not a row of a table: ',",
        "8": "invalid UTF-8 in the row",
        "9": 'the id "a" was already r',
        "11": "not a row of a table: un",
    }


@pytest.mark.parametrize(
    ("suffix", "table", "rows"),
    [
        ("csv", "id,text,\na,one,\nb,two\nc,three,,\n", {"a": "one", "b": "two", "c": "three"}),
        ("csv", ",text\n7,one\n", {"t.csv:2": "one"}),
        ("csv", "sep=;\r\nid;text\r\na;one, two\r\n", {"a": "one, two"}),
        ("tsv", '"SEP=|"\nid|text\na|one', {"a": "one"}),
        ("csv", 'id,text\na,"one\nb,two\nc,"three"\nd,"said "yes" twice"\n',
         {"a": '"one', "b": "two", "c": "three", "d": '"said "yes" twice"'}),
        ("tsv", 'id\ttext\na\t"one\nb\ttwo\nc\tthe "third"\nd\tfour"\n',
         {"a": '"one', "b": "two", "c": 'the "third"', "d": 'four"'}),
        ("tsv", 'id\ttext\na\t"one\nand two"\nb\t"three ""3"""\n', {"a": "one\nand two", "b": 'three "3"'}),
    ],
)  # fmt: skip
def test_tables_as_programs_leave_them(tmp_path: Path, suffix: str, table: str, rows: dict[str, str]) -> None:
    documents = only_documents(read_documents([write_file(tmp_path / f"t.{suffix}", table)]))
    assert {document.id: document.text for document in documents} == rows
    assert all(document.metadata in ({}, {"column 1": 7}) for document in documents)


def test_a_cell_of_a_megabyte(tmp_path: Path) -> None:
    text = "word " * 200_000
    assert read_single(write_file(tmp_path / "t.csv", f'text\n"{text}"\n')).text == text


LINES = (
    '{"id": "a", "text": "one"}',
    '{"id": "a", "text": "the same id"}',
    '{"id": "a#2", "text": "of the same root"}',
    '{"id":7,"text":"a number"}',
    '{"id": 7.5, "text": "another number"}',
    '{"text": "the id comes last", "id": "b"}',
    '{"text": "no id"}',
    '{"title": "id", "text": "a value that looks like the key", "id": "c"}',
    '{"metadata": {"id": "inner"}, "text": "inside of another object"}',
    '{"metadata": {"id": "inner"}, "text": "both", "id": "outer"}',
    '{"id": "first", "text": "given twice", "id": "last"}',
    '{"\\u0069d": "escaped key", "text": "t", "title": "x"}',
    '{"id": "\\u00e9\\"quoted", "text": "escaped value"}',
    '{"text": "braces {{ and \\"id\\": \\"e\\"", "id": "d"}',
    '{"x\\"id": "not the id", "text": "a key that ends in one"}',
    '{"id": "f", "text": ""}',
    '{"id": "g", "text": "broken',
    '{"id": " ", "text": "a blank id"}',
    '{"id": ["h"], "text": "a list"}',
    '{"id": "h", "text": "a lone \\ud800"}',
    '[{"id": "i", "text": "a list of records"}]',
    "",
    "not JSON",
)
ROWS = ("a,one", "b,two", "a,again", ",no id", '"c ""d""",three', "x,a,b", "short", '"q\nr",two lines', "b#1,four")


def read_sorted(paths: list[Path], part: Part | None) -> list[str]:
    return sorted(map(repr, read_documents(paths, is_wanted=None if part is None else part.has)))


@given(lines=st.lists(st.sampled_from(LINES), max_size=12), rows=st.lists(st.sampled_from(ROWS), max_size=6))
@pytest.mark.parametrize("count", [1, 5])
def test_parts_give_together_what_one_reading_gives(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], rows: list[str], count: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    write_file(folder / "b.jsonl", "".join(f"{line}\n" for line in lines))
    write_file(folder / "c.csv", "".join(f"{line}\n" for line in ("id,text", *rows)))
    write_file(folder / "d.txt", "A text.")
    write_file(folder / "e.txt", b"\xff\xfe\x00")
    write_file(folder / "f.bin", b"")
    parts = [Part(number, count) for number in range(1, count + 1)]
    assert sorted(item for part in parts for item in read_sorted([folder], part)) == read_sorted([folder], None)
