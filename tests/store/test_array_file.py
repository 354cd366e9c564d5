"""Files of arrays: read back as written, and refused where they are damaged."""

import json
import os
import random
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from numpy.typing import NDArray
from safetensors.numpy import load_file

from clew.errors import IndexFormatError
from clew.store import array_file
from clew.store.array_file import ArrayFolder, array_problems, file_problem, load_or_compute, map_arrays, write_arrays
from clew.store.atomic import atomic_folder, file_hash

ARRAYS: dict[str, np.ndarray] = {
    "words.data": np.arange(5, dtype=np.uint8),
    "vectors": np.arange(6, dtype=np.float32).reshape(2, 3),
    "none": np.zeros((0, 5), dtype=np.uint64),
    "failed": np.array([True, False, True]),
    "starts": np.array([7, -1], dtype=np.int64),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_arrays(tmp_path / "one.safetensors", ARRAYS)
    return tmp_path / "one.safetensors"


@given(
    arrays=st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.sampled_from((np.bool_, np.uint8, np.int32, np.int64, np.uint64, np.float32)).flatmap(
            lambda dtype: arrays_of.arrays(
                dtype, arrays_of.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4)
            )
        ),
        max_size=5,
    )
)
def test_arrays_are_read_back(arrays: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("arrays") / "file.safetensors"
    write_arrays(file, arrays)
    found = map_arrays(file)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()
        assert found[name].ctypes.data % array.dtype.itemsize == 0
    assert file_problem(file) is None


def test_others_read_the_file_too(file: Path) -> None:
    found = load_file(file)
    assert found.keys() == ARRAYS.keys()
    assert all(np.array_equal(found[name], array) for name, array in ARRAYS.items())


def test_equal_arrays_give_equal_bytes(file: Path, tmp_path: Path) -> None:
    write_arrays(tmp_path / "other.safetensors", dict(reversed(ARRAYS.items())))
    assert (tmp_path / "other.safetensors").read_bytes() == file.read_bytes()


def test_every_flipped_bit_is_found(file: Path) -> None:
    content = file.read_bytes()
    padding = len(content) - len(content.rstrip(b" "))
    assert padding == 0
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << random.Random(position).randrange(8)
        file.write_bytes(bytes(damaged))
        problem = file_problem(file)
        assert problem is not None, position
        assert "clew repair" in problem


def test_a_file_in_the_place_of_another_is_an_error(tmp_path: Path) -> None:
    file, other = tmp_path / "one.safetensors", tmp_path / "two.safetensors"
    write_arrays(file, {"x": np.arange(3)}, is_named=True)
    assert file_problem(file) is None
    other.write_bytes(file.read_bytes())
    with pytest.raises(IndexFormatError, match=r"two\.safetensors is missing or damaged \(it was written as one\.s"):
        map_arrays(other)
    assert "it was written as one.safetensors" in (file_problem(other) or "")


@pytest.mark.parametrize("cut", [0, 3, 8, 40, -1])
def test_a_file_cut_short_is_an_error(file: Path, cut: int) -> None:
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(IndexFormatError, match=r"one\.safetensors is missing or damaged.*clew repair"):
        map_arrays(file)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IndexFormatError, match=r"none\.safetensors is missing or damaged"):
        map_arrays(tmp_path / "none.safetensors")


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [3]},
        {"shape": [-2]},
        {"shape": ["2"]},
        {"shape": 2},
        {"shape": [1 << 60]},
        {"dtype": "I32"},
        {"dtype": "O"},
        {"data_offsets": [8, 24]},
        {"data_offsets": None},
    ],
    ids=str,
)
def test_a_header_that_lies_is_an_error(file: Path, change: dict[str, object]) -> None:
    content = file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["starts"] |= change
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(IndexFormatError, match="damaged"):
        map_arrays(file)


@pytest.mark.parametrize(
    "header", [b"[]", b"{}", b"null", b'{"__metadata__": 3}', b"\xff", b'{"__metadata__": {"x": 1}}']
)
def test_a_header_of_another_kind_is_an_error(file: Path, header: bytes) -> None:
    file.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(IndexFormatError, match="damaged"):
        map_arrays(file)


NUMPY_ARRAYS: dict[str, NDArray[Any]] = {
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
    writer = write(tmp_path / "first", NUMPY_ARRAYS)
    for name, array in NUMPY_ARRAYS.items():
        file = tmp_path / "first" / f"{name}.npy"
        np.save(tmp_path / name, array)
        assert file.read_bytes() == (tmp_path / f"{name}.npy").read_bytes()
        assert writer.hashes[file.name] == blake2b(file.read_bytes(), digest_size=16).hexdigest()
    assert writer.linked == []


def test_an_equal_file_is_linked_and_a_changed_one_written(tmp_path: Path) -> None:
    first = write(tmp_path / "first", NUMPY_ARRAYS)
    changed = {**NUMPY_ARRAYS, "numbers": NUMPY_ARRAYS["numbers"] + 1}
    second = write(tmp_path / "second", changed, first)
    assert sorted(second.linked) == sorted(f"{name}.npy" for name in NUMPY_ARRAYS if name != "numbers")
    for name, array in changed.items():
        np.testing.assert_array_equal(np.load(tmp_path / "second" / f"{name}.npy"), array)
        same = (tmp_path / "first" / f"{name}.npy").samefile(tmp_path / "second" / f"{name}.npy")
        assert same == (name != "numbers")


def test_without_links_or_with_a_file_cut_short_all_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path / "first", NUMPY_ARRAYS)
    (tmp_path / "first" / "flags.npy").write_bytes(b"")
    assert "flags.npy" not in write(tmp_path / "second", NUMPY_ARRAYS, first).linked

    def refuse(_source: Path, _target: Path) -> None:
        raise OSError("no links here")

    monkeypatch.setattr("os.link", refuse)
    assert write(tmp_path / "third", NUMPY_ARRAYS, first).linked == []
    np.testing.assert_array_equal(np.load(tmp_path / "third" / "flags.npy"), NUMPY_ARRAYS["flags"])


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
    monkeypatch.setattr(array_file, "file_hash", count)
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
