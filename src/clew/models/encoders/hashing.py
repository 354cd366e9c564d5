"""Encoders without weights: hashed words, and none.

Source: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009 (signed hashing); Bojanowski et
al., "Enriching Word Vectors with Subword Information", 2017 (character n-grams with word boundaries).

Differs from the source: a feature that occurs c times has the weight sqrt(c); n-grams cross word boundaries.
"""

import unicodedata
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from clew.errors import InputError
from clew.models.validation import require_unicode

if TYPE_CHECKING:
    from clew.types import FloatArray


_GRAM_SIZES = (3, 4, 5)
_GRAM_WEIGHT = 0.5  # a whole word has 1, and a word of six letters about twelve n-grams
_PRIME = np.uint64(0x9E3779B97F4A7C15)


@final
class HashingEncoder:
    """Signed hashing of case-folded words and of their character 3- to 5-grams.

    Args:
        dimension: Width of the vectors, at least 1.

    Raises:
        InputError: `dimension` is below 1.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise InputError(f"hashing into {dimension} numbers; wanted at least 1; write for example hashing:256")
        self._dimension = dimension

    @property
    def name(self) -> str:
        """The name to open this encoder by."""
        return "hashing" if self._dimension == 256 else f"hashing:{self._dimension}"

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """The width and the version of the features."""
        return f"hashing-1-{self._dimension}"

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension); texts of white space alone give one fixed row.

        Raises:
            InputError: A text holds a lone surrogate.
        """
        require_unicode(texts)
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            rows[row] = self._encode_text(text)
        return rows

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension), the same as `encode`, with its errors."""
        return self.encode(texts)

    def encode_tokens(self, texts: Sequence[str], *, queries: bool = False) -> "list[FloatArray]":
        """Return for each text unit rows (t, dimension) of its words.

        Raises:
            InputError: A text holds a lone surrogate.
        """
        del queries  # read as texts are
        return [self.encode(text.split()) for text in texts]

    def _encode_text(self, text: str) -> "FloatArray":
        words = unicodedata.normalize("NFKC", text).casefold().split()
        row: NDArray[np.float64] = np.zeros(self._dimension)
        if words:
            hashes, weights = _hash_features(words)
            column = (hashes % np.uint64(self._dimension)).astype(np.intp)
            sign = np.where(hashes >> np.uint64(63), 1.0, -1.0)
            row += np.bincount(column, weights=sign * weights, minlength=self._dimension)
        length = float(np.sqrt(row @ row))
        if length < 1e-9:  # no features, or features that cancel out
            row[0], length = 1.0, 1.0
        return np.asarray(row / length, dtype=np.float32)


def _hash_features(words: list[str]) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return the distinct hashes of words and n-grams, ascending, and their weights."""
    digests = b"".join(blake2b(word.encode("utf-8"), digest_size=8).digest() for word in words)
    hashes = [np.frombuffer(digests, dtype="<u8").astype(np.uint64)]
    codes = np.frombuffer(f" {' '.join(words)} ".encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    rolling = codes
    for size in range(2, max(_GRAM_SIZES) + 1):  # each n-gram's hash from that of its first n - 1 characters
        if size > len(codes):
            break
        rolling = rolling[:-1] * _PRIME + codes[size - 1 :]  # overflow at 64 bits is intended
        if size in _GRAM_SIZES:
            hashes.append(_mix(rolling))
    weight = np.full(sum(map(len, hashes)), _GRAM_WEIGHT)
    weight[: len(words)] = 1.0
    distinct, first, count = np.unique(np.concatenate(hashes), return_index=True, return_counts=True)
    return distinct, weight[first] * np.sqrt(count)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of values (the finaliser of SplitMix64)."""
    mixed = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@final
class NoEncoder:
    """Encoder of an index without embeddings; encoding raises an `InputError`."""

    @property
    def name(self) -> str:
        """The name to open this encoder by."""
        return "none"

    @property
    def dimension(self) -> int:
        """Always 0."""
        return 0

    @property
    def fingerprint(self) -> str:
        """Always "none"."""
        return "none"

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Raise an `InputError`."""
        raise InputError(
            f"{len(texts)} texts to encode, but this index was built with --encoder none; "
            "build with --encoder all-MiniLM-L6-v2-int8, or use a retriever that needs no vectors, such as bm25"
        )

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Raise an `InputError`."""
        return self.encode(texts)
