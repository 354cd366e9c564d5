"""Fit the router of `routed`: a ridge regression of recall on signals, and a power law of seconds, per retriever.

Recall is a ridge regression on standardised signals, in closed form: with y the recalls of a choice and Z the signals
of n questions, its weights are (Z'Z + penalty I)^-1 Z'(y - mean y). Seconds are a power of the number of passages,
fitted to the trimmed means of the corpora. Both take well under a second, and equal observations give equal bytes.

Source: Hoerl and Kennard, "Ridge Regression" (1970).
Differs from the source: signals are clipped at four standard deviations, so that an unusual corpus cannot predict a
recall that was never observed; the mean is not penalised.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from clew.arrays import DoubleArray
from clew.errors import InputError
from clew.training.hyperparameters import CheckedRecord
from clew_lab.retrievers.routed.retriever import FIRST_RETRIEVER, Preference, Router
from clew_lab.retrievers.routed.weights import REFERENCE_PASSAGES, Choice, Duration, RoutedWeights

SECONDS_PRICES = (0.0, 5.0, 10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)
"""Candidate prices of a second, in points of recall."""
_TRIMMED_SHARE = 0.05  # of the questions: outliers are caused by other work on the machine, not by the retriever
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class RoutingRecipe(CheckedRecord):
    """Settings of the fit."""

    cutoff: Annotated[int, Field(ge=1, description="Passages of which the recall is fitted.")] = 5
    penalty: Annotated[
        float, Field(gt=0, description="Number of questions by which each signal is assumed not to matter.")
    ] = 100.0
    # in validation, of the recall when time is free
    kept_recall: Annotated[
        float, Field(gt=0, le=1, alias="kept", description="Share of the recall that the default price of time keeps.")
    ] = 0.995
    margin: Annotated[float, Field(ge=0, le=1)] = (
        0.005  # of recall, that a default choice finds more than every cheaper one
    )


@dataclass(frozen=True, slots=True, eq=False)
class RoutingObservations:
    """Signals, recalls and seconds of one corpus: n questions, m of them timed; s signals, c choices."""

    name: str
    passages: int  # number of passages in the corpus
    signals: DoubleArray  # (n, s) signals of the questions
    recalls: DoubleArray  # (n, c) recall of each choice, 0 to 1
    seconds: DoubleArray  # (m, c) seconds of each choice; of the first retriever, beyond the overhead
    # (m,) seconds of computing the signals, which includes the walk of the first retriever
    overhead_seconds: DoubleArray

    @property
    def usual_seconds(self) -> DoubleArray:
        """Trimmed mean seconds (c,) of each choice, without the overhead."""
        return np.array([_trimmed_mean(column) for column in self.seconds.T])

    @property
    def usual_overhead(self) -> float:
        """Trimmed mean seconds of computing the signals."""
        return _trimmed_mean(self.overhead_seconds)


@dataclass(frozen=True, slots=True)
class RoutingOutcome:
    """Result of a way of choosing on one data set: mean recall, and mean seconds per question.

    Seconds are from the usual ones of the choices on that set; `shares` are the shares of the questions by choice.
    """

    recall: float
    seconds: float
    shares: dict[str, float]


def fit_routing(
    observations: Sequence[RoutingObservations],
    retrievers: Sequence[str],
    signals: Sequence[str],
    recipe: RoutingRecipe,
) -> RoutedWeights:
    """Fit weights that choose among retrievers; all of them are default choices, and a second has no price yet.

    The c `retrievers` are distinct names with optional settings after a colon, `signals` the names of the s signals.
    The data sets have at least two questions.
    """
    _check_observations(observations, retrievers)
    observed = np.concatenate([one.signals for one in observations])
    recalls = np.concatenate([one.recalls for one in observations])
    means, spreads = _round_all(observed.mean(axis=0)), _round_all(np.maximum(observed.std(axis=0), 1e-6))
    empty = RoutedWeights(tuple(signals), means, spreads, (), Duration(0.0), recipe.cutoff, (), 0.0)
    standard = empty.standardize(observed)
    centred = standard - standard.mean(axis=0)
    slopes = np.linalg.solve(
        centred.T @ centred + recipe.penalty * np.eye(len(signals)), centred.T @ (recalls - recalls.mean(axis=0))
    )
    # The intercept is the recall at the means of the signals, not at those of the clipped ones.
    at_means = recalls.mean(axis=0) - standard.mean(axis=0) @ slopes
    choices = [
        Choice(
            name.partition(":")[0],
            name,
            round(float(at_means[c]), _DIGITS),
            _round_all(slopes[:, c]),
            fit_duration([one.passages for one in observations], [one.usual_seconds[c] for one in observations]),
        )
        for c, name in enumerate(retrievers)
    ]
    overhead = fit_duration([one.passages for one in observations], [one.usual_overhead for one in observations])
    choices.sort(key=lambda choice: (_total_seconds(choice, overhead), choice.name))
    names = tuple(choice.name for choice in choices)
    return replace(empty, choices=tuple(choices), overhead=overhead, default_choices=names)


def fit_duration(passages: Sequence[int], seconds: Sequence[float]) -> Duration:
    """Fit the power law of seconds by the corpora's passages, by least squares on logarithms; growth is 0 to 1."""
    sizes = np.log(np.maximum(np.array(passages, dtype=np.float64), 1.0) / REFERENCE_PASSAGES)
    logs = np.log(np.maximum(np.array(seconds, dtype=np.float64), 1e-9))
    centred = sizes - sizes.mean()
    spread = float((centred**2).sum())
    growth = float(np.clip((centred * logs).sum() / spread, 0.0, 1.0)) if spread > 0 else 0.0
    return Duration(round(float(np.exp((logs - growth * sizes).mean())), 9), round(growth, _DIGITS))


def calibrate(
    weights: RoutedWeights,
    training: Sequence[RoutingObservations],
    validation: Sequence[RoutingObservations],
    retrievers: Sequence[str],
    recipe: RoutingRecipe,
) -> RoutedWeights:
    """Set the default choices and the default price of a second.

    A default choice has a higher mean recall than every cheaper one, by the recipe's margin. The price is the highest
    one that keeps the recipe's share of the recall in `validation`, whose sets count equally and may be those of
    training, that these choices reach when time is free. `retrievers` are in the order of the observations' columns.
    """
    sets = list({id(one): one for one in (*training, *validation)}.values())
    means = np.concatenate([one.recalls for one in sets]).mean(axis=0)
    mean_recalls = {name.partition(":")[0]: float(mean) for name, mean in zip(retrievers, means, strict=True)}
    defaults: list[str] = []
    for choice in weights.choices:  # cheapest first
        if all(mean_recalls[choice.name] > mean_recalls[cheaper] + recipe.margin for cheaper in defaults):
            defaults.append(choice.name)
    chosen = replace(weights, default_choices=tuple(defaults))

    def recall(price: float) -> float:
        preference = Preference(chosen.default_choices, price)
        return float(np.mean([simulate_routing(chosen, preference, one, retrievers).recall for one in validation]))

    bar = recipe.kept_recall * recall(0.0)
    price = next((price for price in sorted(SECONDS_PRICES, reverse=True) if recall(price) >= bar), 0.0)
    return replace(chosen, seconds_price=price)


def simulate_routing(
    weights: RoutedWeights, preference: Preference, observations: RoutingObservations, retrievers: Sequence[str]
) -> RoutingOutcome:
    """Return the result of routing the questions of a data set, from its observations."""
    router = Router(weights, preference, observations.passages)
    names = [name.partition(":")[0] for name in retrievers]
    columns = [names.index(choice.name) for choice in router.choices]
    decisions = [router.choose(row if router.needs_signals else None) for row in observations.signals]
    chosen = np.array([columns[decision.order[0]] for decision in decisions], dtype=np.int64)
    recalls = observations.recalls[np.arange(len(chosen)), chosen]
    has_overhead = np.array([router.needs_signals or names[c] == FIRST_RETRIEVER for c in chosen])
    seconds = observations.usual_seconds[chosen] + observations.usual_overhead * has_overhead
    shares = {names[c]: float((chosen == c).mean()) for c in columns}
    return RoutingOutcome(float(recalls.mean()), float(seconds.mean()), shares)


def single_retriever_outcome(observations: RoutingObservations, column: int, retriever: str) -> RoutingOutcome:
    """Return the result of one choice for all questions of a data set."""
    name = retriever.partition(":")[0]
    overhead = observations.usual_overhead if name == FIRST_RETRIEVER else 0.0
    seconds = float(observations.usual_seconds[column]) + overhead
    return RoutingOutcome(float(observations.recalls[:, column].mean()), seconds, {name: 1.0})


def _total_seconds(choice: Choice, overhead: Duration) -> float:
    return choice.duration.seconds + (overhead.seconds if choice.name == FIRST_RETRIEVER else 0.0)


def _trimmed_mean(seconds: DoubleArray) -> float:
    """Return the mean of seconds (m,) without the slowest ones."""
    return float(np.sort(seconds)[: max(1, round(len(seconds) * (1 - _TRIMMED_SHARE)))].mean())


def _round_all(values: DoubleArray) -> tuple[float, ...]:
    return tuple(round(float(value), _DIGITS) for value in values)


def _check_observations(observations: Sequence[RoutingObservations], retrievers: Sequence[str]) -> None:
    names = [name.partition(":")[0] for name in retrievers]
    if not names or len(set(names)) < len(names):
        raise InputError(f"the choices are {', '.join(names) or 'none'}; wanted one or more, each name once")
    if sum(len(one.signals) for one in observations) < 2:
        raise InputError("there are fewer than two questions to learn from; give folders with more")
    for one in observations:
        for values in (one.signals, one.recalls, one.seconds, one.overhead_seconds):
            if not np.isfinite(values).all():
                raise InputError(f"{one.name} holds a value that is not finite; measure it again")
