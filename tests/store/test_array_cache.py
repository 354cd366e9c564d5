"""Arrays kept beside an index: made once, made again when damaged, and not hoarded."""

from pathlib import Path

import numpy as np

from clew.store.array_cache import load_or_compute
from clew.store.atomic import atomic_folder


def test_made_once_and_made_again_when_damaged(tmp_path: Path) -> None:
    made = []

    def make() -> np.ndarray[tuple[int], np.dtype[np.float16]]:
        made.append(1)
        return np.arange(1000, dtype=np.float16)

    for _ in range(2):
        assert load_or_compute(tmp_path / "arrays" / "v" / "a", make).tolist() == list(range(1000))
    assert len(made) == 1
    path = tmp_path / "arrays" / "v" / "a" / "array.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert load_or_compute(tmp_path / "arrays" / "v" / "a", make).tolist() == list(range(1000))
    assert len(made) == 2


def test_only_the_newest_two_versions_stay_with_all_that_is_in_them(tmp_path: Path) -> None:
    names = ("gfm", "names", "relations", "others")
    for version in "abcd":
        for name in names:
            load_or_compute(tmp_path / version / name, lambda: np.zeros(3, dtype=np.float32))
    assert {path.name for path in tmp_path.iterdir()} == {"c", "d"}
    assert {path.name for path in (tmp_path / "d").iterdir()} == set(names)


def test_what_killed_runs_left_goes_with_the_next_array_that_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "v" / "a"
    with atomic_folder(folder) as temporary:
        left = temporary.name[:-12] + "00000000.tmp"  # as if this process had been killed, and begun again
    for place in (folder.parent, tmp_path):
        (place / left).mkdir(parents=True)
        (place / left / "half").write_text("")
    load_or_compute(folder, lambda: np.zeros(3, dtype=np.float32))
    assert [path.name for path in tmp_path.iterdir()] == ["v"]
    assert [path.name for path in folder.parent.iterdir()] == ["a"]
