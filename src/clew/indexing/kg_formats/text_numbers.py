"""Numbers for the distinct texts of Arrow columns: a compiled hash table that holds each text once, as bytes."""

from typing import final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.string_array import StringArray

_NO_BYTES = np.zeros(0, dtype=np.uint8)


@final
class TextNumbers:
    """Numbers texts in the order in which they come; equal texts have one number."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all texts."""
        self._slots: IntArray = np.full(1 << 10, -1, dtype=np.int32)
        self._data: NDArray[np.uint8] = np.empty(1 << 14, dtype=np.uint8)
        self._offsets: LongArray = np.zeros(1 << 9, dtype=np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, column: pa.StringArray) -> IntArray:
        """Return the numbers (n,) of the texts of a column without nulls."""
        data, offsets = _buffers(column)
        self._reserve(len(column), int(offsets[-1] - offsets[0]))
        numbers, self._count = _number(data, offsets, self._slots, self._data, self._offsets, self._count)
        return numbers  # type: ignore[no-any-return]

    def texts(self) -> StringArray:
        """Return the texts by number."""
        offsets = self._offsets[: self._count + 1]
        return StringArray(self._data[: offsets[-1]], offsets)

    def _reserve(self, texts: int, size: int) -> None:
        """Make room for some more texts and bytes."""
        used = int(self._offsets[self._count])
        if used + size > len(self._data):
            self._data = _widen(self._data, max(2 * len(self._data), used + size))
        if self._count + texts + 1 > len(self._offsets):
            self._offsets = _widen(self._offsets, max(2 * len(self._offsets), self._count + texts + 1))
        slots = len(self._slots)
        while 2 * (self._count + texts) > slots:
            slots *= 2
        if slots > len(self._slots):
            self._slots = np.full(slots, -1, dtype=np.int32)
            _fill_slots(self._slots, self._data, self._offsets, self._count)


def _widen(array: np.ndarray, size: int) -> np.ndarray:
    wider = np.zeros(size, dtype=array.dtype)
    wider[: len(array)] = array
    return wider


def _buffers(column: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the bytes of a column, and where each text begins in them."""
    _, offsets, data = column.buffers()
    if not len(column):
        return _NO_BYTES, np.zeros(1, dtype=np.int32)
    starts = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return (np.frombuffer(data, dtype=np.uint8) if data else _NO_BYTES), starts


@njit
def _hash_bytes(data, begin, end):  # type: ignore[no-untyped-def]
    state = np.uint64(0xCBF29CE484222325)
    for i in range(begin, end):
        state = (state ^ np.uint64(data[i])) * np.uint64(0x100000001B3)  # FNV-1a
    return state ^ (state >> np.uint64(32))


@njit
def _fill_slots(slots, data, offsets, count):  # type: ignore[no-untyped-def]
    mask = len(slots) - 1
    for text in range(count):
        slot = np.int64(_hash_bytes(data, offsets[text], offsets[text + 1]) & np.uint64(mask))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = text


@njit
def _number(column, column_offsets, slots, data, offsets, count):  # type: ignore[no-untyped-def]
    mask = len(slots) - 1
    numbers = np.empty(len(column_offsets) - 1, dtype=np.int32)
    for row in range(len(numbers)):
        begin, end = column_offsets[row], column_offsets[row + 1]
        size = end - begin
        slot = np.int64(_hash_bytes(column, begin, end) & np.uint64(mask))
        found = -1
        while slots[slot] >= 0 and found < 0:
            text = slots[slot]
            start = offsets[text]
            if offsets[text + 1] - start == size:
                i = 0
                while i < size and data[start + i] == column[begin + i]:
                    i += 1
                if i == size:
                    found = text
            slot = (slot + 1) & mask
        if found < 0:
            found = count
            slots[slot] = count
            start = offsets[count]
            for i in range(size):
                data[start + i] = column[begin + i]
            offsets[count + 1] = start + size
            count += 1
        numbers[row] = found
    return numbers, count
