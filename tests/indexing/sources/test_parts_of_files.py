"""Parts of files: together they give what one reading gives, and a part parses little more than its own records."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.selected_snapshot import Part
from clew.indexing.sources import record_files, records
from clew.indexing.sources.reader import read_documents
from clew.types import Document, Failure
from tests.indexing.sources.reading import write_file

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


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The places of all records of which a document was made, or tried to be."""
    places: list[str] = []

    def noting(make: Callable[..., Document]) -> Callable[..., Document]:
        def note(*arguments: object) -> Document:
            places.append(str(arguments[-1]))
            return make(*arguments)

        return note

    for module, name in ((records, "make_record_document"), (record_files, "make_row_document")):
        monkeypatch.setattr(module, name, noting(getattr(module, name)))
    return places


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_sixteen_parts_parse_each_record_about_twice(tmp_path: Path, parsed: list[str], suffix: str) -> None:
    """Once for its id, and once for its line, in case it is damaged: not sixteen times."""
    count, parts = 200, 16
    ids = [f"document {number}" for number in range(count)]
    if suffix == "jsonl":
        text = "".join(
            json.dumps({"id": id_, "title": id_, "text": "A {text} with \"id\": 'x'."}) + "\n" for id_ in ids
        )
    else:
        text = "id,text\n" + "".join(f"{id_},A text.\n" for id_ in ids)
    file = write_file(tmp_path / f"corpus.{suffix}", text)
    found = [
        item for number in range(1, parts + 1) for item in read_documents([file], is_wanted=Part(number, parts).has)
    ]
    assert not any(isinstance(item, Failure) for item in found)
    assert sorted(item.id for item in found if isinstance(item, Document)) == sorted(ids)
    assert count <= len(parsed) <= 2 * count
