"""Scores of a run and figures of a report, against means computed by hand."""

import json

import numpy as np
import pytest

from clew.errors import InputError
from clew.evaluation.runs import Ranking, Run
from clew.evaluation.scoring import ScoredRun, build_report, compare, score
from clew.types import Question, Usage

QUESTIONS = [
    Question("q1", "?", gold=("a", "b")),
    Question("q2", "?", gold=("c",)),
    Question("q3", "?"),  # no gold
    Question("q4", "?", gold=("a", "b", "c", "lost")),
]


def run_of(name: str, rankings: dict[str, str], k: int = 5) -> Run:
    """Each letter of a ranking is a document of one passage."""
    return Run(
        name,
        k,
        tuple(
            Ranking(
                question,
                tuple(f"{letter}#0" for letter in letters),
                tuple(letters),
                tuple(float(-rank) for rank in range(len(letters))),
                Usage(0.1 * number, 1, 10, 2),
            )
            for number, (question, letters) in enumerate(rankings.items(), 1)
        ),
    )


def good() -> Run:
    return run_of("good", {"q1": "abxyz", "q2": "xcyz", "q3": "abc", "q4": "abcxy"})


def bad() -> Run:
    return run_of("bad", {"q1": "xaybz", "q2": "xyzwv", "q3": "abc", "q4": "xyzab"})


def scored(run: Run, questions: list[Question] = QUESTIONS) -> ScoredRun:
    return score(run, questions, [2, 5], resamples=500)


def test_the_summary_is_the_mean_over_questions_with_gold() -> None:
    result = scored(good())
    summary = result.summary.to_json()
    assert summary["recall@2"] == pytest.approx((1 + 1 + 2 / 4) / 3)
    assert summary["recall@5"] == pytest.approx((1 + 1 + 3 / 4) / 3)
    assert summary["all_gold@2"] == summary["all_gold@5"] == pytest.approx(2 / 3)
    assert summary["mrr"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert summary["seconds_p50"] == pytest.approx(0.25)
    assert summary["seconds_p95"] == pytest.approx(0.385)
    measures = [f"{name}@{k}" for k in (2, 5) for name in ("recall", "all_gold", "ndcg")] + ["mrr"]
    assert list(summary) == [*measures, "seconds_p50", "seconds_p95", "intervals", "steps", "calls", "tokens", "cost"]
    assert list(summary["intervals"]) == measures
    for measure in measures:
        low, high = summary["intervals"][measure]
        assert low <= summary[measure] <= high
    assert np.isnan(result.values["mrr"][2])
    assert result.usage.seconds == pytest.approx(1.0)
    assert (result.usage.calls, result.usage.input_tokens, result.usage.output_tokens) == (4, 40, 8)


def test_a_run_is_scored_on_the_questions_given_in_their_order() -> None:
    result = scored(good(), [QUESTIONS[3], QUESTIONS[0]])
    assert result.question_ids == ("q4", "q1")
    assert result.values["recall@5"].tolist() == pytest.approx([0.75, 1])


def test_two_runs_are_compared_over_questions_with_gold() -> None:
    comparison = compare(scored(good()), scored(bad()), "recall@2")
    assert comparison.difference == pytest.approx(((1 - 0.5) + (1 - 0) + (0.5 - 0)) / 3)
    assert comparison.p == pytest.approx(2 / 8)  # all three agree: 2 of the 8 sign patterns are as extreme
    assert comparison.low == pytest.approx(0.5)
    slower = compare(scored(good()), scored(bad()), "seconds")
    assert (slower.difference, slower.p) == (0, 1)


def test_the_report_is_plain_json() -> None:
    first, second = scored(good()), scored(bad())
    comparison = compare(first, second, "mrr")
    known = {"a", "b", "c#0", "c"}
    result = build_report("index", QUESTIONS, [first, second], [comparison], known.__contains__).to_json()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert (result["questions"], result["depth"]) == (4, 5)
    assert list(result) == ["index", "questions", "depth", "retrievers", "ceiling", "comparisons", "warnings"]
    assert result["retrievers"] == {"good": first.summary.to_json(), "bad": second.summary.to_json()}
    assert result["ceiling"] == {"recall@2": pytest.approx((1 + 1 + 0.5) / 3), "recall@5": 1.0}
    assert result["comparisons"][0]["a"] == "good"
    assert set(result["comparisons"][0]) == {"a", "b", "measure", "difference", "low", "high", "p"}
    assert len(result["warnings"]) == 2
    assert "1 of 4 questions has no gold ids" in result["warnings"][0]
    assert "'lost' of question 'q4' is neither a passage nor a document" in result["warnings"][1]


def test_a_gold_id_that_many_questions_share_gives_one_warning() -> None:
    questions = [Question(f"q{number}", "?", gold=("lost",)) for number in range(5)]
    result = scored(run_of("r", dict.fromkeys((q.id for q in questions), "a")), questions)
    (warning,) = build_report("index", questions, [result], known_ids=lambda _: False).warnings
    assert "'q0', 'q1', 'q2' and more" in warning


def test_the_same_run_gives_the_same_figures() -> None:
    assert scored(good()).summary == scored(good()).summary


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="holds the first 5 passages"):
        score(good(), QUESTIONS, [10])
    with pytest.raises(InputError, match="cut-offs from 1 to 5"):
        score(good(), QUESTIONS, [0])
    with pytest.raises(InputError, match="lacks 1 of 5 questions, first 'q5'"):
        scored(good(), [*QUESTIONS, Question("q5", "?")])
    with pytest.raises(InputError, match="no question has gold"):
        scored(good(), [QUESTIONS[2]])
    with pytest.raises(InputError, match="different questions"):
        compare(scored(good()), scored(bad(), QUESTIONS[:2]), "mrr")
