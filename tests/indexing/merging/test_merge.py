"""The arrays of a snapshot, merged from segments, are those that Python objects give, however passages are divided."""

from dataclasses import fields
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.csr import Adjacency
from clew.graph.string_array import StringArray
from clew.indexing.merging.merge import MergedArrays, merge_segments
from clew.indexing.segments.maker import make_segment
from clew.store.schema import PassageRow
from tests.indexing.merging.corpora import corpora
from tests.indexing.segments.rows import passage_rows, stored_table
from tests.oracles.snapshots import plain_form, plain_snapshot


def merge_rows(parts: list[list[PassageRow]], salt: int = 0) -> MergedArrays:
    return merge_segments([make_segment(stored_table(part, 0), 0, salt) for part in parts], None, salt)


def content(arrays: MergedArrays) -> dict[str, bytes]:
    """Return the bytes of every array that does not say where passages lie."""
    parts: dict[str, bytes] = {}
    for field in fields(MergedArrays):
        value = getattr(arrays, field.name)
        names = {StringArray: ("data", "offsets"), Adjacency: ("indptr", "indices", "weights")}.get(type(value), ())
        for name in names:
            parts[f"{field.name}.{name}"] = _bytes(getattr(value, name))
        if not names and field.name != "places":
            parts[field.name] = _bytes(value)
    return parts


def _bytes(array: np.ndarray) -> bytes:
    return f"{array.dtype} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes()


@given(rows=passage_rows() | corpora(), salt=st.sampled_from((0, 5)))
def test_a_merge_gives_what_python_objects_give(rows: list[PassageRow], salt: int) -> None:
    table = stored_table(rows, 0)
    assert plain_form(merge_rows([rows], salt)) == plain_snapshot(table.to_pylist(), None, salt)


@given(rows=passage_rows() | corpora(), data=st.data())
def test_equal_passages_give_equal_bytes_however_they_are_divided(rows: list[PassageRow], data: st.DataObject) -> None:
    whole = content(merge_rows([rows]))
    part_of = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    parts = [[row for row, part in zip(rows, part_of, strict=True) if part == number] for number in range(4)]
    Random(len(rows)).shuffle(parts)
    assert content(merge_rows([part for part in parts if part])) == whole
