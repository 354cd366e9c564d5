"""Arguments from Python of another type than wanted: one clear error, and nothing is changed."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.answering.extractive import ExtractiveAnswerer
from clew.errors import InputError
from clew.index import Index
from clew.retrievers.registry import RETRIEVERS
from clew.types import Document
from tests.small_index import make_index

NUMBERED = [Document(str(number), f"Document {number}", f"The text of document {number}.") for number in range(1, 4)]


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index whose ids are single digits."""
    return make_index(tmp_path_factory.mktemp("numbered") / "index", NUMBERED)


def test_remove_of_a_string_removes_nothing(numbered: Index) -> None:
    """It removed documents 1 and 2."""
    with pytest.raises(InputError, match="single"):
        numbered.remove("12")
    with pytest.raises(InputError, match="int 1"):
        numbered.remove([1])  # type: ignore[list-item]
    assert list(numbered.snapshot.passage_ids) == ["1", "2", "3"]


CREATE: Any = clew.create
STAGE_PART: Any = Index.stage_part
WRONG: list[dict[str, Any]] = [
    {"question": 5},
    {"question": None},
    {"question": ["a"]},
    {"k": "5"},
    {"k": 2.5},
    {"k": True},
    {"where": 5},
    {"where": ["a = 1"]},
    {"paths": "1"},
    {"topics": "Fram"},
    {"topics": [1]},
    {"retriever": 5},
    {"retriever": None},
]


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_a_search_for_nonsense_is_refused(numbered: Index, given: dict[str, Any]) -> None:
    for call in (numbered.search, numbered.ask):
        with pytest.raises(InputError):
            call(**{"question": "document", "retriever": "bm25", **given})
    if given.keys() <= {"question", "k", "where", "paths"}:
        with pytest.raises(InputError):
            numbered.search(**{"question": "document", **given})


@pytest.mark.parametrize(
    "name", [name for name in RETRIEVERS if name not in ("gfm", "gfm-paper", "routed", "linearrag", "maxsim")]
)
def test_a_question_alone_is_no_list_of_questions(numbered: Index, name: str) -> None:
    with pytest.raises(InputError, match="questions"):
        numbered.retriever(name).retrieve("document", 3)


def test_an_answer_to_a_question_alone_is_refused(numbered: Index) -> None:
    evidence = numbered.search("document")
    with pytest.raises(InputError, match="questions"):
        ExtractiveAnswerer().answer("d", [evidence])


@pytest.mark.parametrize(
    "documents",
    [
        5,
        None,
        b"a.txt",
        {"a": 1},
        NUMBERED[0],
        [5],
        [NUMBERED[0], {"id": "a"}],
        [("a", "b")],
        [Document(1, "t", "x")],  # type: ignore[arg-type]
        [Document("a", None, "x")],  # type: ignore[arg-type]
        [Document("a", "t", 5)],  # type: ignore[arg-type]
        [Document("a", "t", "x", aliases="Fram")],  # type: ignore[arg-type]
        [Document("a", "t", "x", links="fram.md")],  # type: ignore[arg-type]
        [Document("a", "t", "x", metadata="m")],  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_documents_of_another_type_are_refused(numbered: Index, documents: Any) -> None:
    with pytest.raises(InputError):
        numbered.add(documents)
    assert list(numbered.snapshot.passage_ids) == ["1", "2", "3"]


@pytest.mark.parametrize(
    "call",
    [
        lambda index: index.add([], workers="2"),
        lambda index: index.add([], memory="4GB"),
        lambda index: index.add([], retry_failed="no"),
        lambda index: index.add([], prune="no"),
        lambda index: index.add([], extractor=5),
        lambda index: index.remove({"1": 1}),
        lambda index: index.remove(["1"], shred="no"),
        lambda index: index.compact(shred="no"),
        lambda index: index.restore("1"),
        lambda index: index.restore(version=True),
        lambda index: index.restore(1.0),
        lambda index: index.reencode(None),
        *(partial(STAGE_PART, paths=paths, part="1/2", staging="s") for paths in ("a", b"a", Path("a"), 5, None, [5])),
        *(partial(lambda at, _: clew.open(at), at) for at in (5, None, ["a"], b"a")),
        lambda index: index.import_graph(5),
        lambda index: index.stage_part([], 5, "s"),
        lambda index: index.stage_part([], "1/2", 5),
        lambda index: index.commit_parts(5),
        lambda index: index.import_graph("x.tsv", name=5),
        lambda index: index.import_graph("x.tsv", strict="no"),
        lambda index: index.answerer(5),
        lambda _: CREATE(5),
        lambda index: CREATE(index.table.location.derived / "new", settings={"encoder": "none"}),
    ],
)
def test_a_value_of_another_type_is_refused_before_anything_is_done(numbered: Index, call: Any) -> None:
    """A dictionary of ids removed its keys, "no" was taken for yes, and `create(5)` made a folder "5"."""
    version = numbered.table.version
    with pytest.raises(InputError, match=r"give (a|True|strings|\d)"):
        call(numbered)
    assert numbered.table.open_latest().version == version
    assert list(numbered.snapshot.passage_ids) == ["1", "2", "3"]


def test_an_error_names_the_argument_and_its_value(numbered: Index) -> None:
    """It said "documents is a int" and, to a caller from Python, "--workers is 0"."""
    with pytest.raises(InputError, match=r"^documents is int 5; give a list"):
        numbered.add(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^workers is 0: give at least 1"):
        numbered.add([Document("a", "t", "x")], workers=0)


def test_what_is_no_evidence_is_not_finished(numbered: Index) -> None:
    with pytest.raises(InputError, match=r"^evidence is None; give the Evidence of a retriever$"):
        numbered.finish(None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [{"a": 1}, [[1]], [{"a": 1}]], ids=str)
def test_nested_metadata_and_empty_ids_are_refused(numbered: Index, value: object) -> None:
    """They were stored, against what the error on other metadata says; lines of JSON with them are failures."""
    with pytest.raises(InputError, match=r"^metadata 'place' of the document 'a' is nested; use strings"):
        numbered.add([Document("a", "t", "x", {"place": value})])
    for id_ in ("", " "):
        with pytest.raises(InputError, match=r"^id of a document is .* empty; give one"):
            numbered.add([Document(id_, "t", "x")])
    assert list(numbered.snapshot.passage_ids) == ["1", "2", "3"]
