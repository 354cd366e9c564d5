"""Parts whose documents were changed in the index by somebody else before they were committed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.errors import InputError
from clew.index import Index
from clew.indexing import part_documents
from clew.indexing.part_documents import DocumentRecorder, compare_documents
from clew.indexing.selected_snapshot import Part
from clew.settings import Settings
from clew.store.document_ids import StoredDocuments, hash_pairs, no_documents, sort_pairs, state_hash, text_hash
from clew.types import Document
from tests.faults.commands import write_lines

TEXTS = {"a": "Fram is a ship of Larvik.", "b": "Larvik is a town.", "c": "Bergen is a town of Norway."}


def document(id_: str, text: str) -> Document:
    return Document(id_, id_.upper(), text)


def write_corpus(file: Path, **texts: str) -> Path:
    return write_lines(file, [{"id": id_, "title": id_.upper(), "text": text} for id_, text in texts.items()])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of the documents a and b at version 2, where version 1 was empty."""
    folder = tmp_path_factory.mktemp("made")
    index = clew.create(folder / "index", Settings(encoder="none", extractor="rules"))
    index.add([document(id_, TEXTS[id_]) for id_ in "ab"])
    index.close()
    return folder / "index"


@pytest.fixture
def index(made: Path, tmp_path: Path) -> Index:
    return clew.open(shutil.copytree(made, tmp_path / "index"))


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    return tmp_path / "staging"


def texts(index: Index) -> dict[str, str]:
    rows = index.table.open_latest().read(["id", "text"])
    return dict(zip(rows["id"].to_pylist(), rows["text"].to_pylist(), strict=True))


def stage(index: Index, file: Path, staging: Path) -> None:
    for part in ("1/2", "2/2"):
        clew.open(index.table.location.name).stage_part([file], part, str(staging))


CHANGES: list[tuple[str, Callable[[Index], object], str]] = [
    ("another text", lambda index: index.add([document("a", "Fram was sold.")]), "'a' was changed in"),
    ("a removal", lambda index: index.remove(["a"]), "'a' is gone from"),
    ("a removal of what is unchanged", lambda index: index.remove(["b"]), "'b' is gone from"),
    ("a change of what is unchanged", lambda index: index.add([document("b", "Oslo.")]), "'b' was changed in"),
    ("what is new with another text", lambda index: index.add([document("c", "Oslo.")]), "'c' was added to"),
    ("the state before", lambda index: index.restore(1), "'[ab]' is gone from"),
]


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_a_part_never_undoes_what_changed_since(
    index: Index, tmp_path: Path, staging: Path, change: Callable[[Index], object], message: str
) -> None:
    file = write_corpus(tmp_path / "new.jsonl", **{**TEXTS, "a": "Fram is a ship of Colin Archer."})
    stage(index, file, staging)
    change(index)
    index.add([document("d", "It is of no part.")])
    before, version = texts(index), index.table.version
    with pytest.raises(
        InputError,
        match=rf"the document {message} .*index since part [12] of 2 was compared with it.*: run .* [12]/2 .* again",
    ):
        index.commit_parts(str(staging))
    assert (texts(index), index.table.open_latest().version) == (before, version)
    assert not (staging / "committed.json").exists()
    stage(index, file, staging)
    index.commit_parts(str(staging))
    assert texts(index) == {**TEXTS, "a": "Fram is a ship of Colin Archer.", "d": "It is of no part."}


def test_what_changed_elsewhere_and_dropped_versions_do_no_harm(index: Index, tmp_path: Path, staging: Path) -> None:
    stage(index, write_corpus(tmp_path / "same.jsonl", a=TEXTS["a"], b=TEXTS["b"]), staging)
    index.add([document("d", "It is of no part."), document("e", "Nor is this.")])
    index.remove(["d"])
    assert index.compact()  # the version that the parts were compared with is gone
    assert index.commit_parts(str(staging)).unchanged == 2
    index.add([document("b", "Oslo.")])
    assert index.compact()
    with pytest.raises(InputError, match=r"the document 'b' was changed in .* since part"):
        index.commit_parts(str(staging))


def test_a_document_that_another_command_added_with_the_same_text_is_no_conflict(
    index: Index, tmp_path: Path, staging: Path
) -> None:
    stage(index, write_corpus(tmp_path / "new.jsonl", **TEXTS), staging)
    index.add([document("c", TEXTS["c"])])
    version = index.table.version
    report = index.commit_parts(str(staging))
    assert (report.added, report.unchanged, index.table.version) == (0, 3, version)
    assert texts(index) == TEXTS


def test_a_commit_that_is_repeated_leaves_later_changes_alone(index: Index, tmp_path: Path, staging: Path) -> None:
    stage(index, write_corpus(tmp_path / "new.jsonl", **TEXTS, d="Oslo.", e="Tromsø."), staging)
    assert index.commit_parts(str(staging)).added == 3
    index.add([document("d", "Oslo is a town.")])
    later, version = texts(index), index.table.version
    assert index.commit_parts(str(staging)).updated == 0
    assert (texts(index), index.table.version) == (later, version)


def test_parts_that_were_restored_away_are_committed_again(index: Index, tmp_path: Path, staging: Path) -> None:
    stage(index, write_corpus(tmp_path / "new.jsonl", **TEXTS), staging)
    assert index.commit_parts(str(staging)).added == 1
    index.restore(2)
    assert set(texts(index)) == {"a", "b"}
    assert index.commit_parts(str(staging)).added == 1
    assert texts(index) == TEXTS


def test_a_part_without_some_of_its_documents_is_not_taken_for_whole(
    index: Index, tmp_path: Path, staging: Path
) -> None:
    stage(index, write_corpus(tmp_path / "new.jsonl", **TEXTS, d="Oslo.", e="Tromsø."), staging)
    index.commit_parts(str(staging))
    (staging / "committed.json").unlink()
    assert index.commit_parts(str(staging)).unchanged == 5
    (staging / "committed.json").unlink()
    of_one_part = next(ids for n in (1, 2) if len(ids := [id_ for id_ in "cde" if Part(n, 2).has(id_)]) > 1)
    index.remove(of_one_part[:1])
    with pytest.raises(InputError, match=r"is in .* but for documents that were removed since"):
        index.commit_parts(str(staging))


def test_a_graph_that_took_the_name_of_a_document(index: Index, tmp_path: Path, staging: Path) -> None:
    stage(index, write_corpus(tmp_path / "new.jsonl", **TEXTS), staging)
    graph = tmp_path / "graph.tsv"
    graph.write_text("Fram\tbuilt by\tArcher\n", encoding="utf-8")
    index.import_graph(graph, "c")
    with pytest.raises(InputError, match=r"'c' has the name of a graph that was imported into .* since part"):
        index.commit_parts(str(staging))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("part-00001-of-00002.json", "[]", r"part-00001-of-00002.json holds '\[\]', which is not a part: write"),
        ("part-00001-of-00002.json", "7", "holds '7', which is not a part: write the part again"),
        ("part-00001-of-00002.json", "{", "cannot be read as a part"),
        ("part-00001-of-00002.json", '{"format": 3}', r"cannot be read as a part \(part: Field required\): write"),
        ("part-00001-of-00002.json", '{"format": 9}', r"has format 9, this version of Clew reads 3: write it"),
        ("part-00001-of-00002.arrow", None, r"lacks part-00001-of-00002.arrow, the documents of part 1 of 2: run"),
        ("part-00001-of-00002.arrow", "x", r"is not what was written with part 1 of 2: run clew index --shard 1/2"),
        ("committed.json", "[]", r"committed.json holds '\[\]', which is not a list of committed parts: remove it"),
        ("committed.json", "{}", "committed.json does not say which parts were committed: remove it"),
    ],
)
def test_files_of_another_shape(
    index: Index, tmp_path: Path, staging: Path, name: str, content: str | None, message: str
) -> None:
    stage(index, write_corpus(tmp_path / "new.jsonl", **TEXTS), staging)
    if content is None:
        (staging / name).unlink()
    else:
        (staging / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        index.commit_parts(str(staging))
    assert set(texts(index)) == {"a", "b"}


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("part", [1], "part.1: Field required"),
        ("fragments", [{"files": [{}]}], "fragments.0.files.0.path: Field required"),
        ("segments", [{}], "segments.0: Input should be a valid string"),
        ("counts", {"added": "many"}, "counts.added: Input should be a valid integer"),
        ("failures", ["a"], "failures.0: Input should be a valid array"),
    ],
)
def test_values_of_another_shape(index: Index, tmp_path: Path, key: str, value: object, place: str) -> None:
    staging = tmp_path / "staging"
    index.stage_part([write_corpus(tmp_path / "new.jsonl", **TEXTS)], "1/1", str(staging))
    file = staging / "part-00001-of-00001.json"
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), key: value}), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        index.commit_parts(str(staging))
    assert f"part-00001-of-00001.json cannot be read as a part ({place}" in str(caught.value)
    assert "write the part again" in str(caught.value)


states = st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from(["1" * 32, "2" * 32, "3" * 32]))


def make_stored(documents: dict[str, str]) -> StoredDocuments:
    ids = sort_pairs(hash_pairs(map(text_hash, documents)))
    by_hash = {text_hash(id_): state_hash(hash_) for id_, hash_ in documents.items()}
    ordered = hash_pairs(by_hash[ids[:, row].tobytes()] for row in range(len(documents)))
    return StoredDocuments(ids, ordered, no_documents().parents, {})


@settings(max_examples=50, deadline=None)
@given(states, states, states, st.integers(1, 3))
def test_documents_are_compared_as_by_dictionaries(
    before: dict[str, str], after: dict[str, str], now: dict[str, str], rows: int
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_documents, "_ROWS", rows)
        recorder = DocumentRecorder(make_stored(before))
        for id_, hash_ in after.items():
            recorder.add(id_, hash_)
        hash_ = recorder.write(file := Path(folder) / "documents")
        assert hash_ == part_documents.hash_file(file)
        found = compare_documents(file, make_stored(now))
    conflicts = [id_ for id_ in after if now.get(id_) not in (before.get(id_), after[id_])]
    assert found.conflicts == len(conflicts)
    assert not conflicts or found.conflict.startswith(f"the document {conflicts[0]!r} ")
    assert found.is_stored == all(now.get(id_) == hash_ for id_, hash_ in after.items())
    changed = [id_ for id_ in after if before.get(id_) != after[id_]]
    assert found.has_stored_change == any(now.get(id_) == after[id_] for id_ in changed)
