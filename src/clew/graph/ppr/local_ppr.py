"""Personalised PageRank on a local graph, by forward push or power iteration.

The walk starts at a node sampled from s, the starts by their weights. At each step it continues with probability d, the
damping, along one of the edges of its node, all equally likely: several facts between two nodes are several edges, a
fact of a node with itself is one. At a node without edges it ends. The score p of a node is the probability that the
walk ends there: p = (1 - d) s + d p A / degree for a node with edges, all incoming probability for one without.

Source: Haveliwala, "Topic-sensitive PageRank" (2002) for the walk; Andersen, Chung and Lang, "Local graph partitioning
using PageRank vectors" (2006) for forward push.
Differs from the source: no lazy steps, so that d is the usual damping; the part of the residual that is sure to end at
its node, 1 - d, is added to its score.
"""

import numpy as np
from numpy.typing import NDArray

from clew.arrays import DoubleArray, IntArray, LongArray, top_order
from clew.arrays.kernels import njit
from clew.graph.subgraphs.k_hop import LocalGraph

DAMPING = 0.8
EPSILON = 1e-5
MAX_ITERATIONS = 1000
TOLERANCE = 1e-9


def push_ppr(
    local: LocalGraph,
    starts: LongArray | IntArray,
    weights: NDArray[np.floating],
    damping: float = DAMPING,
    epsilon: float = EPSILON,
) -> DoubleArray:
    """Return approximate personalised PageRank (n,): too low by at most `epsilon` times the node's degree.

    Reads at most 1 / (epsilon (1 - damping)) edges and those of the starts, however large the graph. A start is always
    expanded; a hub would have no effect otherwise. `starts` (s,) are positions with `weights` (s,) of at least 0, which
    are scaled to a sum of 1; `damping` is the probability of another step, in [0, 1); `epsilon`, positive, the
    probability per edge below which a node is not expanded. Raises InputError where a start is not in the graph.
    """
    residual = _restart_vector(local, starts, weights)
    values = np.zeros_like(residual)
    _push_mass(local.indptr, local.neighbours, values, residual, np.flatnonzero(residual), damping, epsilon)
    return values


def random_walk_with_restart(
    local: LocalGraph,
    starts: LongArray | IntArray,
    weights: NDArray[np.floating],
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
) -> DoubleArray:
    """Return personalised PageRank (n,) by power iteration over all edges; arguments and errors as of `push_ppr`.

    Stops when the sum of the changes of all scores is at most `tolerance`: the sum of their errors is then at most
    damping / (1 - damping) times that.
    """
    restart, degrees = _restart_vector(local, starts, weights), local.degrees()
    rows = np.repeat(np.arange(len(degrees)), degrees)
    fresh, scores = np.where(degrees > 0, 1.0 - damping, 1.0) * restart, restart
    for _ in range(MAX_ITERATIONS):
        shares = damping * scores / np.maximum(degrees, 1)
        last, scores = scores, fresh + np.bincount(rows, shares[local.neighbours], len(degrees))
        if np.abs(scores - last).sum() <= tolerance:
            break
    return scores


def best_positions(scores: DoubleArray, max_count: int) -> LongArray:
    """Return the positions (k,) of the `max_count` highest scores (n,) above 0, best first, ties by position."""
    best = top_order(scores, max_count)
    return best[scores[best] > 0.0]


def _restart_vector(local: LocalGraph, starts: LongArray | IntArray, weights: NDArray[np.floating]) -> DoubleArray:
    local.distinct_positions(starts)
    restart = np.zeros(len(local.nodes))
    np.add.at(restart, np.asarray(starts, dtype=np.int64), weights)
    total = restart.sum()
    return restart / total if total > 0.0 else restart


# A node is queued at most once, so the queue is a ring buffer of n entries; the residual of a queued node only grows,
# so it is compared with epsilon when it is queued. The final residual is at most epsilon per degree; of it, 1 - damping
# is sure to stay and is added to the node's value.
@njit
def _push_mass(indptr, neighbours, values, residual, starts, damping, epsilon):  # type: ignore[no-untyped-def]
    size = len(values)
    queue, queued = np.empty(size, dtype=np.int32), np.zeros(size, dtype=np.bool_)
    head, count = 0, 0
    for start in starts:
        queue[count], queued[start] = start, True
        count += 1
    while count > 0:
        node = queue[head]
        head = head + 1 if head + 1 < size else 0
        count -= 1
        queued[node] = False
        first, last = indptr[node], indptr[node + 1]
        mass = residual[node]
        if first == last:
            values[node] += mass
            residual[node] = 0.0
            continue
        residual[node] = 0.0
        values[node] += (1.0 - damping) * mass
        share = damping * mass / (last - first)
        for entry in range(first, last):
            other = neighbours[entry]
            residual[other] += share
            if not queued[other] and residual[other] > epsilon * (indptr[other + 1] - indptr[other]):
                queued[other] = True
                tail = head + count
                queue[tail if tail < size else tail - size] = other
                count += 1
    for node in range(size):
        values[node] += (1.0 - damping) * residual[node]
