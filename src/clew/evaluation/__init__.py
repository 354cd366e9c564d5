"""Evaluation of retrievers and answers on questions with gold evidence."""

from clew.datasets.questions import load_questions
from clew.evaluation.runs import Ranking, Run, execute
from clew.evaluation.scoring import (
    EvaluationReport,
    RetrieverSummary,
    ScoredRun,
    build_report,
    compare,
    score,
    unknown_gold,
)
from clew.evaluation.significance import Comparison
from clew.text.answer_metrics import AnswerScores, containment, exact_match, score_answers, token_f1

__all__ = [
    "AnswerScores", "Comparison", "EvaluationReport", "Ranking", "RetrieverSummary", "Run", "ScoredRun",
    "build_report", "compare", "containment", "exact_match", "execute", "load_questions", "score",
    "score_answers", "token_f1", "unknown_gold",
]  # fmt: skip
