"""Measures of knowledge graph question answering, and Wilcoxon's test against every pattern of signs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from clew.errors import InputError
from clew.evaluation.significance import Comparison, compare_means, mean_interval
from clew.types import Path, Triple
from clew_lab.evaluation.kgqa_metrics import (
    answer_coverage,
    first_triples,
    gold_paths_in,
    hits_at_1,
    path_entity_names,
    path_recall,
    triples_cover_answer,
    wilcoxon,
)

SPOUSE, CHILD, BORN = Triple("Ada", "spouse", "Bo"), Triple("Carl", "child", "Bo"), Triple("Ada", "born in", "Vardø")
Values = NDArray[np.float64]
PATHS: tuple[Path, ...] = ((SPOUSE, CHILD), (BORN,), (SPOUSE,))


def compare(
    names: tuple[str, str], measure: str, first: Values, second: Values, generator: np.random.Generator
) -> Comparison:
    return compare_means(names, measure, first, second, generator, test=wilcoxon)


def generator() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize(
    ("answer", "gold", "value"),
    [
        ("Oslo", ["Bergen", "Oslo"], 1),
        ("oslo.", ["Oslo"], 1),
        ("The Elephant Man", ["elephant man"], 1),
        ("Oslo, Norway", ["Oslo"], 0),
        ("ＯＳＬＯ", ["Oslo"], 1),
        ("Vardo", ["Vardø"], 0),
        ("", ["Oslo"], 0),
        ("", [""], 0),
        ("Oslo", [], 0),
    ],
)
def test_a_hit_is_a_gold_answer_after_normalization(answer: str, gold: list[str], value: int) -> None:
    assert hits_at_1(answer, gold) == value
    assert isinstance(hits_at_1(answer, gold), float)


def test_coverage_by_any_name() -> None:
    assert answer_coverage(["Bergen", "OSLO"], ["Oslo", "Vardø"]) == 1.0
    assert answer_coverage(iter(["Bergen", "Vardo"]), ["Oslo", "Vardø"]) == 0.0
    assert answer_coverage([], ["Oslo"]) == answer_coverage(["Oslo"], []) == 0.0


def test_path_entities_are_distinct_and_in_order() -> None:
    assert path_entity_names(PATHS, ["Ada"]) == ["Ada", "Bo", "Carl", "Vardø"]
    assert path_entity_names(PATHS[1:2], ["Vardø"]) == ["Vardø", "Ada"]
    assert path_entity_names([], ["Ada"]) == []


def test_path_recall() -> None:
    gold = [("Ada", "spouse", "Bo"), ("Carl", "child", "Bo")]
    assert path_recall(PATHS, [gold]) == 1.0
    assert path_recall(PATHS, [gold, gold[::-1]]) == 0.5, "in the order in which it is walked"
    assert path_recall(PATHS, [gold[:1], gold[1:]]) == 0.5, "a part of a path is another path"
    assert path_recall(PATHS, [[("Bo", "spouse", "Ada")]]) == 0.0
    assert path_recall([], [gold]) == 0.0
    listed = [["Ada", "born in", "Vardø"]]
    assert path_recall(PATHS, [listed]) == 1.0  # type: ignore[list-item]
    marked = (Triple("Ada", "born in", "Vardø", ("passage",)),)
    assert path_recall([marked], [[("Ada", "born in", "Vardø")]]) == 1.0


def test_without_gold_paths_there_is_nothing_to_recall() -> None:
    assert math.isnan(path_recall(PATHS, []))
    assert math.isnan(path_recall([], []))


def test_first_triples_are_distinct_and_the_best_paths_first() -> None:
    assert first_triples(PATHS, 20) == [SPOUSE, CHILD, BORN]
    assert first_triples(PATHS, 2) == [SPOUSE, CHILD]
    again = Triple("A. Lind", "spouse", "Bo", ("passage",), "Ada")
    assert first_triples([(SPOUSE,), (again, CHILD)], 2) == [SPOUSE, CHILD], "a fact counts once, however it is written"
    assert first_triples([PATHS[0]], 1) == [SPOUSE], "a path may be cut"
    assert first_triples(PATHS, 0) == first_triples([], 3) == []


def test_paths_of_equally_many_triples_are_compared() -> None:
    """Coverage by nine paths stood beside coverage by 32, and of paths of any length."""
    gold = [("Ada", "spouse", "Bo"), ("Carl", "child", "Bo")]
    assert triples_cover_answer(first_triples(PATHS, 2), ["carl"]) == 1.0
    assert triples_cover_answer(first_triples(PATHS, 2), ["Vardø"]) == 0.0
    assert gold_paths_in([CHILD, SPOUSE], [gold]) == 1.0, "in any order"
    assert gold_paths_in([SPOUSE], [gold]) == 0.0
    assert gold_paths_in([SPOUSE], [gold, gold[:1]]) == 0.5
    assert math.isnan(gold_paths_in([SPOUSE], []))
    assert triples_cover_answer([], ["Carl"]) == 0.0


def signed_ranks(differences: list[float]) -> tuple[float, float, float]:
    """Return the sum of the positive ranks, and its mean and deviation over all patterns of signs, without zeros."""
    nonzero = [abs(d) for d in differences if d]
    ranks = [
        sum(other < one for other in nonzero) + (sum(other == one for other in nonzero) + 1) / 2 for one in nonzero
    ]
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    mean = sum(sums) / len(sums)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in sums) / len(sums))
    observed = sum(rank for rank, d in zip(ranks, (d for d in differences if d), strict=True) if d > 0)
    return observed, mean, deviation


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=10))
def test_p_is_that_of_the_normal_with_the_moments_of_all_patterns(differences: list[float]) -> None:
    """As the sums of ranks go over all patterns of signs, and the statistic is SciPy's."""
    first = np.array(differences)
    comparison = compare(("a", "b"), "hits@1", first, np.zeros(len(first)), generator())
    if not any(differences):
        assert (comparison.statistic, comparison.p) == (0.0, 1.0)
        return
    observed, mean, deviation = signed_ranks(differences)
    wanted = math.erfc(abs(observed - mean) / deviation / math.sqrt(2))
    assert comparison.p == pytest.approx(wanted, abs=1e-9)
    assert comparison.statistic == min(observed, 2 * mean - observed)
    assert comparison.statistic == stats.wilcoxon([d for d in differences if d]).statistic


def test_a_small_case_by_hand() -> None:
    """Ranks 1 to 6 of the absolute differences; the second alone is below 0: 19 of 21, mean 10.5, variance 22.75."""
    differences = np.array([0.6, -0.2, 0.5, 0.3, 0.1, 0.4])
    comparison = compare(("frag", "frag-simple"), "hits@1", differences + 0.1, np.full(6, 0.1), generator())
    z = (19 - 10.5) / math.sqrt(22.75)
    assert comparison.p == pytest.approx(2 * stats.norm.sf(z), abs=1e-9)
    assert (comparison.a, comparison.b, comparison.measure) == ("frag", "frag-simple", "hits@1")
    assert comparison.difference == pytest.approx(differences.mean())
    assert (comparison.low, comparison.high) == pytest.approx(mean_interval(differences, generator()))


def test_what_is_always_better_is_significant_and_what_never_differs_is_not() -> None:
    better = compare(("a", "b"), "m", np.ones(40), np.zeros(40), generator())
    assert better.p < 1e-6
    same = compare(("a", "b"), "m", np.ones(40), np.ones(40), generator())
    assert (same.p, same.difference, same.low, same.high) == (1.0, 0.0, 0.0, 0.0)
    single = compare(("a", "b"), "m", np.ones(1), np.zeros(1), generator())
    assert 0 < single.p <= 1


def test_missing_values_are_refused() -> None:
    with pytest.raises(InputError, match="NaN"):
        compare(("a", "b"), "path_recall", np.array([np.nan, 1.0]), np.zeros(2), generator())
    with pytest.raises(InputError, match="no values"):
        compare(("a", "b"), "m", np.zeros(0), np.zeros(0), generator())


@pytest.mark.parametrize("count", [1, 3])
def test_values_of_other_questions_are_refused(count: int) -> None:
    with pytest.raises(InputError):
        compare(("a", "b"), "m", np.ones(5), np.zeros(count), generator())
