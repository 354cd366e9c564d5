"""Limits of a merge: how many threads it takes, and whether the arrays that it has finished stay in memory."""

import mmap
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, final, overload
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from clew.arrays.mapped_files import return_free_memory
from clew.graph.string_array import StringArray
from clew.models.threads import worker_count

ValueT = TypeVar("ValueT")
RESIDENT_BYTES = 64 << 20
"""Bytes of the files of segments that stay in memory once they have been read, at most."""
_LEAST_BYTES = 1 << 16  # of an array that is worth a file


class Workspace(Protocol):
    """Keeps the arrays that a merge has finished."""

    @property
    def threads(self) -> int:
        """The number of threads; with one, steps run one after the other."""

    @property
    def resident_bytes(self) -> int:
        """The number of bytes of mapped files that stay resident once read."""

    def keep(self, value: ValueT) -> ValueT:
        """Return an equal value: a record, list or tuple of arrays, or an array. The caller drops the one given."""

    def keep_each(self, values: Sequence[ValueT]) -> Sequence[ValueT]:
        """Return a sequence of values that were kept, whose reader holds one at a time."""

    def release(self) -> None:
        """Give back memory that nobody needs."""


@final
@dataclass(frozen=True, slots=True)
class MemoryWorkspace:
    """Keeps all arrays in memory."""

    threads: int
    resident_bytes: int

    def keep(self, value: ValueT) -> ValueT:
        """Return the value itself."""
        return value

    def keep_each(self, values: Sequence[ValueT]) -> Sequence[ValueT]:
        """Return the values themselves."""
        return values

    def release(self) -> None:
        """Give back memory that is free inside the process."""
        return_free_memory()


def usual_workspace() -> MemoryWorkspace:
    """Return a workspace without a limit: all threads, all arrays in memory."""
    return MemoryWorkspace(worker_count(), RESIDENT_BYTES)


@final
class FileWorkspace:
    """Keeps arrays in files of a temporary folder, mapped, so that memory holds what is being read.

    Attributes:
        threads: One, since each further step at a time takes memory.
        resident_bytes: Bytes of a sequence that are read before the memory of what was read is given back.
        written_bytes: Bytes of all arrays that were written.
    """

    threads = 1

    def __init__(self, folder: Path, resident_bytes: int) -> None:
        self.resident_bytes = resident_bytes
        self.written_bytes = 0
        self._folder = folder
        self._files = 0
        self._mappings: WeakSet[mmap.mmap] = WeakSet()

    def keep(self, value: ValueT) -> ValueT:
        """Return a value whose large arrays are mapped from files; memory of those kept before is given back."""
        kept: ValueT = _map_arrays(value, self._write)
        self.release()
        return kept

    def keep_each(self, values: Sequence[ValueT]) -> Sequence[ValueT]:
        """Return the values; the memory of those read before is given back from time to time."""
        return _ReleasingSequence(values, self)

    def release(self) -> None:
        """Give back the memory of mapped arrays, which stay valid, and what is free inside the process."""
        for mapping in list(self._mappings):
            if sys.platform != "win32":  # which has nothing like it
                mapping.madvise(mmap.MADV_DONTNEED)
        return_free_memory()

    def _write(self, array: NDArray[Any]) -> NDArray[Any]:
        if (mapping := _mapping_of(array)) is not None:
            self._mappings.add(mapping)
        if mapping is not None or array.nbytes < _LEAST_BYTES or 0 in array.strides:
            return array
        file = self._folder / f"{self._files}"
        self._files += 1
        self.written_bytes += array.nbytes
        with file.open("w+b") as stream:
            np.ascontiguousarray(array).tofile(stream)
            stream.flush()
            mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        self._mappings.add(mapping)
        return np.frombuffer(mapping, array.dtype).reshape(array.shape)


@final
class _ReleasingSequence(Sequence[ValueT], Generic[ValueT]):
    def __init__(self, values: Sequence[ValueT], workspace: FileWorkspace) -> None:
        self._values = values
        self._workspace = workspace
        self._read = 0  # bytes since memory was last given back

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, index: int) -> ValueT: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ValueT]: ...
    def __getitem__(self, index: int | slice) -> ValueT | Sequence[ValueT]:
        if isinstance(index, slice):
            return self._values[index]
        if self._read > self._workspace.resident_bytes:
            self._workspace.release()
            self._read = 0
        value = self._values[index]
        self._read += _count_bytes(value)
        return value


def _map_arrays(value: Any, change: Any) -> Any:
    """Return a value with each array in it changed."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, StringArray):
        return StringArray(change(value.data), change(value.offsets))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _map_arrays(getattr(value, field.name), change) for field in fields(value)}
        return replace(value, **parts)
    if isinstance(value, list):
        return [_map_arrays(part, change) for part in value]
    if isinstance(value, tuple):
        changed = [_map_arrays(part, change) for part in value]
        return type(value)(*changed) if hasattr(value, "_fields") else tuple(changed)
    return value


def _count_bytes(value: Any) -> int:
    sizes: list[int] = []
    _map_arrays(value, lambda array: sizes.append(array.nbytes))
    return sum(sizes)


def _mapping_of(array: NDArray[Any]) -> mmap.mmap | None:
    """Return the mapped file that an array lies in."""
    base = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    return base.obj if isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap) else None
