"""A segment holds exactly what its passages give on their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.segments.segment import CollisionError
from clew.indexing.segments import vocabularies
from clew.indexing.segments.maker import make_segment
from clew.store.schema import PassageRow
from clew.text import token_arrays
from clew.text.bm25 import count_terms
from clew.text.page_text import blank_unread
from tests.indexing.segments.rows import WIDTH, passage_rows, stored_table
from tests.oracles.segments import check_vocabularies, passage_content, segment_content


@given(rows=passage_rows(), dimension=st.sampled_from((0, WIDTH)), salt=st.sampled_from((0, 1, 7)))
@pytest.mark.slow
def test_a_segment_holds_what_each_passage_gives(rows: list[PassageRow], dimension: int, salt: int) -> None:
    table = stored_table(rows, dimension)
    expected = [passage_content(row, salt) for row in sorted(table.to_pylist(), key=lambda row: str(row["id"]))]
    segment = make_segment(table, dimension, salt)
    assert len(segment) == len(rows)
    assert segment_content(segment) == expected
    check_vocabularies(segment, expected, salt)


@given(rows=passage_rows())
@pytest.mark.slow
def test_terms_are_those_that_bm25_counts(rows: list[PassageRow]) -> None:
    segment = make_segment(stored_table(rows), WIDTH)
    wanted = count_terms(f"{row.title}\n{blank_unread(row.text)}" for row in sorted(rows, key=lambda row: row.id))
    for name in ("hashes", "indptr", "terms", "counts", "lengths"):
        actual, expected = getattr(segment.terms, name), getattr(wanted, name)
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)


def test_two_names_with_one_hash_are_a_collision(monkeypatch: pytest.MonkeyPatch) -> None:
    real = token_arrays.key_hashes
    monkeypatch.setattr(vocabularies, "key_hashes", lambda keys, salt: real(keys, salt) & np.uint64(7))
    row = PassageRow("a#0", "a", 0, "Fram", "one two three four five six seven eight nine", 0, 44, extractor="rules")
    with pytest.raises(CollisionError, match="salt 3"):
        make_segment(stored_table([row], 0), 0, 3)
