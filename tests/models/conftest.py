"""Notes about checked weights are written to a temporary folder, and a call that failed is soon made again."""

from collections.abc import Iterator

import pytest

from clew.models.llm import call_settings
from tests.encoded_texts import run_for_each_text


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="module")
def _encode_as_users_do() -> Iterator[None]:
    with run_for_each_text():
        yield


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_settings, "FIRST_WAIT", 0.001)
