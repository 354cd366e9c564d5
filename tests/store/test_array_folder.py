"""Folders of arrays: the files are those of numpy, and an equal one is the earlier one itself."""

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from clew.store.array_file import ArrayFolder

ARRAYS: dict[str, NDArray[Any]] = {
    "numbers": np.arange(6, dtype=np.int32).reshape(2, 3),
    "none": np.zeros((0, 3), dtype=np.float32),
    "one": np.array(7, dtype=np.uint64),
    "flags": np.array([True, False]),
    "columns": np.arange(6, dtype=np.int64).reshape(2, 3)[:, 1],
}


def write(folder: Path, arrays: dict[str, NDArray[Any]], earlier: ArrayFolder | None = None) -> ArrayFolder:
    folder.mkdir()
    writer = ArrayFolder(folder, folder.parent / "first" if earlier else None, earlier.hashes if earlier else None)
    for name, array in arrays.items():
        writer.write(name, array)
    return writer


def test_files_are_those_of_numpy_and_hashes_those_of_the_files(tmp_path: Path) -> None:
    writer = write(tmp_path / "first", ARRAYS)
    for name, array in ARRAYS.items():
        file = tmp_path / "first" / f"{name}.npy"
        np.save(tmp_path / name, array)
        assert file.read_bytes() == (tmp_path / f"{name}.npy").read_bytes()
        assert writer.hashes[file.name] == blake2b(file.read_bytes(), digest_size=16).hexdigest()
    assert writer.linked == []


def test_an_equal_file_is_linked_and_a_changed_one_written(tmp_path: Path) -> None:
    first = write(tmp_path / "first", ARRAYS)
    changed = {**ARRAYS, "numbers": ARRAYS["numbers"] + 1}
    second = write(tmp_path / "second", changed, first)
    assert sorted(second.linked) == sorted(f"{name}.npy" for name in ARRAYS if name != "numbers")
    for name, array in changed.items():
        np.testing.assert_array_equal(np.load(tmp_path / "second" / f"{name}.npy"), array)
        same = (tmp_path / "first" / f"{name}.npy").samefile(tmp_path / "second" / f"{name}.npy")
        assert same == (name != "numbers")


def test_without_links_or_with_a_file_cut_short_all_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path / "first", ARRAYS)
    (tmp_path / "first" / "flags.npy").write_bytes(b"")
    assert "flags.npy" not in write(tmp_path / "second", ARRAYS, first).linked

    def refuse(_source: Path, _target: Path) -> None:
        raise OSError("no links here")

    monkeypatch.setattr("os.link", refuse)
    assert write(tmp_path / "third", ARRAYS, first).linked == []
    np.testing.assert_array_equal(np.load(tmp_path / "third" / "flags.npy"), ARRAYS["flags"])
