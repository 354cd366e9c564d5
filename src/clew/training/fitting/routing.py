"""Fits what `routed` chooses by: for each retriever the recall that signals promise, and the seconds that it takes.

Recall is a ridge regression on standardised signals, in closed form: with y the recalls of a choice and Z the signals
of n questions, its weights are (Z'Z + penalty I)^-1 Z'(y - mean y). Seconds are a power of the number of passages,
fitted to the corpora's trimmed means. Both take well under a second, and the same observations give the same bytes.

Source: Hoerl and Kennard, "Ridge Regression" (1970).
Differs from the source: signals are cut at four standard deviations, so that a corpus of another kind cannot promise
what none has kept; the mean is not penalised.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.retrievers.routed.retriever import FIRST_RETRIEVER, Preference, Router
from clew.retrievers.routed.weights import REFERENCE_PASSAGES, Choice, Duration, RoutedWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    DoubleArray = NDArray[np.float64]

SECONDS_PRICES = (0.0, 5.0, 10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)
"""Prices of a second that are tried, in points of recall."""
_TRIMMED_SHARE = 0.05  # of the questions: what other work on the machine held up is no property of a retriever
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class RoutingRecipe:
    """How choices are fitted.

    Attributes:
        cutoff: Recall is that of the first so many passages.
        penalty: Of the ridge; as if so many more questions spoke for each signal not to matter.
        kept_recall: Share of the recall that is found when time is free, which the usual price of a second has to keep
            in
            validation.
        margin: Of recall, that a usual choice finds more than every cheaper one.
    """

    cutoff: int = 5
    penalty: float = 100.0
    kept_recall: float = 0.995
    margin: float = 0.005

    def __post_init__(self) -> None:
        if self.cutoff < 1 or not self.penalty > 0 or not 0 < self.kept_recall <= 1:
            raise InputError(
                f"cutoff is {self.cutoff}, penalty {self.penalty} and kept {self.kept_recall}; wanted a whole number of"
                " at least 1, a number above 0, and a share above 0 and at most 1"
            )


@dataclass(frozen=True, slots=True, eq=False)
class RoutingObservations:
    """What every choice gave for the questions of one corpus. n questions, of them m timed; s signals, c choices.

    Attributes:
        name: Of the set.
        passages: Of the corpus.
        signals: (n, s).
        recalls: (n, c), 0 to 1.
        seconds: (m, c) of the choice itself; of the first pass, beyond the look.
        overhead_seconds: (m,) seconds of the first pass and the signals.
    """

    name: str
    passages: int
    signals: "DoubleArray"
    recalls: "DoubleArray"
    seconds: "DoubleArray"
    overhead_seconds: "DoubleArray"

    @property
    def usual_seconds(self) -> "DoubleArray":
        """What a question usually takes of each choice (c,), the look apart."""
        return np.array([_trimmed_mean(column) for column in self.seconds.T])

    @property
    def usual_overhead(self) -> float:
        """What the look at a question usually takes."""
        return _trimmed_mean(self.overhead_seconds)


@dataclass(frozen=True, slots=True)
class RoutingOutcome:
    """What some way to choose comes to on a set.

    Attributes:
        recall: Mean.
        seconds: A question's, by what each choice usually takes on that set.
        shares: Of the questions that each choice got, by name.
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
    """Return weights that choose among retrievers; all of them are usual, and a second has no price yet.

    Args:
        observations: One or more sets.
        retrievers: c, as they are made: a name, with settings after a colon.
        signals: s names.
        recipe: How.

    Raises:
        InputError: There are fewer than two questions or no choice, two have one name, or a value is not finite.
    """
    _check_observations(observations, retrievers)
    seen = np.concatenate([one.signals for one in observations])
    recalls = np.concatenate([one.recalls for one in observations])
    means, spreads = _round_all(seen.mean(axis=0)), _round_all(np.maximum(seen.std(axis=0), 1e-6))
    empty = RoutedWeights(tuple(signals), means, spreads, (), Duration(0.0), recipe.cutoff, (), 0.0)
    standard = empty.standardize(seen)
    centred = standard - standard.mean(axis=0)
    slopes = np.linalg.solve(
        centred.T @ centred + recipe.penalty * np.eye(len(signals)), centred.T @ (recalls - recalls.mean(axis=0))
    )
    # Where every signal has its mean, not where the cut ones have theirs.
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
    look = fit_duration([one.passages for one in observations], [one.usual_overhead for one in observations])
    choices.sort(key=lambda choice: (_total_seconds(choice, look), choice.name))
    return replace(
        empty, choices=tuple(choices), overhead=look, default_choices=tuple(choice.name for choice in choices)
    )


def fit_duration(passages: Sequence[int], seconds: Sequence[float]) -> Duration:
    """Return the seconds by the number of passages that lie nearest to those of some corpora, by their logarithms.

    Args:
        passages: Of each corpus.
        seconds: There.
    """
    sizes = np.log(np.maximum(np.array(passages, dtype=np.float64), 1.0) / REFERENCE_PASSAGES)
    logs = np.log(np.maximum(np.array(seconds, dtype=np.float64), 1e-9))
    apart = sizes - sizes.mean()
    spread = float((apart**2).sum())
    growth = float(np.clip((apart * logs).sum() / spread, 0.0, 1.0)) if spread > 0 else 0.0
    return Duration(round(float(np.exp((logs - growth * sizes).mean())), 9), round(growth, _DIGITS))


def calibrate(
    weights: RoutedWeights,
    training: Sequence[RoutingObservations],
    validation: Sequence[RoutingObservations],
    retrievers: Sequence[str],
    recipe: RoutingRecipe,
) -> RoutedWeights:
    """Return weights with the usual choices and the usual price of a second.

    A choice is usual that finds more than every cheaper one, by the recipe's margin and over all questions. The price
    is the highest one that keeps the recipe's share of what choosing among them finds in validation when time is free.

    Args:
        weights: Fitted.
        training: What they were fitted on.
        validation: Sets whose means count alike; they may be those learned from.
        retrievers: c, in the order of the sets' columns.
        recipe: How.
    """
    sets = list({id(one): one for one in (*training, *validation)}.values())
    means = np.concatenate([one.recalls for one in sets]).mean(axis=0)
    found = {name.partition(":")[0]: float(mean) for name, mean in zip(retrievers, means, strict=True)}
    usual: list[str] = []
    for choice in weights.choices:  # cheapest first
        if all(found[choice.name] > found[cheaper] + recipe.margin for cheaper in usual):
            usual.append(choice.name)
    chosen = replace(weights, default_choices=tuple(usual))

    def recall(worth: float) -> float:
        preference = Preference(chosen.default_choices, worth)
        return float(np.mean([simulate_routing(chosen, preference, one, retrievers).recall for one in validation]))

    bar = recipe.kept_recall * recall(0.0)
    return replace(
        chosen, seconds_price=next((w for w in sorted(SECONDS_PRICES, reverse=True) if recall(w) >= bar), 0.0)
    )


def simulate_routing(
    weights: RoutedWeights, preference: Preference, observations: RoutingObservations, retrievers: Sequence[str]
) -> RoutingOutcome:
    """Return what choosing comes to on a set, by what was measured there."""
    router = Router(weights, preference, observations.passages)
    names = [name.partition(":")[0] for name in retrievers]
    columns = [names.index(choice.name) for choice in router.choices]
    decisions = [router.choose(row if router.needs_signals else None) for row in observations.signals]
    chosen = np.array([columns[decision.order[0]] for decision in decisions], dtype=np.int64)
    recalls = observations.recalls[np.arange(len(chosen)), chosen]
    looked = np.array([router.needs_signals or names[c] == FIRST_RETRIEVER for c in chosen])
    seconds = observations.usual_seconds[chosen] + observations.usual_overhead * looked
    shares = {names[c]: float((chosen == c).mean()) for c in columns}
    return RoutingOutcome(float(recalls.mean()), float(seconds.mean()), shares)


def single_retriever_outcome(observations: RoutingObservations, column: int, retriever: str) -> RoutingOutcome:
    """Return what one choice comes to for all questions of a set."""
    name = retriever.partition(":")[0]
    seconds = float(observations.usual_seconds[column]) + (
        observations.usual_overhead if name == FIRST_RETRIEVER else 0.0
    )
    return RoutingOutcome(float(observations.recalls[:, column].mean()), seconds, {name: 1.0})


def _total_seconds(choice: Choice, overhead: Duration) -> float:
    return choice.duration.seconds + (overhead.seconds if choice.name == FIRST_RETRIEVER else 0.0)


def _trimmed_mean(seconds: "DoubleArray") -> float:
    """Return the mean of seconds (m,) without the slowest."""
    return float(np.sort(seconds)[: max(1, round(len(seconds) * (1 - _TRIMMED_SHARE)))].mean())


def _round_all(values: "DoubleArray") -> tuple[float, ...]:
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
