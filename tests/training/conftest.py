"""Indexes that objectives are tried on."""

import pytest

from clew.index import Index
from clew.types import Document
from tests.conftest import EXAMPLES
from tests.small_index import make_index


@pytest.fixture(scope="package")
def polar(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The example corpus."""
    index = make_index(tmp_path_factory.mktemp("polar") / "index", ())
    assert not index.add([EXAMPLES / "polar"]).failures
    return index


@pytest.fixture
def empty_index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Two documents that say nothing of anything."""
    documents = [Document("a", "Oslo", "It rains."), Document("b", "Rome", "It is hot.")]
    return make_index(tmp_path_factory.mktemp("empty") / "index", documents)
