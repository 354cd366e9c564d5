"""The Python face: open, create, add, search, ask, remove."""

from pathlib import Path
from typing import Any

import pytest

import clew
from clew.errors import InputError
from clew.index import Index
from clew.settings import Settings
from clew.types import Document, Failure
from tests.small_index import make_index, result_ids

FRAM = Document("fram", "Fram (ship)", "Fram was built by Colin Archer.", {"year": 1892})
ARCHER = Document("archer", "Colin Archer", "Colin Archer was born in Larvik.", {"year": 1832})
LARVIK = Document("larvik", "Larvik", "Larvik is a town in Norway.", {"year": 1671})


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return make_index(tmp_path / "index", [FRAM, ARCHER])


def contents(index: Index) -> tuple[list[str], list[str], list[str]]:
    s = index.snapshot
    return list(s.passage_ids), list(s.texts), [f"{t}" for t in (s.triple(i) for i in range(len(s.triples)))]


def test_the_few_words_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    texts = {
        "fram.md": "# Fram\n\nFram was built by [Colin Archer](archer.md).\n",
        "archer.md": "# Colin Archer\n\nHe was born in Larvik.\n",
    }
    for name, text in texts.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    index = clew.create(tmp_path / "index", clew.Settings(encoder="hashing"))
    report = index.add([tmp_path / "docs"])
    assert (report.added, report.passages, report.failures) == (2, 2, [])
    evidence = clew.open(tmp_path / "index").search("Where was the builder of the Fram born?", k=2)
    assert set(result_ids(evidence)) == {"fram.md", "archer.md"}
    assert evidence.paths[0].item[0].tail == "Colin Archer"
    answer = index.ask("Where was Colin Archer born?")
    assert answer.citations[0].quote in answer.evidence.passages[0].item.text or answer.citations
    assert set(clew.RETRIEVERS) >= {"pagerank", "bm25"}


def test_adding_again_costs_nothing_and_a_change_replaces(index: Index) -> None:
    version = index.table.version
    same = index.add([FRAM, ARCHER])
    assert (same.added, same.updated, same.unchanged, same.passages) == (0, 0, 2, 0)
    assert index.table.version == version
    changed = index.add([Document("fram", "Fram (ship)", "Fram was built in Larvik."), LARVIK])
    assert (changed.added, changed.updated, changed.unchanged) == (1, 1, 0)
    assert contents(index)[:2] == (
        ["archer", "fram", "larvik"],
        [ARCHER.text, "Fram was built in Larvik.", LARVIK.text],
    )
    assert not any("built by" in triple for triple in contents(index)[2])


@pytest.mark.parametrize("field", ["title", "text", "metadata", "aliases", "links"])
def test_a_change_of_anything_is_a_change(index: Index, field: str) -> None:
    values: dict[str, Any] = {
        "title": "Other", "text": "Other.", "metadata": {"year": 1}, "aliases": ("F",), "links": ("archer",)
    }  # fmt: skip
    parts = {name: getattr(FRAM, name) for name in ("id", "title", "text", "metadata", "aliases", "links")}
    assert index.add([Document(**parts)]).unchanged == 1
    assert index.add([Document(**(parts | {field: values[field]}))]).updated == 1


def test_removing_what_is_not_there_removes_nothing(index: Index) -> None:
    before, version = contents(index), index.table.version
    with pytest.raises(InputError, match=r"'gone'.*1 of 2"):
        index.remove(["fram", "gone"])
    assert index.table.version == version
    assert contents(index) == before
    assert index.remove([]).removed == 0


def test_retrievers_follow_what_was_added(index: Index) -> None:
    assert not index.search("town", retriever="bm25").passages
    first = index.retriever("bm25")
    assert index.retriever("bm25") is first
    index.add([LARVIK])
    assert index.retriever("bm25") is not first
    assert result_ids(index.search("town", retriever="bm25")) == ["larvik"]


def test_failures_are_reported_beside_results(index: Index) -> None:
    given: list[Document | Failure] = [Failure("x.pdf", "cannot be read"), LARVIK, Document("blank", "Blank", " \n ")]
    report = index.add(given)
    assert report.added == 1
    assert [failure.item for failure in report.failures] == ["x.pdf", "blank"]


def test_one_path_alone_is_a_path_and_not_letters(index: Index, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Larvik is a town.", encoding="utf-8")
    assert index.add(str(tmp_path / "note.txt")).added == 1


def test_the_extractor_stays_of_its_kind(index: Index, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'rules', not 'published:x'"):
        index.add([LARVIK], extractor="published:x")
    assert index.add([LARVIK], extractor="rules").added == 1


@pytest.mark.parametrize("text", ["a \ud800 b", "\udfff"])
def test_text_that_no_file_can_hold_is_refused_and_nothing_changes(index: Index, tmp_path: Path, text: str) -> None:
    before = contents(index)
    for document in (Document("x", "X", text), Document("x", text, "t"), Document(f"x{text}", "X", "t")):
        with pytest.raises(InputError):
            index.add([document])
    assert contents(clew.open(tmp_path / "index")) == before


def test_creating_where_something_is(index: Index, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        clew.create(tmp_path / "index", Settings(encoder="hashing"))
    assert len(contents(index)[0]) == 2


@pytest.mark.parametrize("wrong", [{"encoder": "hashing:0"}, {"encoder": " "}, {"extractor": "magic"}])
def test_creating_with_a_name_that_is_none_leaves_nothing_behind(tmp_path: Path, wrong: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"encoder": "hashing"} | wrong
    with pytest.raises(InputError):
        clew.create(tmp_path / "index", Settings(**asked))
    assert not (tmp_path / "index").exists()


def test_limits_of_the_settings_hold_from_python(small_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_MAX_TOKENS", "1")
    monkeypatch.setenv("CLEW_BASE_URL", "http://127.0.0.1:9/v1")
    answer = clew.open(small_folder).ask("Where was Louis Palander born?", model="openai:test")
    assert answer.failure is not None
    assert "the budget of 1 token is reached" in answer.failure.reason
    assert answer.evidence.passages


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("year = 5", "no passage meets the filter (0 of 2)"),
        ("year >= 'old'", "no passage meets the filter (0 of 2); 'year' has numbers, and 'old' is a text"),
    ],
)
def test_a_filter_that_allows_nothing_is_the_only_note(index: Index, where: str, expected: str) -> None:
    for retriever in ("bm25", "pagerank", "frag"):
        assert index.search("boat", 5, retriever, where).notes == (expected,)
    assert expected in index.ask("Who built the Fram?", where=where).evidence.notes
    assert index.restrict("year = 5").search("boat", retriever="bm25").notes == ("no passage meets the filter",)


def test_a_caller_s_own_filter_is_what_is_counted(index: Index) -> None:
    within = "year = 1832"
    empty = clew.Evidence()
    shown = index.finish(empty, f"({within}) AND (title = 'Fram')", within)
    assert shown.notes == ("no passage meets the filter (0 of 1)",)
    shown = index.finish(empty, f"({within}) AND (title = 5 OR year = 'x')", within)
    assert shown.notes == ("no passage meets the filter (0 of 1); 'title' has texts, and 5 is a number",)
