"""A change of encoder: one commit, nothing extracted again, and a run that was stopped goes on."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

import clew
from clew.arrays import FloatArray
from clew.errors import IndexFormatError, InputError
from clew.index import Index
from clew.indexing import reencoding
from clew.indexing.extraction.rule_based import RuleExtractor
from clew.models.encoders.hashing import HashingEncoder
from clew.settings import Settings
from clew.store import rewriting
from clew.store.inspection import verify
from clew.store.weights_io import adapted_weights_folder
from clew.types import Document, Place, PlaceStart
from tests.faults.commands import make_voyage, run_clew, write_lines
from tests.indexing.snapshots import snapshot_files
from tests.indexing.test_parts import make_document

COUNT = 30
DOCUMENTS = [make_document(number) for number in range(COUNT)]
DOCUMENTS[1] = replace(DOCUMENTS[1], places=(PlaceStart(0, Place(heading="Guide > Ropes")),))


class StoppedError(Exception):
    """An error that ends a run from outside."""


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "BLOCK_ROWS", 7)
    monkeypatch.setattr(rewriting, "_SCAN_ROWS", 7)


def create(folder: Path, encoder: str, sentences: Literal["vectors", "none"] = "vectors") -> Index:
    index = clew.create(folder, Settings(encoder=encoder, extractor="rules", sentences=sentences))
    index.add(DOCUMENTS[:20])
    index.add(DOCUMENTS[20:])
    index.remove([DOCUMENTS[3].id])
    return index


@pytest.mark.parametrize(("old", "new"), [("hashing:16", "hashing:24"), ("none", "hashing:16"), ("hashing:16", "none")])
def test_an_index_is_as_if_it_had_been_made_with_the_new_encoder(
    tmp_path: Path, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, fresh = create(tmp_path / "index", old), create(tmp_path / "fresh", new)
    reader = clew.open(tmp_path / "index")
    before, version = reader.table.read(), index.table.version
    with monkeypatch.context() as patch:
        patch.setattr(RuleExtractor, "extract", lambda *_: pytest.fail("extracted again"))
        report = index.reencode(new)
    assert (report.passages, report.staged, report.unfitting_weights) == (COUNT - 1, 0, [])
    assert index.table.version == version + 1
    assert index.table.settings == fresh.table.settings
    assert index.table.read().equals(fresh.table.read())
    assert snapshot_files(index) == snapshot_files(fresh)
    assert verify(tmp_path / "index") == []
    assert reader.table.read().equals(before)  # readers go on with the version that they have
    assert not list((tmp_path / "index" / "derived").glob("reencoding*"))
    assert index.reencode(new).staged == 0
    assert index.table.version == version + 1
    assert index.add(DOCUMENTS).unchanged == COUNT - 1
    assert index.search("Voyage 7", retriever="pagerank").passages


@pytest.mark.parametrize(("old", "new"), [("none", "vectors"), ("vectors", "none"), ("vectors", None)])
def test_vectors_of_sentences_are_made_and_dropped(
    tmp_path: Path, old: Literal["vectors", "none"], new: Literal["vectors", "none"] | None
) -> None:
    index = create(tmp_path / "index", "hashing:16", old)
    version = index.table.version
    index.reencode("hashing:16", new)
    assert index.table.version == version + (new is not None)
    fresh = create(tmp_path / "fresh", "hashing:16", new or old)
    assert index.table.settings == fresh.table.settings
    assert index.table.read().equals(fresh.table.read())
    assert snapshot_files(index) == snapshot_files(fresh)
    assert (index.snapshot.sentences.vectors is None) == (new == "none")
    assert verify(tmp_path / "index") == []
    with pytest.raises(InputError, match="sentences is 'yes': give vectors or none"):
        index.reencode("hashing:16", "yes")


def test_the_command_keeps_the_encoder_where_none_is_given(tmp_path: Path) -> None:
    index = create(tmp_path / "index", "hashing:16", "none")
    done = run_clew(
        "index",
        write_lines(tmp_path / "more.jsonl", [make_voyage(99)]),
        "--index",
        tmp_path / "index",
        "--sentences",
        "vectors",
    )
    assert (done.code, f"run clew reencode --index {tmp_path / 'index'} --sentences vectors" in done.err) == (2, True)
    assert run_clew("reencode", "--index", tmp_path / "index", "--sentences", "vectors").code == 0
    assert clew.open(tmp_path / "index").table.settings == {**index.table.settings, "sentences": "vectors"}
    nothing = run_clew("reencode", "--index", tmp_path / "index")
    assert (nothing.code, nothing.err) == (2, "clew: nothing is to change: give --encoder, --sentences, or both\n")


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = create(tmp_path / "index", "none")
    version, blocks = index.table.version, 0

    def stop(stage: str, _done: int, _total: int) -> None:
        nonlocal blocks
        blocks += stage == "encoding"
        if blocks == 3:
            raise StoppedError

    with pytest.raises(StoppedError):
        clew.open(tmp_path / "index", stop).reencode("hashing:16")
    assert clew.open(tmp_path / "index").table.version == version
    index.add([Document("late", "Late", "It came between the two runs.")])
    damaged = sorted((tmp_path / "index" / "derived" / "reencoding").rglob("*.safetensors"))[0]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\0")
    encoded: list[str] = []
    encode = HashingEncoder.encode

    def record(encoder: HashingEncoder, texts: Sequence[str]) -> FloatArray:
        encoded.extend(texts)
        return encode(encoder, texts)

    monkeypatch.setattr(HashingEncoder, "encode", record)
    report = reencoding.reencode(index.table, HashingEncoder(16), lambda *_: None)[1]
    assert report.passages == COUNT
    assert 0 < report.staged < COUNT
    passages = [text for text in encoded if "\n" in text]
    assert len(passages) == report.passages - report.staged
    assert len(encoded) > len(passages)  # sentences are encoded by themselves
    fresh = create(tmp_path / "fresh", "hashing:16")
    fresh.add([Document("late", "Late", "It came between the two runs.")])
    assert clew.open(tmp_path / "index").table.read().equals(fresh.table.read())


def test_shards_of_graphs_stay_without_vectors(tmp_path: Path) -> None:
    index = create(tmp_path / "index", "none")
    file = tmp_path / "graph.tsv"
    file.write_text("Fram\tbuilt by\tColin Archer\n", encoding="utf-8")
    index.import_graph(file, "ships")
    index.reencode("hashing:16")
    assert verify(tmp_path / "index") == []
    assert index.stats().imported_triples == 1
    assert "Colin Archer" in index.snapshot.entities[:]


def test_a_damaged_row_is_not_given_a_new_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = create(tmp_path / "index", "none")
    version = index.table.version
    monkeypatch.setattr("clew.store.integrity.find_damaged_rows", lambda _: [0])
    with pytest.raises(IndexFormatError, match="is not what was written"):
        index.reencode("hashing:16")
    assert index.table.open_latest().version == version


def test_the_command_line_reports_weights_that_no_longer_fit(tmp_path: Path) -> None:
    place = tmp_path / "index"
    file = write_lines(tmp_path / "a.jsonl", [make_voyage(number) for number in range(3)])
    assert run_clew("index", file, "--index", place, "--encoder", "hashing:16").code == 0
    weights = adapted_weights_folder(place / "derived", "gfm")
    weights.mkdir(parents=True)
    config = {"encoder": {"fingerprint": HashingEncoder(16).fingerprint}}
    (weights / "config.json").write_text(json.dumps(config), encoding="utf-8")
    done = run_clew("reencode", "--index", place, "--encoder", "hashing:8")
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert done.out.startswith("3 passages have vectors of hashing:8, in ")
    assert "were adapted to other vectors: run clew adapt again" in done.err
    assert run_clew("reencode", "--index", place, "--encoder", "hashing:x").code == 2
