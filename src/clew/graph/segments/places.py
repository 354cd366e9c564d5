"""Places of passages: the number of a segment << `ROW_BITS` | a row in it, as int64."""

from collections.abc import Sequence

import numpy as np

from clew.arrays import LongArray

ROW_BITS = 32
ROW_MASK = (1 << ROW_BITS) - 1


def make_places(sizes: Sequence[int]) -> LongArray:
    """Return the places (p,) of all p rows of segments of these sizes, segment by segment."""
    parts = [np.arange(size, dtype=np.int64) | number << ROW_BITS for number, size in enumerate(sizes)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
