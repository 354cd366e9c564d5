"""The order of passages in a snapshot, ascending by id, and where each lies in the segments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import IntArray, LongArray
from clew.graph.segments.segment import Segment
from clew.graph.string_array import StringArray
from clew.graph.string_kernels import take_strings


@final
@dataclass(frozen=True, slots=True, eq=False)
class PassageOrder:
    """The P passages of all segments."""

    ids: StringArray  # P, ascending
    places: LongArray  # (P,) number of the segment << 32 | row in it
    positions: Sequence[IntArray]  # for each segment the position of each of its rows among the P


def order_passages(segments: Sequence[Segment]) -> PassageOrder:
    """Return the order of the passages of segments."""
    sizes = [len(segment) for segment in segments]
    bounds = np.cumsum([0, *sizes])
    places = np.concatenate(
        [np.zeros(0, dtype=np.int64), *(number << 32 | np.arange(size) for number, size in enumerate(sizes))]
    )
    if len(segments) == 1:
        return PassageOrder(segments[0].passages.ids, places, [np.arange(sizes[0], dtype=np.int32)])
    joined = _concatenate([segment.passages.ids for segment in segments])
    offsets, data = (pa.py_buffer(np.ascontiguousarray(array)) for array in (joined.offsets, joined.data))
    ids = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(joined), [None, offsets, data])
    order = np.asarray(pc.sort_indices(ids)).astype(np.int64)
    positions = np.empty(len(order), dtype=np.int32)
    positions[order] = np.arange(len(order), dtype=np.int32)
    return PassageOrder(take_strings(joined, order), places[order], np.split(positions, bounds[1:])[:-1])


def _concatenate(parts: Sequence[StringArray]) -> StringArray:
    if not parts:
        return StringArray.pack(())
    bytes_before = np.cumsum([0, *(part.offsets[-1] for part in parts)])
    offsets = [part.offsets[:-1] + before for part, before in zip(parts, bytes_before[:-1], strict=True)]
    return StringArray(np.concatenate([part.data for part in parts]), np.concatenate([*offsets, bytes_before[-1:]]))
