"""A segment after deletions is the segment that the passages left would have made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.segments.flat import flatten_arrays, unflatten_arrays
from clew.graph.segments.segment import Segment
from clew.indexing.segments.maker import make_segment
from clew.indexing.segments.selection import select_rows
from clew.store.schema import PassageRow
from tests.indexing.segments.rows import WIDTH, passage_rows, stored_table


def assert_equal_bytes(one: Segment, other: Segment) -> None:
    left, right = flatten_arrays(one), flatten_arrays(other)
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert (array.dtype, array.shape) == (right[name].dtype, right[name].shape), name
        assert array.tobytes() == right[name].tobytes(), name


@given(rows=passage_rows(), data=st.data(), dimension=st.sampled_from((0, WIDTH)))
@pytest.mark.slow
def test_a_selection_is_the_segment_of_its_rows(rows: list[PassageRow], data: st.DataObject, dimension: int) -> None:
    table = stored_table(rows, dimension)
    kept = np.array(sorted(data.draw(st.sets(st.integers(0, max(len(rows) - 1, 0))))), dtype=np.int64)[: len(rows)]
    segment = make_segment(table, dimension)
    ids = [segment.passages.ids[int(position)] for position in kept]
    wanted = table.filter([id_ in ids for id_ in table["id"].to_pylist()]) if len(rows) else table
    assert_equal_bytes(select_rows(segment, kept), make_segment(wanted, dimension))


@given(rows=passage_rows(), data=st.data())
@pytest.mark.slow
def test_the_order_of_rows_does_not_matter(rows: list[PassageRow], data: st.DataObject) -> None:
    table = stored_table(rows)
    order = data.draw(st.permutations(range(len(rows))))
    assert_equal_bytes(make_segment(table.take(np.array(order, dtype=np.int64)), WIDTH), make_segment(table, WIDTH))


@given(rows=passage_rows())
@pytest.mark.slow
def test_a_segment_is_its_named_arrays(rows: list[PassageRow]) -> None:
    segment = make_segment(stored_table(rows), WIDTH)
    assert_equal_bytes(unflatten_arrays(Segment, flatten_arrays(segment), "a file"), segment)
