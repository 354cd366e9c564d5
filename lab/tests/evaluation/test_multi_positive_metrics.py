"""Measures over all gold ids, against every order of the ties, and against the formulas of the paper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, permutations, product
from math import nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.evaluation.ranking_metrics import match_gold
from clew.evaluation.runs import Ranking, Run
from clew.evaluation.scoring import score
from clew.types import Question, Usage
from clew_lab.evaluation.multi_positive_metrics import (
    compute_multi_positive_measures,
    rank_positives,
    score_positives,
)

KS = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class Case:
    """Passages (id, document, score), best first, and gold ids."""

    rows: tuple[tuple[str, str, float], ...]
    gold: tuple[str, ...]

    def columns(self) -> tuple[list[str], list[str], list[float]]:
        return [row[0] for row in self.rows], [row[1] for row in self.rows], [row[2] for row in self.rows]

    def orders(self) -> Iterator["Case"]:
        """Yield the passages in every order that their scores allow."""
        ties = [list(tie) for _, tie in groupby(self.rows, key=lambda row: row[2])]
        for orders in product(*(permutations(tie) for tie in ties)):
            yield Case(tuple(row for tie in orders for row in tie), self.gold)

    def ranks(self) -> list[int | None]:
        """The rank of each gold id in this very order, by `match_gold`; None if not retrieved."""
        passages, documents, _ = self.columns()
        hits = match_gold(passages, documents, self.gold).hits
        return [hits.index(number) + 1 if number in hits else None for number in range(len(set(self.gold)))]


def measure_case(case: Case) -> dict[str, float]:
    values = compute_multi_positive_measures([rank_positives(*case.columns(), case.gold)], KS)
    return {name: float(value[0]) for name, value in values.items()}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """At most six passages of few documents and few scores; gold mixes passages, documents and ids nothing has."""
    ids = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), unique=True, max_size=6))
    scores = draw(st.lists(st.sampled_from([0.0, -0.0, 0.5, 70.0, -2.0]), min_size=len(ids), max_size=len(ids)))
    scores.sort(reverse=True)
    rows = tuple((f"d{d}#{n}", f"d{d}", score) for (d, n), score in zip(ids, scores, strict=True))
    known = [f"d{d}#{n}" for d in range(3) for n in range(4)] + 3 * [f"d{d}" for d in range(4)]
    return Case(rows, tuple(draw(st.lists(st.sampled_from(known), unique=True, min_size=1, max_size=4))))


@settings(max_examples=80, deadline=None)
@given(cases())
def test_tied_hits_are_the_hits_to_expect_over_every_order_of_the_ties(case: Case) -> None:
    values = measure_case(case)
    orders = [order.ranks() for order in case.orders()]
    for k in KS:
        hits = [sum(rank is not None and rank <= k for rank in ranks) for ranks in orders]
        assert values[f"tied_hits@{k}"] == pytest.approx(float(np.mean(hits)) / len(case.gold)), k


@settings(max_examples=80, deadline=None)
@given(cases())
def test_tied_rr_is_one_over_the_mean_rank_over_every_order_of_the_ties(case: Case) -> None:
    each = zip(*(order.ranks() for order in case.orders()), strict=True)
    means = [np.mean([rank for rank in ranks if rank is not None]) for ranks in each if ranks[0] is not None]
    assert measure_case(case)["tied_rr"] == pytest.approx(sum(1 / mean for mean in means) / len(case.gold))


@settings(deadline=None)
@given(cases())
def test_positives_rr_is_the_mean_of_one_over_each_rank(case: Case) -> None:
    wanted = sum(1 / rank for rank in case.ranks() if rank is not None) / len(case.gold)
    assert measure_case(case)["positives_rr"] == pytest.approx(wanted)


def printed_hits(better: int, tied: int) -> float | None:
    """Return hits@10 by the cases of equation 15; None where these are wrong."""
    if better > 10:
        return 0.0
    if better == 0:
        return 10 / tied if tied > 10 else 1.0
    if better == 10 or (tied > 1 and better + tied <= 10):
        return None
    return (10 - better) / tied if tied > 1 else 1.0


@pytest.mark.parametrize("tied", [1, 2, 3, 7, 10, 11, 40])
@pytest.mark.parametrize("better", [0, 1, 4, 8, 9, 10, 11, 30])
def test_the_formulas_of_the_paper(better: int, tied: int) -> None:
    names = [f"p{number:03}" for number in range(better + tied + 3)]
    scores = [9.0] * better + [5.0] * tied + [1.0, 1.0, 0.0]
    question = rank_positives(names, names, scores, [names[better + tied - 1]])
    optimistic = better + 1
    formula = 1 / optimistic if tied == 1 else 2 / (optimistic + optimistic + tied - 1)
    assert compute_multi_positive_measures([question], KS)["tied_rr"][0] == pytest.approx(formula)
    hits = compute_multi_positive_measures([question], [10])["tied_hits@10"][0]
    assert hits == pytest.approx(min(max((10 - better) / tied, 0), 1))
    printed = printed_hits(better, tied)
    assert printed is None or hits == pytest.approx(printed)


def test_the_last_digit_does_not_depend_on_the_order_of_a_tie() -> None:
    values = set()
    for blocks in permutations(("a", "bb", "ccc", "xyz")):
        documents = "".join(blocks)
        passages = [f"{document}#{place}" for place, document in enumerate(documents)]
        question = rank_positives(passages, documents, [1.0] * 9, ["a", "b", "c"])
        values.add(float(compute_multi_positive_measures([question], KS)["tied_rr"][0]))
    assert len(values) == 1


def test_gold_given_twice_counts_once() -> None:
    assert (
        compute_multi_positive_measures([rank_positives(["a"], ["a"], [1.0], ["a", "b", "a"])], KS)["positives_rr"][0]
        == 0.5
    )


def test_a_passage_that_is_gold_itself_does_not_count_for_its_document() -> None:
    question = rank_positives(["a#0", "a#1", "x"], ["a", "a", "x"], [2, 2, 2], ["a#0", "a"])
    assert compute_multi_positive_measures([question], [1])["tied_hits@1"][0] == pytest.approx((1 / 3 + 1 / 3) / 2)


def test_an_empty_ranking_scores_zero_and_missing_gold_is_nan() -> None:
    values = compute_multi_positive_measures(
        [rank_positives([], [], [], ["a", "a"]), rank_positives(["a"], ["a"], [1], [])], [2]
    )
    assert list(values) == ["positives_rr", "tied_rr", "tied_hits@2"]
    for value in values.values():
        assert value.dtype == np.float64
        assert value.tolist() == pytest.approx([0, nan], nan_ok=True)


def test_a_long_tie_is_counted_exactly() -> None:
    names = [f"p{number}" for number in range(5000)]
    question = rank_positives(names, ["long"] * 1000 + names[1000:], [0.0] * 5000, ["long"])
    share = 1.0
    for place in range(10):
        share *= (4000 - place) / (5000 - place)
    assert compute_multi_positive_measures([question], [10])["tied_hits@10"][0] == pytest.approx(1 - share)
    assert compute_multi_positive_measures([question], [10**9])[f"tied_hits@{10**9}"][0] == 1


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0], "passages: 2, documents: 2, scores: 1"),
        ([1.0, 2.0], "rises from 1.0 at rank 1 to 2.0"),
        ([nan, 1], "NaN"),
    ],
)
def test_wrong_rankings_are_refused(scores: Sequence[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rank_positives(["a", "b"], ["a", "b"], scores, ["a"])


def test_a_cut_off_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="cut-off is 0; it must be at least 1"):
        compute_multi_positive_measures([rank_positives(["a"], ["a"], [1.0], ["a"])], [0])


def test_a_run_is_scored_by_all_gold_ids() -> None:
    ranking = Ranking("q1", ("a", "x", "b", "y"), ("a", "x", "b", "y"), (80.0, 80.0, 5.0, 5.0), Usage())
    question = Question("q1", "Who?", gold=("a", "b"))
    further = partial(score_positives, ks=(1, 3))
    result = score(Run("tied", 4, (ranking,)), [question], [1, 3], resamples=50, further=further)
    assert result.values["positives_rr"][0] == pytest.approx((1 + 1 / 3) / 2)
    assert result.values["tied_rr"][0] == pytest.approx((1 / 1.5 + 1 / 3.5) / 2)
    assert [result.values[f"tied_hits@{k}"][0] for k in (1, 3)] == pytest.approx([0.25, 0.75])
    assert {"recall@1", "mrr"} <= result.values.keys()
