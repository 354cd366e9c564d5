"""Inverted lists of an index: made when it is large enough, extended by a commit, and discarded with their segments."""

from pathlib import Path

import numpy as np
import pytest

import clew
from clew.errors import IndexFormatError
from clew.graph.segments import list_search
from clew.index import Index
from clew.retrievers.dense import Dense
from clew.retrievers.registry import parse_retriever
from clew.store import segment_files
from clew.store.location import locate
from clew.store.segment_files import SEGMENT_SUFFIX, find_centroids, list_problems, segments_folder
from clew.types import Document
from tests.small_index import make_index, result_ids

WORDS = ("fram", "vega", "ship", "ice", "pole", "drift", "seal", "bear", "gull", "fjord", "hull", "mast")


def documents(first: int, last: int) -> list[Document]:
    made = []
    for number in range(first, last):
        random = np.random.default_rng(number)
        text = " ".join(random.choice(WORDS, size=random.integers(3, 12)))
        made.append(Document(f"d{number:03}", "", text, {"even": number % 2 == 0}))
    return made


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_files, "LISTED_PASSAGES", 50)


def list_files(index: Index) -> list[Path]:
    return sorted(segments_folder(index.table.location.derived).glob(f"*-lists-*{SEGMENT_SUFFIX}"))


def centroids_of(index: Index) -> list[Path]:
    return [file.path for file in find_centroids(index.table.location.derived)]


def test_a_small_index_has_no_lists_and_its_evidence_no_note(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 40))
    assert not list_files(index)
    assert not centroids_of(index)
    assert index.search("a bear", 3, "dense").notes == ()


def test_lists_are_made_when_the_number_is_reached_and_extended_by_a_commit(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 40))
    index.add(documents(40, 60))
    first = list_files(index)
    assert len(first) == 2
    stamps = {path: path.stat().st_mtime_ns for path in first}
    centroids = centroids_of(index)
    index.add(documents(60, 70))
    assert len(list_files(index)) == 3
    assert {path: path.stat().st_mtime_ns for path in first} == stamps
    assert centroids_of(index) == centroids


def test_centroids_are_trained_again_when_the_index_has_doubled(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 60))
    old = centroids_of(index)
    index.add(documents(60, 121))
    assert len(centroids_of(index)) == 1
    assert centroids_of(index) != old
    assert len(list_files(index)) == 2
    found = clew.open(tmp_path / "index").search("a bear on the ice", 10, "dense")
    assert "of 121 passages were compared" in found.notes[0]


def test_compaction_makes_lists_that_find_the_same(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 60))
    index.add(documents(60, 70))
    expected = index.search("a bear on the ice", 10, "dense")
    index.remove(["d003"])
    index.compact()
    owners = {path.name.split("-lists-")[0] + SEGMENT_SUFFIX for path in list_files(index)}
    assert all((list_files(index)[0].parent / name).is_file() for name in owners)
    actual = index.search("a bear on the ice", 10, "dense")
    wanted = [id_ for id_ in result_ids(expected) if id_ != "d003"]
    assert result_ids(actual)[: len(wanted)] == wanted


def test_an_older_index_without_lists_is_scanned_and_says_so(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 60))
    expected = result_ids(index.search("a bear on the ice", 10, Dense(exact=True)))
    for path in (*list_files(index), *centroids_of(index)):
        path.unlink()
    again = clew.open(tmp_path / "index")
    found = again.search("a bear on the ice", 10, "dense")
    assert result_ids(found) == expected
    assert found.notes == ("all 60 passages were compared by their vectors: run `clew compact` for a faster search",)
    again.compact()
    assert list_files(again)


def test_a_reader_goes_on_while_a_writer_replaces_the_lists(tmp_path: Path) -> None:
    reader = make_index(tmp_path / "index", documents(0, 60))
    expected = reader.search("a bear on the ice", 10, "dense")
    clew.open(tmp_path / "index").add(documents(60, 130))
    assert reader.search("a bear on the ice", 10, "dense").passages == expected.passages


def test_equal_contents_in_other_batches_give_the_same_results(tmp_path: Path) -> None:
    one = make_index(tmp_path / "one", documents(0, 90))
    other = make_index(tmp_path / "other", documents(45, 90))
    other.add(documents(0, 45))
    # The centroids of `other` are those of 90 passages too: its first 45 were too few.
    assert [path.name for path in centroids_of(one)] == [path.name for path in centroids_of(other)]
    for question in ("a bear on the ice", "fram", "gull and fjord"):
        assert one.search(question, 7, "dense").passages == other.search(question, 7, "dense").passages


def test_other_vectors_have_lists_of_their_own(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 60), "hashing")
    old = centroids_of(index)
    index.reencode("hashing:128")
    assert len(centroids_of(index)) == 1
    assert centroids_of(index) != old
    assert index.search("bear", 5, "dense").passages


def test_an_index_without_vectors_has_no_lists(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 60), "none")
    assert not centroids_of(index)


def test_verification_finds_a_changed_file(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 60))
    derived = locate(tmp_path / "index").derived
    assert list_problems(derived) == []
    for path in (*list_files(index), *centroids_of(index)):
        intact = path.read_bytes()
        path.write_bytes(intact[:-1] + bytes([intact[-1] ^ 1]))
        assert list_problems(derived) == [f"{path.name} is not as it was written: run `clew repair`"]
        path.write_bytes(intact)


def test_a_damaged_file_is_an_error_of_one_line(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 60))
    list_files(index)[0].write_bytes(b"nothing")
    with pytest.raises(IndexFormatError, match="run `clew repair`"):
        clew.open(tmp_path / "index").search("bear", 5, "dense")


@pytest.mark.parametrize("where", [None, "even = true"])
def test_a_search_by_lists_has_the_scores_of_a_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str | None
) -> None:
    monkeypatch.setattr(list_search, "_MIN_READ", 10)
    index = make_index(tmp_path / "index", documents(0, 90))
    exact = index.search("a bear on the ice", 90, parse_retriever("dense:exact=true"), where)
    some = index.search("a bear on the ice", 5, "dense", where)
    known = 90 if where is None else 45  # a filter hides how many there are
    assert exact.notes == (f"all {known} passages were compared by their vectors",)
    assert f"of {known} passages were compared by their vectors: dense:exact=true compares all" in some.notes[0]
    assert not some.notes[0].startswith(str(known))
    scores = {scored.item.id: scored.score for scored in exact.passages}
    assert {scored.item.id: scores.get(scored.item.id) for scored in some.passages} == {
        scored.item.id: scored.score for scored in some.passages
    }
    assert len(some.passages) == 5


def test_a_fused_search_notes_what_its_dense_part_did(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", documents(0, 60))
    assert any("passages were compared" in note for note in index.search("bear", 5, "fused").notes)
