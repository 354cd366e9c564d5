"""The graph that several commands are asked about."""

from pathlib import Path

import pytest

from tests.kinship import make_kinship_index


@pytest.fixture(scope="session")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small graph; tests must not write to it."""
    folder = tmp_path_factory.mktemp("family")
    make_kinship_index(folder)
    return folder / "index"
