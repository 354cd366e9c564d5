"""The calibration of a reader's answers, fitted on questions that it did not learn from.

Each is asked with its passages and, a part of them, without its gold ones, where every answer is wrong.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from clew.answering.confidence import Confidence, Signals
from clew.answering.extractive import ExtractiveAnswerer
from clew.arrays import BoolArray, DoubleArray
from clew.models.reader.reader import Reader
from clew.text.answer_metrics import exact_match, token_f1
from clew.types import Evidence

RIGHT_OF_ASSERTED = 0.88
"""Share of the asserted answers that are to be right."""
RIGHT_WORDS = 0.6
"""F1 of words from which an answer that is asserted counts as right: "Archer" for "Colin Archer"."""
LOST = 0.01
"""Share of the right answers that may be withheld."""
LEAST_QUESTIONS = 100
LEAST_ASSERTED = 20
"""Answers above the line that are needed to choose it: fewer are right by luck."""
_PENALTY, _NEWTON_STEPS = 1e-2, 25


@dataclass(frozen=True, slots=True)
class CalibrationCase:
    """A question with evidence, and its answers: () where the evidence does not hold one."""

    question: str
    answers: tuple[str, ...]
    evidence: Evidence


def fit_confidence(reader: Reader, cases: Iterable[CalibrationCase]) -> tuple[Confidence, dict[str, float]] | None:
    """Return the calibration of a reader, and shares of the questions that it decides: asserted, and right of those.

    None for fewer than 100 questions that it reads: they calibrate nothing.
    """
    answerer = ExtractiveAnswerer(reader)
    read = [(found, one.answers) for one in cases if (found := answerer.read_one(one.question, one.evidence))]
    if len(read) < LEAST_QUESTIONS:
        return None
    first = np.cumsum([0, *(len(found) for found, _ in read)])
    signals = np.array([signals for found, _ in read for _, signals in found], dtype=np.float64)
    fits = np.array(
        [bool(answers) and exact_match(s.text, answers) == 1.0 for found, answers in read for s, _ in found]
    )
    agrees = np.array(
        [bool(answers) and token_f1(s.text, answers) >= RIGHT_WORDS for found, answers in read for s, _ in found]
    )
    weights = fit_logistic(signals, fits)
    estimates = 1 / (1 + np.exp(-(signals @ weights[:-1] + weights[-1])))
    chosen = np.array([a + int(estimates[a:b].argmax()) for a, b in pairwise(first.tolist())])
    probabilities, exact, right = estimates[chosen], fits[chosen], agrees[chosen]
    threshold = choose_threshold(probabilities, exact, LOST)
    line = max(threshold, choose_line(probabilities, right, RIGHT_OF_ASSERTED))
    asserted = probabilities >= line
    figures = {
        "questions": float(len(read)),
        "right to the word": 100 * float(exact.mean()),
        "asserted": 100 * float(asserted.mean()),
        "right of the asserted": 100 * float(right[asserted].mean()) if asserted.any() else 0.0,
        "right to the word of the asserted": 100 * float(exact[asserted].mean()) if asserted.any() else 0.0,
    }
    return Confidence(tuple(weights.tolist()), threshold, line), figures


def confidence_to_dict(confidence: Confidence) -> dict[str, Any]:
    """Return a calibration as config.json holds it."""
    weights = dict(zip((*Signals._fields, "bias"), (round(w, 6) for w in confidence.weights), strict=True))
    return {"weights": weights, "threshold": confidence.threshold, "line": confidence.line}


def remove_gold(evidence: Evidence, gold: Sequence[str], count: int) -> Evidence:
    """Return evidence with `count` passages at most, none of them gold, and without the chains and paths over gold."""
    ids = {p.id for p in (scored.item for scored in evidence.passages) if p.id in gold or p.document_id in gold}
    passages = tuple(scored for scored in evidence.passages if scored.item.id not in ids)[:count]
    chains = tuple(c for c in evidence.chains if not any(s.passage_id in ids for s in c.item.sentences))
    paths = tuple(p for p in evidence.paths if not any(ids & set(triple.passages) for triple in p.item))
    return replace(evidence, passages=passages, chains=chains, paths=paths)


def fit_logistic(signals: DoubleArray, right: BoolArray) -> DoubleArray:
    """Return weights (s + 1,), the bias last, of a logistic regression of `right` (n,) on signals (n, s).

    The weights of the standardised signals are held near zero, so that they exist for questions that are all right or
    all wrong, and few questions make few claims.
    """
    mean, deviation = signals.mean(axis=0), signals.std(axis=0)
    scale = np.where(deviation > 1e-6, deviation, 1)
    inputs = np.hstack([(signals - mean) / scale, np.ones((len(signals), 1))])
    penalty = np.full(inputs.shape[1], _PENALTY * len(signals))
    penalty[-1] = 1e-2  # all right or all wrong have a bias too
    weights = np.zeros(inputs.shape[1])
    for _ in range(_NEWTON_STEPS):
        probabilities = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        gradient = inputs.T @ (probabilities - right) + penalty * weights
        curvature = (inputs * (probabilities * (1 - probabilities))[:, None]).T @ inputs + np.diag(penalty)
        weights -= np.linalg.solve(curvature, gradient)
    slopes = weights[:-1] / scale
    return np.append(slopes, weights[-1] - slopes @ mean)


def choose_threshold(probabilities: DoubleArray, right: BoolArray, lost: float) -> float:
    """Return the greatest threshold, in hundredths, that withholds at most a share `lost` of the right answers.

    Of n answers these are the `probabilities` (n,), 0 to 1, and which are `right` (n,); 0 where none is.
    """
    kept = np.sort(probabilities[right])
    return float(np.floor(100 * kept[int(lost * len(kept))]) / 100) if len(kept) else 0.0


def choose_line(probabilities: DoubleArray, right: BoolArray, share: float) -> float:
    """Return the least line, in hundredths, above which at least a share of 20 or more answers is right; else 1."""
    for line in np.arange(1, 101) / 100:
        above = probabilities >= line
        if above.sum() >= LEAST_ASSERTED and right[above].mean() >= share:
            return float(line)
    return 1.0
