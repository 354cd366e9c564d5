"""One array over the memory of several, which compiled functions read as one.

The arrays of an index lie in a file for each segment. A copy of what a question needs of them, gathered file by file,
takes longer than the products that it is for.
"""

import ctypes
from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import LongArray


@final
class FlatMemory:
    """Some arrays of bytes as one; between them lies other memory, which must not be read.

    Attributes:
        values: The bytes (n,) from the beginning of the first array in memory to the end of the last.
        starts: (p,) the position in `values` of each array's first value.
    """

    def __init__(self, parts: Sequence[NDArray[np.int8]]) -> None:
        self._parts = [np.ascontiguousarray(part) for part in parts]  # in memory as long as this is
        addresses = [part.ctypes.data for part in self._parts]
        first = min(addresses, default=0)
        last = max((at + part.nbytes for at, part in zip(addresses, self._parts, strict=True)), default=0)
        self.values = np.zeros(0, dtype=np.int8)
        if last > first:
            self.values = np.ctypeslib.as_array((ctypes.c_int8 * (last - first)).from_address(first))
        self.values.flags.writeable = False
        self.starts: LongArray = np.array(addresses, dtype=np.int64) - first
