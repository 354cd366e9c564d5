"""Late interaction: a text against another by the highest cosine of each of its tokens with a token of the other.

Source: Khattab and Zaharia, "ColBERT" (2020), section 3.3, MaxSim. Differs from the source: the encoder was trained for
one vector a text, not for late interaction; tokens' vectors keep their width and 16 bits, in place of 128 numbers or
less; no token is masked, and a question is not padded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray, LongArray

TEXTS_AT_ONCE = 64
"""Texts whose tokens are encoded together."""
_ROWS_AT_ONCE = 65_536  # of stored tokens that are compared together: 100 MB at a width of 384

Tokens = NDArray[np.float16]
"""Unit rows (t, d) of a text's tokens."""


def max_similarity(question: FloatArray, passage: NDArray[Any]) -> float:
    """Return the sum over the question's rows (q, d) of the highest product with a row (t, d) of the passage.

    It is 0 where one of them has no row.
    """
    if not len(question) or not len(passage):
        return 0.0
    return float((question @ passage.astype(np.float32).T).max(axis=1).sum(dtype=np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class StoredTokens:
    """Tokens of many texts, mapped from disk."""

    offsets: LongArray  # (n + 1,) the tokens of text i are `vectors[offsets[i]:offsets[i + 1]]`
    vectors: Tokens  # (t, d)

    def rows(self, positions: Sequence[int]) -> list[Tokens]:
        """Return the tokens (t, d) of each of some texts."""
        return [self.vectors[self.offsets[position] : self.offsets[position + 1]] for position in positions]

    def mean_similarities(self, texts: Sequence[FloatArray]) -> FloatArray:
        """Return for every stored text the mean highest product of each text's rows (q, d): (n, number of texts).

        This is `max_similarity` divided by the number of rows, so at most 1; 0 where one of the two has no row.
        """
        count = len(self.offsets) - 1
        scores = np.zeros((count, len(texts)), dtype=np.float32)
        lengths = [len(rows) for rows in texts]
        if not sum(lengths) or not len(self.vectors):
            return scores
        asked = np.concatenate([rows for rows in texts if len(rows)])
        start = 0
        while start < count:
            end = int(np.searchsorted(self.offsets, self.offsets[start] + _ROWS_AT_ONCE, side="right")) - 1
            end = max(end, start + 1)
            first, last = self.offsets[start], self.offsets[end]
            filled = start + np.flatnonzero(np.diff(self.offsets[start : end + 1]))
            if len(filled):
                products = self.vectors[first:last].astype(np.float32) @ asked.T
                highest = np.maximum.reduceat(products, self.offsets[filled] - first, axis=0)
                for column, (length, stop) in enumerate(zip(lengths, np.cumsum(lengths), strict=True)):
                    if length:
                        scores[filled, column] = highest[:, stop - length : stop].mean(axis=1)
            start = end
        return scores


def store_tokens(
    name: str,
    count: int,
    encode: Callable[[Sequence[int]], list[FloatArray]],
    cached_array: Callable[[str, Callable[[], NDArray[Any]]], NDArray[Any]],
) -> StoredTokens:
    """Return the tokens of `count` texts, encoded at first use by position and mapped from disk after that.

    `encode` returns for each of some positions the rows (t, d) of its text; `cached_array` is
    `IndexContext.cached_array`.
    """
    made: list[Tokens] = []

    def encode_all() -> list[Tokens]:
        for start in range(len(made), count, TEXTS_AT_ONCE):
            rows = encode(range(start, min(start + TEXTS_AT_ONCE, count)))
            made.extend(one.astype(np.float16) for one in rows)
        return made

    def join() -> Tokens:
        rows = encode_all()
        return np.concatenate(rows) if rows else np.zeros((0, 0), dtype=np.float16)

    vectors = cached_array(f"{name}-vectors", join)
    counts = cached_array(f"{name}-counts", lambda: np.array([len(rows) for rows in encode_all()], dtype=np.int64))
    made.clear()
    return StoredTokens(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), vectors)
