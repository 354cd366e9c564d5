"""What ranks chains of relations, and relations, against a question (the PRM and ERM of FRAG).

Scores are logarithms of a likelihood up to a constant, so that what the router says of the number of hops adds to them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from clew.errors import ProviderError
from clew.protocols import TextScorer
from clew.retrievers.chain_features import FEATURES, Chain, RelationTexts, chain_features, compared
from clew.text.masked import MaskedQuestion

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray

ARRAYS = ("weights", "question_side", "relation_side")


class ChainRanker(Protocol):
    """Ranks chains of relations against a question."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever some score would."""
        ...

    def about(self, question: MaskedQuestion, codes: "IntArray") -> "Callable[[Sequence[Chain]], FloatArray]":
        """Return what scores chains (n,) for one question; `codes` are the relation codes that they are made of."""
        ...


@final
class TextChainRanker:
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

    def about(self, question: MaskedQuestion, codes: "IntArray") -> "Callable[[Sequence[Chain]], FloatArray]":
        """Return what scores chains for one question."""
        del codes

        def scores(chains: Sequence[Chain]) -> "FloatArray":
            texts = [self._texts.text(chain) for chain in chains]
            distinct = list(dict.fromkeys(texts))  # chains that differ in a direction alone are one text
            place = {text: i for i, text in enumerate(distinct)}
            found = self._scorer.score(question.text, distinct)
            return np.asarray(found[[place[text] for text in texts]] / self._temperature, dtype=np.float32)

        return scores


@dataclass(frozen=True, slots=True, eq=False)
class PathWeights:
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
class TrainedChainRanker:
    """Ranks chains by a head that was trained on questions whose answers are known.

    Args:
        trained: The head.
        texts: The relations in words, by the head's encoder.
    """

    def __init__(self, trained: PathWeights, texts: RelationTexts) -> None:
        self._trained = trained
        self._texts = texts

    @property
    def fingerprint(self) -> str:
        """The weights."""
        from hashlib import blake2b

        digest = blake2b(digest_size=8)
        for name in ARRAYS:
            digest.update(np.ascontiguousarray(getattr(self._trained, name)).tobytes())
        return f"paths-{digest.hexdigest()}"

    def about(self, question: MaskedQuestion, codes: "IntArray") -> "Callable[[Sequence[Chain]], FloatArray]":
        """Return what scores chains for one question."""
        if not len(codes):  # of an entity without facts
            return lambda chains: np.zeros(len(chains), dtype=np.float32)
        beside = compared(question, codes, self._texts)
        trained = self._trained
        worth = self._texts.directed(codes) @ trained.relation_side.T @ (trained.question_side @ beside.vector)

        def scores(chains: Sequence[Chain]) -> "FloatArray":
            if not chains:
                return np.zeros(0, dtype=np.float32)
            plain = chain_features(beside, chains, self._texts) @ trained.weights
            lengths = np.array([len(chain) for chain in chains])
            places = np.searchsorted(codes, [code for chain in chains for code in chain])
            means = np.add.reduceat(worth[places], np.cumsum(lengths) - lengths) / lengths
            return np.asarray(plain + means, dtype=np.float32)

        return scores


def save_paths(folder: Path, trained: PathWeights) -> None:
    """Write config.json and model.safetensors into a folder, made when absent.

    Raises:
        ProviderError: The disk refused.
    """
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(getattr(trained, name)) for name in ARRAYS}
    about = {"features": list(FEATURES), "encoder": {"fingerprint": trained.encoder}, "about": dict(trained.about)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.safetensors").write_bytes(save(arrays))
        (folder / "config.json").write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ProviderError(f"{folder} could not be written ({error}): choose another folder") from error


def load_paths(folder: Path) -> PathWeights:
    """Read what `save_paths` wrote.

    Raises:
        ProviderError: A file is missing or damaged, or of other features.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        arrays = load_file(folder / "model.safetensors")
        if tuple(config["features"]) != FEATURES or set(arrays) != set(ARRAYS):
            raise ValueError(f"features {config['features']} with {sorted(arrays)}")
        fits = arrays["weights"].shape == (len(FEATURES),) and arrays["question_side"].ndim == 2
        fits = fits and all(np.isfinite(array).all() for array in arrays.values())
        if not fits or arrays["question_side"].shape != arrays["relation_side"].shape:
            raise ValueError(f"shapes {[arrays[name].shape for name in ARRAYS]}")
        named = {name: arrays[name].astype(np.float32) for name in ARRAYS}
        return PathWeights(**named, encoder=str(config["encoder"]["fingerprint"]), about=dict(config["about"]))
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ProviderError(
            f"the path ranker in {folder} cannot be read ({error}): train or install it again"
        ) from error
