"""Exact PageRank by moving all probability one step at a time through a dense matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def exact_pagerank(
    weights: Floats, restart: Floats, attraction: Floats, blocked: NDArray[np.bool_], damping: float
) -> Floats:
    """Return the probability (n,) that the walk ends at each node; weights (n, n) are 0 where there is no edge."""
    steps = weights * attraction[None, :]
    steps[:, blocked] = 0.0
    out = steps.sum(axis=1)
    ends = np.where(out > 0, 1.0 - damping, 1.0)
    transitions = damping * steps / np.where(out > 0, out, 1.0)[:, None]
    walking = np.where(blocked, 0.0, restart)
    ended = np.zeros_like(restart)
    while walking.sum() > 1e-13:
        ended += ends * walking
        walking = walking @ transitions
    return ended


def dense_matrix(rows: "Any", count: int) -> Floats:
    """Return an adjacency as a dense matrix (count, count)."""
    matrix = np.zeros((count, count))
    for row in range(count):
        for entry in range(int(rows.indptr[row]), int(rows.indptr[row + 1])):
            matrix[row, rows.indices[entry]] = rows.weights[entry]
    return matrix
