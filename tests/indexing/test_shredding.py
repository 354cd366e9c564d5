"""Shredding: what was removed is nowhere in the folder of an index; a compaction drops vectors out of use."""

import os
import subprocess
import sys
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader
from numpy.typing import NDArray

import clew
from clew.errors import IndexLockedError
from clew.index import Index
from clew.indexing import shredding
from clew.models.llm.reply_cache import ReplyCache
from clew.store.atomic import _host_id
from clew.store.inspection import verify
from clew.store.location import reply_cache_path
from clew.store.vector_cache import text_keys
from clew.types import Document, Prompt, Reply, Usage
from tests.faults.commands import run_clew, snapshot_hash
from tests.models.llm.model_calls import Names
from tests.small_index import make_index

WORD = b"zyxquv"  # at the start of every name that only the removed document has
SECRET = Document(
    "secret-zyxquvid",
    "Zyxquvole Harbour",
    "Zyxquvole Harbour was built by Ole Zyxquvsen. The crew of Zyxquvole Harbour met Fridtjof Nansen in Tromsø.",
    {"place": "zyxquvmeta"},
    ("Zyxquvalias",),
)
OTHERS = [
    Document("fram", "Fram", "Fram was built by Colin Archer in Larvik and led by Fridtjof Nansen."),
    Document("nansen", "Fridtjof Nansen", "Fridtjof Nansen was born in Oslo. He led the Fram to the north."),
    Document("larvik", "Larvik", "Larvik is a town on the coast. Colin Archer was born in Larvik."),
]


def files_with_word(index: Path) -> list[str]:
    """Return the files of an index that hold the word, as bytes or in any column of a data file of Lance."""
    found = [
        path.relative_to(index).as_posix()
        for path in sorted(index.rglob("*"))
        if path.is_file() and (WORD in path.read_bytes().lower() or WORD.decode() in path.name)
    ]
    return found + [
        path.relative_to(index).as_posix()
        for path in sorted(index.rglob("data/*.lance"))
        if WORD.decode() in str(LanceFileReader(str(path)).read_all().to_table().to_pylist()).lower()
    ]


def use(index: Index) -> None:
    """Leave behind what searches, a language model, a server and failed commands leave in an index."""
    place = index.table.location.derived.parent
    prompt = Prompt("names@1", "Name them.", SECRET.text, Names)
    ReplyCache(reply_cache_path(index.table.location)).put(
        "k", "openai:m", prompt, Reply(Names(names=["Zyxquvole"]), Usage())
    )
    folder = place.parent / "folder"
    folder.mkdir()
    (folder / "zyxquvole.txt").write_text("Zyxquvole.", encoding="utf-8")
    (folder / "fram.txt").write_text("Fram.", encoding="utf-8")
    index.add([folder])
    index.sync_folder(folder)
    index.search("Who built Zyxquvole Harbour?", 3, "gcn-subgraph")  # which encodes names
    (folder / "zyxquvole.txt").unlink()
    for name in ("uploads/0001-a", "damaged", "derived/reencoding/b", "derived/adapting/c"):
        (place / name).mkdir(parents=True)
        (place / name / "texts.jsonl").write_text("zyxquvole", encoding="utf-8")
    (place / "uploads" / "0001-a" / "job.json").write_text('{"status": "done"}', encoding="utf-8")
    lance.write_dataset(index.table.read(["text"]), str(place / "derived" / "vectors-0a.lance"))


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = make_index(tmp_path / "index", OTHERS[:1])
    index.add([SECRET])
    index.add(OTHERS[1:])
    use(index)
    index.add([Document("more", "Oslo", "Oslo is north of Larvik.")])
    return index


def stored_keys(index: Path) -> NDArray[np.bytes_]:
    column = lance.dataset(str(index / "derived" / "vectors.lance")).to_table(columns=["key"])["key"]
    return np.array(column.to_numpy(), dtype="S16")


def test_what_was_removed_is_nowhere_in_the_folder(index: Index, tmp_path: Path) -> None:
    """After `remove` and `compact` the text was in an older snapshot, its vectors and replies stayed for good."""
    place = tmp_path / "index"
    assert len(files_with_word(place)) > 8
    fingerprint = str(index.table.settings["encoder_fingerprint"])
    secret_keys = text_keys([name for name in index.snapshot.entities if WORD.decode() in name.lower()], fingerprint)
    assert np.isin(secret_keys, stored_keys(place)).all()
    index.close()
    outcome = run_clew("remove", SECRET.id, "zyxquvole.txt", "--index", place, "--shred")
    assert (outcome.code, outcome.out) == (0, "removed 2 documents\n")
    assert files_with_word(place) == []
    assert not np.isin(secret_keys, stored_keys(place)).any()
    assert verify(place) == []
    assert len(list((place / "derived" / "snapshots").iterdir())) == 1
    assert clew.open(place).sync_folder(tmp_path / "folder") is None
    fresh = make_index(tmp_path / "fresh", [*OTHERS, Document("more", "Oslo", "Oslo is north of Larvik.")])
    fresh.add([tmp_path / "folder"])
    assert snapshot_hash(place) == snapshot_hash(tmp_path / "fresh")
    question = "Who built the Fram?"
    assert clew.open(place).search(question, 3, "pagerank").passages == fresh.search(question, 3, "pagerank").passages


def test_what_was_removed_before_is_shredded_by_a_compaction(index: Index, tmp_path: Path) -> None:
    index.remove([SECRET.id, "zyxquvole.txt"])
    assert files_with_word(tmp_path / "index")
    index.close()
    assert run_clew("compact", "--shred", "--index", tmp_path / "index").code == 0
    assert files_with_word(tmp_path / "index") == []
    assert run_clew("compact", "--shred", "--index", tmp_path / "index").code == 0


FOLDERS = ("", "watched", "uploads", "weights", "weights/mine", "derived", "derived/segments", "derived/snapshots")


def test_files_of_a_killed_writer_are_shredded_where_there_is_one_version(tmp_path: Path) -> None:
    """A killed `index` left a data file that no version names, and Lance cleaned up only beside an older version."""
    place = tmp_path / "index"
    index = make_index(place, OTHERS)
    index.compact()
    assert len(index.versions()) == 1
    index.table.write_fragments(index.table.read().slice(0, 1).set_column(*_text_column(index)), ["fram"])
    for folder in FOLDERS:
        (place / folder).mkdir(parents=True, exist_ok=True)
        (place / folder / f".x.{_host_id()}.{_ended_process()}.0123abcd.tmp").write_text("zyxquvole", encoding="utf-8")
    (place / "passages.lance" / "_deletions").mkdir(exist_ok=True)
    (place / "passages.lance" / "_deletions" / "0-9-1.arrow").write_text("zyxquvole", encoding="utf-8")
    assert len(set(files_with_word(place))) == len(FOLDERS) + 2
    live = place / f".y.{_host_id()}.{os.getppid()}.0123abcd.tmp"
    live.write_text("of a writer that runs", encoding="utf-8")
    index.compact(shred=True)
    assert files_with_word(place) == []
    assert live.exists()
    assert verify(place) == []
    assert sorted(clew.open(place).table.document_hashes()) == ["fram", "larvik", "nansen"]


def _text_column(index: Index) -> tuple[int, str, pa.Array]:
    names = index.table.read().column_names
    return names.index("text"), "text", pa.array(["Zyxquvole Harbour was here."])


def _ended_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_version_that_is_being_read_is_said_to_stay(index: Index, tmp_path: Path) -> None:
    reader = clew.open(tmp_path / "index")
    assert reader.snapshot.passage_ids[0] == "fram"
    with pytest.raises(IndexLockedError, match=r"is reading version \d+ .*`clew compact --shred`"):
        index.remove([SECRET.id, "zyxquvole.txt"], shred=True)
    assert SECRET.id not in clew.open(tmp_path / "index").table.document_hashes()
    assert reader.search("Who built Zyxquvole Harbour?", 1, "bm25").passages[0].item.document_id == SECRET.id
    reader.close()
    index.compact(shred=True)
    assert files_with_word(tmp_path / "index") == []


def test_a_run_that_was_stopped_is_finished_by_the_next(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shredding, "ensure_snapshot", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            index.remove([SECRET.id, "zyxquvole.txt"], shred=True)
    index.close()
    assert SECRET.id not in clew.open(tmp_path / "index").table.document_hashes()
    clew.open(tmp_path / "index").compact(shred=True)
    assert files_with_word(tmp_path / "index") == []


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_compaction_drops_vectors_of_names_that_are_gone(tmp_path: Path) -> None:
    """The store of vectors only grew: 25 changes left 29 files and 133 rows for 36 names."""
    index = make_index(tmp_path / "index", OTHERS)
    for number in range(4):
        index.add([Document("changing", f"Skerry {'abcj'[number]}", f"Skerry is state {number} of this text.")])
        index.search("Who built the Fram?", 3, "gcn-subgraph")  # which encodes names
    index.compact()
    store = lance.dataset(str(tmp_path / "index" / "derived" / "vectors.lance"))
    fingerprint = str(index.table.settings["encoder_fingerprint"])
    used = text_keys([*index.snapshot.entities, *index.snapshot.relations], fingerprint)
    keys = stored_keys(tmp_path / "index")
    assert np.isin(keys, used).all()
    assert len(np.unique(keys)) == len(keys)
    assert len(store.get_fragments()) == 1
    assert len(store.versions()) == 1
    assert np.isin(text_keys(["Skerry j"], fingerprint), keys).all()
    assert not np.isin(text_keys(["Skerry a"], fingerprint), keys).any()
