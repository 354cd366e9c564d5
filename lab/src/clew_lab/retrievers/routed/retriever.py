"""Routed: each question goes to the retriever that is worth its time, chosen by features of the question's walk.

The walk of `pagerank` runs first, in milliseconds. From signals of the question and of that walk, trained linear models
predict the recall of each choice; its seconds were measured in training. The choice has the greatest expected recall
less the price of its seconds, among those within a budget. Where `pagerank` is chosen, the same walk is its ranking.

Source: FRAG (Gao et al., 2025) for a trained choice of how much to spend on a question; Russell and Wefald, "Principles
of metareasoning" (1991), for weighing an expected gain against the price of time.
Differs from the source: the choice is among whole retrievers, not between two searches of one; a linear model in place
of an encoder with a head. Measured times never change a choice: the same question gets the same evidence.

Settings of `routed`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from clew.arrays import BoolArray, DoubleArray, FloatArray
from clew.errors import InputError
from clew.plugins.records import MAX_AMOUNT, Amount, SettingsRecord, setting
from clew.protocols import Retriever, fingerprint_of
from clew.query.context import IndexContext
from clew.query.graph_walk import GraphWalkConfig
from clew.query.linking import LinkedQuestion
from clew.query.scope import Scope
from clew.retrievers.evidence import check_k, empty_question_evidence
from clew.retrievers.pagerank import PageRankRetriever
from clew.retrievers.spec import OpenRetriever
from clew.store.weights_io import existing_weights
from clew.types import Evidence, Filter, Usage
from clew_lab.retrievers.routed.weights import NAME, SIGNALS, Choice, RoutedWeights, compute_signals, load_choices


class Routed(SettingsRecord):
    """Settings of `routed`."""

    label: ClassVar[str] = "routed"

    choices: str | None = setting(None, "retrievers to choose among, joined by +", unset="from the weights")
    worth: Amount | None = setting(
        None, "points of recall that one second must buy", unset="from the weights; 0 with a budget"
    )
    budget: Amount | None = setting(None, "seconds a question, at most", unset="no limit")
    scale: Annotated[float, Field(gt=0.0, le=MAX_AMOUNT, allow_inf_nan=False)] = setting(
        1.0, "how many times the seconds of training a question takes here"
    )
    weights: Path | None = setting(None, "weights that `clew train routed` made", unset="the package's")


WEIGHTS = Path(__file__).parents[2] / "weights" / "routed"
FIRST_RETRIEVER = "pagerank"
"""The choice whose walk the signals are computed from."""
_MAX_REASONS = 3
_POINTS_PER_RECALL = 100.0


@dataclass(frozen=True, slots=True)
class Preference:
    """Preferences of the user."""

    names: tuple[str, ...]
    seconds_price: float  # points of recall (hundredths) that a second has to gain
    budget: float | None = None  # maximum expected seconds a question, including the signals; None for no limit
    time_scale: float = 1.0  # seconds of a question here, relative to those in training

    @classmethod
    def from_settings(cls, settings: Routed, weights: RoutedWeights) -> "Preference":
        """Return the preference that settings and weights give; with a budget alone, recall has no price."""
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
    """Choice for one question: c choices, s signals."""

    order: tuple[int, ...]  # positions of all choices, best first; those beyond the budget follow, cheapest first
    recalls: tuple[float, ...]  # (c,) expected recall, by position
    seconds: tuple[float, ...]  # (c,) expected seconds, including the signals where they were computed, by position
    # (s,) in standard deviations; None where the budget has no time for signals
    standardized_signals: tuple[float, ...] | None = None


class Router:
    """Chooses among retrievers for one index of some passages; the same signals give the same choice.

    Signals are wanted (`needs_signals`) unless their time leaves only one choice within the budget, or leaves out the
    best choice on average.
    """

    def __init__(self, weights: RoutedWeights, preference: Preference, passages: int) -> None:
        self._weights = weights
        self._preference = preference
        self._choice_positions = [i for i, choice in enumerate(weights.choices) if choice.name in preference.names]
        self.choices = [weights.choices[place] for place in self._choice_positions]
        look = weights.overhead.seconds_for(passages) * preference.time_scale
        own = np.array([choice.duration.seconds_for(passages) for choice in self.choices]) * preference.time_scale
        self._seconds_with_signals = own + look
        # The first retriever runs the walk of the signals in any case, so it always takes both.
        self._seconds_without_signals = own + look * np.array(
            [choice.name == FIRST_RETRIEVER for choice in self.choices]
        )
        fits = self._within_budget(self._seconds_with_signals)
        self.needs_signals = bool(fits.sum() > 1 and fits[self.choose(None).order[0]])

    @property
    def fingerprint(self) -> str:
        """Identifier of the weights."""
        return self._weights.key

    def choose(self, signals: FloatArray | None) -> Decision:
        """Return the choice for signals (s,), None where they are not computed."""
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
        """Return a note on the choice, the runner-up and the reasons; `absent` are reasons against better choices."""
        parts = [f"{NAME}: {self._describe_choice(decision, chosen)}"]
        fits = self._within_budget(np.array(decision.seconds))
        others = [c for c in decision.order if c != chosen]
        runner_up = next((c for c in others if fits[c] and fits[chosen]), None)
        if runner_up is not None:
            parts[0] += f", over {self._describe_choice(decision, runner_up)}"
        if decision.standardized_signals is None and len(self.choices) > 1:
            parts.append("chosen without a look at the question, which the budget has no time for")
        elif runner_up is not None:
            parts += [", ".join(self._decisive_signals(decision, chosen, runner_up))]
        if self._preference.budget is not None and others and runner_up is None:
            none_cheaper = "nothing else takes" if fits[chosen] else "nothing takes"
            parts.append(f"{none_cheaper} less than the budget of {1000 * self._preference.budget:g} ms")
        return "; ".join(filter(None, [*parts, *absent]))

    def _within_budget(self, seconds: DoubleArray) -> BoolArray:
        budget = self._preference.budget
        fits: BoolArray = seconds <= (np.inf if budget is None else budget)
        return fits

    def _describe_choice(self, decision: Decision, position: int) -> str:
        recall = min(max(decision.recalls[position], 0.0), 1.0)
        milliseconds = 1000 * decision.seconds[position]
        formatted = f"{milliseconds:.1f}" if milliseconds < 10 else f"{milliseconds:.0f}"
        return f"{self.choices[position].name} (recall@{self._weights.cutoff} {recall:.2f} in {formatted} ms expected)"

    def _decisive_signals(self, decision: Decision, chosen: int, other: int) -> list[str]:
        standardized = np.array(decision.standardized_signals)
        contributions = np.subtract(self.choices[chosen].weights, self.choices[other].weights) * standardized
        strongest = [
            int(signal)
            for signal in np.argsort(-contributions, kind="stable")[:_MAX_REASONS]
            if contributions[signal] > 0
        ]
        direction = {True: "more than usual", False: "less than usual"}
        return [
            f"{SIGNALS[self._weights.signals[signal]]}: {direction[bool(standardized[signal] > 0)]}"
            for signal in strongest
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RoutedRetriever:
    """Retrieves for each question with the retriever chosen for it."""

    scope: Scope
    first: PageRankRetriever  # makes the walks
    router: Router
    # makes the retriever of a choice when it is first needed; raises `InputError` where the index cannot serve it
    make: Callable[[Choice], Retriever]
    _retrievers: dict[int, Retriever | str] = field(init=False, default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Joined fingerprints of the router and all choices."""
        return fingerprint_of(self.router, *(self._retriever_at(i) for i in range(len(self.router.choices))))

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, by the retriever chosen for it.

        Raises InputError where the index can serve none of the choices.
        """
        check_k(k, questions)
        allowed = self.scope.mask(where)
        evidence: list[Evidence] = [empty_question_evidence()] * len(questions)
        groups: dict[int, list[tuple[int, LinkedQuestion, str, float]]] = {}
        for row, question in enumerate(questions):
            if not question.strip():
                continue
            started = time.perf_counter()
            walk = self.first.walk(question, allowed) if self.router.needs_signals else None
            signals_of_walk = None if walk is None else compute_signals(self.scope.snapshot, walk)
            position, note = self._choose(self.router.choose(signals_of_walk))
            if walk is not None and self.router.choices[position].name == FIRST_RETRIEVER:
                evidence[row] = _add_notes(self.first.walk_evidence(walk, k, allowed, started), (note,), 0.0)
            else:
                linked = self.scope.linker_among(allowed).link(question) if walk is None else walk.linked_question
                groups.setdefault(position, []).append((row, linked, note, time.perf_counter() - started))
        for position, group in groups.items():
            retriever = self._retrievers[position]
            assert not isinstance(retriever, str)
            answers = retriever.retrieve(
                [linked.corrected_text(questions[row]) for row, linked, _, _ in group], k, where
            )
            for (row, linked, note, seconds), answer in zip(group, answers, strict=True):
                evidence[row] = _add_notes(answer, (note, *linked.describe_similar_names()), seconds)
        return evidence

    def _choose(self, decision: Decision) -> tuple[int, str]:
        absent: list[str] = []
        for position in decision.order:
            retriever = self._retriever_at(position)
            if not isinstance(retriever, str):
                return position, self.router.describe_decision(decision, position, absent)
            absent.append(f"{self.router.choices[position].name} is left out: {retriever}")
        raise InputError(f"{NAME}: the index can serve none of the choices: {'; '.join(absent)}")

    def _retriever_at(self, position: int) -> Retriever | str:
        """Return the retriever of a choice, or why the index cannot serve it."""
        if position not in self._retrievers:
            choice = self.router.choices[position]
            try:
                self._retrievers[position] = self.first if choice.name == FIRST_RETRIEVER else self.make(choice)
            except InputError as error:
                self._retrievers[position] = str(error)
        return self._retrievers[position]


def _add_notes(evidence: Evidence, notes: Sequence[str], seconds: float) -> Evidence:
    usage = evidence.usage + Usage(seconds=seconds)
    return replace(evidence, notes=(*notes, *evidence.notes), usage=usage)


def build_routed(context: IndexContext, settings: Routed, open_retriever: OpenRetriever) -> Retriever:
    """Return the retriever; raises InputError where a choice is not of the weights, or the folder holds no weights."""
    folder = WEIGHTS if settings.weights is None else existing_weights(settings.weights, f"{NAME}: weights")
    weights = load_choices(folder, tuple(SIGNALS))
    router = Router(weights, Preference.from_settings(settings, weights), len(context.scope))
    first = PageRankRetriever(context.scope, context.lexical, GraphWalkConfig())
    return RoutedRetriever(
        context.scope, first, router, lambda choice: open_retriever(choice.retriever, context.with_fresh_cache())
    )
