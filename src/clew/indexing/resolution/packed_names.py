"""Names as packed strings: sorted and compared without a Python object for each."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import LongArray
from clew.graph.string_array import StringArray


def count_distinct_names(names: Sequence[str]) -> int:
    """Return how many of the names differ."""
    return len(_to_arrow(names).unique()) if isinstance(names, StringArray) else len(set(names))


def rank_names(names: Sequence[str]) -> LongArray:
    """Return for each of n distinct names its place (n,) among them in the order of code points."""
    ranks = np.empty(len(names), dtype=np.int64)
    if isinstance(names, StringArray):  # the bytes of UTF-8 have the order of code points
        order = np.asarray(pc.sort_indices(_to_arrow(names)))
    else:
        order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    ranks[order] = np.arange(len(names))
    return ranks


def first_rows(names: StringArray) -> LongArray:
    """Return the first position (d,) of each of d distinct names, ascending."""
    numbers = _to_arrow(names).dictionary_encode().indices.to_numpy()
    rows: LongArray = np.sort(np.unique(numbers, return_index=True)[1])
    return rows


def _to_arrow(names: StringArray) -> pa.Array:
    buffers = [None, *(pa.py_buffer(np.ascontiguousarray(part)) for part in (names.offsets, names.data))]
    return pa.Array.from_buffers(pa.large_binary(), len(names), buffers)
