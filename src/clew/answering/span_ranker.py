"""Learned ranking of candidate answers: an ensemble of small networks over features, and a calibrated probability.

Each network maps a candidate's features to a score by one hidden layer; a softmax over the candidates of a question
makes probabilities, and the mean over the networks is taken. The score of the rules (`candidates`) is added to its
logarithm: the networks alone are worse on questions of a kind that training has few of. Candidates of the same name add
their probabilities. The calibration maps the probabilities, the features of the best candidate, and how well the
evidence fits the question, to the probability that the answer is right. Above the line an answer is asserted.

Source: own; the calibration is Platt, "Probabilistic outputs for support vector machines" (1999), with more inputs.
Differs from the source: nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, final

import numpy as np

from clew.answering.answer_spans import SpanCandidate, find_candidates
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import can_answer
from clew.answering.span_features import FEATURES, span_features
from clew.arrays import DoubleArray, FloatArray
from clew.store.weights_io import PRETRAINED_FOLDER, read_weights, write_weights
from clew.text.normalization import name_key

ANSWER_WEIGHTS = PRETRAINED_FOLDER / "answers"
QUESTION_SIGNALS = (
    "best", "lead", "best with rules", "lead with rules", "entropy", "names", "coverage", "similarity", "missing names",
)  # fmt: skip
"""First inputs of the calibration: logit of the best name's probability and its lead over the second one's, by the
networks; its probability's logit and lead with the rules; entropy of the names and the logarithm of their count; shares
of the question's words and names; the best cosine of a sentence."""
CANDIDATE_SIGNALS = (
    "type fit", "proximity", "overlap", "similarity", "sentence score", "verb", "event fit", "place fit", "person fit",
    "date fit", "life fit", "frequency", "continues", "quoted", "rank", "asked", "in question", "shared words", "title",
    "chain end", "typed", "noun inside", "below best score", "own passage", "path end", "span phrase", "span extended",
    "span joined", "span part", "asks date", "asks number", "asks person", "asks place", "asks name",
)  # fmt: skip
"""Features of the best candidate, the other inputs of the calibration."""
SIGNALS = (*QUESTION_SIGNALS, *(f"best: {name}" for name in CANDIDATE_SIGNALS))
MAX_STANDARDIZED = 4.0
"""Bound on standardized features; values far outside those of training say no more."""
NAMED_PENALTY = 2.0
"""Taken from the rules' score of a candidate that the question nearly names; the rules leave it out."""
_MIN_PROBABILITY = 1e-6
_SIGNAL_COLUMNS = [FEATURES.index(name) for name in CANDIDATE_SIGNALS]
_SCORE, _ASKED = FEATURES.index("score"), FEATURES.index("asked")


@dataclass(frozen=True, slots=True, eq=False)
class SpanRankerWeights:
    """Trained weights of m networks with h hidden units over f features."""

    mean: FloatArray  # (f,) of the features in training
    scale: FloatArray  # (f,) their standard deviations, above 0
    hidden: FloatArray  # (m, f, h)
    hidden_bias: FloatArray  # (m, h)
    output: FloatArray  # (m, h)
    calibration: FloatArray  # (s + 1,) weights of `SIGNALS`, then the bias
    rule_weight: float  # of the rules' score beside the logarithm of the networks' probability, at least 0
    encoder: str  # fingerprint of the encoder whose cosines were read
    threshold: float  # minimum calibrated probability of an answer, 0 to 1
    line: float  # minimum calibrated probability of an answer that is asserted, from the threshold to 1
    about: Mapping[str, Any]  # training recipe and results

    @property
    def fingerprint(self) -> str:
        """Identifier of the weights."""
        digest = blake2b(digest_size=8)
        for name in _ARRAYS:
            digest.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        return f"answers-{digest.hexdigest()}"


_ARRAYS = ("mean", "scale", "hidden", "hidden_bias", "output", "calibration")


@dataclass(frozen=True, slots=True)
class RankedSpan:
    """A candidate and the probability, 0 to 1, that its name is the right one of the question's candidates."""

    candidate: SpanCandidate
    probability: float  # with the rules' score
    network: float = 0.0  # by the networks alone
    features: FloatArray = field(default_factory=lambda: np.zeros(len(FEATURES), np.float32), compare=False)  # (f,)


@final
@dataclass(frozen=True, slots=True, eq=False)
class SpanRanker:
    """Ranks spans of the chosen sentences by trained weights."""

    trained: SpanRankerWeights

    def rank(self, analysis: QuestionAnalysis) -> list[RankedSpan]:
        """Return the candidates that are not in the question, best first, one for each name."""
        candidates = answer_candidates(analysis)
        features = span_features(analysis, candidates)
        probabilities = self.probabilities(features)
        return group_by_name(candidates, self.add_rules(probabilities, features), probabilities, features)

    def add_rules(self, probabilities: DoubleArray, features: FloatArray) -> DoubleArray:
        """Return the networks' probabilities (n,) times a power of e to the rules' score, normalised to sum to 1.

        The rules' score is read from the features (n, len(`FEATURES`)).
        """
        if not len(features):
            return probabilities
        rules = features[:, _SCORE].astype(np.float64) - NAMED_PENALTY * features[:, _ASKED]
        products = probabilities * np.exp(self.trained.rule_weight * (rules - rules.max()))
        return np.asarray(products / products.sum()) if products.sum() > 0 else probabilities

    def probabilities(self, features: FloatArray) -> DoubleArray:
        """Return the probability of each candidate of a question, given features (n, f); they sum to 1 if any."""
        if not len(features):
            return np.zeros(0)
        standardized = standardize(features, self.trained.mean, self.trained.scale)
        activation = np.maximum(np.matmul(standardized, self.trained.hidden) + self.trained.hidden_bias[:, None], 0)
        scores = np.matmul(activation, self.trained.output[..., None])[..., 0].astype(np.float64)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray((powers / powers.sum(axis=1, keepdims=True)).mean(axis=0))

    def calibrate(self, ranked: Sequence[RankedSpan], analysis: QuestionAnalysis, missing_names: int) -> float:
        """Return the probability, 0 to 1, that the best candidate answers the question."""
        totals = np.array([one.probability for one in ranked])
        networks = np.array([one.network for one in ranked])
        signals = calibration_signals(totals, networks, ranked[0].features, fit_signals(analysis, missing_names))
        return float(calibrated_probabilities(self.trained.calibration, signals))


def answer_candidates(analysis: QuestionAnalysis) -> list[SpanCandidate]:
    """Return the candidates of the chosen sentences, without those that the question names.

    Those that are not of the form that the question asks for, as a year or a number, are left out.
    """
    found = find_candidates(analysis.chosen, analysis.sentences)
    named = [c for c in found if (key := name_key(c.text)) and f" {key} " not in analysis.query.text_key]
    return [c for c in named if can_answer(c.text, c.span.kind, analysis.query.question_type)]


def standardize(features: FloatArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return features (n, f), of these means (f,) and deviations (f,), with mean 0 and deviation 1, bounded."""
    bounded = np.clip((features - mean) / scale, -MAX_STANDARDIZED, MAX_STANDARDIZED)
    return np.asarray(bounded, dtype=np.float32)


def group_by_name(
    candidates: Sequence[SpanCandidate], probabilities: DoubleArray, networks: DoubleArray, features: FloatArray
) -> list[RankedSpan]:
    """Return the best candidate of each name with the sums of the name's probabilities, best first.

    For n candidates these are their `probabilities` (n,) with the rules, those by the `networks` (n,) alone, each from
    0 to 1, and their `features` (n, len(`FEATURES`)).
    """
    best: dict[str, int] = {}
    totals: dict[str, float] = {}
    by_networks: dict[str, float] = {}
    for i, (candidate, probability) in enumerate(zip(candidates, probabilities.tolist(), strict=True)):
        key = name_key(candidate.text)
        totals[key] = totals.get(key, 0.0) + probability
        by_networks[key] = by_networks.get(key, 0.0) + float(networks[i])
        if key not in best or probability > probabilities[best[key]]:
            best[key] = i
    order = sorted(best, key=lambda key: (-totals[key], best[key]))
    return [RankedSpan(candidates[best[key]], totals[key], by_networks[key], features[best[key]]) for key in order]


def calibrated_probabilities(calibration: FloatArray, signals: DoubleArray) -> DoubleArray:
    """Return the probabilities (...) of right answers, given weights (s + 1,) and signals (..., s)."""
    return np.asarray(1 / (1 + np.exp(-(signals @ calibration[:-1] + calibration[-1]))))


def fit_signals(analysis: QuestionAnalysis, missing_names: int) -> DoubleArray:
    """Return the calibration's inputs (3,) that the evidence gives: the last three of `QUESTION_SIGNALS`."""
    return np.array([analysis.coverage, max(analysis.similarities), float(missing_names > 0)])


def calibration_signals(
    totals: DoubleArray, networks: DoubleArray, features: FloatArray, fit: DoubleArray
) -> DoubleArray:
    """Return the inputs of the calibration, in the order of `SIGNALS`.

    Args:
        totals: Probabilities (m,) of the m names with the rules, greatest first.
        networks: Their probabilities (m,) by the networks alone, in the same order.
        features: Features (f,) of the best candidate of the first name.
        fit: What `fit_signals` gives (3,).
    """
    second, second_total = max(networks[1:], default=0.0), max(totals[1:], default=0.0)
    positive = totals[totals > 0]
    entropy = -float((positive * np.log(positive)).sum())
    own = (_logit(networks[0]), networks[0] - second, _logit(totals[0]), totals[0] - second_total, entropy)
    return np.array([*own, np.log1p(len(totals)), *fit, *features[_SIGNAL_COLUMNS]], dtype=np.float64)


def _logit(probability: float) -> float:
    bounded = min(max(float(probability), _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
    return float(np.log(bounded / (1 - bounded)))


def save_span_ranker(folder: Path, trained: SpanRankerWeights) -> None:
    """Write weights into a folder, which is made if absent; raises ProviderError where it cannot be written."""
    config = {
        "features": list(FEATURES), "signals": list(SIGNALS), "encoder": {"fingerprint": trained.encoder},
        "rule_weight": trained.rule_weight,
        "threshold": trained.threshold, "line": trained.line, "about": dict(trained.about),
    }  # fmt: skip
    write_weights(folder, config, {name: getattr(trained, name) for name in _ARRAYS})


def load_span_ranker(folder: Path) -> SpanRankerWeights:
    """Read a folder of `save_span_ranker`; raises ProviderError where a file is missing, damaged or of other inputs."""
    return read_weights(folder, "the ranker of answers", _parse_weights)


def _parse_weights(config: dict[str, Any], arrays: dict[str, FloatArray]) -> SpanRankerWeights:
    if tuple(config["features"]) != FEATURES or tuple(config["signals"]) != SIGNALS or set(arrays) != set(_ARRAYS):
        raise ValueError(
            f"{len(config['features'])} features and {sorted(arrays)}; wanted {len(FEATURES)} of this version"
        )
    networks, width, hidden = arrays["hidden"].shape
    wanted = {
        "mean": (width,), "scale": (width,), "hidden": (networks, len(FEATURES), hidden),
        "hidden_bias": (networks, hidden), "output": (networks, hidden), "calibration": (len(SIGNALS) + 1,),
    }  # fmt: skip
    if wrong := [name for name, array in arrays.items() if array.shape != wanted[name]]:
        raise ValueError(f"{wrong[0]} has shape {arrays[wrong[0]].shape}; wanted {wanted[wrong[0]]}")
    encoder, threshold = str(config["encoder"]["fingerprint"]), float(config["threshold"])
    line = float(config["line"])
    if (arrays["scale"] <= 0).any() or not 0 <= threshold <= line <= 1:
        raise ValueError("a scale is not above 0, or the threshold or the line is no probability")
    rule_weight = float(config["rule_weight"])
    if not 0 <= rule_weight < np.inf:
        raise ValueError(f"rule_weight is {rule_weight}; wanted a number from 0")
    return SpanRankerWeights(
        **arrays,
        rule_weight=rule_weight,
        encoder=encoder,
        threshold=threshold,
        line=line,
        about=dict(config["about"]),
    )
