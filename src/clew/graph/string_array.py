"""A list of strings stored as two arrays, so that millions of them can be memory-mapped at no cost."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from clew.arrays import LongArray, expand_ranges


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
        starts, sizes = self.offsets[:-1][positions], np.diff(self.offsets)[positions]
        offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=offsets[1:])
        return StringArray(self.data[expand_ranges(starts, sizes)[0]], offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"string {index} of {len(self)}")
        position = index % len(self)
        return self.data[self.offsets[position] : self.offsets[position + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        data = self.data.tobytes()
        for start, end in pairwise(self.offsets.tolist()):
            yield data[start:end].decode()
