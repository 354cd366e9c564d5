"""Intervals and p-values, against scipy.stats and against every sign pattern written out."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from clew.errors import InputError
from clew.evaluation.significance import compare_means, mean_interval, mean_intervals, randomisation_p


def generator() -> np.random.Generator:
    return np.random.default_rng(7)


def test_the_interval_agrees_with_scipy() -> None:
    values = generator().random(200) ** 2
    low, high = mean_interval(values, generator(), resamples=20_000)
    trusted = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", batch=500, rng=generator())
    width = high - low
    assert low == pytest.approx(trusted.confidence_interval.low, abs=0.03 * width)
    assert high == pytest.approx(trusted.confidence_interval.high, abs=0.03 * width)


def test_measures_share_their_resamples_and_batches_do_not_matter() -> None:
    values = generator().random((2_500, 2))
    both = mean_intervals(values, generator(), resamples=150)
    assert both.shape == (2, 2)
    for column in range(2):
        assert mean_interval(values[:, column], generator(), resamples=150) == pytest.approx(tuple(both[column]))
    random = generator()  # the resamples drawn one by one, with the same generator
    means = [values[random.integers(0, 2_500, 2_500), 0].mean() for _ in range(150)]
    assert tuple(both[0]) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_values_that_never_vary_give_an_interval_of_no_width() -> None:
    assert mean_interval(np.full(50, 0.3), generator()) == pytest.approx((0.3, 0.3))
    assert mean_interval(np.array([0.3]), generator()) == pytest.approx((0.3, 0.3))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.1, 0.2, 0.3, 1.0]), min_size=1, max_size=9))
def test_few_differences_are_tested_exactly(differences: list[float]) -> None:
    observed = abs(sum(differences))
    patterns = list(itertools.product([-1, 1], repeat=len(differences)))
    extreme = 0
    for signs in patterns:
        total = sum(sign * difference for sign, difference in zip(signs, differences, strict=True))
        extreme += abs(total) >= observed - 1e-9
    p = randomisation_p(np.array(differences), generator(), resamples=512)
    assert p == pytest.approx(extreme / len(patterns))


def test_the_exact_test_tries_every_pattern_once_over_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.evaluation.significance._CELLS", 300)
    differences = generator().normal(0.2, 1.0, 10)
    sums = [abs(sum(pair)) for pair in itertools.product(*([value, -value] for value in differences))]
    extreme = sum(total >= sums[0] - 1e-9 for total in sums)
    assert randomisation_p(differences, generator(), resamples=2**10) == pytest.approx(extreme / 2**10)


def test_many_differences_agree_with_scipy() -> None:
    differences = generator().normal(0.1, 1.0, 150)
    p = randomisation_p(differences, generator(), resamples=20_000)
    trusted = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=4_000,
        batch=500,
        vectorized=True,
        rng=generator(),
    )
    assert 0.05 < trusted.pvalue < 0.6
    assert p == pytest.approx(trusted.pvalue, abs=0.03)


def test_a_clear_difference_has_the_smallest_p_and_it_is_not_zero() -> None:
    assert randomisation_p(np.ones(100), generator(), resamples=999) == pytest.approx(1 / 1_000)
    assert randomisation_p(np.zeros(100), generator()) == 1.0


def test_two_systems_are_compared_question_by_question() -> None:
    base = generator().random(300)
    better = np.clip(base + 0.05, 0, 1)
    result = compare_means(("new", "old"), "recall@5", better, base, generator())
    assert (result.a, result.b, result.measure) == ("new", "old", "recall@5")
    assert 0.04 < result.low < result.difference < result.high < 0.06
    assert result.p < 0.001
    back = compare_means(("old", "new"), "recall@5", base, better, generator())
    assert (back.difference, back.low, back.high) == pytest.approx((-result.difference, -result.high, -result.low))
    assert back.p == result.p


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="no values"):
        mean_interval(np.array([]), generator())
    with pytest.raises(InputError, match="NaN"):
        mean_interval(np.array([np.nan]), generator())
