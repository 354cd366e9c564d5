"""Records of evaluation and comparison results, and their JSON form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from clew.arrays import DoubleArray
from clew.evaluation.significance import RESAMPLES, Comparison, mean_intervals

Interval = tuple[float, float]
"""Lower and upper end."""


@dataclass(frozen=True, slots=True)
class RetrieverSummary:
    """Figures of a retriever: mean of each measure over the questions, and percentiles of the seconds per question."""

    means: Mapping[str, float]
    seconds_p50: float
    seconds_p95: float
    intervals: Mapping[str, Interval]  # 95 % interval of the means that have one
    # means per question of steps, calls, tokens and money, and the figures of answers
    costs: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_values(
        cls,
        means: Mapping[str, float],
        values: Mapping[str, DoubleArray],
        seconds: DoubleArray,
        generator: Generator,
        resamples: int = RESAMPLES,
    ) -> "RetrieverSummary":
        """Summarize measures with intervals of their `values`, each (n,), and `seconds` (m,) of m >= n questions."""
        table = np.stack(list(values.values()), axis=1)
        intervals = [(low, high) for low, high in mean_intervals(table, generator, resamples=resamples).tolist()]
        p50, p95 = (float(np.percentile(seconds, percent)) for percent in (50, 95))
        return cls(means, p50, p95, dict(zip(values, intervals, strict=True)))

    def to_json(self) -> dict[str, Any]:
        """Return all figures as one JSON object, with the intervals under "intervals"."""
        seconds = {"seconds_p50": self.seconds_p50, "seconds_p95": self.seconds_p95}
        return {**self.means, **seconds, "intervals": _intervals_json(self.intervals), **self.costs}


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Result of an evaluation of retrievers."""

    index: str  # name of the index
    questions: int
    retrievers: Mapping[str, RetrieverSummary]
    ceiling: Mapping[str, float]  # best possible mean recall@k by measure
    comparisons: tuple[Comparison, ...]  # paired comparisons of the first retriever with the others
    warnings: tuple[str, ...]
    depth: int | None = None  # number of ranked passages per question; None for retrievers of paths
    notes: tuple[str, ...] = ()  # what was done beside measuring, such as adapting

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, as printed by `clew eval`."""
        return {
            "index": self.index,
            "questions": self.questions,
            **({} if self.depth is None else {"depth": self.depth}),
            "retrievers": {name: summary.to_json() for name, summary in self.retrievers.items()},
            "ceiling": dict(self.ceiling),
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "warnings": list(self.warnings),
            **({"notes": list(self.notes)} if self.notes else {}),
        }


@dataclass(frozen=True, slots=True)
class SelectionSummary:
    """Figures of one subgraph selection: mean of each measure over the questions, and accuracy with each seed."""

    means: Mapping[str, float]
    intervals: Mapping[str, Interval]  # 95 % interval of each mean; for "train_seconds" the minimum and the maximum
    train_seconds: float  # mean over the seeds
    by_seed: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all figures as one JSON object."""
        rest = {"train_seconds": self.train_seconds, "by_seed": list(self.by_seed)}
        return {**self.means, "intervals": _intervals_json(self.intervals), **rest}


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """Result of a comparison of subgraph selections."""

    questions: int  # number of test questions
    training_questions: int
    validation_questions: int  # which choose the epoch
    budget: int  # maximum number of nodes of a selection
    seeds: int
    selections: Mapping[str, SelectionSummary]
    comparisons: tuple[Comparison, ...]  # paired comparisons of the first selection with the others
    # by selection, the number of distinct graphs that were too long for the reader, if any
    truncated: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, as printed by `clew compare`."""
        return {
            "questions": self.questions,
            "learned_from": self.training_questions,
            "budget": self.budget,
            "seeds": self.seeds,
            "selections": {name: summary.to_json() for name, summary in self.selections.items()},
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "shortened": dict(self.truncated),
        }


def _intervals_json(intervals: Mapping[str, Interval]) -> dict[str, list[float]]:
    return {name: [low, high] for name, (low, high) in intervals.items()}
