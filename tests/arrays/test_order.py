"""Ordering by score, against sorting in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.arrays import expand_ranges, sort_distinct, top_order
from clew.errors import InputError

# Few different values, so that ties are everywhere, at the k-th score too.
tied_scores = st.lists(st.sampled_from([0.0, -0.0, 0.5, 1.0, -2.0, float("inf"), float("-inf")]), max_size=30)
any_scores = st.lists(st.floats(allow_nan=False, width=32), max_size=30)


def sorted_positions(scores: list[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda position: (-scores[position], position))


@given(st.one_of(tied_scores, any_scores), st.integers(1, 35))
def test_top_order_is_the_head_of_a_full_sort(scores: list[float], k: int) -> None:
    order = top_order(np.array(scores, dtype=np.float32), k)
    assert order.dtype == np.int64
    assert order.tolist() == sorted_positions([float(np.float32(score)) for score in scores])[:k]


@pytest.mark.parametrize("count", [2_000, 5_121, 40_000])
@pytest.mark.parametrize("levels", [1, 3, 10_000])
def test_large_arrays_are_ordered_as_by_a_full_sort(count: int, levels: int) -> None:
    scores = np.random.default_rng(count).integers(0, levels, count).astype(np.float32)
    for k in (1, 7, 300):
        assert top_order(scores, k).tolist() == np.argsort(-scores, kind="stable")[:k].tolist()


def test_a_tie_at_the_last_place_keeps_the_first_positions() -> None:
    scores = np.zeros(10_000, dtype=np.float32)
    scores[[17, 9_000]] = 1.0
    assert top_order(scores, 5).tolist() == [17, 9_000, 0, 1, 2]


@pytest.mark.parametrize("k", [1, 3])
def test_nan_is_rejected(k: int) -> None:
    scores = np.array([1.0, np.nan, 2.0])
    with pytest.raises(InputError, match="position 1 is NaN"):
        top_order(scores, k)


def test_invalid_arguments_are_rejected() -> None:
    with pytest.raises(InputError, match="k is 0"):
        top_order(np.array([1.0]), 0)
    with pytest.raises(InputError, match="shape"):
        top_order(np.ones((2, 2)), 1)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4)), max_size=8))
def test_ranges_are_written_one_after_the_other(ranges: list[tuple[int, int]]) -> None:
    starts, sizes = np.array(ranges, dtype=np.int32).reshape(-1, 2).T
    numbers, owners = expand_ranges(starts, sizes)
    assert numbers.tolist() == [start + i for start, size in ranges for i in range(size)]
    assert owners.tolist() == [position for position, (_, size) in enumerate(ranges) for _ in range(size)]
    assert numbers.dtype == owners.dtype == np.int64


@given(st.lists(st.integers(0, 9), max_size=20), st.sampled_from([np.uint64, np.int64, np.int32]))
def test_distinct_numbers_are_those_of_a_set(numbers: list[int], dtype: type) -> None:
    distinct = sort_distinct(np.array(numbers, dtype=dtype))
    assert distinct.dtype == dtype
    assert distinct.tolist() == sorted(set(numbers))
