"""Folders that are no index, or not one this version reads: a clear error, and nothing is changed."""

import re
import shutil
import sys
from pathlib import Path

import lance
import pytest

from clew.store.location import locate
from clew.store.schema import passages_schema
from tests.faults.commands import folder_hash, make_voyage, run_clew, write_lines

READING = (["search", "Voyage 1"], ["ask", "Who?"], ["stats"], ["verify"], ["repair"], ["compact"], ["remove", "v0001"])


def run_refused(*arguments: str | Path) -> str:
    outcome = run_clew(*arguments)
    assert outcome.code == 2, outcome
    assert outcome.err.startswith("clew: ")
    assert outcome.err.count("\n") == 1
    return outcome.err


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "voyages.jsonl", [make_voyage(number) for number in range(3)])


@pytest.fixture
def index(tmp_path: Path, corpus: Path) -> Path:
    assert run_clew("index", corpus, "--index", tmp_path / "index", "--encoder", "hashing:16").code == 0
    return tmp_path / "index"


def test_a_folder_without_an_index(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("Dear Roald,")
    before = folder_hash(tmp_path)
    for place in (tmp_path / "letters", tmp_path / "absent", tmp_path / "letters" / "a.txt"):
        for command in READING:
            assert "no Clew index at" in run_refused(*command, "--index", place)
        assert "no Clew index at" in run_refused("diff", place, place)
    assert folder_hash(tmp_path) == before
    assert not (tmp_path / "absent").exists()


def test_a_file_where_the_folder_should_be(tmp_path: Path, corpus: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a letter")
    for place, fault in ((file, "which is a file"), (file / "index", f"which lies below the file {file}")):
        refused = run_refused("index", corpus, "--index", place, "--encoder", "none")
        assert refused == f"clew: --index is {str(place)!r}, {fault}: name a folder\n"
    assert file.read_text() == "a letter"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")
def test_a_place_where_no_folder_can_be_made(corpus: Path) -> None:
    assert run_refused("index", corpus, "--index", "/proc/x", "--encoder", "none") == (
        "clew: --index is '/proc/x', which cannot be written (No such file or directory): name another\n"
    )


@pytest.mark.parametrize(
    ("marks", "said"),
    [({}, "was not made by Clew"), ({"clew.format": "2", "clew.settings": "{}"}, "format 2.*install a newer Clew")],
    ids=["of another program", "of a newer format"],
)
def test_a_table_that_cannot_be_read(tmp_path: Path, corpus: Path, marks: dict[str, str], said: str) -> None:
    schema = passages_schema(0).with_metadata(marks)
    lance.write_dataset(schema.empty_table(), locate(tmp_path).table, schema=schema)
    before = folder_hash(tmp_path)
    for command in (*READING, ["index", str(corpus)]):
        assert re.search(said, run_refused(*command, "--index", tmp_path))
    (tmp_path / "clew.lock").unlink(missing_ok=True)
    assert folder_hash(tmp_path) == before


def test_a_restored_table_does_not_answer_from_the_snapshot_of_the_one_it_replaced(tmp_path: Path, index: Path) -> None:
    other = write_lines(
        tmp_path / "other.jsonl", [{"id": "x", "title": "Fram", "text": "The Fram was built in Larvik."}]
    )
    assert run_clew("index", other, "--index", tmp_path / "other", "--encoder", "hashing:16").code == 0
    assert "[v0002]" in run_clew("search", "Voyage 2", "--index", index).out
    shutil.rmtree(index / "passages.lance")
    shutil.copytree(tmp_path / "other" / "passages.lance", index / "passages.lance")
    assert "built in Larvik" in run_clew("search", "Where was the Fram built?", "--index", index).out
    assert "[v0002]" not in run_clew("search", "Voyage 2", "--index", index).out
    assert run_clew("diff", index, tmp_path / "other").code == 0
