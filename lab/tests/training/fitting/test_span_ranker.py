"""Training of the ranker of candidate answers: a planted rule is learned, the calibration is a logistic regression."""

from dataclasses import replace

import numpy as np
import pytest

from clew.answering.span_features import FEATURES
from clew.answering.span_ranker import SpanRanker
from clew.errors import InputError
from clew_lab.training.fitting.span_ranker import (
    AnswerExample,
    AnswerRecipe,
    assign_folds,
    choose_threshold,
    fit_calibration,
    train_networks,
)

RECIPE = AnswerRecipe(networks=2, hidden=16, epochs=15, batch=8, dropout=0.2)


def make_examples(count: int, seed: int) -> list[AnswerExample]:
    """Return questions whose right candidate has the third feature nearest to 0, which no linear score finds."""
    random = np.random.default_rng(seed)
    examples = []
    for _ in range(count):
        features = random.normal(size=(int(random.integers(3, 9)), len(FEATURES))).astype(np.float32)
        best = np.abs(features[:, 2]).argmin()
        examples.append(AnswerExample(features, np.arange(len(features)) == best))
    return examples


def test_a_planted_rule_is_learned() -> None:
    ranker = SpanRanker(train_networks(make_examples(600, 0), RECIPE))
    hits = [e.right[ranker.probabilities(e.features).argmax()] for e in make_examples(100, 1)]
    assert np.mean(hits) > 0.6  # at random a fifth


def test_training_is_deterministic_and_the_seed_counts() -> None:
    examples, recipe = make_examples(20, 0), replace(RECIPE, epochs=1)
    first, second = train_networks(examples, recipe), train_networks(examples, recipe)
    assert first.fingerprint == second.fingerprint
    assert train_networks(examples, replace(recipe, seed=1)).fingerprint != first.fingerprint
    # Questions without a right candidate change nothing.
    wrong = AnswerExample(examples[0].features, np.zeros(len(examples[0].right), dtype=np.bool_))
    assert train_networks([*examples, wrong], recipe).fingerprint == first.fingerprint


def test_no_right_candidate_is_an_error() -> None:
    wrong = AnswerExample(np.zeros((2, len(FEATURES)), dtype=np.float32), np.zeros(2, dtype=np.bool_))
    with pytest.raises(InputError, match="no question has a right answer"):
        train_networks([wrong], RECIPE)


def test_the_calibration_is_that_of_gradient_descent() -> None:
    random = np.random.default_rng(3)
    signals = random.normal(size=(200, 2))
    right = random.random(200) < 1 / (1 + np.exp(-(signals @ [1.0, -2.0] + 0.5)))
    signals = signals * [1.0, 3.0] + [0.0, 5.0]
    mean, scale = signals.mean(axis=0), signals.std(axis=0)
    weights = np.zeros(3)
    inputs = np.hstack([(signals - mean) / scale, np.ones((200, 1))])
    penalty = np.array([0.025 * 200, 0.025 * 200, 1e-2])
    for _ in range(4000):
        weights -= 0.01 * (inputs.T @ (1 / (1 + np.exp(-(inputs @ weights))) - right) + penalty * weights)
    weights[:2] /= scale
    weights[2] -= weights[:2] @ mean
    np.testing.assert_allclose(fit_calibration(signals, right), weights, atol=1e-3)
    assert np.isfinite(fit_calibration(signals, np.zeros(200, dtype=np.bool_))).all()


def test_the_threshold_withholds_few_right_answers() -> None:
    random = np.random.default_rng(4)
    probabilities, right = random.random(500), random.random(500) < 0.5
    threshold = choose_threshold(probabilities, right, 0.1)
    assert np.mean(probabilities[right] < threshold) <= 0.1 < np.mean(probabilities[right] < threshold + 0.02)
    assert choose_threshold(probabilities, np.zeros(500, dtype=np.bool_), 0.1) == 0


def test_folds_are_even() -> None:
    folds = assign_folds(11, RECIPE)
    assert sorted(np.bincount(folds)) == [5, 6]
