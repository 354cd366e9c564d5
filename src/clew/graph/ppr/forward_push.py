"""Personalised PageRank by forward push, on a graph whose edges are reweighted for a question.

The walk starts at a node sampled from `restart`; at each step it continues with probability `damping`, to a neighbour v
of u with probability w(u, v) a(v) / sum over v' of w(u, v') a(v'), where a(v) is the attraction of v for this question.
The value of a node is the probability that the walk ends there. Forward push moves probability only from nodes with
enough of it, so its cost depends on the walk, not on the size of the graph, and its error is known exactly.

Source: Andersen, Chung and Lang, "Local graph partitioning using PageRank vectors" (2006), algorithm ApproximatePR.
Differs from the source: no lazy steps; edges are weighted and scaled by a question's attraction; blocked nodes are
never entered; a walk at a node without open (unblocked) neighbours ends there.
"""

from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, DoubleArray, FloatArray, IntArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency


@dataclass(frozen=True, slots=True, eq=False)
class PushResult:
    """Result of a forward push, which touched m nodes."""

    nodes: IntArray  # (m,) ascending
    values: FloatArray  # (m,) the probability that the walk ends there
    open_weights: DoubleArray  # (m,) sum of weight times attraction over an expanded node's open neighbours, else 0
    slots: IntArray  # (n,) the position in `nodes` of each node of the graph plus one, 0 if it was not touched
    residual: float  # probability that was not moved further; the sum of the exact values is higher by at most this


def push_pagerank(
    graph: Adjacency,
    restart: tuple[IntArray, FloatArray],
    attraction: FloatArray,
    blocked: BoolArray,
    damping: float,
    epsilon: float,
) -> PushResult:
    """Return approximate personalised PageRank around the restart nodes, in a symmetric graph of positive weights.

    `restart` are distinct nodes (s,) and their probabilities (s,), which sum to 1; `attraction` (n,) is positive; the
    walk may not enter `blocked` nodes (n,). `damping` is the probability of another step, in [0, 1); `epsilon` the
    probability per edge below which a node is not expanded: smaller is more exact and slower.
    """
    starts, weights = restart
    open_ = ~blocked[starts]
    open_restart = starts[open_].astype(np.int32), weights[open_].astype(np.float64)
    nodes, values, residual, open_weights, slots = _push_mass(
        *graph.arrays, *open_restart, attraction, blocked, damping, epsilon
    )
    order = np.argsort(nodes)
    nodes = nodes[order]
    slots[nodes] = np.arange(1, len(nodes) + 1, dtype=np.int32)
    return PushResult(nodes, values[order].astype(np.float32), open_weights[order], slots, float(residual.sum()))


@njit
def _open_weight(node, indptr, indices, weights, attraction, blocked):  # type: ignore[no-untyped-def]
    total = 0.0
    for edge in range(indptr[node], indptr[node + 1]):
        if not blocked[indices[edge]]:
            total += weights[edge] * attraction[indices[edge]]
    return total


# Only `slots` has an entry for every node of the graph; all other buffers grow with the walk, so that a large graph
# does not cost more than a small one.
@njit
def _push_mass(indptr, indices, weights, starts, start_weights, attraction, blocked, damping, epsilon):  # type: ignore[no-untyped-def]
    slots = np.zeros(len(indptr) - 1, dtype=np.int32)
    count = len(starts)
    capacity = max(2 * count, 1024)
    nodes, queue = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.int32)
    value, residual, open_weights = np.zeros(capacity), np.zeros(capacity), np.full(capacity, -1.0)
    queued = np.zeros(capacity, dtype=np.bool_)
    for i in range(count):
        nodes[i], residual[i], queued[i], queue[i] = starts[i], start_weights[i], True, i
        slots[starts[i]] = i + 1
    head, tail = 0, count
    while head < tail:
        position = queue[head]
        head += 1
        queued[position] = False
        node, mass = nodes[position], residual[position]
        first, last = indptr[node], indptr[node + 1]
        if mass <= epsilon * max(last - first, 1):
            continue
        residual[position] = 0.0
        if open_weights[position] < 0.0:
            open_weights[position] = _open_weight(node, indptr, indices, weights, attraction, blocked)
        if open_weights[position] <= 0.0:
            value[position] += mass
            continue
        value[position] += (1.0 - damping) * mass
        share = damping * mass / open_weights[position]
        while len(nodes) < count + last - first:
            nodes, value, residual, open_weights, queued = _grow_buffers(nodes, value, residual, open_weights, queued)
        while len(queue) < tail + last - first:
            queue = np.concatenate((queue, np.empty_like(queue)))
        for edge in range(first, last):
            other = indices[edge]
            if blocked[other]:
                continue
            if slots[other] == 0:
                nodes[count] = other
                count += 1
                slots[other] = count
            target = slots[other] - 1
            residual[target] += share * weights[edge] * attraction[other]
            if not queued[target] and residual[target] > epsilon * max(indptr[other + 1] - indptr[other], 1):
                queued[target] = True
                queue[tail] = target
                tail += 1
    return nodes[:count], value[:count], residual[:count], np.maximum(open_weights[:count], 0.0), slots


@njit
def _grow_buffers(nodes, value, residual, open_weights, queued):  # type: ignore[no-untyped-def]
    size = len(nodes)
    return (
        np.concatenate((nodes, np.empty(size, dtype=np.int32))),
        np.concatenate((value, np.zeros(size))),
        np.concatenate((residual, np.zeros(size))),
        np.concatenate((open_weights, np.full(size, -1.0))),
        np.concatenate((queued, np.zeros(size, dtype=np.bool_))),
    )
