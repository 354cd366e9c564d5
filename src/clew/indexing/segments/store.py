"""The segments of an index on disk: made where they are missing, from the table alone, and discarded out of use.

Sequences of what some segments hold, read one after the other, so that memory holds no more than one.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar, final, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import LongArray
from clew.graph.segments.flat import flatten_arrays, unflatten_arrays
from clew.graph.segments.segment import Segment
from clew.indexing.segments.maker import make_segment
from clew.indexing.segments.selection import select_rows
from clew.indexing.segments.vocabularies import to_arrow
from clew.store.array_file import ArrayFile, map_arrays, write_arrays
from clew.store.atomic import remove_leftovers
from clew.store.passage_table import PassageTable
from clew.store.segment_files import (
    FragmentState,
    discard_segments,
    find_intact,
    find_siblings,
    note_as_intact,
    segments_folder,
)
from clew.types import Progress

if TYPE_CHECKING:
    from lance.fragment import FragmentMetadata


SourceT = TypeVar("SourceT")
PartT = TypeVar("PartT")


class LazySequence(Sequence[PartT]):
    """A sequence of `count` items that a function reads whenever one is asked for, by its number from 0."""

    def __init__(self, count: int, read: Callable[[int], PartT]) -> None:
        self._count = count
        self._read = read

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> PartT: ...
    @overload
    def __getitem__(self, index: slice) -> list[PartT]: ...
    def __getitem__(self, index: int | slice) -> PartT | list[PartT]:
        numbers = range(len(self))[index]
        return self._read(numbers) if isinstance(numbers, int) else [self._read(number) for number in numbers]


@final
@dataclass(frozen=True, slots=True)
class SegmentFile:
    """The file of a segment."""

    path: Path

    @property
    def name(self) -> str:
        """The file's name, which tells from what the segment was made."""
        return self.path.name

    def open(self) -> Segment:
        """Map the segment into memory; a damaged file is an IndexFormatError."""
        return unflatten_arrays(Segment, map_arrays(self.path), self.name)


@final
class OpenedSegments(LazySequence[Segment]):
    """The segments in some files, each mapped when it is first read.

    The memory of those read last is kept, up to `resident_bytes`; that of the others is given back, so that a pass over
    all segments takes no more than that. Several threads may read at once.
    """

    def __init__(self, files: Sequence[SegmentFile], resident_bytes: int) -> None:
        super().__init__(len(files), self._open)
        self.resident_bytes = resident_bytes
        self._files = files
        self._segments: list[Segment | None] = [None] * len(files)
        self._mapped: dict[int, ArrayFile] = {}
        self._resident: OrderedDict[int, int] = OrderedDict()  # number -> bytes, the one read last at the end
        self._resident_bytes = 0
        self._lock = Lock()

    def _open(self, number: int) -> Segment:
        with self._lock:
            segment = self._segments[number]
            if segment is None:
                self._mapped[number] = ArrayFile.open(self._files[number].path)
                segment = unflatten_arrays(Segment, self._mapped[number].arrays, self._files[number].name)
                self._segments[number] = segment
            self._note_read(number)
        return segment

    def _note_read(self, number: int) -> None:
        if number not in self._resident:
            self._resident[number] = self._mapped[number].size
            self._resident_bytes += self._mapped[number].size
        self._resident.move_to_end(number)
        while len(self._resident) > 1 and self._resident_bytes > self.resident_bytes:
            oldest, size = self._resident.popitem(last=False)
            self._mapped[oldest].release_memory()
            self._resident_bytes -= size


def ensure_segments(table: PassageTable, progress: Progress, salt: int = 0) -> list[SegmentFile]:
    """Return the files of the segments of a version that have passages, in the order of its fragments.

    Those that are missing or damaged are made, those that no snapshot and no fragment needs any more are discarded.
    Damaged rows in the table are an IndexFormatError, two texts with one hash under the salt a CollisionError.
    """
    folder = segments_folder(table.location.derived)
    fragments = {fragment.segment_name(salt): fragment for fragment in table.fragments()}
    missing = fragments.keys() - find_intact(folder, fragments)
    for done, name in enumerate(sorted(missing)):
        progress("reading passages", done, len(missing))
        fragment = fragments[name]
        segment = _select_from_older(table, fragment, salt)
        if segment is None:
            segment = make_segment(table.read_fragment(fragment), table.dimension, salt)
        write_arrays(folder / name, flatten_arrays(segment), is_named=True)
    if missing:
        note_as_intact(folder, missing)
    if table.is_newest:  # an older reader does not know what the newest version needs
        discard_segments(folder, list(fragments))
    remove_leftovers(folder)
    files = [SegmentFile(folder / name) for name in fragments]
    return [file for file in files if len(file.open())]


def write_segment(derived: Path, fragment: "FragmentMetadata", rows: pa.Table, salt: int = 0) -> SegmentFile:
    """Write the segment of a fragment that was just written to a table, and may not be committed yet.

    `rows` are those of the fragment without shards of graphs, with `document_rows`; `derived` is the folder of the
    index's derived data. A fault in the fragment's name only wastes the work: the segment is made again from the table.
    """
    dimension = rows["vector"].type.list_size if "vector" in rows.column_names else 0
    file = SegmentFile(segments_folder(derived) / FragmentState.read(fragment).segment_name(salt))
    write_arrays(file.path, flatten_arrays(make_segment(rows, dimension, salt)), is_named=True)
    return file


def _select_from_older(table: PassageTable, fragment: FragmentState, salt: int) -> Segment | None:
    """Return the segment of a fragment as the rest of one of an earlier state; None where there is none."""
    if not fragment.deletions:
        return None
    folder = segments_folder(table.location.derived)
    for name in sorted(find_intact(folder, find_siblings(folder, fragment, salt))):
        older = SegmentFile(folder / name).open()
        kept = _positions(table.read_fragment(fragment, ["id"])["id"].combine_chunks(), older)
        if kept is not None:
            return select_rows(older, kept)
    return None


def _positions(ids: pa.StringArray, segment: Segment) -> LongArray | None:
    """Return the ascending positions of ids among those of a segment, None where it lacks one."""
    positions = pc.index_in(ids.cast(pa.large_string()), value_set=to_arrow(segment.passages.ids))
    if positions.null_count:
        return None
    return np.sort(positions.to_numpy().astype(np.int64))


def read_parts(sources: Sequence[SourceT], part: Callable[[SourceT], PartT]) -> LazySequence[PartT]:
    """Return something of each of some segments, or of other sources, taken whenever it is read."""
    return LazySequence(len(sources), lambda number: part(sources[number]))


def chain_parts(*sequences: Sequence[PartT]) -> LazySequence[PartT]:
    """Return the parts of several sequences, one sequence after the other, each read whenever it is asked for."""
    places = [(sequence, position) for sequence in sequences for position in range(len(sequence))]
    return LazySequence(len(places), lambda number: places[number][0][places[number][1]])
