"""The small indexes again with the encoder that trained weights need; every other retriever takes the cheap one."""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

import clew
from clew.index import Index
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.plugins.records import SettingsRecord
from clew.rerankers.registry import RERANKERS, RerankerEntry
from clew.rerankers.text_scorer import TextReranker
from clew.retrievers.registry import RETRIEVERS
from clew.text.bm25 import BM25Scorer
from tests.conftest import EXAMPLES
from tests.contracts.hidden_documents import HIDDEN, VISIBLE
from tests.own_parts import run_example
from tests.small_index import DOCUMENTS, make_index

WITHOUT_WEIGHTS = frozenset({"gfm-paper"})
"""Retrievers that search only with weights that the user names; their own tests make some."""
TRAINED = {"gfm": DEFAULT_ENCODER, "routed": DEFAULT_ENCODER}


class Words(SettingsRecord):
    """Settings of a reranker of the tests."""

    label: ClassVar[str] = "words"


@pytest.fixture(autouse=True, scope="session")
def words_rerank() -> Iterator[None]:
    """Rerank by BM25 within the pool under the name `words`: real, and quick enough for every test of the contract."""
    with pytest.MonkeyPatch.context() as patch:
        entry = RerankerEntry("by words", Words, lambda *_: TextReranker(BM25Scorer()), "words")
        patch.setitem(RERANKERS.entries, "words", entry)
        yield


@pytest.fixture(scope="session")
def own_part(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """The classes of an example of docs/extend.md by its name."""

    @cache
    def load(name: str) -> dict[str, Any]:
        return run_example(name, tmp_path_factory.mktemp("own")).names

    return load


@pytest.fixture(autouse=True, scope="session")
def own_retriever(own_part: Callable[[str], dict[str, Any]]) -> Iterator[None]:
    """Install the retriever of docs/extend.md as a package would, under the name `shared-words`."""
    module = ModuleType("own_retriever")

    def load_entry(name: str) -> Any:
        return own_part("retriever")[name]

    module.__getattr__ = load_entry  # type: ignore[method-assign]
    point = EntryPoint("shared-words", "own_retriever:ENTRY", RETRIEVERS.group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "own_retriever", module)
        patch.setitem(vars(RETRIEVERS), "_plugins", {**RETRIEVERS._plugins, "shared-words": point})
        yield


@pytest.fixture(scope="session")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small index with the encoder of the trained weights; tests must not write to it."""
    folder = tmp_path_factory.mktemp("trained") / "index"
    make_index(folder, DOCUMENTS, TRAINED["gfm"])
    return folder


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Path]:
    """Indexes of documents with hidden ones among them, and without these, by encoder; tests must not change them."""
    made = {}
    for encoder in {"hashing", *TRAINED.values()}:
        for hidden in (True, False):
            folder = tmp_path_factory.mktemp("filters") / "index"
            make_index(folder, (*VISIBLE, *HIDDEN) if hidden else VISIBLE, encoder)
            made[encoder, hidden] = folder
    return made


@pytest.fixture(scope="session")
def trained_polar(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The example corpus with the encoder of the trained weights."""
    index = make_index(tmp_path_factory.mktemp("polar") / "index", (), TRAINED["gfm"])
    assert not index.add([EXAMPLES / "polar"]).failures
    return index


@pytest.fixture
def encoder(name: str) -> str:
    """The encoder that a retriever is tried with."""
    return TRAINED.get(name, "hashing")


@pytest.fixture
def small_folder(name: str, request: pytest.FixtureRequest) -> Path:
    """The small index that fits a retriever."""
    folder = request.getfixturevalue("trained_folder") if name in TRAINED else request.getfixturevalue("plain_folder")
    assert isinstance(folder, Path)
    return folder


@pytest.fixture
def small(small_folder: Path) -> Index:
    """The small index, opened."""
    return clew.open(small_folder)


@pytest.fixture
def polar(name: str, request: pytest.FixtureRequest) -> Index:
    """The example corpus in the index that fits a retriever."""
    index = request.getfixturevalue("trained_polar") if name in TRAINED else request.getfixturevalue("plain_polar")
    assert isinstance(index, Index)
    return index
