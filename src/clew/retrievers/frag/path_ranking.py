"""Ranking of relation paths against a question (the path ranking module of FRAG).

Scores are logarithms of a likelihood up to a constant, so that log-probabilities of the number of hops add to them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.protocols import TextScorer
from clew.query.masking import MaskedQuestion
from clew.query.relation_matching import PathScorer, RelationPath, RelationTexts, match_relations
from clew.retrievers.frag.chain_features import FEATURES, relation_path_features
from clew.store.weights_io import read_weights, write_weights

ARRAY_NAMES = ("weights", "question_side", "relation_side")


class RelationPathRanker(Protocol):
    """Ranks relation paths against a question."""

    @property
    def fingerprint(self) -> str:
        """Identifier that changes whenever some score would."""

    def make_scorer(self, question: MaskedQuestion, codes: IntArray) -> PathScorer:
        """Return a function from n paths to scores (n,) for one question; `codes` (r,) are all their relation codes."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class TextPathRanker:
    """Ranks relation paths as texts."""

    scorer: TextScorer
    texts: RelationTexts  # the relations as texts
    temperature: float  # divisor of the scores
    name: str  # name of the scorer, for the fingerprint

    @property
    def fingerprint(self) -> str:
        """Name of the scorer, and the temperature."""
        return f"{self.name}/{self.temperature}"

    def make_scorer(self, question: MaskedQuestion, codes: IntArray) -> PathScorer:
        """Return the scorer of one question and the relation codes (r,) of its paths (see `RelationPathRanker`)."""
        del codes

        def score(paths: Sequence[RelationPath]) -> FloatArray:
            texts = [self.texts.path_text(path) for path in paths]
            distinct = list(dict.fromkeys(texts))  # paths that differ in direction alone are one text
            row_of = {text: row for row, text in enumerate(distinct)}
            scores = self.scorer.score(question.text, distinct)
            return np.asarray(scores[[row_of[text] for text in texts]] / self.temperature, dtype=np.float32)

        return score


@final
@dataclass(frozen=True, slots=True, eq=False)
class WholePathRanker:
    """Ranks whole paths, entities and relations, as texts."""

    scorer: TextScorer
    temperature: float  # divisor of the scores
    name: str  # name of the scorer, for the fingerprint

    @property
    def fingerprint(self) -> str:
        """Name of the scorer, and the temperature."""
        return f"whole paths by {self.name}/{self.temperature}"

    def score(self, question: str, texts: Sequence[str]) -> FloatArray:
        """Return scores (n,); equal texts are scored once."""
        distinct = list(dict.fromkeys(texts))
        row_of = {text: row for row, text in enumerate(distinct)}
        scores = self.scorer.score(question, distinct)
        return np.asarray(scores[[row_of[text] for text in texts]] / self.temperature, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class PathRankerWeights:
    """A trained head on an encoder."""

    weights: FloatArray  # (f,) weights of the path features
    question_side: FloatArray  # (r, d) projection of the question's vector
    # (r, d) projection of a relation's vector; the dot product of both projections is the score of the relation, and
    # the mean over a path's relations is added to the path's score
    relation_side: FloatArray
    encoder: str  # fingerprint of the encoder
    about: Mapping[str, Any]  # training recipe and results


@final
@dataclass(frozen=True, slots=True, eq=False)
class TrainedPathRanker:
    """Ranks relation paths by a head that was trained on questions with known answers."""

    trained: PathRankerWeights
    texts: RelationTexts  # the relations as texts, with the head's encoder

    @property
    def fingerprint(self) -> str:
        """Identifier of the weights."""
        digest = blake2b(digest_size=8)
        for name in ARRAY_NAMES:
            digest.update(np.ascontiguousarray(getattr(self.trained, name)).tobytes())
        return f"paths-{digest.hexdigest()}"

    def make_scorer(self, question: MaskedQuestion, codes: IntArray) -> PathScorer:
        """Return the scorer of one question and the relation codes (r,) of its paths (see `RelationPathRanker`)."""
        if not len(codes):  # an entity without facts
            return lambda paths: np.zeros(len(paths), dtype=np.float32)
        match = match_relations(question, codes, self.texts)
        trained = self.trained
        relation_scores = (
            self.texts.step_vectors(codes) @ trained.relation_side.T @ (trained.question_side @ match.question_vector)
        )

        def score(paths: Sequence[RelationPath]) -> FloatArray:
            if not paths:
                return np.zeros(0, dtype=np.float32)
            by_features = relation_path_features(match, paths) @ trained.weights
            lengths = np.array([len(path) for path in paths])
            positions = np.searchsorted(codes, [code for path in paths for code in path])
            means = np.add.reduceat(relation_scores[positions], np.cumsum(lengths) - lengths) / lengths
            return np.asarray(by_features + means, dtype=np.float32)

        return score


def save_path_ranker(folder: Path, trained: PathRankerWeights) -> None:
    """Write the head into a folder, which is made if absent; raises ProviderError where it cannot be written."""
    config = {"features": list(FEATURES), "encoder": {"fingerprint": trained.encoder}, "about": dict(trained.about)}
    write_weights(folder, config, {name: getattr(trained, name) for name in ARRAY_NAMES})


def load_path_ranker(folder: Path) -> PathRankerWeights:
    """Read a folder of `save_path_ranker`; raises ProviderError where a file is missing, damaged or of other inputs."""
    return read_weights(folder, "the path ranker", _parse_weights)


def _parse_weights(config: dict[str, Any], arrays: dict[str, FloatArray]) -> PathRankerWeights:
    if tuple(config["features"]) != FEATURES or set(arrays) != set(ARRAY_NAMES):
        raise ValueError(f"features {config['features']} with {sorted(arrays)}")
    sides = arrays["question_side"].shape, arrays["relation_side"].shape
    if arrays["weights"].shape != (len(FEATURES),) or sides[0] != sides[1] or len(sides[0]) != 2:
        raise ValueError(f"shapes {[arrays[name].shape for name in ARRAY_NAMES]}")
    return PathRankerWeights(**arrays, encoder=str(config["encoder"]["fingerprint"]), about=dict(config["about"]))
