"""Synonym edges by a threshold relative to each name's nearest neighbour.

Source: the authors' code of GFM-RAG, entity resolution: the scores of a name's neighbours are divided by the best one.
Differs from the source: cosines of any encoder in place of late interaction; the name itself is no neighbour; an edge
that either end proposes stands for both directions; equal neighbours are ordered by name.
"""

from collections.abc import Sequence

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.errors import InputError

_BLOCK_ROWS = 1024


def find_relative_synonyms(
    names: Sequence[str], vectors: FloatArray, share: float, limit: int = 100
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs whose cosine is above `share` of the best one of an end, among its `limit` best.

    Args:
        names: The n distinct names.
        vectors: (n, d) unit vectors of the names.
        share: Of the best cosine, above 0 and at most 1.
        limit: Pairs that a name proposes, at least 1.

    Returns:
        Left and right rows (m,), left below right, ascending, and cosines (m,). All names are compared with all.

    Raises:
        InputError: A number is out of range.
    """
    if not 0 < share <= 1 or limit < 1:
        raise InputError(f"the share is {share} and the limit {limit}; wanted above 0 to 1, and at least 1")
    order = np.empty(len(names), dtype=np.int64)
    order[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(names), _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS].astype(np.float64) @ vectors.astype(np.float64).T
        for row, scores in enumerate(block, start):
            scores[row] = -np.inf
            best = np.lexsort((order, -scores))[:limit] if len(scores) > 1 else np.zeros(0, dtype=np.int64)
            for other in best.tolist():
                if scores[other] > 0 and scores[other] >= share * scores[best[0]]:
                    found[min(row, other), max(row, other)] = float(scores[other])
    pairs = sorted(found)
    left, right = (np.array([pair[end] for pair in pairs], dtype=np.int32) for end in (0, 1))
    return left, right, np.array([found[pair] for pair in pairs], dtype=np.float32)
