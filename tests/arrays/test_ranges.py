"""Ranges written out as numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.arrays import expand_ranges


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4)), max_size=8))
def test_ranges_are_written_one_after_the_other(ranges: list[tuple[int, int]]) -> None:
    starts, sizes = np.array(ranges, dtype=np.int32).reshape(-1, 2).T
    numbers, owners = expand_ranges(starts, sizes)
    assert numbers.tolist() == [start + i for start, size in ranges for i in range(size)]
    assert owners.tolist() == [position for position, (_, size) in enumerate(ranges) for _ in range(size)]
    assert numbers.dtype == owners.dtype == np.int64
