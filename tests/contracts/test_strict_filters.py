"""Strict filters: order, scores, notes and paths are those of an index that was made without the hidden documents."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

import clew
from clew.commands.answers import evidence_json
from clew.errors import InputError
from clew.indexing import selected_snapshot
from clew.retrievers.registry import RETRIEVERS, finds_nothing, parse_retriever
from clew.settings import Settings
from clew.store.snapshot_files import read_manifest
from clew.types import Evidence
from tests.contracts.conftest import TRAINED, WITHOUT_WEIGHTS
from tests.contracts.hidden_documents import HIDDEN, VISIBLE, WHERE
from tests.contracts.test_filters_hide import ASKED, RERANKED, spec_of
from tests.faults.leaks import WHERE as CASE_WHERE
from tests.faults.leaks import make_case
from tests.small_index import make_index

FINDING = [name for name in RETRIEVERS if name not in WITHOUT_WEIGHTS and not finds_nothing(name)]


@pytest.mark.parametrize("name", [*FINDING, *RERANKED])
def test_order_and_scores_are_those_of_an_index_without_the_hidden(
    folders: dict[tuple[str, bool], Path], name: str
) -> None:
    whole, alone = (clew.open(folders[spec_of(name), hidden]) for hidden in (True, False))
    strict = whole.restrict(WHERE)
    for question in ASKED[::3]:
        found, expected = (index.search(question, 50, parse_retriever(name)) for index in (strict, alone))
        assert shown(found) == shown(expected), question


@pytest.mark.parametrize("seed", range(5))
def test_the_snapshot_is_that_of_an_index_without_the_hidden_byte_for_byte(tmp_path: Path, seed: int) -> None:
    """So that every retriever, also one that is added later, gives the same."""
    case = make_case(seed, 0)
    documents = [*case.visible, *case.hidden]
    random.Random(seed).shuffle(documents)
    settings = Settings(encoder="hashing", extractor="rules")
    whole, alone = (clew.create(tmp_path / name, settings) for name in ("whole", "alone"))
    for part in (documents[::2], documents[1::2]):
        whole.add(part)
    alone.add(case.visible)
    strict = whole.restrict(CASE_WHERE)
    assert 0 < len(strict.snapshot.triples) < len(whole.snapshot.triples)
    mine, other = (read_manifest(index.snapshot_folder) for index in (strict, alone))
    assert mine["files"] == other["files"]
    assert mine["passages"] == len(case.visible)


def shown(evidence: Evidence) -> object:
    """Return all of some evidence but its seconds."""
    steps = tuple(replace(step, usage=replace(step.usage, seconds=0.0)) for step in evidence.steps)
    still = replace(evidence, usage=replace(evidence.usage, seconds=0.0), steps=steps)
    return evidence_json("", "", still)


def test_an_index_of_some_passages_can_be_asked_but_not_changed(folders: dict[tuple[str, bool], Path]) -> None:
    strict = clew.open(folders["hashing", True]).restrict(WHERE)
    assert strict.snapshot.document_ids[:] == clew.open(folders["hashing", False]).snapshot.document_ids[:]
    for change in (
        lambda: strict.add([]),
        lambda: strict.remove(["vega"]),
        strict.compact,
        lambda: strict.restrict(WHERE),
        strict.stats,
    ):
        with pytest.raises(InputError, match="open the index that it is of"):
            change()


def test_a_closed_index_of_some_passages_opens_again_and_its_whole_index_with_it(
    folders: dict[tuple[str, bool], Path],
) -> None:
    whole = clew.open(folders["hashing", True])
    strict = whole.restrict(WHERE)
    expected = shown(strict.search(ASKED[0]))
    strict.close()
    assert shown(strict.search(ASKED[0])) == expected
    assert whole.restrict(WHERE) is strict
    assert shown(whole.search(ASKED[0], where=WHERE)) is not None


def test_nothing_of_other_passages_is_in_its_files_and_a_change_drops_them(tmp_path: Path) -> None:
    secret = replace(HIDDEN[0], id="secretdoc9", title="Obadiah Wex", text="Obadiah Wex hid a Kestrelstone.")
    index = make_index(tmp_path / "index", (*VISIBLE, secret))
    strict = index.restrict("document_id != 'secretdoc9'")
    before = shown(strict.search("Karlskrona"))
    selected = tmp_path / "index" / "derived" / "selected"
    files = [file for file in selected.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if b"Kestrelstone" in file.read_bytes() or b"kestrelston" in file.read_bytes()]
    index.remove(["bornholm"])
    assert not selected.exists()
    again = index.restrict("document_id != 'secretdoc9'")
    assert "bornholm" not in again.snapshot.document_ids[:]
    assert shown(strict.search("Karlskrona")) == before  # of the version that it is of


def test_what_an_older_version_selects_is_not_left_on_disk(tmp_path: Path) -> None:
    reader = make_index(tmp_path / "index", VISIBLE)
    clew.open(tmp_path / "index").remove(["bornholm"])
    assert reader.restrict("lang = 'en'").search("Danish island", retriever="bm25").passages
    assert not (tmp_path / "index" / "derived" / "selected").exists()


def test_the_files_of_few_filters_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selected_snapshot, "_KEPT_SELECTIONS", 2)
    index = make_index(tmp_path / "index", VISIBLE)
    for year in (1680, 1842, 1872, 1900, 1901, 1902):  # the last three have the same passages
        _ = index.restrict(f"year < {year}").context
    assert len(list((tmp_path / "index" / "derived" / "selected").iterdir())) == 2
    assert len(index._selections) == 4


def test_a_filter_that_allows_too_much_is_refused_before_anything_is_made(
    folders: dict[tuple[str, bool], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selected_snapshot, "MAX_SELECTED_PASSAGES", 3)
    with pytest.raises(InputError, match=r"allows 21 passages, and strict filters take 3 at most: leave"):
        clew.open(folders["hashing", True]).restrict(WHERE)


def test_a_filter_that_allows_nothing_finds_nothing(folders: dict[tuple[str, bool], Path]) -> None:
    index = clew.open(folders["hashing", True]).restrict("year > 3000")
    for name in FINDING:
        if name not in TRAINED:
            assert not index.search("Karlskrona", retriever=parse_retriever(name)).passages, name
