"""Checks of a snapshot's files: hashed once, again after a change, and always by `snapshot_problems`."""

import os
from pathlib import Path

import numpy as np
import pytest

from clew.errors import IndexFormatError
from clew.store import atomic, snapshot_files
from clew.store.array_file import write_arrays
from clew.store.atomic import file_hash
from clew.store.snapshot_files import (
    LOCAL_MANIFEST_FILE,
    MANIFEST_FILE,
    check_snapshot,
    hash_files,
    missing_segments,
    read_manifest,
    snapshot_problems,
    write_manifest,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "derived" / "snapshots" / "00000001-0123456789abcdef"
    (place / "lexical").mkdir(parents=True)
    (place / "nodes.npy").write_bytes(b"12345678")
    (place / "lexical" / "terms.npy").write_bytes(b"abc")
    write_manifest({"files": hash_files(place)}, place)
    return place


def count_hashes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    hashed: list[Path] = []

    def count(path: Path) -> str:
        hashed.append(path)
        return file_hash(path)

    monkeypatch.setattr(snapshot_files, "file_hash", count)
    return hashed


def test_a_change_is_seen_by_its_size_or_time_and_refused(folder: Path) -> None:
    check_snapshot(folder)
    file = folder / "nodes.npy"
    file.write_bytes(b"12345679")
    os.utime(file, ns=(1, 1))
    with pytest.raises(IndexFormatError, match=r"nodes\.npy is not as it was written"):
        check_snapshot(folder)


def test_a_file_that_was_only_touched_is_hashed_again_and_accepted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_snapshot(folder)
    os.utime(folder / "nodes.npy", ns=(1, 1))
    hashed = count_hashes(monkeypatch)
    check_snapshot(folder)
    assert len(hashed) == 2
    check_snapshot(folder)
    assert len(hashed) == 2


@pytest.mark.parametrize("change", ["missing", "extra", "manifest", "no manifest"])
def test_missing_and_further_files_are_refused(folder: Path, change: str) -> None:
    check_snapshot(folder)
    if change == "missing":
        (folder / "lexical" / "terms.npy").unlink()
    elif change == "extra":
        (folder / "other.npy").write_bytes(b"")
    elif change == "no manifest":
        (folder / MANIFEST_FILE).write_text("[]", encoding="utf-8")
    else:
        write_manifest({"files": {**hash_files(folder), "nodes.npy": "0"}}, folder)
    with pytest.raises(IndexFormatError):
        check_snapshot(folder)


def test_a_changed_word_in_the_manifest_is_noticed(folder: Path) -> None:
    write_manifest({"documents": 50, "files": hash_files(folder)}, folder)
    check_snapshot(folder)
    manifest = folder / MANIFEST_FILE
    manifest.write_bytes(manifest.read_bytes().replace(b'"documents": 50', b'"documents": 51'))
    problem = f"the manifest of {folder.name} is not as it was written: run `clew repair`"
    assert snapshot_problems(folder) == [problem]
    with pytest.raises(IndexFormatError, match=problem):
        check_snapshot(folder)


def test_a_silent_change_is_found_by_the_full_check(folder: Path) -> None:
    check_snapshot(folder)
    file = folder / "nodes.npy"
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    file.write_bytes(b"12345679")
    os.utime(file, ns=times)
    check_snapshot(folder)
    assert snapshot_problems(folder) == [f"{folder.name}/nodes.npy is not as it was written: run `clew repair`"]


def test_a_folder_that_cannot_be_written_is_checked_all_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(atomic, "atomic_file", refuse)
    hashed = count_hashes(monkeypatch)
    check_snapshot(folder)
    check_snapshot(folder)
    assert len(hashed) == 4


def test_of_much_data_only_the_sizes_are_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_files, "_MAX_HASHED_BYTES", 10)
    hashed = count_hashes(monkeypatch)
    check_snapshot(folder)
    (folder / "nodes.npy").write_bytes(b"12345679")
    check_snapshot(folder)
    assert not hashed
    (folder / "nodes.npy").write_bytes(b"123456789")
    with pytest.raises(IndexFormatError, match=r"nodes\.npy is not as it was written"):
        check_snapshot(folder)
    (folder / "nodes.npy").write_bytes(b"12345678")
    (folder / "other.npy").write_bytes(b"")
    with pytest.raises(IndexFormatError, match=r"other\.npy is not as it was written"):
        check_snapshot(folder)


@pytest.fixture
def placed(folder: Path) -> Path:
    """Return a snapshot's folder with one segment."""
    write_arrays(folder.parent.parent / "segments" / "a-0.safetensors", {"x": np.arange(3)})
    (folder / "places.npy").write_bytes(b"places")
    (folder / "segments.json").write_text('["a-0.safetensors"]', encoding="utf-8")
    write_manifest({"files": hash_files(folder)}, folder)
    return folder


def test_where_passages_lie_is_no_part_of_the_manifest(folder: Path, placed: Path) -> None:
    assert read_manifest(placed)["files"].keys() == {"nodes.npy", "lexical/terms.npy"}
    assert read_manifest(placed, LOCAL_MANIFEST_FILE)["files"].keys() == {"places.npy", "segments.json"}
    assert snapshot_problems(folder) == []
    check_snapshot(folder)


@pytest.mark.parametrize("file", ["places.npy", "segments.json", "local.json", "../../segments/a-0.safetensors"])
@pytest.mark.parametrize("change", ["missing", "changed"])
def test_damage_of_local_files_is_found(placed: Path, file: str, change: str) -> None:
    path = placed / file
    if change == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-2] + b"?\n")
    assert len(snapshot_problems(placed)) == 1
    with pytest.raises(IndexFormatError, match="clew repair"):
        check_snapshot(placed)


def test_missing_segments_are_named(placed: Path) -> None:
    assert missing_segments(placed) == []
    (placed.parent.parent / "segments" / "a-0.safetensors").unlink()
    assert missing_segments(placed) == ["a-0.safetensors"]


@pytest.mark.parametrize("names", ["{}", "[1]", '["../x"]', '["/etc/passwd"]', "?"])
def test_a_list_of_segments_holds_names_alone(placed: Path, names: str) -> None:
    (placed / "segments.json").write_text(names, encoding="utf-8")
    with pytest.raises(IndexFormatError, match="clew repair"):
        missing_segments(placed)
