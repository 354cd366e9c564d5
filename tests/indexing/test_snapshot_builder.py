"""The snapshot of a version: rebuilt equal from the table, never stale, kept while open, described by its manifest."""

import shutil
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from pathlib import Path

import pytest

import clew
from clew.errors import IndexFormatError
from clew.graph.segments.segment import CollisionError, Segment
from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.index import Index
from clew.indexing import snapshot_builder
from clew.indexing.merging.known_matches import StoredMatches
from clew.indexing.merging.match_texts import StoredMatchTexts
from clew.indexing.merging.merge import merge_segments
from clew.indexing.merging.workspace import Workspace
from clew.indexing.passage_times import find_stated_times
from clew.indexing.snapshot_builder import ensure_snapshot
from clew.models.encoders.hashing import HashingEncoder
from clew.store import snapshot_files
from clew.store.atomic import discard
from clew.store.inspection import verify
from clew.store.snapshot_files import (
    LOCAL_FILES,
    LOCAL_MANIFEST_FILE,
    MANIFEST_FILE,
    check_snapshot,
    read_manifest,
    snapshot_folder,
    snapshot_problems,
)
from clew.text import bm25
from clew.types import Document, Passage
from tests.faults.python_process import run_python
from tests.small_index import DOCUMENTS, QUESTIONS, make_index, result_ids, without_timing

TOWN = Document("town", "Larvik", "Larvik is a town in Norway.")


def read_files(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return make_index(tmp_path / "index", DOCUMENTS[:8])


def current_folder(index: Index) -> Path:
    assert index.snapshot
    return snapshot_folder(index.table)


@pytest.mark.parametrize("lost", ["snapshots", "segments", "."])
def test_a_snapshot_that_is_lost_is_made_again_equal_from_the_table(index: Index, tmp_path: Path, lost: str) -> None:
    before, answers = (
        read_files(current_folder(index)),
        [without_timing(index.search(question)) for question in QUESTIONS],
    )
    assert len(before) > 20
    discard(tmp_path / "index" / "derived" / lost)
    again = clew.open(tmp_path / "index")
    assert [without_timing(again.search(question)) for question in QUESTIONS] == answers
    assert read_files(current_folder(again)) == before


def test_a_snapshot_that_is_there_is_not_made_again(index: Index) -> None:
    folder = current_folder(index)
    made_at = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    stages: list[str] = []
    encoder = HashingEncoder()
    assert ensure_snapshot(index.table, encoder, lambda stage, *_: stages.append(stage)) == folder
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == made_at
    assert stages == []
    (folder / MANIFEST_FILE).unlink()  # without it the folder is incomplete
    assert ensure_snapshot(index.table, encoder, lambda stage, *_: stages.append(stage)) == folder
    assert "linking" in stages
    check_snapshot(folder)


@pytest.mark.parametrize("stale", ["recipe", "analysis"])
def test_a_snapshot_of_another_recipe_is_not_read_but_made_again(
    index: Index, tmp_path: Path, stale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = current_folder(index)
    before = read_manifest(old)
    # If the old one were read, this would fail, since it is empty.
    for path in old.rglob("*.npy"):
        path.write_bytes(b"")
    if stale == "recipe":
        for module in (snapshot_builder, snapshot_files):
            monkeypatch.setattr(module, "SNAPSHOT_FORMAT", "snapshot-of-tomorrow")
    else:
        monkeypatch.setattr(bm25, "_FORMAT_VERSION", 99)
    newer = clew.open(tmp_path / "index")
    assert newer.search(QUESTIONS[0]).passages
    assert current_folder(newer) != old
    after = read_manifest(current_folder(newer))
    assert {name for name in before if before[name] != after[name]} - {"files", "sizes"} == {
        "recipe" if stale == "recipe" else "lexical"
    }
    assert {name for name in before["files"] if before["files"][name] != after["files"][name]} <= {
        "lexical/settings.json"  # holds the fingerprint of the analysis
    }
    check_snapshot(current_folder(newer))


def test_a_reader_keeps_the_version_it_opened_through_any_changes(index: Index, tmp_path: Path) -> None:
    reader, late = clew.open(tmp_path / "index"), clew.open(tmp_path / "index")
    before = {name: without_timing(reader.search(QUESTIONS[0], 9, name)) for name in ("bm25", "pagerank")}
    version, folder = reader.table.version, current_folder(reader)
    for number in range(3):  # more than the snapshots that remain
        index.add([Document(f"new-{number}", "Vega (ship)", f"Vega was built in Place {number}.")])
    index.remove(["vega", "palander"])
    assert folder.is_dir()  # as long as its version is read
    shutil.rmtree(folder)
    assert {name: without_timing(reader.search(QUESTIONS[0], 9, name)) for name in ("bm25", "pagerank")} == before
    assert without_timing(reader.search(QUESTIONS[0], 9, "dense")) == without_timing(
        late.search(QUESTIONS[0], 9, "dense")
    )
    # A reader that has not opened its snapshot yet builds it again.
    assert {name: without_timing(late.search(QUESTIONS[0], 9, name)) for name in before} == before
    assert reader.table.version == late.table.version == version
    assert "vega" not in result_ids(clew.open(tmp_path / "index").search(QUESTIONS[0], 99))


def test_the_newest_two_snapshots_are_kept(index: Index, tmp_path: Path) -> None:
    for number in range(3):
        index.add([Document(f"new-{number}", "", f"Place {number} is new.")])
    remaining = sorted(path.name for path in (tmp_path / "index" / "derived" / "snapshots").iterdir())
    assert [int(name.partition("-")[0]) for name in remaining] == [index.table.version - 1, index.table.version]


def test_the_manifest_states_the_inputs_of_the_snapshot(index: Index) -> None:
    folder = current_folder(index)
    manifest = read_manifest(folder)
    assert (manifest["documents"], manifest["passages"], manifest["failures"]) == (8, 8, 0)
    assert manifest["settings"] == index.table.settings
    assert sum(manifest["extractors"].values()) == 8
    assert all(name.startswith("rules") for name in manifest["extractors"])
    contents = {name: content for name, content in read_files(folder).items() if name != MANIFEST_FILE}
    hashes = {name: blake2b(b, digest_size=16).hexdigest() for name, b in contents.items()}
    assert manifest["files"] == {name: hash_ for name, hash_ in hashes.items() if name not in LOCAL_FILES}
    assert manifest["sizes"] == {name: len(contents[name]) for name in manifest["files"]}
    local = read_manifest(folder, LOCAL_MANIFEST_FILE)["files"]
    assert local.keys() | {LOCAL_MANIFEST_FILE} == LOCAL_FILES
    assert local == {name: hashes[name] for name in local}


def test_the_hash_of_the_corpus_follows_the_documents_and_nothing_else(index: Index, tmp_path: Path) -> None:
    def corpus(index_: Index) -> object:
        return read_manifest(current_folder(index_))["corpus"]

    first = corpus(index)
    index.add([TOWN])
    second = corpus(index)
    index.add([Document("town", "Larvik", "Larvik is a town.")])
    third = corpus(index)
    assert len({first, second, third}) == 3
    index.remove(["town"])
    assert corpus(index) == first == corpus(make_index(tmp_path / "other", DOCUMENTS[:8][::-1]))


def test_a_snapshot_never_made_is_no_problem(index: Index) -> None:
    absent = current_folder(index).with_name("00000099-0000000000000000")
    assert snapshot_problems(absent) == []
    check_snapshot(absent)
    with pytest.raises(IndexFormatError, match="missing"):
        read_manifest(absent)


def test_a_passage_of_the_snapshot_is_the_row_of_the_table(index: Index) -> None:
    rows = index.table.read().sort_by("id").to_pylist()
    passages = [index.snapshot.passage(position) for position in range(len(rows))]
    for row, passage in zip(rows, passages, strict=True):
        source = next(document for document in DOCUMENTS if document.id == row["document_id"])
        wanted = Passage(
            row["id"], row["document_id"], row["title"], row["text"], row["start"], row["end"], source.metadata,
            times=find_stated_times(row["text"], None),
        )  # fmt: skip
        assert passage == wanted
    assert index.snapshot.vectors.shape == (8, HashingEncoder().dimension)


def test_after_a_collision_all_is_hashed_with_the_next_salt(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = index.snapshot
    answers = [index.search(question) for question in QUESTIONS]
    tried = []

    def merge(
        segments: Sequence[Segment],
        graph: ImportedGraph | None,
        salt: int,
        texts: StoredMatchTexts,
        agreeing: AbstractSet[int],
        memory: StoredMatches,
        space: Workspace,
    ) -> object:
        tried.append(salt)
        if salt < 2:
            raise CollisionError("two texts have one hash")
        return merge_segments(segments, graph, salt, texts, agreeing, memory, space)

    monkeypatch.setattr(snapshot_builder, "merge_segments", merge)
    discard(tmp_path / "index" / "derived")
    again = clew.open(tmp_path / "index")
    assert again.snapshot.salt == 2
    assert tried == [0, 1, 2]
    assert sorted(again.snapshot.entities) == sorted(first.entities)
    assert again.snapshot.name_hashes.tolist() != first.name_hashes.tolist()
    found = [[scored.item.id for scored in again.search(question).passages] for question in QUESTIONS]
    assert found == [[scored.item.id for scored in answer.passages] for answer in answers]
    monkeypatch.undo()
    again.add([TOWN])  # the first salt would do, and is the smallest: it is used again
    assert again.snapshot.salt == 0
    assert verify(tmp_path / "index") == []


def test_what_a_killed_writer_left_beside_a_whole_snapshot_is_removed_on_opening(index: Index, tmp_path: Path) -> None:
    folder = current_folder(index)
    code = "import os,sys,pathlib\nfrom clew.store.atomic import atomic_folder\n"
    code += "with atomic_folder(pathlib.Path(sys.argv[1])) as folder: os._exit(9)\n"
    run_python(code, folder.with_name("00000001-old"), code=9)
    assert len(list(folder.parent.iterdir())) == 2
    assert clew.open(tmp_path / "index").snapshot
    assert list(folder.parent.iterdir()) == [folder]
