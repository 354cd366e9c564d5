"""Passages that cover a question: each next one counts for the question's words that no passage before it has.

    value(p) = score(p) + weight sum_t w(t) [t is in p, and in none before]

A question over several facts gets passages for each of them before a second one for the same.
Source: Lin and Bilmes, "A Class of Submodular Functions for Document Summarization" (2011), section 4.1, maximised step
by step. Differs from the source: the words of a question are covered, not those of documents, and once is enough.
"""

from typing import NamedTuple

import numpy as np

from clew.arrays import BoolArray, DoubleArray, FloatArray, IntArray, LongArray, top_order
from clew.text.bm25 import BM25Index, QueryTerms


class PassageWords(NamedTuple):
    """The q terms of a question, and which of them are in each of n passages."""

    present: BoolArray  # (n, q)
    weights: DoubleArray  # (q,) of sum 1

    @classmethod
    def none(cls, count: int) -> "PassageWords":
        """Return no term in passages (count,), which are ordered by their scores alone."""
        return cls(np.zeros((count, 0), dtype=np.bool_), np.zeros(0))

    @classmethod
    def find(cls, lexical: BM25Index, query: QueryTerms, passages: IntArray) -> "PassageWords":
        """Return the terms of a query in passages (n,)."""
        return cls(lexical.has_terms(query, passages), query.weights / max(float(query.weights.sum()), 1e-9))


def order_by_coverage(
    scores: FloatArray | DoubleArray, words: PassageWords, weight: float, k: int
) -> tuple[LongArray, DoubleArray]:
    """Return the positions (m,) of the `k` passages of n to come first, and their values, which never rise.

    `scores` are (n,), and all words of the question have a `weight` beside them; equal values come in the order of
    positions.
    """
    left, rest = words.weights * words.present.any(axis=0), scores.astype(np.float64)
    chosen: list[int] = []
    values: list[float] = []
    count = min(k, len(scores))
    while len(chosen) < count and left.any():
        found = rest + weight * (words.present * left).sum(axis=1)
        best = int(found.argmax())
        chosen.append(best)
        values.append(float(found[best]))
        left[words.present[best]] = 0.0
        rest[best] = -np.inf
    order = np.array(chosen, dtype=np.int64)
    if len(chosen) < count:
        others = top_order(rest, count - len(chosen))
        order, values = np.append(order, others), [*values, *rest[others].tolist()]
    return order, np.minimum.accumulate(np.array(values, dtype=np.float64))
