"""Weights files are hashed once, and the result is remembered."""

import hashlib
from pathlib import Path

import pytest

from clew.errors import ProviderError
from clew.models.hub import check_weights


def test_a_file_that_passed_is_remembered_until_it_changes(tmp_path: Path) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"good")
    sha256 = hashlib.sha256(b"good").hexdigest()
    check_weights(file, sha256, cache)
    (note,) = cache.iterdir()
    assert sha256 in note.read_text(encoding="utf-8")
    check_weights(file, sha256, cache)
    file.write_bytes(b"other")
    with pytest.raises(ProviderError, match=f"wanted {sha256}"):
        check_weights(file, sha256, cache)


def test_a_remembered_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"good")
    sha256 = hashlib.sha256(b"good").hexdigest()
    check_weights(file, sha256, cache)

    def refuse(*_: object) -> None:
        raise AssertionError("hashed again")

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    check_weights(file, sha256, cache)


def test_an_unwritable_cache_costs_only_time(tmp_path: Path) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"good")
    cache.write_bytes(b"a file, not a folder")
    check_weights(file, hashlib.sha256(b"good").hexdigest(), cache)


def test_a_damaged_note_is_ignored(tmp_path: Path) -> None:
    file, cache = tmp_path / "weights", tmp_path / "cache"
    file.write_bytes(b"good")
    sha256 = hashlib.sha256(b"good").hexdigest()
    check_weights(file, sha256, cache)
    (note,) = cache.iterdir()
    note.write_bytes(b"\xff")
    check_weights(file, sha256, cache)
    assert sha256 in note.read_text(encoding="utf-8")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="gone"):
        check_weights(tmp_path / "gone", "0" * 64, tmp_path)


def test_what_was_checked_is_noted_in_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "weights"
    file.write_bytes(b"weights")
    check_weights(file, hashlib.sha256(b"weights").hexdigest())
    assert [path.name[:8] for path in (tmp_path / "cache").iterdir()] == ["weights-"]
