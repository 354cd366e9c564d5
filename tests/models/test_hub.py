"""Names of models, with a hub that is played: there is no network here."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

from clew.errors import InputError, ProviderError
from clew.models.hub import check_model


@pytest.fixture
def hub_requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """A hub that has `owner/model` with the revision `main`; what it was asked."""
    found: list[tuple[str, str | None]] = []

    def answered(self: HfApi, name: str, *, revision: str | None = None, timeout: float) -> Any:
        found.append((name, revision))
        reply: Any = httpx.Response(404, request=httpx.Request("GET", "https://hub"))
        if name != "owner/model":
            raise RepositoryNotFoundError("no such repository", response=reply)
        if revision not in (None, "main"):
            raise RevisionNotFoundError("no such revision", response=reply)
        return SimpleNamespace(id=name)

    monkeypatch.setattr(HfApi, "model_info", answered)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return found


def check(name: str, revision: str | None = None, owner: str = "") -> None:
    check_model(name, revision, "encoder", "use another", owner)


def test_what_the_hub_has_is_let_through(asked: list[tuple[str, str | None]], tmp_path: Path) -> None:
    check(str(tmp_path))
    assert not asked
    check("owner/model", "main")
    check("model", owner="owner")
    assert asked == [("owner/model", "main"), ("owner/model", None)]


def test_what_it_has_not_is_bad_input(asked: list[tuple[str, str | None]]) -> None:
    with pytest.raises(InputError, match=r"no encoder is called 'nosuch'; wanted a folder or .*: use another"):
        check("nosuch", owner="owner")
    assert asked == [("owner/nosuch", None), ("nosuch", None)]
    with pytest.raises(InputError, match="'owner/model' has no revision 'v2'"):
        check("owner/model", "v2")


@pytest.mark.parametrize("name", ["a b", "no:such", "/no/such/folder", "./nosuch", "a/b/c", ""])
def test_what_is_no_name_is_bad_input_and_not_asked_for(asked: list[tuple[str, str | None]], name: str) -> None:
    with pytest.raises(InputError, match=f"no encoder can be called '{name}'"):
        check(name)
    assert not asked


def test_a_hub_that_cannot_be_reached_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def unreachable(self: HfApi, name: str, **_: Any) -> Any:
        calls.append(name)
        raise httpx.ConnectError("no route")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(HfApi, "model_info", unreachable)
    with pytest.raises(ProviderError, match=r"cannot be asked for it \(no route\); check the name and the network"):
        check("owner/model")
    assert calls == ["owner/model"]


def test_what_was_fetched_before_is_not_asked_for(
    asked: list[tuple[str, str | None]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--owner--other"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("c0ffee")
    (kept / "snapshots" / "c0ffee").mkdir(parents=True)
    (kept / "snapshots" / "c0ffee" / "config.json").write_text("{}")
    check("owner/other")
    assert not asked


def test_offline_nothing_is_asked(asked: list[tuple[str, str | None]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    check("nosuch")
    assert not asked
