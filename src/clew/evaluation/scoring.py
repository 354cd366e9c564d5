"""Scoring of runs against gold ids, paired comparison of two runs, and the report of an evaluation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from clew.arrays import DoubleArray
from clew.errors import InputError
from clew.evaluation.ranking_metrics import compute_measures, match_gold, recall_ceiling
from clew.evaluation.runs import Ranking, Run
from clew.evaluation.significance import RESAMPLES, Comparison, compare_means, mean_intervals
from clew.text.display import format_count
from clew.types import Question, Usage

CUTOFFS = (2, 5, 10)
FurtherMeasures = Callable[[Sequence[Ranking], Sequence[Question]], Mapping[str, DoubleArray]]
"""Returns measures by name, with the value of each question (n,), NaN without gold."""
_SEED = 0


@dataclass(frozen=True, slots=True)
class RetrieverSummary:
    """Figures of a retriever: mean of each measure over the questions, and percentiles of the seconds per question."""

    means: Mapping[str, float]
    seconds_p50: float
    seconds_p95: float
    intervals: Mapping[str, tuple[float, float]]  # 95 % interval of the means that have one
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
        return {
            **self.means,
            **seconds,
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            **self.costs,
        }


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
class ScoredRun:
    """Scores of one run."""

    retriever: str
    question_ids: tuple[str, ...]  # n questions, in the order they were scored
    ks: tuple[int, ...]  # cut-offs of the measures
    depth: int  # maximum number of passages per question in the run; a lower rank counts as not found
    # for each measure and for "seconds" the value of each question (n,); NaN without gold
    values: Mapping[str, DoubleArray]
    summary: RetrieverSummary
    usage: Usage  # total of all questions


def score(
    run: Run,
    questions: Sequence[Question],
    ks: Sequence[int] = CUTOFFS,
    resamples: int = RESAMPLES,
    further: FurtherMeasures | None = None,
) -> ScoredRun:
    """Score a run, which holds every question and maybe others, against the gold ids; at least one question has gold.

    Measures are "recall@k", "all_gold@k" and "ndcg@k" for each of the distinct `ks`, from 1 to the run's `k`, and "mrr"
    over the run's first `k` passages; `further` returns more measures by name, with the value of each question (n,),
    NaN without gold. Questions without gold are left out of the means of the ranking
    measures. The summary's costs are the means per question of steps, and of a model's calls, tokens and money.
    """
    if not ks or min(ks) < 1 or max(ks) > run.k or len(set(ks)) != len(ks):
        raise InputError(
            f"cut-offs are {list(ks)}, but the run of {run.retriever!r} holds the first {run.k} passages; "
            f"wanted different cut-offs from 1 to {run.k}. Run again with a greater k, or lower the cut-offs"
        )
    rankings = {ranking.question_id: ranking for ranking in run.rankings}
    missing = [question.id for question in questions if question.id not in rankings]
    if missing:
        raise InputError(
            f"the run of {run.retriever!r} lacks {len(missing)} of {len(questions)} questions, first {missing[0]!r}; "
            "score it on the questions it was run on"
        )
    scored = [rankings[question.id] for question in questions]
    pairs = list(zip(scored, questions, strict=True))
    values = compute_measures([match_gold(r.passage_ids, r.document_ids, q.gold) for r, q in pairs], ks)
    if further is not None:
        values |= further(scored, questions)
    seconds = np.array([ranking.usage.seconds for ranking in scored], dtype=np.float64)
    summary = _summarize(values, seconds, np.random.default_rng(_SEED), resamples)
    ids = tuple(question.id for question in questions)
    usage = sum((ranking.usage for ranking in scored), Usage())
    totals = {
        "steps": sum(ranking.steps for ranking in scored),
        "calls": usage.calls,
        "tokens": usage.input_tokens + usage.output_tokens,
        "cost": usage.cost,
    }
    summary = replace(summary, costs={name: total / len(scored) for name, total in totals.items()})
    return ScoredRun(run.retriever, ids, tuple(ks), run.k, {**values, "seconds": seconds}, summary, usage)


def compare(first: ScoredRun, second: ScoredRun, measure: str) -> Comparison:
    """Compare two runs scored on the same questions in one measure, paired over the questions with gold.

    The difference is first minus second. Raises InputError if the questions differ.
    """
    if first.question_ids != second.question_ids:
        raise InputError(
            f"{first.retriever!r} and {second.retriever!r} were scored on different questions; use the same"
        )
    has_gold = ~np.isnan(first.values[measure]) & ~np.isnan(second.values[measure])
    return compare_means(
        (first.retriever, second.retriever),
        measure,
        first.values[measure][has_gold],
        second.values[measure][has_gold],
        np.random.default_rng(_SEED),
    )


def build_report(
    index: str,
    questions: Sequence[Question],
    scored: Sequence[ScoredRun],
    comparisons: Sequence[Comparison] = (),
    known_ids: Callable[[str], bool] | None = None,
) -> EvaluationReport:
    """Assemble the report of an evaluation, with warnings of questions without gold and of unknown gold ids.

    There is at least one run, with distinct names and the same questions, cut-offs and depth. `known_ids` tells whether
    an id is a passage or a document of the index; None skips the check of gold ids.
    """
    judgements = [match_gold((), (), question.gold) for question in questions]
    warnings = [] if known_ids is None else unknown_gold(questions, known_ids)
    if count := sum(not judgement.gold_count for judgement in judgements):
        verbs = ("has", "is") if count == 1 else ("have", "are")
        share = f"{count} of {format_count(len(judgements), 'question')}"
        text = f"{share} {verbs[0]} no gold ids and {verbs[1]} left out of the ranking measures"
        warnings = [text, *warnings]
    ceilings = {f"recall@{k}": recall_ceiling(judgements, k) for k in scored[0].ks}
    return EvaluationReport(
        index,
        len(questions),
        {run.retriever: run.summary for run in scored},
        {measure: float(values[~np.isnan(values)].mean()) for measure, values in ceilings.items()},
        tuple(comparisons),
        tuple(warnings),
        depth=scored[0].depth,
    )


def unknown_gold(questions: Sequence[Question], known_ids: Callable[[str], bool]) -> list[str]:
    """Return one warning per gold id that is not in the index, naming up to three of its questions."""
    question_ids: dict[str, list[str]] = {}
    for question in questions:
        for gold in dict.fromkeys(question.gold):
            question_ids.setdefault(gold, []).append(question.id)
    return [
        f"gold id {gold!r} of question {', '.join(map(repr, ids[:3]))}{' and more' if len(ids) > 3 else ''} "
        "is neither a passage nor a document of the index; it counts as never found"
        for gold, ids in question_ids.items()
        if not known_ids(gold)
    ]


def _summarize(
    values: Mapping[str, DoubleArray], seconds: DoubleArray, generator: Generator, resamples: int
) -> RetrieverSummary:
    has_gold = ~np.isnan(np.stack(list(values.values()))).any(axis=0)
    if not has_gold.any():
        raise InputError(
            "no question has gold ids; give questions with at least one (those with topics and answers, on a graph, "
            "are for clew eval-graph of the package clew-lab)"
        )
    table = np.stack(list(values.values()), axis=1)[has_gold]
    columns = {name: table[:, column] for column, name in enumerate(values)}
    means = dict(zip(values, table.mean(axis=0).tolist(), strict=True))
    return RetrieverSummary.from_values(means, columns, seconds, generator, resamples)
