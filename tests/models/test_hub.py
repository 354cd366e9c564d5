"""Checks of model names against a fake hub, without a network, and of weights by their hashes."""

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

from clew.errors import InputError, ProviderError
from clew.models.hub import check_model, check_weights


@pytest.fixture
def hub_requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Requests to a fake hub that has `owner/model` with the revision `main`."""
    requests: list[tuple[str, str | None]] = []

    def model_info(self: HfApi, name: str, *, revision: str | None = None, timeout: float) -> Any:
        requests.append((name, revision))
        reply: Any = httpx.Response(404, request=httpx.Request("GET", "https://hub"))
        if name != "owner/model":
            raise RepositoryNotFoundError("no such repository", response=reply)
        if revision not in (None, "main"):
            raise RevisionNotFoundError("no such revision", response=reply)
        return SimpleNamespace(id=name)

    monkeypatch.setattr(HfApi, "model_info", model_info)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return requests


def check(name: str, revision: str | None = None, owner: str = "") -> None:
    check_model(name, revision, "encoder", "use another", owner)


def test_models_of_the_hub_are_accepted(hub_requests: list[tuple[str, str | None]], tmp_path: Path) -> None:
    check(str(tmp_path))
    assert not hub_requests
    check("owner/model", "main")
    check("model", owner="owner")
    assert hub_requests == [("owner/model", "main"), ("owner/model", None)]


def test_unknown_models_and_revisions_are_bad_input(hub_requests: list[tuple[str, str | None]]) -> None:
    with pytest.raises(InputError, match=r"no encoder is called 'nosuch'; wanted a folder or .*: use another"):
        check("nosuch", owner="owner")
    assert hub_requests == [("owner/nosuch", None), ("nosuch", None)]
    with pytest.raises(InputError, match="'owner/model' has no revision 'v2'"):
        check("owner/model", "v2")


@pytest.mark.parametrize("name", ["a b", "no:such", "/no/such/folder", "./nosuch", "a/b/c", ""])
def test_invalid_names_are_bad_input_without_a_request(hub_requests: list[tuple[str, str | None]], name: str) -> None:
    with pytest.raises(InputError, match=f"no encoder can be called '{name}'"):
        check(name)
    assert not hub_requests


def test_an_unreachable_hub_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def unreachable(self: HfApi, name: str, **_: Any) -> Any:
        calls.append(name)
        raise httpx.ConnectError("no route")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(HfApi, "model_info", unreachable)
    with pytest.raises(ProviderError, match=r"the hub cannot be reached \(no route\); check the name and the network"):
        check("owner/model")
    assert calls == ["owner/model"]


def test_cached_models_need_no_request(
    hub_requests: list[tuple[str, str | None]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    cached = tmp_path / "models--owner--other"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("c0ffee")
    (cached / "snapshots" / "c0ffee").mkdir(parents=True)
    (cached / "snapshots" / "c0ffee" / "config.json").write_text("{}")
    check("owner/other")
    assert not hub_requests


def test_offline_there_is_no_request(
    hub_requests: list[tuple[str, str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    check("nosuch")
    assert not hub_requests


GOOD = hashlib.sha256(b"good").hexdigest()


@pytest.fixture
def checked(tmp_path: Path) -> tuple[Path, Path]:
    """A file that was checked, and the folder of the note on it."""
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"good")
    check_weights(file, GOOD, cache)
    return file, cache


def test_a_file_that_passed_is_remembered_until_it_changes(checked: tuple[Path, Path]) -> None:
    file, cache = checked
    (note,) = cache.iterdir()
    assert GOOD in note.read_text(encoding="utf-8")
    check_weights(file, GOOD, cache)
    file.write_bytes(b"other")
    with pytest.raises(ProviderError, match=f"wanted {GOOD}"):
        check_weights(file, GOOD, cache)


def test_a_remembered_file_is_not_read_again(checked: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    file, cache = checked

    def refuse(*_: object) -> None:
        raise AssertionError("hashed again")

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    check_weights(file, GOOD, cache)


def test_an_unwritable_cache_costs_only_time(tmp_path: Path) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"good")
    cache.write_bytes(b"a file, not a folder")
    check_weights(file, GOOD, cache)


def test_a_damaged_note_is_ignored(checked: tuple[Path, Path]) -> None:
    file, cache = checked
    (note,) = cache.iterdir()
    note.write_bytes(b"\xff")
    check_weights(file, GOOD, cache)
    assert GOOD in note.read_text(encoding="utf-8")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="gone"):
        check_weights(tmp_path / "gone", "0" * 64, tmp_path)


def test_what_was_checked_is_noted_in_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "weights"
    file.write_bytes(b"weights")
    check_weights(file, hashlib.sha256(b"weights").hexdigest())
    assert [path.name[:8] for path in (tmp_path / "cache").iterdir()] == ["weights-"]
