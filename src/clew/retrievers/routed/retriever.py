"""Routed: for each question the retriever that is worth its time, chosen by what the question's walk shows.

The walk of `pagerank` is made first; it takes milliseconds. From signals of the question and of that walk, a trained
line says for each choice what recall to expect; training measured the seconds it takes. The choice is the one of
greatest expected recall less the price of its seconds, among those that a budget has room for. Where `pagerank` is
chosen, the walk that is there is its ranking.

Source: FRAG (Gao et al., 2025) for a trained choice of how much to spend on a question; Russell and Wefald, "Principles
of metareasoning" (1991), for weighing an expected gain against the price of time.
Differs from the source: the choice is among whole retrievers, not between two searches of one; a line in place of an
encoder with a head. What a question really took never changes a choice: the same question gets the same evidence.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.protocols import Retriever, fingerprint_of
from clew.query.scope import Scope
from clew.retrievers.evidence import EMPTY_QUESTION, check_k, make_evidence
from clew.retrievers.pagerank import PageRankRetriever
from clew.retrievers.routed.settings import Routed
from clew.retrievers.routed.signals import SIGNALS, compute_signals
from clew.retrievers.routed.weights import NAME, Choice, RoutedWeights
from clew.types import Evidence, Filter, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import BoolArray, FloatArray

    DoubleArray = NDArray[np.float64]

FIRST_RETRIEVER = "pagerank"
"""The choice whose walk gives the signals."""
_MAX_REASONS = 3
_POINTS_PER_RECALL = 100.0


@dataclass(frozen=True, slots=True)
class Preference:
    """What a user will spend.

    Attributes:
        names: The choices.
        seconds_price: Points of recall (hundredths) that a second has to buy.
        budget: Seconds a question that a choice may be expected to take, look included; None for no limit.
        time_scale: How many times the seconds of training a question takes here.
    """

    names: tuple[str, ...]
    seconds_price: float
    budget: float | None = None
    time_scale: float = 1.0

    @classmethod
    def from_settings(cls, settings: Routed, weights: RoutedWeights) -> "Preference":
        """Return the preference that settings and weights give; with a budget alone, recall has no price.

        Raises:
            InputError: A choice is not one of the weights.
        """
        given = settings.choices or "+".join(weights.default_choices)
        names = tuple(dict.fromkeys(name.strip() for name in given.split("+")))
        for name in names:
            weights.find_choice(name)
        price = settings.worth
        if price is None:
            price = weights.seconds_price if settings.budget is None else 0.0
        return cls(names, price, settings.budget, settings.scale)


@dataclass(frozen=True, slots=True)
class Decision:
    """One question's choice.

    Attributes:
        order: Places of all choices, best first; those that a budget has no room for stand behind, cheapest first.
        recalls: (c,) expected, by place.
        seconds: (c,) expected, the look included where there was one, by place.
        standardized_signals: (s,) the signals, in standard deviations; None where there was no time to look.
    """

    order: tuple[int, ...]
    recalls: tuple[float, ...]
    seconds: tuple[float, ...]
    standardized_signals: "tuple[float, ...] | None" = None


class Router:
    """Chooses among retrievers for one index; the same signals give the same choice.

    Args:
        weights: What was learned.
        preference: What a user will spend.
        passages: Of the index.

    Attributes:
        choices: c, as the weights have them.
        needs_signals: Whether signals are wanted. They are not where only one choice would be left room for by the
            time that
            looking takes, nor where it would leave none for what is best on average.
    """

    def __init__(self, weights: RoutedWeights, preference: Preference, passages: int) -> None:
        self._weights = weights
        self._preference = preference
        self._choice_positions = [
            place for place, choice in enumerate(weights.choices) if choice.name in preference.names
        ]
        self.choices = [weights.choices[place] for place in self._choice_positions]
        look = weights.overhead.seconds_for(passages) * preference.time_scale
        own = np.array([choice.duration.seconds_for(passages) for choice in self.choices]) * preference.time_scale
        self._seconds_with_signals = own + look
        # The first pass is made of its look, so it takes both however it is come by.
        self._seconds_without_signals = own + look * np.array(
            [choice.name == FIRST_RETRIEVER for choice in self.choices]
        )
        fits = self._within_budget(self._seconds_with_signals)
        self.needs_signals = bool(fits.sum() > 1 and fits[self.choose(None).order[0]])

    @property
    def fingerprint(self) -> str:
        """What tells these weights from others."""
        return self._weights.key

    def choose(self, signals: "FloatArray | None") -> Decision:
        """Return the choice for signals (s,); None where there was no look."""
        seconds = self._seconds_without_signals if signals is None else self._seconds_with_signals
        recalls = self._weights.expected_recalls(self._weights.means if signals is None else signals)[
            self._choice_positions
        ]
        net = recalls - self._preference.seconds_price / _POINTS_PER_RECALL * seconds
        fits = self._within_budget(seconds)
        keys = [(0, -net[c], seconds[c]) if fits[c] else (1, seconds[c], -recalls[c]) for c in range(len(fits))]
        order = sorted(range(len(fits)), key=lambda c: (keys[c], self.choices[c].name))
        standing = None if signals is None else tuple(self._weights.standardize(signals).tolist())
        return Decision(tuple(order), tuple(recalls.tolist()), tuple(seconds.tolist()), standing)

    def describe_decision(self, decision: Decision, chosen: int, absent: Sequence[str]) -> str:
        """Return one line that says what was chosen, over what, and why.

        Args:
            decision: Of the question.
            chosen: Place of the choice.
            absent: Why choices that would have come before it cannot be served.
        """
        said = [f"{NAME}: {self._describe_choice(decision, chosen)}"]
        fits = self._within_budget(np.array(decision.seconds))
        others = [c for c in decision.order if c != chosen]
        over = next((c for c in others if fits[c] and fits[chosen]), None)
        if over is not None:
            said[0] += f", over {self._describe_choice(decision, over)}"
        if decision.standardized_signals is None and len(self.choices) > 1:
            said.append("chosen without a look at the question, which the budget has no time for")
        elif over is not None:
            said += [", ".join(self._decisive_signals(decision, chosen, over))]
        if self._preference.budget is not None and others and over is None:
            what = "nothing else takes" if fits[chosen] else "nothing takes"
            said.append(f"{what} less than the budget of {1000 * self._preference.budget:g} ms")
        return "; ".join(filter(None, [*said, *absent]))

    def _within_budget(self, seconds: "DoubleArray") -> "BoolArray":
        budget = self._preference.budget
        fits: BoolArray = seconds <= (np.inf if budget is None else budget)
        return fits

    def _describe_choice(self, decision: Decision, place: int) -> str:
        recall = min(max(decision.recalls[place], 0.0), 1.0)
        spent = 1000 * decision.seconds[place]
        took = f"{spent:.1f}" if spent < 10 else f"{spent:.0f}"
        return f"{self.choices[place].name} (recall@{self._weights.cutoff} {recall:.2f} in {took} ms expected)"

    def _decisive_signals(self, decision: Decision, chosen: int, other: int) -> list[str]:
        """Return the signals that weighed most for the choice and against the other one."""
        standing = np.array(decision.standardized_signals)
        weighed = np.subtract(self.choices[chosen].weights, self.choices[other].weights) * standing
        most = [int(place) for place in np.argsort(-weighed, kind="stable")[:_MAX_REASONS] if weighed[place] > 0]
        side = {True: "more than usual", False: "less than usual"}
        return [f"{SIGNALS[self._weights.signals[s]]}: {side[bool(standing[s] > 0)]}" for s in most]


class RoutedRetriever:
    """Asks for each question the retriever that is chosen for it.

    Args:
        scope: What is searched.
        first: Makes the walks.
        router: Chooses.
        make: Makes the retriever of a choice when one is first needed; an `InputError` says that the index cannot
            serve it.
    """

    def __init__(
        self, scope: Scope, first: PageRankRetriever, router: Router, make: Callable[[Choice], Retriever]
    ) -> None:
        self._scope = scope
        self._first = first
        self._router = router
        self._make = make
        self._retrievers: dict[int, Retriever | str] = {}

    @property
    def fingerprint(self) -> str:
        """What tells its rankings from those of other weights, its own and those of what it chooses among."""
        return fingerprint_of(self._router, *(self._retriever_at(place) for place in range(len(self._router.choices))))

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, by the retriever that was chosen for it.

        Raises:
            InputError: The index can serve none of the choices.
        """
        check_k(k)
        allowed = self._scope.mask(where)
        evidence: list[Evidence] = [make_evidence((), (), (EMPTY_QUESTION,), time.perf_counter())] * len(questions)
        sent: dict[int, list[tuple[int, str, float]]] = {}
        for place, question in enumerate(questions):
            if not question.strip():
                continue
            started = time.perf_counter()
            asked = self._first.walk(question, allowed) if self._router.needs_signals else None
            seen = None if asked is None else compute_signals(self._scope.snapshot, asked)
            chosen, note = self._choose(self._router.choose(seen))
            if asked is not None and self._router.choices[chosen].name == FIRST_RETRIEVER:
                evidence[place] = _add_note(self._first.walk_evidence(asked, k, allowed, started), note, 0.0)
            else:
                sent.setdefault(chosen, []).append((place, note, time.perf_counter() - started))
        for chosen, group in sent.items():
            retriever = self._retrievers[chosen]
            assert not isinstance(retriever, str)
            answers = retriever.retrieve([questions[place] for place, _, _ in group], k, where)
            for (place, note, spent), answer in zip(group, answers, strict=True):
                evidence[place] = _add_note(answer, note, spent)
        return evidence

    def _choose(self, decision: Decision) -> tuple[int, str]:
        """Return the best choice that the index can serve, and the note that says so."""
        absent: list[str] = []
        for place in decision.order:
            retriever = self._retriever_at(place)
            if not isinstance(retriever, str):
                return place, self._router.describe_decision(decision, place, absent)
            absent.append(f"{self._router.choices[place].name} is left out: {retriever}")
        raise InputError(f"{NAME}: the index can serve none of the choices: {'; '.join(absent)}")

    def _retriever_at(self, place: int) -> Retriever | str:
        """Return the retriever of a choice, or why the index cannot serve it."""
        if place not in self._retrievers:
            choice = self._router.choices[place]
            try:
                self._retrievers[place] = self._first if choice.name == FIRST_RETRIEVER else self._make(choice)
            except InputError as error:
                self._retrievers[place] = str(error)
        return self._retrievers[place]


def _add_note(evidence: Evidence, note: str, spent: float) -> Evidence:
    usage = evidence.usage + Usage(seconds=spent)
    return replace(evidence, notes=(note, *evidence.notes), usage=usage)
