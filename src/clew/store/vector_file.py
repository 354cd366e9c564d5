"""Rows of numbers in a file, read and written by blocks, so that memory holds a small part of them at any time."""

import mmap
import sys
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray

RESIDENT_BYTES = 64 << 20
"""Bytes of the file that stay in memory once they were read or written, at most, and those of one request more."""
_PAGE_BYTES = 4096


@final
class VectorFile:
    """Rows (rows, dimension) in a new file, both at least 1; the file may be removed while this is in use.

    Attributes:
        shape: (rows, dimension).
    """

    def __init__(self, path: Path, rows: int, dimension: int) -> None:
        self.shape = rows, dimension
        with path.open("w+b") as stream:
            stream.truncate(rows * dimension * np.dtype(np.float32).itemsize)
            self._mapping = mmap.mmap(stream.fileno(), 0)
        self._rows: FloatArray = np.frombuffer(self._mapping, dtype=np.float32).reshape(self.shape)
        self._resident_bytes = 0

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.integer]) -> FloatArray:
        """Return a copy of some rows."""
        found: FloatArray = self._rows[rows]
        found = found.copy() if isinstance(rows, slice) else found
        self._note(len(found))
        return found

    def __setitem__(self, rows: slice | NDArray[np.integer], values: FloatArray) -> None:
        """Write some rows."""
        self._rows[rows] = values
        self._note(len(values))

    def _note(self, rows: int) -> None:
        self._resident_bytes += rows * (self._rows.strides[0] + _PAGE_BYTES)  # a row reaches into another page
        if self._resident_bytes > RESIDENT_BYTES:
            if sys.platform != "win32":  # which has nothing like it
                self._mapping.madvise(mmap.MADV_DONTNEED)
            self._resident_bytes = 0
