"""Personalised PageRank by power iteration over the full graph: exact, and linear in the graph's size.

Source: Page et al., "The PageRank Citation Ranking" (1999). Differs from the source: a node without neighbours sends
its walk back to the restart.
"""

import numpy as np

from clew.arrays import DoubleArray, FloatArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency, row_pointers, run_starts

TOLERANCE = 1e-9
MAX_STEPS = 200


def power_iteration(graph: Adjacency, restart: DoubleArray, damping: float) -> DoubleArray:
    """Return the stationary distribution (n,) of a walk that restarts with probability 1 - `damping` at each step.

    `graph` has n nodes and positive weights; `restart` (n,) sums to 1.
    """
    n = graph.row_count
    sources = graph.row_indices()
    out: DoubleArray = np.bincount(sources, weights=graph.weights, minlength=n).astype(np.float64)
    dangling = out == 0
    scale = np.where(dangling, 0.0, 1.0 / np.where(dangling, 1.0, out))
    order = np.argsort(graph.indices, kind="stable")
    incoming = row_pointers(graph.indices, n), sources[order], graph.weights[order].astype(np.float64)
    values = restart.copy()
    for _ in range(MAX_STEPS):
        moved = _sum_incoming(*incoming, values * scale) + restart * float(values[dangling].sum())
        following = damping * moved + (1.0 - damping) * restart
        change = float(np.abs(following - values).sum())
        values = following
        if change < TOLERANCE:
            break
    return values


def summed_adjacency(rows: LongArray, columns: LongArray, weights: FloatArray, row_count: int) -> Adjacency:
    """Sort pairs into `row_count` rows, adding up the weights of equal pairs."""
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    first = run_starts(rows, columns)
    totals = np.bincount(np.cumsum(first) - 1, weights=weights[order], minlength=int(first.sum()))
    return Adjacency(row_pointers(rows[first], row_count), columns[first].astype(np.int32), totals.astype(np.float32))


@njit
def _sum_incoming(indptr, sources, weights, values):  # type: ignore[no-untyped-def]
    sums = np.zeros(len(indptr) - 1)
    for node in range(len(sums)):
        for edge in range(indptr[node], indptr[node + 1]):
            sums[node] += weights[edge] * values[sources[edge]]
    return sums
