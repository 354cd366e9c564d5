"""What ranks chains of relations, and relations, against a question (the PRM and ERM of FRAG).

Scores are logarithms of a likelihood up to a constant, so that what the router says of the number of hops adds to them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from clew.protocols import TextScorer
from clew.query.masking import MaskedQuestion
from clew.query.relation_matching import RelationPath, RelationTexts, match_relations
from clew.retrievers.frag.chain_features import FEATURES, relation_path_features
from clew.store.weights_io import read_weights, write_weights

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray

ARRAY_NAMES = ("weights", "question_side", "relation_side")


class RelationPathRanker(Protocol):
    """Ranks chains of relations against a question."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever some score would."""
        ...

    def make_scorer(
        self, question: MaskedQuestion, codes: "IntArray"
    ) -> "Callable[[Sequence[RelationPath]], FloatArray]":
        """Return what scores chains (n,) for one question; `codes` are the relation codes that they are made of."""
        ...


@final
class TextPathRanker:
    """Ranks chains as texts.

    Args:
        scorer: Any.
        texts: The relations in words.
        temperature: What scores are divided by.
        name: Of the scorer, for the fingerprint.
    """

    def __init__(self, scorer: TextScorer, texts: RelationTexts, temperature: float, name: str) -> None:
        self._scorer = scorer
        self._texts = texts
        self._temperature = temperature
        self.fingerprint = f"{name}/{temperature}"

    def make_scorer(
        self, question: MaskedQuestion, codes: "IntArray"
    ) -> "Callable[[Sequence[RelationPath]], FloatArray]":
        """Return what scores chains for one question."""
        del codes

        def scores(chains: Sequence[RelationPath]) -> "FloatArray":
            texts = [self._texts.path_text(chain) for chain in chains]
            distinct = list(dict.fromkeys(texts))  # chains that differ in a direction alone are one text
            place = {text: i for i, text in enumerate(distinct)}
            found = self._scorer.score(question.text, distinct)
            return np.asarray(found[[place[text] for text in texts]] / self._temperature, dtype=np.float32)

        return scores


@dataclass(frozen=True, slots=True, eq=False)
class PathRankerWeights:
    """A trained head on an encoder.

    Attributes:
        weights: (f,) of the chain features.
        question_side: (r, d) and
        relation_side: (r, d): their products with the vectors of the question and of a relation, multiplied and
            summed, are what the relation is worth; the mean over a chain's relations is added.
        encoder: Fingerprint of the encoder.
        about: The recipe and its figures.
    """

    weights: "FloatArray"
    question_side: "FloatArray"
    relation_side: "FloatArray"
    encoder: str
    about: Mapping[str, Any]


@final
class TrainedPathRanker:
    """Ranks chains by a head that was trained on questions whose answers are known.

    Args:
        trained: The head.
        texts: The relations in words, by the head's encoder.
    """

    def __init__(self, trained: PathRankerWeights, texts: RelationTexts) -> None:
        self._trained = trained
        self._texts = texts

    @property
    def fingerprint(self) -> str:
        """The weights."""
        from hashlib import blake2b

        digest = blake2b(digest_size=8)
        for name in ARRAY_NAMES:
            digest.update(np.ascontiguousarray(getattr(self._trained, name)).tobytes())
        return f"paths-{digest.hexdigest()}"

    def make_scorer(
        self, question: MaskedQuestion, codes: "IntArray"
    ) -> "Callable[[Sequence[RelationPath]], FloatArray]":
        """Return what scores chains for one question."""
        if not len(codes):  # of an entity without facts
            return lambda chains: np.zeros(len(chains), dtype=np.float32)
        beside = match_relations(question, codes, self._texts)
        trained = self._trained
        worth = (
            self._texts.step_vectors(codes) @ trained.relation_side.T @ (trained.question_side @ beside.question_vector)
        )

        def scores(chains: Sequence[RelationPath]) -> "FloatArray":
            if not chains:
                return np.zeros(0, dtype=np.float32)
            plain = relation_path_features(beside, chains) @ trained.weights
            lengths = np.array([len(chain) for chain in chains])
            places = np.searchsorted(codes, [code for chain in chains for code in chain])
            means = np.add.reduceat(worth[places], np.cumsum(lengths) - lengths) / lengths
            return np.asarray(plain + means, dtype=np.float32)

        return scores


def save_path_ranker(folder: Path, trained: PathRankerWeights) -> None:
    """Write the head into a folder, made when absent.

    Raises:
        ProviderError: The disk refused.
    """
    told = {"features": list(FEATURES), "encoder": {"fingerprint": trained.encoder}, "about": dict(trained.about)}
    write_weights(folder, told, {name: getattr(trained, name) for name in ARRAY_NAMES})


def load_path_ranker(folder: Path) -> PathRankerWeights:
    """Read what `save_paths` wrote.

    Raises:
        ProviderError: A file is missing or damaged, or of other features.
    """
    return read_weights(folder, "the path ranker", _parse_weights)


def _parse_weights(config: "dict[str, Any]", arrays: "dict[str, FloatArray]") -> PathRankerWeights:
    if tuple(config["features"]) != FEATURES or set(arrays) != set(ARRAY_NAMES):
        raise ValueError(f"features {config['features']} with {sorted(arrays)}")
    sides = arrays["question_side"].shape, arrays["relation_side"].shape
    if arrays["weights"].shape != (len(FEATURES),) or sides[0] != sides[1] or len(sides[0]) != 2:
        raise ValueError(f"shapes {[arrays[name].shape for name in ARRAY_NAMES]}")
    return PathRankerWeights(**arrays, encoder=str(config["encoder"]["fingerprint"]), about=dict(config["about"]))
