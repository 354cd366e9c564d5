"""Columns read by place, whichever way the passages lie in segments."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.arrays import FloatArray
from clew.graph.segments.passage_columns import PassageColumns, PassageVectors, StoredPassages
from clew.graph.segments.sentence_columns import make_places
from clew.graph.string_array import StringArray
from tests.built_snapshots import stored_sentences

TEXTS = ("", "Fram", "🚢 left", "卡尔", "e\u0301", "x" * 40, "Oslo")
VECTORS = np.random.default_rng(3).normal(size=(len(TEXTS), 37)).astype(np.float32)


def store(numbers: list[int]) -> StoredPassages:
    texts = StringArray.pack(TEXTS[number] for number in numbers)
    places = np.array(numbers, dtype=np.int64)
    return StoredPassages(
        texts, texts, texts, texts, places, places + 5, VECTORS[numbers], stored_sentences(len(numbers))
    )


def divide(sizes: list[int], order: list[int]) -> PassageColumns:
    """Return all passages in order of their numbers, lying in segments of some sizes, in some order."""
    bounds = np.minimum(np.cumsum([0, *sizes, len(TEXTS)]), len(TEXTS)).tolist()
    parts = [order[a:b] for a, b in pairwise(bounds)]
    places = make_places([len(part) for part in parts])
    return PassageColumns([store(part) for part in parts], places[np.argsort(order)])


@given(sizes=st.lists(st.integers(0, 4), max_size=5), order=st.permutations(range(len(TEXTS))))
def test_how_passages_lie_in_segments_does_not_show(sizes: list[int], order: list[int]) -> None:
    columns = divide(sizes, order)
    for strings in (columns.titles, columns.texts, columns.metadata, columns.document_ids):
        assert tuple(strings) == TEXTS
        assert [strings[i] for i in range(-len(TEXTS), len(TEXTS))] == [*TEXTS, *TEXTS]
        assert strings[1:4] == list(TEXTS[1:4])
    assert list(columns.starts) == list(range(len(TEXTS)))
    assert columns.ends[2:] == [7, 8, 9, 10, 11]
    assert columns.vectors.shape == VECTORS.shape
    np.testing.assert_array_equal(columns.vectors.rows(np.array([3, 0, 3])), VECTORS[[3, 0, 3]])
    assert columns.vectors.similarities(VECTORS[0]).tobytes() == similarities(VECTORS[0]).tobytes()


def similarities(vector: FloatArray) -> FloatArray:
    found = PassageVectors.from_matrix(VECTORS).similarities(vector)
    np.testing.assert_allclose(found, VECTORS @ vector, rtol=1e-5, atol=1e-5)
    return found


@pytest.mark.parametrize("position", [7, -8])
def test_a_position_outside_is_an_error(position: int) -> None:
    with pytest.raises(IndexError):
        divide([3], list(range(7))).texts[position]


def test_columns_may_have_no_passage() -> None:
    columns = PassageColumns([], make_places([]))
    assert not list(columns.texts)
    assert not list(columns.starts)
    assert columns.vectors.shape == (0, 0)
    assert columns.vectors.rows(np.zeros(0, dtype=np.int64)).shape == (0, 0)
    assert columns.vectors.similarities(np.zeros(0, dtype=np.float32)).shape == (0,)
