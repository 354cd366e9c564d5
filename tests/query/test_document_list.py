"""The documents of an index, against a plain grouping of its passages."""

from pathlib import Path

import numpy as np
import pytest

import clew
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.contents import DocumentList
from clew.settings import Settings
from clew.types import Document


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """An index of documents of one and of several passages."""
    folder: Path = tmp_path_factory.mktemp("documents") / "index"
    index = clew.create(folder, Settings(encoder="none", extractor="rules", passage_tokens=8))
    texts = {"b": 30, "a": 1, "a/b": 12, "c#2": 3, "é": 9}
    index.add([Document(id_, id_, " ".join(f"Word{i} {id_}." for i in range(count))) for id_, count in texts.items()])
    return index.snapshot


def plain(snapshot: Snapshot) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for position, id_ in enumerate(snapshot.document_ids):
        groups.setdefault(id_, []).append(position)
    return {id_: sorted(groups[id_], key=lambda p: snapshot.starts[p]) for id_ in sorted(groups)}


def test_documents_are_sorted_and_their_passages_in_order(snapshot: Snapshot) -> None:
    documents, expected = DocumentList(snapshot), plain(snapshot)
    assert [documents.id(number) for number in range(len(documents))] == list(expected)
    assert [documents.passages(number) for number in range(len(documents))] == list(expected.values())
    assert max(map(len, expected.values())) > 2
    for number, id_ in enumerate(expected):
        assert documents.find(id_) == number
        assert documents.first_after(id_) == number + 1
    assert documents.find("none") is None
    assert documents.first_after("") == 0
    assert documents.first_after("b") == list(expected).index("b") + 1
    assert documents.first_after("\U0010ffff") == len(documents)


def test_a_document_is_visible_by_any_of_its_passages(snapshot: Snapshot) -> None:
    documents, expected = DocumentList(snapshot), list(plain(snapshot).values())
    for seed in range(20):
        allowed = np.random.default_rng(seed).random(len(snapshot.passage_ids)) < 0.6
        assert documents.visible(allowed).tolist() == [any(allowed[p] for p in group) for group in expected]


def test_an_index_without_passages_has_none(tmp_path: Path) -> None:
    empty = clew.create(tmp_path / "index", Settings(encoder="none", extractor="rules"))
    documents = DocumentList(empty.snapshot)
    assert (len(documents), documents.find("a"), documents.first_after("a")) == (0, None, 0)
    assert documents.visible(np.zeros(0, dtype=np.bool_)).tolist() == []
