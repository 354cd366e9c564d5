"""Score runs against gold ids, compare two of them, and put the figures of an evaluation in one report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.datasets.relevance import RelevanceJudgments, match_gold
from clew.errors import InputError
from clew.evaluation.multi_positive_metrics import compute_multi_positive_measures, rank_positives
from clew.evaluation.ranking_metrics import compute_measures, recall_ceiling
from clew.evaluation.runs import Run
from clew.evaluation.significance import RESAMPLES, Comparison, compare_means, mean_intervals
from clew.types import Question, Usage

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    DoubleArray = NDArray[np.float64]

CUTOFFS = (2, 5, 10)
_SEED = 0


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """The measures of one run.

    Attributes:
        question_ids: n questions, in the order they were scored.
        ks: The cut-offs of the measures.
        depth: How many passages a question the run holds, at most; what lies below counts as not found.
        values: For each measure and for "seconds" the figure of each question (n,); NaN where it has no gold.
        summary: The mean of each measure, "seconds_p50", "seconds_p95", and "intervals": 95 % [low, high] of each mean.
        usage: Seconds, calls and tokens of all questions together.
    """

    retriever: str
    question_ids: tuple[str, ...]
    ks: tuple[int, ...]
    depth: int
    values: "Mapping[str, DoubleArray]"
    summary: Mapping[str, Any]
    usage: Usage


def score(
    run: Run,
    questions: Sequence[Question],
    ks: Sequence[int] = CUTOFFS,
    generator: "Generator | None" = None,
    resamples: int = RESAMPLES,
    *,
    positives: bool = False,
) -> ScoredRun:
    """Measure a run against the gold ids of its questions.

    Args:
        run: Holds every question; what else it holds is not scored.
        questions: At least one with gold; those without are left out of the means of the ranking measures.
        ks: Cut-offs, each from 1 to the run's `k`.
        generator: Draws the resamples of the intervals; `default_rng(0)` when None.
        resamples: How many.
        positives: Whether to add the measures over all positives. They look at the whole run: hold 100 passages.

    Returns:
        Measures "recall@k", "all_gold@k", "ndcg@k" for each k, and "mrr" over the run's first `k` passages; where asked
        for, "positives_rr", "tied_rr" and "tied_hits@k" for each k; in the summary also steps, and calls, tokens and
        money that a language model was paid, for a question.

    Raises:
        InputError: A question is not in the run or given twice, none has gold, a cut-off is out of range, or scores
            rise along a ranking whose positives are measured.
    """
    if len({question.id for question in questions}) != len(questions):
        raise InputError("two questions have one id; give each question once")
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
    asked = [rankings[question.id] for question in questions]
    pairs = list(zip(asked, questions, strict=True))
    values = compute_measures([match_gold(found.passage_ids, found.document_ids, q.gold) for found, q in pairs], ks)
    if positives:
        standings = [rank_positives(found.passage_ids, found.document_ids, found.scores, q.gold) for found, q in pairs]
        values |= compute_multi_positive_measures(standings, ks)
    seconds = np.array([ranking.usage.seconds for ranking in asked], dtype=np.float64)
    summary = _summarize(values, seconds, generator or np.random.default_rng(_SEED), resamples)
    ids = tuple(question.id for question in questions)
    usage = sum((ranking.usage for ranking in asked), Usage())
    each = {
        "steps": sum(ranking.steps for ranking in asked),
        "calls": usage.calls,
        "tokens": usage.input_tokens + usage.output_tokens,
        "cost": usage.cost,
    }
    summary |= {what: total / len(asked) for what, total in each.items()}
    return ScoredRun(run.retriever, ids, tuple(ks), run.k, {**values, "seconds": seconds}, summary, usage)


def compare(
    first: ScoredRun,
    second: ScoredRun,
    measure: str,
    generator: "Generator | None" = None,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare two scored runs in one measure, question by question, over the questions that have gold.

    Args:
        first: Its mean minus the second's is the difference.
        second: Scored on the same questions.
        measure: A name from `ScoredRun.values`.
        generator: Draws resamples and sign flips; `default_rng(0)` when None.
        resamples: How many of each.

    Raises:
        InputError: The questions differ, or the measure is not known.
    """
    if first.question_ids != second.question_ids:
        raise InputError(
            f"{first.retriever!r} and {second.retriever!r} were scored on different questions; use the same"
        )
    for scored in (first, second):
        if measure not in scored.values:
            raise InputError(f"measure {measure!r} is not in {scored.retriever!r}; it has {', '.join(scored.values)}")
    kept = ~np.isnan(first.values[measure]) & ~np.isnan(second.values[measure])
    return compare_means(
        (first.retriever, second.retriever),
        measure,
        first.values[measure][kept],
        second.values[measure][kept],
        generator or np.random.default_rng(_SEED),
        resamples,
    )


def build_report(
    index: str,
    questions: Sequence[Question],
    scored: Sequence[ScoredRun],
    comparisons: Sequence[Comparison] = (),
    known_ids: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """Return an evaluation as JSON values.

    Args:
        index: What was searched, as the user named it.
        questions: Those that were scored.
        scored: At least one run, each of its own name, with the same cut-offs and depth.
        comparisons: From `compare`.
        known_ids: Whether an id is a passage or a document of the index; without it gold ids are not checked.

    Returns:
        "index", "questions": their number, "depth": how many passages were looked at for each,
        "retrievers": the summary of each by name, "ceiling": the best possible mean recall@k by cut-off,
        "comparisons", "warnings": gold ids that the index lacks and questions without gold.

    Raises:
        InputError: There is no run, two share a name, or cut-offs, depth or questions differ.
    """
    ids = tuple(question.id for question in questions)
    names = [run.retriever for run in scored]
    if not scored or len(set(names)) != len(names):
        raise InputError(f"the retrievers are {names}; give at least one, each with a name of its own")
    if any((run.ks, run.depth, run.question_ids) != (scored[0].ks, scored[0].depth, ids) for run in scored):
        raise InputError(f"the runs of {', '.join(names)} differ in questions, cut-offs or depth; score them alike")
    judgements = [match_gold((), (), question.gold) for question in questions]
    return {
        "index": index,
        "questions": len(questions),
        "depth": scored[0].depth,
        "retrievers": {run.retriever: dict(run.summary) for run in scored},
        "ceiling": {f"recall@{k}": _mean_known(recall_ceiling(judgements, k)) for k in scored[0].ks},
        "comparisons": [asdict(comparison) for comparison in comparisons],
        "warnings": _missing_gold_warnings(judgements)
        + ([] if known_ids is None else unknown_gold(questions, known_ids)),
    }


def unknown_gold(questions: Sequence[Question], known_ids: Callable[[str], bool]) -> list[str]:
    """Return one warning for each gold id that no retriever can find, with the questions that ask for it."""
    asking: dict[str, list[str]] = {}
    for question in questions:
        for gold in dict.fromkeys(question.gold):
            asking.setdefault(gold, []).append(question.id)
    return [
        f"gold id {gold!r} of question {', '.join(map(repr, ids[:3]))}{' and more' if len(ids) > 3 else ''} "
        "is neither a passage nor a document of the index; it counts as never found"
        for gold, ids in asking.items()
        if not known_ids(gold)
    ]


def _missing_gold_warnings(judgements: Sequence[RelevanceJudgments]) -> list[str]:
    count = sum(not judgement.gold_count for judgement in judgements)
    text = f"{count} of {len(judgements)} questions have no gold ids and are left out of the ranking measures"
    return [text] if count else []


def _summarize(
    values: "Mapping[str, DoubleArray]", seconds: "DoubleArray", generator: "Generator", resamples: int
) -> dict[str, Any]:
    table = np.stack(list(values.values()), axis=1)
    table = table[~np.isnan(table).any(axis=1)]
    if not len(table):
        raise InputError("no question has gold ids; give questions with at least one")
    intervals = mean_intervals(table, generator, resamples=resamples).tolist()
    return {
        **dict(zip(values, table.mean(axis=0).tolist(), strict=True)),
        "seconds_p50": float(np.percentile(seconds, 50)),
        "seconds_p95": float(np.percentile(seconds, 95)),
        "intervals": dict(zip(values, intervals, strict=True)),
    }


def _mean_known(values: "DoubleArray") -> float:
    return float(values[~np.isnan(values)].mean())
