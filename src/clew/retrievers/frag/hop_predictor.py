"""Reasoning-aware routing: how many hops a question takes, told from its words alone.

Every word adds to the number of hops what a small network makes of its vector, so a question of three relations counts
three although the router was trained on questions of two. The sum is the mean of a bell curve over 1, 2, ... hops, and
a question is complex when the part beyond `delta` hops weighs more.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on
Knowledge Graphs" (2025), section 3.1.
Differs from the source: hops are counted instead of two classes told apart, which moves to another kind of question
(docs/benchmarks.md) and lets delta be set afterwards; names are masked; the encoder stays as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.errors import InputError
from clew.query.masking import MaskedQuestion
from clew.store.weights_io import read_weights, write_weights

if TYPE_CHECKING:
    from clew.types import FloatArray

HOP_CLASSES = 5
"""Hops that are told apart; the last stands for all beyond."""
WORDS, TERMS = "words", "tf-idf"
ARRAY_NAMES = {WORDS: ("direct", "hidden", "hidden_bias", "out", "spread"), TERMS: ("weights", "idf", "spread")}
VECTOR_SCALE = 4.0  # a unit vector's values are small


@dataclass(frozen=True, slots=True)
class HopPredictorWeights:
    """What was trained.

    Attributes:
        kind: `words` or `tf-idf`.
        arrays: By the names in `ARRAYS`.
        terms: Of `tf-idf`: the words and pairs of words, in the order of its weights.
        encoder: Fingerprint of the encoder that `words` reads, "" for `tf-idf`.
        about: The recipe and its figures.
    """

    kind: str
    arrays: "Mapping[str, FloatArray]"
    terms: tuple[str, ...]
    encoder: str
    about: Mapping[str, Any]


@final
class HopPredictor:
    """Counts hops.

    Args:
        weights: Trained.
        encode: Gives the vectors of words; None for `tf-idf`.
    """

    def __init__(
        self, weights: HopPredictorWeights, encode: "Callable[[Sequence[str]], FloatArray] | None" = None
    ) -> None:
        self.weights = weights
        self._encode = encode

    @property
    def fingerprint(self) -> str:
        """Changes whenever what it says of some question would."""
        return weights_fingerprint(self.weights)

    def expected_hops(self, questions: Sequence[MaskedQuestion]) -> "FloatArray":
        """Return the expected number of hops (n,)."""
        if self.weights.kind == TERMS:
            return np.array([self._hops_by_terms(question) for question in questions], dtype=np.float32)
        known = self._word_hops(sorted({word for question in questions for word in question.words}))
        bias = float(self.weights.arrays["spread"][1])
        return np.array([bias + sum(known[w] for w in question.words) for question in questions], dtype=np.float32)

    def hop_probabilities(self, questions: Sequence[MaskedQuestion]) -> "FloatArray":
        """Return the probability (n, `CLASSES`) of 1, 2, ... hops; rows sum to 1."""
        spread = float(self.weights.arrays["spread"][0])
        away = (
            np.arange(1, HOP_CLASSES + 1)[None, :]
            - np.clip(self.expected_hops(questions), 0.5, HOP_CLASSES + 0.5)[:, None]
        )
        logits = -(away**2) / (2 * spread * spread)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float32)

    def multi_hop_probability(self, questions: Sequence[MaskedQuestion], delta: int = 2) -> "FloatArray":
        """Return the probability (n,) that a question takes more than `delta` hops."""
        return np.asarray(self.hop_probabilities(questions)[:, delta:].sum(axis=1), dtype=np.float32)

    def _word_hops(self, words: Sequence[str]) -> dict[str, float]:
        if not words:
            return {}
        if self._encode is None:
            raise InputError("a router of the kind words needs an encoder: give one, or take one of the kind tf-idf")
        vectors = self._encode(words)
        return dict(zip(words, word_hops(vectors, self.weights.arrays).tolist(), strict=True))

    @cached_property
    def _term_positions(self) -> dict[str, int]:
        return {term: place for place, term in enumerate(self.weights.terms)}

    def _hops_by_terms(self, question: MaskedQuestion) -> float:
        arrays = self.weights.arrays
        found = [self._term_positions[term] for term in question_terms(question) if term in self._term_positions]
        return float(arrays["spread"][1]) + float((arrays["weights"][found] * arrays["idf"][found]).sum())


def word_hops(vectors: "FloatArray", arrays: "Mapping[str, FloatArray]") -> "FloatArray":
    """Return how many hops each word (n,) of unit vectors (n, d) stands for, at least 0."""
    scaled = vectors * VECTOR_SCALE
    hidden = np.tanh(scaled @ arrays["hidden"].T + arrays["hidden_bias"])
    raw = scaled @ arrays["direct"][:-1] + arrays["direct"][-1] + hidden @ arrays["out"]
    return np.asarray(np.logaddexp(0.0, raw), dtype=np.float32)


def question_terms(question: MaskedQuestion) -> list[str]:
    """Return the words and the pairs of neighbouring words of a question, each as often as it stands there."""
    words = question.text.split()
    return words + [" ".join(pair) for pair in pairwise(words)]


def weights_fingerprint(weights: HopPredictorWeights) -> str:
    """Return what changes with the weights."""
    from hashlib import blake2b

    digest = blake2b("\0".join([weights.kind, *weights.terms]).encode(), digest_size=8)
    for name in ARRAY_NAMES[weights.kind]:
        digest.update(np.ascontiguousarray(weights.arrays[name]).tobytes())
    return f"hops-{digest.hexdigest()}"


def save_hop_predictor(folder: Path, weights: HopPredictorWeights) -> None:
    """Write the weights into a folder, made when absent.

    Raises:
        ProviderError: The disk refused.
    """
    told = {"kind": weights.kind, "terms": list(weights.terms), "encoder": {"fingerprint": weights.encoder}}
    arrays = {name: weights.arrays[name] for name in ARRAY_NAMES[weights.kind]}
    write_weights(folder, {**told, "about": dict(weights.about)}, arrays)


def load_hop_predictor(folder: Path) -> HopPredictorWeights:
    """Read what `save_router` wrote.

    Raises:
        ProviderError: A file is missing or damaged.
    """
    return read_weights(folder, "the router", _parse_weights)


def _parse_weights(config: "dict[str, Any]", arrays: "dict[str, FloatArray]") -> HopPredictorWeights:
    kind, terms = str(config["kind"]), tuple(str(term) for term in config["terms"])
    if kind not in ARRAY_NAMES or set(arrays) != set(ARRAY_NAMES[kind]):
        raise ValueError(f"kind {kind!r} with {sorted(arrays)}")
    if not _have_valid_shapes(kind, arrays, len(terms)):
        raise ValueError(
            f"{len(terms)} terms and arrays of shapes {[arrays[name].shape for name in ARRAY_NAMES[kind]]}"
        )
    return HopPredictorWeights(kind, arrays, terms, str(config["encoder"]["fingerprint"]), dict(config["about"]))


def _have_valid_shapes(kind: str, arrays: "Mapping[str, FloatArray]", terms: int) -> bool:
    """Whether arrays have the shapes of a kind, and the bell has a width."""
    spread = arrays["spread"]
    if spread.shape != (2,) or spread[0] <= 0:
        return False
    if kind == TERMS:
        return arrays["weights"].shape == arrays["idf"].shape == (terms,)
    if arrays["hidden"].ndim != 2:
        return False
    hidden, width = arrays["hidden"].shape
    return arrays["direct"].shape == (width + 1,) and arrays["hidden_bias"].shape == arrays["out"].shape == (hidden,)
