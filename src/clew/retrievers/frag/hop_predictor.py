"""Hop prediction for reasoning-aware routing, from the words of a question alone.

The expected number of hops is a sum over words, each mapped by a small network from its vector, so a question of three
relations counts three although the network was trained on questions of two. The sum is the mean of a bell curve over
1, 2, ... hops, and a question is complex when more than half of the curve lies beyond `delta` hops.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on
Knowledge Graphs" (2025), section 4.2.
Differs from the source: hops are counted in place of classifying simple and complex questions, which transfers to other
kinds of question (docs/benchmarks.md) and lets delta be set afterwards; names are masked; the encoder is not tuned.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, final

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.query.linking import MaskedQuestion
from clew.store.weights_io import read_weights, write_weights

HOP_CLASSES = 5
"""Predicted numbers of hops, 1 to 5; the last class covers all greater ones."""
WORDS, TERMS, CLASSIFIER = "words", "tf-idf", "classifier"
TUNED_FOLDER = "encoder"
"""Folder of a classifier's tuned encoder, below its weights."""
ARRAY_NAMES = {
    WORDS: ("direct", "hidden", "hidden_bias", "out", "spread"),
    TERMS: ("weights", "idf", "spread"),
    CLASSIFIER: ("weights", "spread"),
}
VECTOR_SCALE = 4.0  # a unit vector's values are small


@dataclass(frozen=True, slots=True)
class HopPredictorWeights:
    """Trained weights."""

    kind: str  # `words`, `tf-idf` or `classifier`
    arrays: Mapping[str, FloatArray]  # arrays by the names in `ARRAY_NAMES`
    terms: tuple[str, ...]  # for `tf-idf`, the words and pairs of words in the order of the weights
    encoder: str  # fingerprint of the encoder of `words` and `classifier`, "" for `tf-idf`
    about: Mapping[str, Any]  # training recipe and results


@final
class HopPredictor:
    """Predicts the number of hops of masked questions.

    `encode` returns unit rows (n, d) of words, for `words`, or of questions, for `classifier`.
    """

    def __init__(
        self, weights: HopPredictorWeights, encode: Callable[[Sequence[str]], FloatArray] | None = None
    ) -> None:
        self.weights = weights
        self.encode = encode

    @property
    def fingerprint(self) -> str:
        """Identifier of the weights."""
        digest = blake2b("\0".join([self.weights.kind, *self.weights.terms]).encode(), digest_size=8)
        for name in ARRAY_NAMES[self.weights.kind]:
            digest.update(np.ascontiguousarray(self.weights.arrays[name]).tobytes())
        return f"hops-{digest.hexdigest()}"

    def expected_hops(self, questions: Sequence[MaskedQuestion]) -> FloatArray:
        """Return the expected number of hops (n,)."""
        if self.weights.kind == TERMS:
            return np.array([self._hops_by_terms(question) for question in questions], dtype=np.float32)
        if self.weights.kind == CLASSIFIER:
            return np.asarray(self._classify(questions) @ np.arange(1, HOP_CLASSES + 1), dtype=np.float32)
        hops = self._word_hops(sorted({word for question in questions for word in question.words}))
        bias = float(self.weights.arrays["spread"][1])
        return np.array([bias + sum(hops[w] for w in question.words) for question in questions], dtype=np.float32)

    def hop_probabilities(self, questions: Sequence[MaskedQuestion]) -> FloatArray:
        """Return the probability (n, `CLASSES`) of 1, 2, ... hops; rows sum to 1.

        A classifier knows two kinds: all of the one is on `delta` hops, of the other on one more.
        """
        if self.weights.kind == CLASSIFIER:
            return self._classify(questions)
        spread = float(self.weights.arrays["spread"][0])
        distances = (
            np.arange(1, HOP_CLASSES + 1)[None, :]
            - np.clip(self.expected_hops(questions), 0.5, HOP_CLASSES + 0.5)[:, None]
        )
        logits = -(distances**2) / (2 * spread * spread)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float32)

    def multi_hop_probability(self, questions: Sequence[MaskedQuestion], delta: int = 2) -> FloatArray:
        """Return the probability (n,) that a question takes more than `delta` hops."""
        return np.asarray(self.hop_probabilities(questions)[:, delta:].sum(axis=1), dtype=np.float32)

    def _classify(self, questions: Sequence[MaskedQuestion]) -> FloatArray:
        if self.encode is None:
            raise InputError("a hop predictor of the kind classifier needs an encoder: give one")
        probabilities = np.zeros((len(questions), HOP_CLASSES), dtype=np.float32)
        if not questions:
            return probabilities
        vectors = self.encode([question.text for question in questions])
        logits = vectors @ self.weights.arrays["weights"] + self.weights.arrays["spread"][1]
        delta = int(self.weights.about["delta"])
        probabilities[:, delta] = 1.0 / (1.0 + np.exp(-np.clip(logits, -60, 60)))
        probabilities[:, delta - 1] = 1.0 - probabilities[:, delta]
        return probabilities

    def _word_hops(self, words: Sequence[str]) -> dict[str, float]:
        if not words:
            return {}
        if self.encode is None:
            raise InputError("a hop predictor of the kind words needs an encoder: give one, or use the kind tf-idf")
        vectors = self.encode(words)
        return dict(zip(words, word_hops(vectors, self.weights.arrays).tolist(), strict=True))

    @cached_property
    def _term_positions(self) -> dict[str, int]:
        return {term: position for position, term in enumerate(self.weights.terms)}

    def _hops_by_terms(self, question: MaskedQuestion) -> float:
        arrays = self.weights.arrays
        known = [self._term_positions[term] for term in question_terms(question) if term in self._term_positions]
        return float(arrays["spread"][1]) + float((arrays["weights"][known] * arrays["idf"][known]).sum())


def word_hops(vectors: FloatArray, arrays: Mapping[str, FloatArray]) -> FloatArray:
    """Return the number of hops (n,) that words of unit vectors (n, d) contribute, at least 0."""
    scaled = vectors * VECTOR_SCALE
    hidden = np.tanh(scaled @ arrays["hidden"].T + arrays["hidden_bias"])
    logits = scaled @ arrays["direct"][:-1] + arrays["direct"][-1] + hidden @ arrays["out"]
    return np.asarray(np.logaddexp(0.0, logits), dtype=np.float32)


def question_terms(question: MaskedQuestion) -> list[str]:
    """Return the words and the pairs of neighbouring words of a question, with repetitions."""
    words = question.text.split()
    return words + [" ".join(pair) for pair in pairwise(words)]


def save_hop_predictor(folder: Path, weights: HopPredictorWeights) -> None:
    """Write the weights into a folder, which is made if absent; raises ProviderError where it cannot be written."""
    config = {"kind": weights.kind, "terms": list(weights.terms), "encoder": {"fingerprint": weights.encoder}}
    arrays = {name: weights.arrays[name] for name in ARRAY_NAMES[weights.kind]}
    write_weights(folder, {**config, "about": dict(weights.about)}, arrays)


def load_hop_predictor(folder: Path) -> HopPredictorWeights:
    """Read a folder of `save_hop_predictor`; raises ProviderError where a file is missing or damaged."""
    return read_weights(folder, "the router", _parse_weights)


def _parse_weights(config: dict[str, Any], arrays: dict[str, FloatArray]) -> HopPredictorWeights:
    kind, terms = str(config["kind"]), tuple(str(term) for term in config["terms"])
    if kind not in ARRAY_NAMES or set(arrays) != set(ARRAY_NAMES[kind]):
        raise ValueError(f"kind {kind!r} with {sorted(arrays)}")
    if kind == CLASSIFIER and not 1 <= int(config["about"]["delta"]) < HOP_CLASSES:
        raise ValueError(f"a classifier for delta {config['about']['delta']}")
    if not _have_valid_shapes(kind, arrays, len(terms)):
        raise ValueError(f"{len(terms)} terms and arrays of shapes {[arrays[key].shape for key in ARRAY_NAMES[kind]]}")
    return HopPredictorWeights(kind, arrays, terms, str(config["encoder"]["fingerprint"]), dict(config["about"]))


def _have_valid_shapes(kind: str, arrays: Mapping[str, FloatArray], terms: int) -> bool:
    """Return whether the arrays have the shapes of a kind, and the bell curve has a positive width."""
    spread = arrays["spread"]
    if spread.shape != (2,) or spread[0] <= 0:
        return False
    if kind == TERMS:
        return arrays["weights"].shape == arrays["idf"].shape == (terms,)
    if kind == CLASSIFIER:
        return arrays["weights"].ndim == 1
    if arrays["hidden"].ndim != 2:
        return False
    hidden, width = arrays["hidden"].shape
    return arrays["direct"].shape == (width + 1,) and arrays["hidden_bias"].shape == arrays["out"].shape == (hidden,)
