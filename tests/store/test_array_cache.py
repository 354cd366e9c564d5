"""The array cache: arrays are computed once, again when damaged, and those of old versions are removed."""

from pathlib import Path

import numpy as np

from clew.store.array_cache import load_or_compute
from clew.store.atomic import atomic_folder


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
    assert load_or_compute(tmp_path / "arrays" / "v" / "a", make).tolist() == list(range(1000))
    assert len(calls) == 2


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
