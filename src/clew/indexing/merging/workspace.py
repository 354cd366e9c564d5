"""The workspace of a merge: how many threads it takes, and what it moves to files to keep a budget of memory.

A merge with all its arrays in memory is the fastest; one that moves what is finished to files takes about half. What is
needed follows from the counts of the segments: of texts (names, words, relations), of which there is one copy, and of
entries (mentions, triples, terms of passages and of sentences).
"""

import math
import mmap
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, final
from weakref import WeakSet

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clew.arrays import HashArray
from clew.arrays.mapped_files import return_free_memory
from clew.errors import InputError
from clew.graph.segments.segment import CollisionError, Segment
from clew.graph.string_array import StringArray
from clew.indexing.segments.store import LazySequence, OpenedSegments, SegmentFile, ensure_segments
from clew.models.threads import worker_count
from clew.store.atomic import temporary_folder
from clew.store.kg_shards import stored_graphs
from clew.store.passage_table import PassageTable
from clew.types import Progress

ValueT = TypeVar("ValueT")
RESIDENT_BYTES = 64 << 20
"""Bytes of the files of segments that stay in memory once they have been read, at most."""
_LEAST_BYTES = 1 << 16  # of an array that is worth a file


@final
class Workspace:
    """Keeps the arrays that a merge has finished: in memory, or in files of a temporary folder.

    Those in files are mapped, so that memory holds what is being read.

    Attributes:
        threads: Number of threads; with files one, since each further step at a time takes memory.
        resident_bytes: Bytes of a sequence that are read before the memory of what was read is given back.
        written_bytes: Bytes of all arrays that were written.
    """

    def __init__(self, folder: Path | None = None, resident_bytes: int = RESIDENT_BYTES) -> None:
        self.threads = worker_count() if folder is None else 1
        self.resident_bytes = resident_bytes
        self.written_bytes = 0
        self._folder = folder
        self._files = 0
        self._mappings: WeakSet[mmap.mmap] = WeakSet()

    def keep(self, value: ValueT) -> ValueT:
        """Return an equal value: a record, list or tuple of arrays, or an array; the caller drops the one given.

        Its large arrays are mapped from files, where there is a folder; memory of those before is given back.
        """
        if self._folder is None:
            return value
        kept: ValueT = _map_arrays(value, self._write)
        self.release()
        return kept

    def keep_each(self, values: Sequence[ValueT]) -> Sequence[ValueT]:
        """Return values that were kept, whose reader holds one at a time: memory of those before is given back."""
        if self._folder is None:
            return values
        read_bytes = 0  # since memory was last given back

        def read(number: int) -> ValueT:
            nonlocal read_bytes
            if read_bytes > self.resident_bytes:
                self.release()
                read_bytes = 0
            value = values[number]
            read_bytes += _count_bytes(value)
            return value

        return LazySequence(len(values), read)

    def release(self) -> None:
        """Give back the memory of mapped arrays, which stay valid, and what is free inside the process."""
        for mapping in list(self._mappings):
            if sys.platform != "win32":  # which has nothing like it
                mapping.madvise(mmap.MADV_DONTNEED)
        return_free_memory()

    def _write(self, array: NDArray[Any]) -> NDArray[Any]:
        assert self._folder is not None
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


MERGE_PROCESS_BYTES = 400_000_000
"""Memory of a process with its libraries, its encoder, the segments being read, and compiled code being prepared."""
GRAPH_TRIPLE_BYTES = 190
"""Memory of a triple of an imported graph while it is read and merged, measured with ten million."""
_TEXT_BYTES, _ENTRY_BYTES = 60, 16  # of a merge in memory, measured: 80 to 95% of this
_THREAD_BYTES = 100_000_000  # of several threads that work at once
_LEAST_TEXT_BYTES, _LEAST_ENTRY_BYTES = 30, 8  # of one with files
_SAMPLE = 64  # distinct texts are counted in this share of all hashes
_LEAST_RESIDENT = 16 << 20


@final
@dataclass(frozen=True, slots=True)
class MergeNeeds:
    """The bytes that a process takes for a merge."""

    in_memory: int  # with all arrays in memory
    least: int  # with what is finished in files


def measure_needs(segments: Sequence[Segment], graph_triples: int = 0) -> MergeNeeds:
    """Return what the merge of segments takes."""
    names = _count_distinct([segment.names.keys.hashes for segment in segments])
    vocabularies: tuple[Callable[[Segment], HashArray], ...] = (
        lambda segment: segment.names.forms.hashes,
        lambda segment: segment.facts.relations.hashes,
        lambda segment: segment.tokens.vocabulary.hashes,
        lambda segment: segment.terms.hashes,
    )
    texts = names + sum(_count_distinct([hashes(segment) for segment in segments]) for hashes in vocabularies)
    entries = sum(map(_count_entries, segments))
    in_memory = _TEXT_BYTES * texts + _ENTRY_BYTES * entries
    least = _LEAST_TEXT_BYTES * texts + _LEAST_ENTRY_BYTES * entries
    other = MERGE_PROCESS_BYTES + GRAPH_TRIPLE_BYTES * graph_triples
    return MergeNeeds(other + _THREAD_BYTES + in_memory, other + least)


def check_merge_memory(table: PassageTable, memory: int, progress: Progress) -> MergeNeeds:
    """Return what the merge of a version takes.

    Raises:
        InputError: The budget, in bytes, is lower than the least that it takes.
    """
    segments = OpenedSegments(_ensure_segments(table, progress), RESIDENT_BYTES)
    triples = sum(graph.triples for graph in stored_graphs(table.iter_shards(["metadata"])))
    needs = measure_needs(segments, triples)
    if memory < needs.least:
        raise InputError(
            f"--memory is {memory / 10**6:.0f}MB, and the merge of {sum(map(len, segments)):,} passages takes "
            f"at least {math.ceil(needs.least / 10**6)}MB: give that; what was committed is kept, and is not done again"
        )
    return needs


@contextmanager
def merge_workspace(table: PassageTable, memory: int, progress: Progress) -> Iterator[Workspace]:
    """Yield the workspace of a merge of a version that keeps a budget of bytes, 0 for none.

    Raises:
        InputError: The budget is lower than the least that the merge takes.
    """
    needs = check_merge_memory(table, memory, progress) if memory else None
    if needs is None or memory >= needs.in_memory:
        yield Workspace()
        return
    return_free_memory()
    pa.default_memory_pool().release_unused()
    share = (memory - needs.least) // 4
    with temporary_folder(table.location.derived / "merge") as folder:
        yield Workspace(folder, min(RESIDENT_BYTES, _LEAST_RESIDENT + share))


def _ensure_segments(table: PassageTable, progress: Progress, salt: int = 0) -> list[SegmentFile]:
    try:
        return ensure_segments(table, progress, salt)
    except CollisionError:
        return _ensure_segments(table, progress, salt + 1)


def _count_entries(segment: Segment) -> int:
    lists = segment.facts.mentions, segment.facts.triples, segment.sentences.terms
    return sum(len(part.values) for part in lists) + len(segment.terms.terms)


def _count_distinct(parts: Sequence[HashArray]) -> int:
    """Return about how many distinct hashes there are in ascending lists, without reading more than a share of them."""
    limit = np.uint64(2**64 // _SAMPLE)
    sampled = [part[: part.searchsorted(limit)] for part in parts]
    return _SAMPLE * len(np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *sampled])))
