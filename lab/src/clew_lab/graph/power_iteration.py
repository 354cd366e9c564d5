"""Personalised PageRank by power iteration over the full graph: exact, and linear in the graph's size.

Source: Page et al., "The PageRank Citation Ranking" (1999). Differs from the source: a node without neighbours sends
its walk back to the restart.
"""

from typing import final

import numpy as np

from clew.arrays import DoubleArray, FloatArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency, row_pointers, run_starts

TOLERANCE = 1e-9
MAX_STEPS = 200


@final
class PowerWalk:
    """A walk on a graph of n nodes and positive weights, prepared once for any number of restarts."""

    def __init__(self, graph: Adjacency) -> None:
        n, sources = graph.row_count, graph.row_indices()
        out: DoubleArray = np.bincount(sources, weights=graph.weights, minlength=n).astype(np.float64)
        self._dangling = out == 0
        self._scale = np.where(self._dangling, 0.0, 1.0 / np.where(self._dangling, 1.0, out))
        order = np.argsort(graph.indices, kind="stable")
        self._incoming = row_pointers(graph.indices, n), sources[order], graph.weights[order].astype(np.float64)

    def values(self, restart: DoubleArray, damping: float, max_steps: int = MAX_STEPS) -> DoubleArray:
        """Return where the walk is (n,) after `max_steps` steps, or before that once it does not change any more.

        It begins at `restart` (n,), which sums to 1, and restarts with probability 1 - `damping` at each step.
        """
        values = restart.copy()
        for _ in range(max_steps):
            lost = float(values[self._dangling].sum())
            moved = _sum_incoming(*self._incoming, values * self._scale) + restart * lost
            following = damping * moved + (1.0 - damping) * restart
            change = float(np.abs(following - values).sum())
            values = following
            if change < TOLERANCE:
                break
        return values


def power_iteration(graph: Adjacency, restart: DoubleArray, damping: float) -> DoubleArray:
    """Return the stationary distribution (n,) of a walk that restarts with probability 1 - `damping` at each step.

    `graph` has n nodes and positive weights; `restart` (n,) sums to 1.
    """
    return PowerWalk(graph).values(restart, damping)


def summed_adjacency(rows: LongArray, columns: LongArray, weights: FloatArray, row_count: int) -> Adjacency:
    """Sort pairs of rows and columns (m,) into `row_count` rows, adding up the weights (m,) of equal pairs."""
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
