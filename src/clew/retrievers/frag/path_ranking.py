"""Ranking of relation paths against a question (the path ranking module of FRAG).

Scores are logarithms of a likelihood up to a constant, so that log-probabilities of the number of hops add to them.

Features of relation paths for a question: a few numbers with the same meaning on any graph.

They state how well the question asks for each relation of a path, in the order in which its words are read, and how
much of the question the path explains. No feature identifies a relation, so weights learned on one graph apply to
another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, final

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.arrays.kernels import njit
from clew.protocols import TextScorer
from clew.query.linking import MaskedQuestion
from clew.query.relation_matching import PathScorer, RelationMatch, RelationPath, RelationTexts, match_relations
from clew.store.weights_io import read_weights

FEATURES = ("explained", "in_order", "explained_by_ends", "mean_likeness", "back_and_forth", "against", "kind_of_end")
"""The columns: share of the words explained by names of relations; relations matched in the order of reading; share of
the words explained by relations with the names at their ends; similarity of the masked question to the mean of the
relations' vectors; steps that undo the one before; share of steps from tail to head; similarity of the question to the
names at the end."""


def relation_path_features(match: RelationMatch, paths: Sequence[RelationPath]) -> FloatArray:
    """Return the features (n, len(`FEATURES`)) of relation paths whose codes are among the matched ones."""
    if not paths:
        return np.zeros((0, len(FEATURES)), dtype=np.float32)
    padded = np.full((len(paths), max(map(len, paths))), -1, dtype=np.int32)
    for row, path in enumerate(paths):
        padded[row, : len(path)] = np.searchsorted(match.codes, path)
    features = _path_features(
        match.codes,
        match.name_similarity,
        match.step_similarity,
        match.name_weights,
        match.step_weights,
        match.reverse_order,
        match.end_similarity,
        match.question_similarity,
        match.relation_similarity,
        padded,
    )
    return np.asarray(features, dtype=np.float32)


@njit
def _path_features(codes, names, steps, name_weights, step_weights, reverse_order, ends, question, relations, paths):  # type: ignore[no-untyped-def]
    features = np.zeros((len(paths), 7), dtype=np.float32)
    columns = np.empty(paths.shape[1], dtype=np.int64)
    reading_order = np.arange(steps.shape[0], dtype=np.int32)
    for row in range(len(paths)):
        length, count, against, back = 0, 0, 0, 0
        for step in range(paths.shape[1]):
            column = paths[row, step]
            if column < 0:
                break
            length += 1
            against += codes[column] & 1
            # A relation and its way back count once: the films of the same director.
            if step and codes[column] ^ 1 == codes[paths[row, step - 1]]:
                back += 1
            else:
                columns[count] = column
                count += 1
        if length == 0:
            continue
        used = columns[:count]
        features[row, 0] = _explained_share(names, name_weights, used)
        features[row, 1] = max(_ordered_match(steps, reading_order, used), _ordered_match(steps, reverse_order, used))
        features[row, 2] = _explained_share(steps, step_weights, used)
        features[row, 3] = _mean_similarity(question, relations, paths[row, :length])
        features[row, 4] = back
        features[row, 5] = against / length
        features[row, 6] = ends[paths[row, length - 1]]
    return features


# The cosine to a sum of unit vectors: no path is encoded as a text, since a graph of 300 relations has millions.
@njit
def _mean_similarity(question, relations, columns):  # type: ignore[no-untyped-def]
    total, square = 0.0, 0.0
    for one in columns:
        total += question[one]
        for other in columns:
            square += relations[one, other]
    return total / np.sqrt(square) if square > 0.0 else 0.0


@njit
def _explained_share(similarity, weights, columns):  # type: ignore[no-untyped-def]
    total, explained = 0.0, 0.0
    for word in range(len(weights)):
        best = -1.0
        for column in columns:
            best = max(best, similarity[word, column])
        total += weights[word]
        explained += weights[word] * best
    return explained / total if total > 0.0 else 0.0


# The best sum over words in ascending order, one word for each relation; a question with too few words loses 0.2.
@njit
def _ordered_match(similarity, order, columns):  # type: ignore[no-untyped-def]
    words, count = similarity.shape[0], len(columns)
    if words == 0:
        return 0.0
    if words < count:
        total = 0.0
        for column in columns:
            total += similarity[:, column].max()
        return total / count - 0.2
    best = np.full(count + 1, -9.0)
    best[0] = 0.0
    for position in range(words):
        word = order[position]
        for step in range(count, 0, -1):
            best[step] = max(best[step], best[step - 1] + similarity[word, columns[step - 1]])
    return best[count] / count


ARRAY_NAMES = ("weights", "question_side", "relation_side")


def _score_distinct(scorer: TextScorer, question: str, texts: Sequence[str], temperature: float) -> FloatArray:
    """Return scores (n,) divided by a temperature; equal texts are scored once."""
    distinct = list(dict.fromkeys(texts))
    row_of = {text: row for row, text in enumerate(distinct)}
    scores = scorer.score(question, distinct)
    return np.asarray(scores[[row_of[text] for text in texts]] / temperature, dtype=np.float32)


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
        """Return a function from n paths to scores (n,) for one question; `codes` (r,) are all their relation codes."""
        del codes

        def score(paths: Sequence[RelationPath]) -> FloatArray:
            # Paths that differ in direction alone are one text.
            texts = [self.texts.path_text(path) for path in paths]
            return _score_distinct(self.scorer, question.text, texts, self.temperature)

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
        return _score_distinct(self.scorer, question, texts, self.temperature)


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
        """Return the scorer of one question and the relation codes (r,) of its paths (see `TextPathRanker`)."""
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


RelationPathRanker = TextPathRanker | TrainedPathRanker
"""Ranks relation paths against a question."""


def load_path_ranker(folder: Path) -> PathRankerWeights:
    """Read a folder of weights; raises ProviderError where a file is missing, damaged or of other inputs."""
    return read_weights(folder, "the path ranker", _parse_weights)


def _parse_weights(config: dict[str, Any], arrays: dict[str, FloatArray]) -> PathRankerWeights:
    if tuple(config["features"]) != FEATURES or set(arrays) != set(ARRAY_NAMES):
        raise ValueError(f"features {config['features']} with {sorted(arrays)}")
    sides = arrays["question_side"].shape, arrays["relation_side"].shape
    if arrays["weights"].shape != (len(FEATURES),) or sides[0] != sides[1] or len(sides[0]) != 2:
        raise ValueError(f"shapes {[arrays[name].shape for name in ARRAY_NAMES]}")
    return PathRankerWeights(**arrays, encoder=str(config["encoder"]["fingerprint"]), about=dict(config["about"]))
