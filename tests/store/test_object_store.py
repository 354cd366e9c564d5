"""The passages table in an object store, tested against a local S3 server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.errors import IndexFormatError, IndexLockedError, InputError
from clew.settings import Settings
from clew.store.dataset import open_dataset
from clew.store.inspection import verify
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.store.repair import repair
from clew.store.staging import StagingFolder
from clew.store.writer_lock import writer_lock
from tests.faults.commands import make_voyage, run_clew, write_lines
from tests.indexing.snapshots import snapshot_files
from tests.store.object_store import KEYS, object_store, use_object_store
from tests.store.rows import SETTINGS, WIDTH, make_documents

URI = "s3://clew-tests/some/prefix"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with object_store("clew-tests") as url:
        yield url


@pytest.fixture
def environment(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_object_store(endpoint, tmp_path / "cache", monkeypatch)


@pytest.mark.usefixtures("environment")
def test_an_index_lives_in_an_object_store() -> None:
    with writer_lock(URI):
        table = PassageTable.create(URI, SETTINGS, WIDTH)
        table.replace(make_documents(("a", 3), ("b'🙂", 2)), ["a", "b'🙂"])
    reopened = PassageTable.open(URI)
    assert (reopened.settings, reopened.dimension) == (SETTINGS, WIDTH)
    assert reopened.read().equals(make_documents(("a", 3), ("b'🙂", 2)))
    with writer_lock(URI):
        reopened.replace(make_documents(("a", 1), state="2"), ["a"])
        assert reopened.document_hashes() == {"a": "a/2", "b'🙂": "b'🙂/1"}
        assert reopened.delete(["b'🙂"]) == 2
        assert reopened.compact() > 0
    assert verify(URI) == []
    assert repair(URI) == []
    assert PassageTable.open(URI).read().equals(make_documents(("a", 1), state="2"))


def test_options_replace_the_environment(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path))
    location = locate("s3://clew-tests/options", {**KEYS, "aws_endpoint": endpoint, "allow_http": "true"})
    with writer_lock(location):
        PassageTable.create(location, SETTINGS, WIDTH).replace(make_documents(("a", 1)), ["a"])
    assert PassageTable.open(location).document_hashes() == {"a": "a/1"}
    assert sorted(path.name for path in location.lock.parent.iterdir()) == ["clew.lock", "derived"]


@pytest.mark.usefixtures("environment")
def test_of_two_machines_that_add_the_same_document_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    uri = "s3://clew-tests/two-machines"
    first = PassageTable.create(uri, SETTINGS, WIDTH)
    second = PassageTable.open(uri)
    # Both check before either commits, as when two machines overlap.
    monkeypatch.setattr("clew.store.passage_table._count_existing", lambda *_: 0)
    first.replace(make_documents(("a", 2)), ["a"])
    with pytest.raises(IndexLockedError, match="another machine"):
        second.replace(make_documents(("a", 2)), ["a"])
    second.open_latest().replace(make_documents(("b", 1)), ["b"])
    assert PassageTable.open(uri).read().equals(make_documents(("a", 2), ("b", 1)))


@pytest.mark.slow
@pytest.mark.usefixtures("environment")
def test_a_missing_index_is_reported() -> None:
    with pytest.raises(IndexFormatError, match="no Clew index at s3://clew-tests/nothing"):
        PassageTable.open("s3://clew-tests/nothing")
    for action in (
        lambda: PassageTable.open("s3://clew-absent-bucket/x"),
        lambda: StagingFolder("s3://clew-absent-bucket/x").names(),
    ):
        with pytest.raises(InputError, match="s3://clew-absent-bucket/x names a bucket that does not exist: create it"):
            action()


@pytest.mark.usefixtures("environment")
def test_a_missing_bucket_for_parts_is_refused_before_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = clew.create(tmp_path / "index", Settings(encoder="none"))
    monkeypatch.setattr("clew.indexing.entry.stage_part", lambda *_: pytest.fail("a part was written"))
    with pytest.raises(InputError, match="s3://clew-absent-bucket/x names a bucket that does not exist"):
        index.stage_part([write_lines(tmp_path / "a.jsonl", [make_voyage(1)])], "1/2", "s3://clew-absent-bucket/x")


@pytest.mark.usefixtures("environment")
def test_parts_are_staged_and_committed_in_an_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri, staging = "s3://clew-tests/parts/index", "s3://clew-tests/parts/staging"
    file = write_lines(tmp_path / "corpus.jsonl", [make_voyage(number) for number in range(24)])
    settings = Settings(encoder="hashing:8", extractor="rules")
    clew.create(uri, settings).add([clew.Document("v0001", "Voyage 1", "It is replaced.")])
    for part in ("1/2", "2/2"):
        monkeypatch.setenv("CLEW_CACHE", str(tmp_path / f"machine {part[0]}"))
        clew.open(uri).stage_part([file], part, staging)
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "coordinator"))
    index = clew.open(uri)
    assert index.table.count_rows() == 1
    with monkeypatch.context() as patch:
        patch.setattr("clew.indexing.segments.store.make_segment", lambda *_: pytest.fail("made again"))
        report = index.commit_parts(staging)
    assert (report.added, report.updated) == (23, 1)
    fresh = clew.create(tmp_path / "fresh", settings)
    fresh.add([file])
    assert index.table.read().equals(fresh.table.read())
    assert snapshot_files(index) == snapshot_files(fresh)
    assert verify(uri) == []
    assert index.commit_parts(staging).added == 0
    index.reencode("hashing:4")
    fresh.reencode("hashing:4")
    assert clew.open(uri).table.read().equals(fresh.table.read())


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("lines", [b"Fram\tbuilt by\tArcher\nFram\n", b"Fram\n"])
def test_a_faulty_graph_leaves_no_new_index(lines: bytes, tmp_path: Path) -> None:
    graph, place = tmp_path / "graph.tsv", f"{URI}/faulty"
    graph.write_bytes(lines)
    outcome = run_clew("kg", "import", graph, "--index", place, "--encoder", "none", "--strict")
    assert outcome.code == 2
    assert open_dataset(locate(place)) is None
