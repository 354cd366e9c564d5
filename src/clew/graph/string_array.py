"""A list of strings stored as two arrays, so that millions of them can be memory-mapped at no cost.

They are taken, written and compared by compiled functions, without a Python object a string.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, HashArray, IntArray, LongArray
from clew.arrays.kernels import njit


class StringArray(Sequence[str]):
    """Immutable strings, concatenated as UTF-8 bytes; string i of n is `data[offsets[i]:offsets[i + 1]]`.

    `data` are all bytes (b,), `offsets` (n + 1,) ascend from 0 to b.
    """

    __slots__ = ("data", "offsets")

    def __init__(self, data: NDArray[np.uint8], offsets: LongArray) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def pack(cls, strings: Iterable[str]) -> "StringArray":
        """Pack strings in the order given."""
        return cls.join([string.encode() for string in strings])

    @classmethod
    def join(cls, encoded: Sequence[bytes]) -> "StringArray":
        """Pack strings, given as UTF-8, in the order given."""
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum(list(map(len, encoded)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def take(self, positions: NDArray[np.integer]) -> "StringArray":
        """Return the strings at some positions (m,), in the order given."""
        return take_strings(self, positions)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        count = len(self.offsets) - 1
        if not -count <= index < count:
            raise IndexError(f"string {index} of {count}")
        position = index % count
        start, end = self.offsets[position : position + 2].tolist()
        return self.data[start:end].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        data = self.data.tobytes()
        for start, end in pairwise(self.offsets.tolist()):
            yield data[start:end].decode()


def take_strings(strings: StringArray, rows: NDArray[np.integer]) -> StringArray:
    """Return the strings at some positions (n,), in that order."""
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum((strings.offsets[1:] - strings.offsets[:-1])[rows], out=offsets[1:])
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    _copy_strings(strings.data, strings.offsets, np.asarray(rows), np.arange(len(rows)), data, offsets)
    return StringArray(data, offsets)


class StringWriter:
    """Fills an array of strings at given positions from several others; lengths are set first, then bytes are copied.

    A position belongs to the last array whose lengths were set for it, and must be copied from that one.
    """

    def __init__(self, count: int) -> None:
        self._slots = StringSlots(count)
        self._parts: list[tuple[StringArray, IntArray | LongArray, IntArray | LongArray]] = []

    def add(self, strings: StringArray, rows: IntArray | LongArray, targets: IntArray | LongArray) -> None:
        """Write the strings at `rows` (n,) to positions `targets` (n,) of the result, over those of earlier calls."""
        self._slots.set_lengths(strings, rows, targets)
        self._parts.append((strings, rows, targets))

    def finish(self) -> StringArray:
        """Return the strings; a position that was never written is an empty one."""
        texts = self._slots.allocate()
        for strings, rows, targets in self._parts:
            copy_strings(strings, rows, targets, texts)
        return texts


class StringSlots:
    """The lengths of `count` strings that are written by `copy_strings`, for writers that read sources twice."""

    def __init__(self, count: int) -> None:
        self._offsets = np.zeros(count + 1, dtype=np.int64)

    def set_lengths(self, strings: StringArray, rows: IntArray | LongArray, targets: IntArray | LongArray) -> None:
        """Set the lengths of `targets` (n,) to those of the strings at `rows` (n,), over those of earlier calls."""
        self._offsets[1:][targets] = (strings.offsets[1:] - strings.offsets[:-1])[rows]

    def allocate(self) -> StringArray:
        """Return strings of these lengths, with any bytes; it is called once, at the end."""
        np.cumsum(self._offsets, out=self._offsets)
        return StringArray(np.empty(int(self._offsets[-1]), dtype=np.uint8), self._offsets)


def copy_strings(
    strings: StringArray, rows: IntArray | LongArray, targets: IntArray | LongArray, out: StringArray
) -> None:
    """Copy the strings at `rows` (n,) to positions `targets` (n,) of `out`, but for those of another length there."""
    _copy_strings(strings.data, strings.offsets, rows, targets, out.data, out.offsets)


def unequal_row(strings: StringArray, others: StringArray, rows: IntArray | LongArray) -> int:
    """Return the first position of `strings` (n) that differs from `others[rows[position]]`, -1 if there is none."""
    return int(_unequal_row(strings.data, strings.offsets, others.data, others.offsets, rows))


def mix_strings(strings: StringArray, rows: IntArray | LongArray) -> HashArray:
    """Return a number of 64 bits for each of the strings at some positions (n,), the same wherever it is computed."""
    result: HashArray = _mix_strings(strings.data, strings.offsets, rows)
    return result


def have_space(strings: StringArray, rows: IntArray | LongArray) -> BoolArray:
    """Return which of the strings at some positions (n,) contain a space."""
    result: BoolArray = _have_space(strings.data, strings.offsets, rows)
    return result


@njit
def _copy_strings(data, offsets, rows, targets, out, out_offsets):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        begin, end = offsets[rows[i]], offsets[rows[i] + 1]
        to = out_offsets[targets[i]]
        if out_offsets[targets[i] + 1] - to != end - begin:
            continue  # a later array writes another string here
        for byte in range(begin, end):
            out[to + byte - begin] = data[byte]


@njit
def _unequal_row(data, offsets, other_data, other_offsets, rows):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        begin, other = offsets[i], other_offsets[rows[i]]
        size = offsets[i + 1] - begin
        if other_offsets[rows[i] + 1] - other != size:
            return i
        for byte in range(size):
            if data[begin + byte] != other_data[other + byte]:
                return i
    return -1


@njit
def _mix_strings(data, offsets, rows):  # type: ignore[no-untyped-def]
    result = np.empty(len(rows), dtype=np.uint64)
    for i in range(len(rows)):
        state = np.uint64(offsets[rows[i] + 1] - offsets[rows[i]])
        for byte in range(offsets[rows[i]], offsets[rows[i] + 1]):
            state = (state ^ np.uint64(data[byte])) * np.uint64(0x9E3779B97F4A7C15)
            state ^= state >> np.uint64(29)
        result[i] = state
    return result


@njit
def _have_space(data, offsets, rows):  # type: ignore[no-untyped-def]
    result = np.zeros(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        for byte in range(offsets[rows[i]], offsets[rows[i] + 1]):
            if data[byte] == 32:
                result[i] = True
                break
    return result
