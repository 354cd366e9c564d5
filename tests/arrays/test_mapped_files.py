import gc
import sys
from pathlib import Path

import numpy as np
import pytest

from clew.arrays.mapped_files import MappedFile, map_array
from tests.faults.python_process import run_python


def count_descriptors() -> int:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no list of open files")
    return len(list(Path("/proc/self/fd").iterdir()))


def is_mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text(encoding="utf-8")


@pytest.mark.parametrize("dtype", ["<f4", "<i8", "u1", "?", "<u2"])
@pytest.mark.parametrize("shape", [(3, 7), (0, 4), (90, 11, 5), (20_000,), ()])
def test_an_array_is_what_numpy_reads(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    expected = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape).astype(dtype)
    np.save(tmp_path / "a.npy", expected)
    array = map_array(tmp_path / "a.npy")
    assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
    assert np.array_equal(array, expected)


def test_a_mapping_holds_no_descriptor_and_ends_with_its_last_array(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    np.save(file, np.arange(100_000))
    gc.collect()  # of what earlier tests have left open
    before = count_descriptors()
    array = map_array(file)
    part = array[10:20]
    del array
    gc.collect()
    assert count_descriptors() == before
    assert is_mapped(file)
    assert part.tolist() == list(range(10, 20))
    with pytest.raises(ValueError, match="read-only"):
        part[0] = 1
    file.unlink()
    assert part.tolist() == list(range(10, 20))
    del part
    assert not is_mapped(file)


def test_released_memory_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc" * 10_000)
    mapped = MappedFile(tmp_path / "a")
    before = mapped.data.tobytes()
    mapped.release_memory()
    assert mapped.data.tobytes() == before


def test_what_is_no_array_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    np.save(file, np.arange(10_000))
    data = file.read_bytes()
    np.save(tmp_path / "columns.npy", np.asfortranarray(np.ones((100, 100))))
    for content in (b"", data[:5], data[:-1], data[:5_000], b"x" * 10_000, (tmp_path / "columns.npy").read_bytes()):
        file.write_bytes(content)
        with pytest.raises((ValueError, EOFError)):
            map_array(file)
    with pytest.raises(FileNotFoundError):
        map_array(tmp_path / "absent.npy")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(ValueError, match="empty"):
        MappedFile(tmp_path / "empty")


PROGRAM = """
import numpy as np
from clew.arrays.mapped_files import return_free_memory

def resident():
    return int(open("/proc/self/statm").read().split()[1])

pieces = [np.ones(10_000) for _ in range(2000)]  # 160 MB
last = np.ones(10_000)  # keeps the end of the heap in use
del pieces
before = resident()
return_free_memory()
print(before - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc, and depends on glibc")
def test_freed_arrays_are_given_back() -> None:
    assert int(run_python(PROGRAM, MALLOC_MMAP_THRESHOLD_="1000000000")) > 20_000  # pages: half of what was freed
