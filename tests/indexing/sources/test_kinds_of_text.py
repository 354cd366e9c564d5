"""Texts, code and records as they lie on a desk: encodings, titles, columns, delimiters, and the report of it."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from clew.indexing.sources.markdown import read_front_matter
from clew.indexing.sources.reader import read_documents
from clew.indexing.sources.reading_report import ReadingReport
from clew.indexing.sources.record_files import check_columns
from clew.indexing.sources.records import RecordColumns
from clew.types import Document, Failure, Place
from tests.indexing.sources.reading import only_documents, read_failure, read_single, write_file

WORDS = "Café Zürich\n\nDas Café Zürich gehört Jürgen Köhler seit 1998.\n"


def read(path: Path, columns: RecordColumns | None = None) -> tuple[list[Document], ReadingReport]:
    report = ReadingReport()
    documents = read_documents([path], report=report, columns=columns or RecordColumns())
    return only_documents(documents), report


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le-bom", "utf-32"])
def test_other_encodings_are_read_and_said(tmp_path: Path, encoding: str) -> None:
    data = b"\xff\xfe" + WORDS.encode("utf-16-le") if encoding == "utf-16-le-bom" else WORDS.encode(encoding)
    (document,), report = read(write_file(tmp_path / "a.txt", data))
    assert (document.text, document.title) == (WORDS, "Café Zürich")
    assert "since it is not UTF-8" in report.lines()[0]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize(
    "words",
    ["Café Zürich gehört Jürgen.\n", "Маяк стоит с 1887 года.\n", "一座灯塔，建于1887年。\n", "Two – “quoted”\n"],
)
def test_utf_16_and_32_without_a_mark_are_read(tmp_path: Path, encoding: str, words: str) -> None:
    (document,), report = read(write_file(tmp_path / "a.txt", words.encode(encoding)))
    assert (document.text, report.encodings) == (words, {str(tmp_path / "a.txt"): encoding})
    table = f"id;text\n1;{words}".encode(encoding)
    assert read_single(write_file(tmp_path / "t.csv", table)).text == words.strip()
    lines = json.dumps({"text": words}, ensure_ascii=False) + "\n"
    assert read_single(write_file(tmp_path / "l.jsonl", lines.encode(encoding))).text == words
    assert read_single(write_file(tmp_path / "p.html", f"<p>{words}</p>".encode(encoding))).text == words.strip()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le"])
@pytest.mark.parametrize(("name", "line"), [("t.csv", "id,text\na,one two\n"), ("l.jsonl", '{"text": "one two"}\n')])
def test_records_that_end_within_a_letter_are_a_failure(tmp_path: Path, encoding: str, name: str, line: str) -> None:
    *documents, failure = read_documents([write_file(tmp_path / name, line.encode(encoding) + b"a")])
    assert [document.text for document in only_documents(documents)] == ["one two"]
    assert f"invalid {encoding.upper()} in its first" in getattr(failure, "reason", "")


def test_keys_of_lines_in_utf_16_are_columns(tmp_path: Path) -> None:
    lines = write_file(tmp_path / "l.jsonl", '{"body": "one"}\n'.encode("utf-16"))
    check_columns([lines, write_file(tmp_path / "t.csv", "name\nAda\n")], RecordColumns(text=("body",)))


@pytest.mark.parametrize(
    "data", [b"one\0two\0three\0", b"\x7fELF\2\1\1\0\0\0\0\0", "Größe\0Maß\0a".encode(), b"\0" * 8]
)
def test_nuls_that_make_no_letters_are_binary(tmp_path: Path, data: bytes) -> None:
    assert "binary content" in read_failure(write_file(tmp_path / "a.txt", data)).reason


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("curl(1)          curl Manual          curl(1)\n\nNAME\n", "curl"),
        ("The Project Gutenberg eBook of News from Nowhere\n\nTitle: News from Nowhere\n\nIt is.", "News from Nowhere"),
        ("The Project Gutenberg eBook, of a book\n\nIt is.", "a b"),
    ],
)
def test_running_heads_and_licences_are_no_titles(tmp_path: Path, text: str, title: str) -> None:
    assert read_single(write_file(tmp_path / "a-b.txt", text)).title == title


def test_source_code_has_lines_and_names(tmp_path: Path) -> None:
    text = "import os\n\n\nclass Ship:\n    def sail(self):\n        return 'north'\n\n\ndef moor():\n    pass\n"
    document = read_single(write_file(tmp_path / "ship_yard.py", text))
    assert document.title == "ship_yard.py"
    assert [start.place for start in document.places] == [
        Place(line=1),
        Place(line=4, heading="Ship"),
        Place(line=5, heading="Ship > sail"),
        Place(line=9, heading="moor"),
    ]


def test_a_readme_without_a_suffix_is_a_text(tmp_path: Path) -> None:
    assert read_single(write_file(tmp_path / "README", "Rope guide\n\nIt is long.\n")).title == "Rope guide"


@pytest.mark.parametrize(("delimiter", "name"), [(",", "t.csv"), (";", "t.csv"), ("|", "t.csv"), ("\t", "t.tsv")])
def test_rows_without_a_text_are_texts_with_the_names_of_columns(tmp_path: Path, delimiter: str, name: str) -> None:
    rows = [("key", "name", "role"), ("7", "Ann Lee", "captain"), ("8", "Bo, Ray", "")]
    lines = [delimiter.join(f'"{cell}"' for cell in row) for row in rows]
    (first, second), _ = read(write_file(tmp_path / name, "\n".join(lines)))
    assert (first.text, first.metadata) == (
        "key: 7; name: Ann Lee; role: captain",
        {"key": 7, "name": "Ann Lee", "role": "captain"},
    )
    assert (second.id, second.text) == (f"{name}:3", "key: 8; name: Bo, Ray")


COLUMNS = RecordColumns(text=("subject", "body"), title="subject", id="_id")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl", '{"_id": "t1", "subject": "Leak", "body": "It leaks.", "year": 2024}\n'),
        ("t.json", '{"tickets": [{"_id": "t1", "subject": "Leak", "body": "It leaks.", "year": 2024}]}'),
        ("t.csv", "_id;subject;body;year\nt1;Leak;It leaks.;2024\n"),
    ],
)
def test_columns_that_are_named(tmp_path: Path, name: str, content: str) -> None:
    (document,), _ = read(write_file(tmp_path / name, content), COLUMNS)
    assert (document.id, document.title, document.text) == ("t1", "Leak", "Leak\nIt leaks.")
    assert document.metadata == {"year": 2024}


def test_a_column_that_is_not_there_is_said(tmp_path: Path) -> None:
    (failure,) = read_documents([write_file(tmp_path / "t.csv", "a,b\n1,2\n")], columns=COLUMNS)
    assert isinstance(failure, Failure)
    assert 'it has no column "subject", only: a, b' in failure.reason


def test_json_without_records_is_its_keys_and_values(tmp_path: Path) -> None:
    document = read_single(write_file(tmp_path / "a.json", '{"ship": {"name": "Fram", "crew": [1, 2]}, "none": null}'))
    assert document.text == "ship.name: Fram\nship.crew: 1, 2"
    assert "not valid JSON" in read_failure(write_file(tmp_path / "b.json", "{")).reason
    assert "cannot be read" in read_failure(write_file(tmp_path / "c.json", "[" * 200_000)).reason


def test_front_matter_is_metadata() -> None:
    text = "---\ntitle: A\nyear: 2025\ntags: [a, 1]\nday: 2024-05-03\nby:\n  name: Ann\ndraft: true\nempty:\n---\nbody"
    fields = {"year": 2025, "tags": ["a", "1"], "day": "2024-05-03", "by.name": "Ann", "draft": True}
    assert read_front_matter(text).fields == fields


@pytest.mark.parametrize(
    ("matter", "line"), [("title: Vega: a ship", 2), ("title: Vega\nbad: [1", 4), ("title: Vega\nstar: *x", 3)]
)
def test_front_matter_that_is_no_yaml_is_a_note_with_its_line(tmp_path: Path, matter: str, line: int) -> None:
    path = write_file(tmp_path / "a.md", f"---\n{matter}\n---\nShe sailed north.\n")
    (document,), report = read(path)
    assert (document.title[:4], document.text) == ("Vega", "She sailed north.\n")
    (note,) = report.notes
    assert note.startswith(f"{path}: line {line}: the front matter is no YAML (")


def test_front_matter_that_is_no_yaml_is_read_entry_by_entry() -> None:
    front = read_front_matter("---\ntitle: Vega: a ship\nyear: 2025\nbad: [1\n---\n")
    assert (front.title, front.fields) == ("Vega: a ship", {"year": 2025, "bad": "[1"})


@pytest.mark.parametrize(
    "value",
    ["[" * 5_000, "{a: " * 5_000, "0b" + "1" * 20_000, "!!timestamp yesterday", "!!int ''", "!!binary aGk="],
    ids=["lists", "maps", "digits", "timestamp", "int", "binary"],
)
def test_front_matter_that_yaml_is_slow_or_wrong_at_is_plain_words(value: str) -> None:
    """The time of PyYAML grows with the square of the brackets, and its own types end in other errors than its own."""
    front = read_front_matter(f"---\ntitle: Oslo\naliases: {value}\nyear: 1048\n---\nText\n")
    assert (front.title, front.aliases, front.fields) == ("Oslo", (value.strip(),), {"year": 1048})


def test_yaml_refuses_deep_brackets_before_it_reads_them() -> None:
    with patch("yaml.scan", return_value=[]) as scan:
        assert read_front_matter(f"---\naliases: {'[' * 65}\n---\n").aliases == ("[" * 65,)
    assert not any("[" in call.args[0] for call in scan.call_args_list)
    assert read_front_matter(f"---\nnested: {'[' * 60}a{']' * 60}\n---\n").fields["nested"]


def test_yaml_that_stands_for_billions_is_not_expanded() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    front = read_front_matter(f"---\n{bomb}---\n")
    assert sum(len(str(value)) for value in front.fields.values()) < 5000


def test_files_have_a_path_and_a_time(tmp_path: Path) -> None:
    path = write_file(tmp_path / "f" / "n" / "a.md", "# A\n\ntext")
    (document,), report = read(tmp_path / "f")
    assert document.origin["path"] == "n/a.md"
    assert document.origin["modified"].endswith("Z")
    path.touch()
    assert report.summary == "1 .md"


def test_what_stands_beside_the_list_of_a_json_file_is_not_lost(tmp_path: Path) -> None:
    content = {"service": {"owner": "Team Leith", "ports": [80]}, "people": [{"name": "Ann"}, {"name": "Bob"}]}
    report = ReadingReport()
    path = write_file(tmp_path / "a.json", json.dumps(content))
    documents = only_documents(read_documents([path], report=report))
    assert [(one.id, one.text) for one in documents] == [
        ("a.json", "service.owner: Team Leith\nservice.ports: 80"),
        ("a.json:1", "name: Ann"),
        ("a.json:2", "name: Bob"),
    ]
    assert report.notes == [f"{path}: what stands beside its list of records is a document of its own"]
    counts = write_file(tmp_path / "b.json", json.dumps({"total": 2, "next": None, "people": content["people"]}))
    assert [one.id for one in only_documents(read_documents([counts]))] == ["b.json:1", "b.json:2"]


def test_a_record_may_lack_its_title_and_a_part_of_its_text_but_not_all_of_it(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"key": "a", "subject": "Gate", "body": "It is stuck."},
        {"key": "b", "body": "It is open."},
        {"key": "c", "subject": "Lamp"},
        {"key": "d", "prio": 1},
        {"subject": "No key", "body": "words"},
        {"key": "e", "body": "# 10.17 12\n\n# The Heron trial\n\nIt is led by Mara Quist."},
    ]
    path = write_file(tmp_path / "rows.jsonl", "\n".join(map(json.dumps, rows)))
    columns = RecordColumns(text=("subject", "body"), title="subject", id="key")
    *documents, no_text, no_id, last = read_documents([path], columns=columns)
    documents.append(last)
    assert [(one.id, one.title, one.text) for one in documents if isinstance(one, Document)] == [
        ("a", "Gate", "Gate\nIt is stuck."),
        ("b", "", "It is open."),
        ("c", "Lamp", "Lamp"),
        ("e", "The Heron trial", rows[-1]["body"]),
    ]
    assert isinstance(no_text, Failure)
    assert isinstance(no_id, Failure)
    assert 'it has no "subject", only: key, prio' in no_text.reason
    assert 'it has no "key", only: body, subject' in no_id.reason
