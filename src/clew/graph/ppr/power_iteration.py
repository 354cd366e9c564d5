"""Personalised PageRank by power iteration over the full graph: exact, and linear in the graph's size.

Source: Page et al., "The PageRank Citation Ranking" (1999). Differs from the source: a node without neighbours sends
its walk back to the restart.
"""

import numpy as np
from scipy import sparse

from clew.arrays import DoubleArray, FloatArray, LongArray
from clew.graph.csr import Adjacency

TOLERANCE = 1e-9
MAX_STEPS = 200


def power_iteration(graph: Adjacency, restart: DoubleArray, damping: float) -> DoubleArray:
    """Return the stationary distribution (n,) of a walk that restarts with probability 1 - `damping` at each step.

    `graph` has n nodes and positive weights; `restart` (n,) sums to 1.
    """
    n = graph.row_count
    matrix = sparse.csr_array((graph.weights.astype(np.float64), graph.indices, graph.indptr), shape=(n, n))
    out: DoubleArray = np.asarray(matrix.sum(axis=1)).ravel()
    dangling = out == 0
    scale = np.where(dangling, 0.0, 1.0 / np.where(dangling, 1.0, out))
    backward = matrix.T.tocsr()
    values = restart.copy()
    for _ in range(MAX_STEPS):
        moved = backward @ (values * scale) + restart * float(values[dangling].sum())
        following = damping * moved + (1.0 - damping) * restart
        change = float(np.abs(following - values).sum())
        values = following
        if change < TOLERANCE:
            break
    return values


def summed_adjacency(rows: LongArray, columns: LongArray, weights: FloatArray, row_count: int) -> Adjacency:
    """Sort pairs into `row_count` rows, adding up the weights of equal pairs."""
    matrix = sparse.coo_array((weights.astype(np.float64), (rows, columns)), shape=(row_count, row_count)).tocsr()
    matrix.sum_duplicates()
    matrix.sort_indices()
    return Adjacency(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32))
