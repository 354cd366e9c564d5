"""Files mapped into memory without an open descriptor each, which `mmap` and `numpy.memmap` hold as long as they live.

An index has some fifty files of arrays, and a process may open a limited number of descriptors, often 1024.
"""

import ctypes
import mmap
import os
import sys
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_SMALL_BYTES = 4096  # a smaller file is read


@final
class MappedFile:
    """The bytes of a file, mapped read-only; they stay mapped while an array of them lives.

    Raises OSError where the file cannot be opened, ValueError where it is empty.
    """

    __slots__ = ("_release", "data")

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if not size:
                raise ValueError("it is empty")
            buffer, self._release = _map(stream.fileno(), size)
        data = np.frombuffer(buffer, dtype=np.uint8)
        data.flags.writeable = False
        self.data: NDArray[np.uint8] = data  # (size,)

    def release_memory(self) -> None:
        """Give back the memory of what was read, which stays valid: it is read again when it is needed."""
        self._release()


def map_array(path: Path) -> NDArray[Any]:
    """Return the array of a `.npy` file, in the shape stored, mapped read-only, or read where it is small.

    Raises OSError where the file cannot be opened, ValueError where it is no array, or not whole.
    """
    with path.open("rb") as stream:
        if os.fstat(stream.fileno()).st_size <= _SMALL_BYTES:
            array: NDArray[Any] = np.load(stream, allow_pickle=False)
            return array
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read_header(stream)
        start = stream.tell()
    count = int(np.prod(shape, dtype=np.int64))
    if is_fortran or dtype.hasobject:
        raise ValueError("it is not an array of numbers, row by row")
    data = MappedFile(path).data
    if start + count * dtype.itemsize > len(data):
        raise ValueError(f"it has {len(data)} bytes, and its array takes {start + count * dtype.itemsize}")
    mapped: NDArray[Any] = np.frombuffer(data, dtype, count, start).reshape(shape)
    return mapped


def _map(descriptor: int, size: int) -> tuple[Any, Callable[[], object]]:
    """Return a buffer of a file's bytes, and a function that gives their memory back."""
    if sys.platform == "win32":
        mapping = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        return mapping, lambda: None
    library = _library()
    address = library.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    buffer = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(buffer, library.munmap, address, size).atexit = False
    return buffer, lambda: library.madvise(address, size, mmap.MADV_DONTNEED)


@cache
def _library() -> Any:
    """Return the C library with the types of the functions that are called."""
    library = ctypes.CDLL(None, use_errno=True)
    number, size, pointer = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
    library.mmap.argtypes, library.mmap.restype = [pointer, size, number, number, number, ctypes.c_long], pointer
    library.munmap.argtypes = [pointer, size]
    library.madvise.argtypes = [pointer, size, number]
    return library


def return_free_memory() -> None:
    """Give the C library's free memory back to the system, where it is glibc's; elsewhere it keeps some.

    Arrays of less than 32 MB are not given back one by one, and greater ones are not put in their place.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
