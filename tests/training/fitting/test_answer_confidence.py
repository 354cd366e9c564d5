"""The calibration of answers, against scikit-learn and against every line one by one."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from clew.answering.confidence import Confidence, Signals
from clew.errors import ProviderError
from clew.training.fitting.answer_confidence import (
    _PENALTY,
    choose_line,
    choose_threshold,
    confidence_to_dict,
    fit_logistic,
    remove_gold,
)
from clew.types import Evidence, Passage, Scored


def test_the_regression_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    signals = random.normal(size=(400, 3)) * (1.0, 5.0, 0.2) + (0.0, 3.0, 1.0)
    right = random.random(400) < 1 / (1 + np.exp(-(signals @ (1.0, -0.3, 2.0))))
    scale = signals.std(axis=0)
    oracle = LogisticRegression(C=1 / (_PENALTY * len(signals)), tol=1e-10, max_iter=1000)
    oracle.fit((signals - signals.mean(axis=0)) / scale, right)
    assert fit_logistic(signals, right)[:-1] == pytest.approx(oracle.coef_[0] / scale, abs=1e-2)


def test_all_right_and_all_wrong_have_weights() -> None:
    signals = np.arange(6.0).reshape(3, 2)
    for right in (np.ones(3, bool), np.zeros(3, bool)):
        weights = fit_logistic(signals, right)
        assert np.isfinite(weights).all()
        assert (signals @ weights[:-1] + weights[-1] > 0).tolist() == right.tolist()


def test_the_threshold_loses_few_and_the_line_is_the_least_that_is_right_enough() -> None:
    random = np.random.default_rng(1)
    probabilities = random.random(300)
    right = random.random(300) < probabilities
    threshold = choose_threshold(probabilities, right, 0.05)
    assert (probabilities[right] < threshold).mean() <= 0.05 < (probabilities[right] < threshold + 0.02).mean()
    line = choose_line(probabilities, right, 0.8)
    assert right[probabilities >= line].mean() >= 0.8
    assert all(right[probabilities >= other].mean() < 0.8 for other in np.arange(0.01, line - 0.005, 0.01))
    assert choose_line(probabilities, np.zeros(300, bool), 0.8) == 1.0
    few = probabilities > np.sort(probabilities)[-10]
    assert choose_line(probabilities, few, 0.8) == 1.0  # nine that are right by luck
    assert choose_threshold(probabilities, np.zeros(300, bool), 0.05) == 0.0


def test_a_calibration_comes_back_from_its_file_and_a_faulty_one_is_refused() -> None:
    made = Confidence(tuple(float(n) for n in range(len(Signals._fields) + 1)), 0.2, 0.7)
    stored = confidence_to_dict(made)
    assert Confidence.from_manifest({"calibration": stored}) == made
    faults: tuple[dict[str, Any], ...] = ({"line": 0.1}, {"threshold": "x"}, {"weights": {}})
    for fault in faults:
        with pytest.raises(ProviderError, match="reader"):
            Confidence.from_manifest({"calibration": stored | fault})
    with pytest.raises(ProviderError, match="train the reader"):
        Confidence.from_manifest({})


def test_gold_passages_and_what_rests_on_them_are_taken_out() -> None:
    passages = [Passage(f"d{n}#0", f"d{n}", "", "text", 0, 4) for n in range(4)]
    evidence = Evidence(tuple(Scored(passage, 1.0) for passage in passages))
    left = remove_gold(evidence, ("d0", "d2#0"), 1)
    assert [scored.item.document_id for scored in left.passages] == ["d1"]
