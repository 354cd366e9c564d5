"""Reports of `clew index`, `remove` and `verify`: as JSON, in full with -v, by exit code; nothing is half-written."""

import json
from pathlib import Path
from typing import Any

import pytest

from clew.commands.serve import default_indexes
from clew.errors import InputError
from clew.indexing.sources.discovery import SourceFile, find_sources
from clew.indexing.sources.record_files import check_columns
from clew.indexing.sources.records import RecordColumns
from clew.query.filters import parse_filter
from clew.retrievers.registry import parse_retriever
from tests.commands.refusals import check_refused
from tests.faults.commands import Outcome, run_clew, write_lines

FAILED = 22


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "a.md").write_text("---\ntitle: Fram: a ship\n---\nFram sailed north.\n", encoding="utf-8")
    for number in range(FAILED):
        (folder / f"{number:02}.xyz").write_text("x", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def indexed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    place = tmp_path_factory.mktemp("made") / "index"
    return place, run_clew("index", folder, "--index", place, "--encoder", "none", "--json")


def read_json(done: Outcome) -> dict[str, Any]:
    value = json.loads(done.out)
    assert isinstance(value, dict)
    return value


def test_the_report_is_one_object_and_the_exit_code_stays(indexed: tuple[Path, Outcome], folder: Path) -> None:
    place, done = indexed
    report = read_json(done)
    assert (done.code, done.err) == (1, f"exit code 1: {FAILED} failed, the rest is in the index\n")
    assert (report["added"], report["index_passages"], report["stopped"]) == (1, 1, None)
    assert [failure["item"] for failure in report["failures"]] == [str(folder / f"{n:02}.xyz") for n in range(FAILED)]
    (note,) = report["reading"]["notes"]
    assert note.startswith(f"{folder / 'a.md'}: line 2: ")
    again = run_clew("index", folder / "a.md", "--index", place, "--json")
    assert (again.code, again.err, read_json(again)["unchanged"]) == (0, "", 1)


def test_v_lists_all_failures(indexed: tuple[Path, Outcome], folder: Path) -> None:
    place, _ = indexed
    few, all_ = run_clew("index", folder, "--index", place), run_clew("index", folder, "--index", place, "-v")
    assert few.err.count("failed: ") == 20
    assert "... and 2 more (-v lists all)\n" in few.err
    assert all_.err.count("failed: ") == FAILED
    assert few.code == all_.code == 1


def test_estimate_verify_and_remove_print_one_object(indexed: tuple[Path, Outcome], folder: Path) -> None:
    place, _ = indexed
    estimate = read_json(run_clew("index", folder, "--index", place, "--estimate", "--json"))
    assert (estimate["unchanged"], estimate["calls"], len(estimate["failures"])) == (1, 0, FAILED)
    verified = run_clew("verify", "--index", place, "--json")
    assert (verified.code, read_json(verified)) == (0, {"clean": True, "problems": []})
    removed = run_clew("remove", "a.md", "--index", place, "--json")
    assert (removed.code, read_json(removed)) == (0, {"removed": 1, "removed_graphs": 0})


@pytest.mark.parametrize("option", ["--text-column", "--title-column", "--id-column"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.json"])
def test_a_column_that_is_not_there_is_one_line_and_leaves_nothing(tmp_path: Path, option: str, name: str) -> None:
    if name.endswith(".csv"):
        (tmp_path / name).write_text("key;Subject\n1;Fram\n", encoding="utf-8")
    elif name.endswith(".json"):
        (tmp_path / name).write_text('[{"key": 1, "Subject": "Fram"}]', encoding="utf-8")
    else:
        write_lines(tmp_path / name, [{"key": 1, "Subject": "Fram"}])
    check_refused(
        run_clew("index", tmp_path, "--index", tmp_path / "index", option, "NOPE"),
        f"{option} is 'NOPE', and there is no such column: {tmp_path / name} has key, Subject",
    )
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_column_of_one_of_the_files_is_enough(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Text,key\nFram sailed.,1\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("note\nGjoa sailed.\n", encoding="utf-8")
    (tmp_path / "c.md").write_text("no table", encoding="utf-8")
    check_columns([tmp_path], RecordColumns(text=("note",)))
    with pytest.raises(InputError, match="text, key, and 1 more file has others"):
        check_columns([tmp_path], RecordColumns(text=("body",)))


def test_an_index_within_a_folder_is_no_document(tmp_path: Path) -> None:
    for name in ("a.md", "index/sources.json", "index/passages.lance/b.md", "deep/index/passages.lance/c.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("words", encoding="utf-8")
    assert [source.id for source in find_sources(tmp_path) if isinstance(source, SourceFile)] == ["a.md"]


def test_the_parts_of_an_index_are_no_documents_of_the_folder_that_it_is_made_in(tmp_path: Path) -> None:
    (tmp_path / "deep" / "derived").mkdir(parents=True)
    for name in ("notes.md", "deep/derived/more.md"):
        (tmp_path / name).write_text("words", encoding="utf-8")
    for seen in ("2 added, 0 updated, 0 unchanged, 0 failed", "0 added, 0 updated, 2 unchanged, 0 failed"):
        done = run_clew("index", tmp_path, "--index", tmp_path, "--encoder", "none")
        assert (done.code, done.out.startswith(seen)) == (0, True), done


@pytest.mark.parametrize(
    ("location", "name"),
    [("/data/desk", "desk"), ("s3://bucket/notes/", "notes"), ("/data/my notes", "index"), ("chat", "index")],
)
def test_a_server_takes_the_index_of_the_settings(location: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_INDEX", location)
    assert default_indexes() == {name: location}


def test_a_server_without_any_index_says_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for options in ((), ("--stdio", "read")):
        done = run_clew("serve", *options)
        check_refused(done, "NAME=DIR")
        assert "CLEW_INDEX" in done.err


def test_a_field_named_like_a_word_of_sql_is_shown_in_quotes() -> None:
    with pytest.raises(InputError, match=r'takes double quotes: "from", text takes single ones'):
        parse_filter("from = 'Anna'")
    assert parse_filter("\"from\" = 'Anna'").fields == {"from"}


@pytest.mark.parametrize("text", ["BM25", "Gfm", "gfm:rerank=G-RAG"])
def test_names_in_capitals_are_refused_with_the_right_one(text: str) -> None:
    wanted = text.rpartition("=")[2].lower()
    with pytest.raises(InputError, match=f"did you mean {wanted}\\?"):
        parse_retriever(text)
