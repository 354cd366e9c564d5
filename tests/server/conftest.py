"""A server over the small index, without keys; tests must not write to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.server.serving import serving


@pytest.fixture(scope="module")
def client(plain_folder: Path) -> Iterator[TestClient]:
    """A client of a server that asks for no key."""
    with serving({"small": plain_folder}) as client:
        yield client
