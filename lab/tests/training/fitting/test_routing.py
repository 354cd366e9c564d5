"""Fits against independent solutions, and routing against the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from clew.errors import InputError
from clew_lab.retrievers.routed.retriever import Preference
from clew_lab.retrievers.routed.weights import Duration
from clew_lab.training.fitting.routing import (
    SECONDS_PRICES,
    RoutingObservations,
    RoutingRecipe,
    calibrate,
    fit_duration,
    fit_routing,
    simulate_routing,
    single_retriever_outcome,
)

Floats = NDArray[np.float64]
RETRIEVERS = ("bm25", "pagerank", "gfm:nodes=50")
SECONDS = (0.001, 0.002, 0.020)
LOOK = 0.004


def make_observations(
    recalls: Floats, signals: Floats, passages: int = 10_000, name: str = "set"
) -> RoutingObservations:
    n = len(signals)
    return RoutingObservations(name, passages, signals, recalls, np.tile(np.array(SECONDS), (n, 1)), np.full(n, LOOK))


def make_problem(seed: int, questions: int = 400, *, sampled: bool = True) -> RoutingObservations:
    """Return questions whose recall by the walk falls with their first signal; the other two signals are noise.

    Args:
        seed: Of signals and draws.
        questions: How many.
        sampled: Whether recalls are sampled as 0 or 1 instead of being their expectations.
    """
    random = np.random.default_rng(seed)
    high = random.uniform(-1.5, 1.5, questions)
    signals = np.stack([7.0 + 2.0 * high, *random.normal(size=(2, questions)) * [[1.0], [5.0]]], axis=1)
    expected = np.stack([np.full(questions, 0.1), 0.7 - 0.2 * high, np.full(questions, 0.85)], axis=1)
    recalls = (random.random(expected.shape) < expected).astype(np.float64) if sampled else expected
    return make_observations(recalls, signals)


def test_the_ridge_equals_least_squares_with_penalty_rows() -> None:
    one = make_problem(1, 60)
    one.signals[:2, 1] = 99.0  # cut, so that the mean of what is left is not 0
    weights = fit_routing([one], RETRIEVERS, "abc", RoutingRecipe(penalty=7.0))
    standard = weights.standardize(one.signals)
    # Rows that pull every weight to 0, but for the constant's.
    rows = np.vstack(
        [np.column_stack([standard, np.ones(60)]), np.column_stack([np.sqrt(7.0) * np.eye(3), np.zeros(3)])]
    )
    for c, name in enumerate(("bm25", "pagerank", "gfm")):
        solved = np.linalg.lstsq(rows, np.concatenate([one.recalls[:, c], np.zeros(3)]), rcond=None)[0]
        choice = weights.find_choice(name)
        assert choice.weights == pytest.approx(solved[:3], abs=2e-6)
        assert choice.recall == pytest.approx(solved[3], abs=2e-6)
    assert weights.means == pytest.approx(one.signals.mean(axis=0), abs=1e-6)
    assert weights.spreads == pytest.approx(one.signals.std(axis=0), abs=1e-6)


def test_the_same_observations_give_the_same_weights() -> None:
    once, again = (fit_routing([make_problem(2)], RETRIEVERS, "abc", RoutingRecipe()) for _ in range(2))
    assert once.key == again.key
    assert [choice.name for choice in once.choices] == ["bm25", "pagerank", "gfm"]
    assert once.find_choice("gfm").retriever == "gfm:nodes=50"


@pytest.mark.parametrize("seed", range(3))
def test_fitted_routing_is_nearly_as_good_as_known_expectations(seed: int) -> None:
    training, other = make_problem(seed, 2000), make_problem(seed + 100, sampled=False)
    weights = fit_routing([training], RETRIEVERS, "abc", RoutingRecipe())
    # 18 ms cost 18 points: the dear choice pays for the upper half of the signal.
    worth = 1000.0
    outcome = simulate_routing(weights, Preference(weights.default_choices, worth), other, RETRIEVERS)
    net = other.recalls - worth / 100 * (np.array(SECONDS) + LOOK)
    best, single = net.max(axis=1).mean(), net.mean(axis=0).max()
    chosen = outcome.recall - worth / 100 * outcome.seconds
    assert single + 0.05 < best
    assert chosen > single + 0.9 * (best - single)
    assert 0.3 < outcome.shares["gfm"] < 0.6


def test_an_outcome_is_the_mean_over_the_chosen_retrievers() -> None:
    one = make_problem(5, 50)
    weights = fit_routing([one], RETRIEVERS, "abc", RoutingRecipe())
    preference = Preference(weights.default_choices, 300.0)
    outcome = simulate_routing(weights, preference, one, RETRIEVERS)
    promised = weights.expected_recalls(one.signals) - 3.0 * np.array([c.duration.seconds for c in weights.choices])
    chosen = promised.argmax(axis=1)  # choices and columns are in the same order here
    assert outcome.recall == pytest.approx(np.mean([one.recalls[i, c] for i, c in enumerate(chosen)]))
    assert outcome.seconds == pytest.approx(np.mean([SECONDS[c] + LOOK for c in chosen]))
    assert sum(outcome.shares.values()) == pytest.approx(1.0)


def test_a_budget_below_the_overhead_costs_no_overhead() -> None:
    one = make_problem(5, 50)
    weights = fit_routing([one], RETRIEVERS, "abc", RoutingRecipe())
    outcome = simulate_routing(weights, Preference(weights.default_choices, 0.0, budget=0.0015), one, RETRIEVERS)
    assert outcome.shares == {"bm25": 1.0, "pagerank": 0.0, "gfm": 0.0}
    assert (outcome.recall, outcome.seconds) == pytest.approx((one.recalls[:, 0].mean(), 0.001))
    assert single_retriever_outcome(one, 0, "bm25").seconds == pytest.approx(0.001)
    assert single_retriever_outcome(one, 1, "pagerank").seconds == pytest.approx(0.006)  # its walk is the overhead


def test_the_power_law_of_seconds_is_recovered() -> None:
    sizes = (1000, 10_000, 80_000)
    made = fit_duration(sizes, [0.003 * (size / 10_000) ** 0.4 for size in sizes])
    assert made.seconds == pytest.approx(0.003, rel=1e-6)
    assert made.growth == pytest.approx(0.4, abs=1e-6)


def test_seconds_never_shrink_with_the_corpus_nor_outgrow_it() -> None:
    assert fit_duration((1000, 10_000), (0.02, 0.01)).growth == 0.0
    assert fit_duration((1000, 10_000), (0.001, 0.1)).growth == 1.0
    assert fit_duration((2000,), (0.5,)) == Duration(0.5, 0.0)
    assert fit_duration((2000, 2000), (0.5, 0.5)).growth == 0.0


def test_the_slowest_questions_are_trimmed() -> None:
    one = make_problem(3, 100)
    one.seconds[:5, 2] = 9.0
    weights = fit_routing([one], RETRIEVERS, "abc", RoutingRecipe())
    assert weights.find_choice("gfm").duration.seconds == pytest.approx(0.02)
    assert (weights.overhead.seconds, weights.overhead.growth) == pytest.approx((LOOK, 0.0))


def test_the_default_price_is_the_highest_that_keeps_the_required_recall() -> None:
    training, validation = [make_problem(7)], [make_problem(8), make_problem(9)]
    recipe = RoutingRecipe(penalty=1.0, kept_recall=0.95)
    chosen = calibrate(fit_routing(training, RETRIEVERS, "abc", recipe), training, validation, RETRIEVERS, recipe)

    def recall(worth: float) -> float:
        return float(
            np.mean(
                [
                    simulate_routing(chosen, Preference(chosen.default_choices, worth), one, RETRIEVERS).recall
                    for one in validation
                ]
            )
        )

    bar = 0.95 * recall(0.0)
    assert recall(chosen.seconds_price) >= bar
    assert all(recall(worth) < bar for worth in SECONDS_PRICES if worth > chosen.seconds_price)
    assert 0 < chosen.seconds_price < max(SECONDS_PRICES)
    assert chosen.default_choices == ("bm25", "pagerank", "gfm")


@pytest.mark.parametrize(
    ("recalls", "usual"),
    [
        ((0.5, 0.7, 0.9), ("bm25", "pagerank", "gfm")),
        ((0.9, 0.5, 0.95), ("bm25", "gfm")),
        ((0.9, 0.5, 0.904), ("bm25",)),  # the margin is half a point
        ((0.5, 0.9, 0.9), ("bm25", "pagerank")),
    ],
)
def test_a_default_choice_has_more_recall_than_every_cheaper_one(
    recalls: tuple[float, ...], usual: tuple[str, ...]
) -> None:
    one = make_problem(7)
    one.recalls[:] = recalls
    chosen = calibrate(
        fit_routing([one], RETRIEVERS, "abc", RoutingRecipe()), [one], [one], RETRIEVERS, RoutingRecipe()
    )
    assert chosen.default_choices == usual
    assert {choice.name for choice in chosen.choices} == {"bm25", "pagerank", "gfm"}


@pytest.mark.parametrize(
    "wrong", [{"cutoff": 0}, {"penalty": 0.0}, {"penalty": float("nan")}, {"kept_recall": 0.0}, {"kept_recall": 1.1}]
)
def test_recipes_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is .*: wanted (at least 1|above 0)"):
        RoutingRecipe(**wrong)  # type: ignore[arg-type]


def test_unusable_observations_are_refused() -> None:
    one = make_problem(1, 3)
    with pytest.raises(InputError, match="fewer than two questions"):
        fit_routing([replace(one, signals=one.signals[:1])], RETRIEVERS, "abc", RoutingRecipe())
    with pytest.raises(InputError, match="each name once"):
        fit_routing([one], ("gfm", "gfm:nodes=50"), "abc", RoutingRecipe())
    one.recalls[0, 0] = np.nan
    with pytest.raises(InputError, match="not finite"):
        fit_routing([one], RETRIEVERS, "abc", RoutingRecipe())
