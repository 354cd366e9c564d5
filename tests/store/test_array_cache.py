"""The array cache: arrays are computed once, again when damaged, and those of old versions are removed."""

import os
from pathlib import Path

import numpy as np
import pytest

from clew.store import array_cache
from clew.store.array_cache import array_problems, load_or_compute
from clew.store.atomic import atomic_folder, file_hash


def test_an_array_is_computed_once_and_again_when_damaged(tmp_path: Path) -> None:
    calls = []

    def make() -> np.ndarray[tuple[int], np.dtype[np.float16]]:
        calls.append(1)
        return np.arange(1000, dtype=np.float16)

    for _ in range(2):
        assert load_or_compute(tmp_path / "arrays" / "v" / "a", make).tolist() == list(range(1000))
    assert len(calls) == 1
    path = tmp_path / "arrays" / "v" / "a" / "array.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))  # clocks of file systems are coarse
    assert array_problems(tmp_path / "arrays" / "v") == ["arrays/v/a is not as it was written: run `clew repair`"]
    assert load_or_compute(tmp_path / "arrays" / "v" / "a", make).tolist() == list(range(1000))
    assert len(calls) == 2


def test_an_array_is_hashed_once_until_its_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, hashed = tmp_path / "arrays" / "v" / "a", []

    def count(path: Path) -> str:
        hashed.append(path)
        return file_hash(path)

    def load() -> int:
        hashed.clear()
        load_or_compute(folder, lambda: np.arange(9))
        return len(hashed)

    load()
    monkeypatch.setattr(array_cache, "file_hash", count)
    assert load() == 0
    os.utime(folder / "array.npy", ns=(5, 5))  # as after copying the index
    assert [load(), load()] == [1, 0]
    (folder / "checked.json").unlink()  # as an earlier Clew left it
    assert [load(), load()] == [1, 0]
    assert array_problems(folder.parent) == []


def test_a_flipped_bit_that_keeps_size_and_time_is_found_by_verification_alone(tmp_path: Path) -> None:
    folder = tmp_path / "arrays" / "v" / "a"
    load_or_compute(folder, lambda: np.arange(9))
    path = folder / "array.npy"
    stat, content = path.stat(), bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    load_or_compute(folder, lambda: np.zeros(9))
    assert len(array_problems(folder.parent)) == 1


def test_only_the_newest_two_versions_stay_with_all_their_arrays(tmp_path: Path) -> None:
    names = ("gfm", "names", "relations", "others")
    for version in "abcd":
        for name in names:
            load_or_compute(tmp_path / version / name, lambda: np.zeros(3, dtype=np.float32))
    assert {path.name for path in tmp_path.iterdir()} == {"c", "d"}
    assert {path.name for path in (tmp_path / "d").iterdir()} == set(names)


def test_leftovers_of_killed_runs_are_removed_with_the_next_array(tmp_path: Path) -> None:
    folder = tmp_path / "v" / "a"
    with atomic_folder(folder) as temporary:
        leftovers = temporary.name[:-12] + "00000000.tmp"  # as if this process had been killed and started again
    for parent in (folder.parent, tmp_path):
        (parent / leftovers).mkdir(parents=True)
        (parent / leftovers / "half").write_text("")
    load_or_compute(folder, lambda: np.zeros(3, dtype=np.float32))
    assert [path.name for path in tmp_path.iterdir()] == ["v"]
    assert [path.name for path in folder.parent.iterdir()] == ["a"]
