"""Personalised PageRank by forward push, on a graph whose edges a question reweighs.

The walk starts at a node drawn from `restart`; at each step it goes on with probability `damping`, to a neighbour v of
u with probability w(u, v) a(v) / sum over v' of w(u, v') a(v'), where a(v) is the attraction of v for this question.
The value of a node is the probability that the walk ends there. Forward push moves probability only where enough of it
lies, so its cost depends on the walk, not on the size of the graph, and what it leaves out is known exactly.

Source: Andersen, Chung and Lang, "Local graph partitioning using PageRank vectors" (2006), algorithm ApproximatePR.
Differs from the source: no lazy steps; edges are weighted and steered by a question's attraction; a blocked node
neither gets nor gives; a walk at a node without open neighbours ends there.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.graph.csr import Adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PushResult:
    """Where the walk ends.

    Attributes:
        nodes: (m,) the nodes that the walk came near, ascending.
        values: (m,) the probability that the walk ends there.
        open_weights: (m,) the sum of weight times attraction over the open neighbours of a node that was walked on
            from, 0
            for the others.
        slots: (n,) the position in `nodes` of each node of the graph plus one, 0 for those that are not there.
        residual: What was not moved any further; the exact values add up to at most this much more.
    """

    nodes: "IntArray"
    values: "FloatArray"
    open_weights: "NDArray[np.float64]"
    slots: "IntArray"
    residual: float


def push_pagerank(
    graph: Adjacency,
    restart: "tuple[IntArray, FloatArray]",
    attraction: "FloatArray",
    blocked: "NDArray[np.bool_]",
    damping: float,
    epsilon: float,
) -> PushResult:
    """Return personalised PageRank near the restart nodes.

    Args:
        graph: n nodes, symmetric, positive weights.
        restart: Distinct nodes (s,) and their probabilities (s,), which sum to 1.
        attraction: (n,) positive.
        blocked: (n,) nodes that the walk may not enter.
        damping: Probability of another step, in [0, 1).
        epsilon: Probability per edge below which a node is left alone; smaller is more exact and slower.
    """
    nodes, weights = restart
    open_ = ~blocked[nodes]
    near, values, residual, onward, places = _push_mass(
        graph.indptr,
        graph.indices,
        graph.weights,
        nodes[open_].astype(np.int32),
        weights[open_].astype(np.float64),
        attraction,
        blocked,
        damping,
        epsilon,
    )
    order = np.argsort(near)
    places[near[order]] = np.arange(1, len(near) + 1, dtype=np.int32)
    return PushResult(near[order], values[order].astype(np.float32), onward[order], places, float(residual.sum()))


@njit(cache=True, nogil=True)
def _open_weight(node, indptr, indices, weights, attraction, blocked):  # type: ignore[no-untyped-def]
    total = 0.0
    for edge in range(indptr[node], indptr[node + 1]):
        if not blocked[indices[edge]]:
            total += weights[edge] * attraction[indices[edge]]
    return total


# Only `places` has an entry for every node of the graph; all else grows with the walk, which keeps a large graph from
# costing more than a small one.
@njit(cache=True, nogil=True)
def _push_mass(indptr, indices, weights, starts, start_weights, attraction, blocked, damping, epsilon):  # type: ignore[no-untyped-def]
    places = np.zeros(len(indptr) - 1, dtype=np.int32)
    count = len(starts)
    room = max(2 * count, 1024)
    nodes, queue = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    value, residual, onward = np.zeros(room), np.zeros(room), np.full(room, -1.0)
    waiting = np.zeros(room, dtype=np.bool_)
    for i in range(count):
        nodes[i], residual[i], waiting[i], queue[i] = starts[i], start_weights[i], True, i
        places[starts[i]] = i + 1
    head, tail = 0, count
    while head < tail:
        place = queue[head]
        head += 1
        waiting[place] = False
        node, mass = nodes[place], residual[place]
        first, last = indptr[node], indptr[node + 1]
        if mass <= epsilon * max(last - first, 1):
            continue
        residual[place] = 0.0
        if onward[place] < 0.0:
            onward[place] = _open_weight(node, indptr, indices, weights, attraction, blocked)
        if onward[place] <= 0.0:
            value[place] += mass
            continue
        value[place] += (1.0 - damping) * mass
        share = damping * mass / onward[place]
        while len(nodes) < count + last - first:
            nodes, value, residual, onward, waiting = _grow_buffers(nodes, value, residual, onward, waiting)
        while len(queue) < tail + last - first:
            queue = np.concatenate((queue, np.empty_like(queue)))
        for edge in range(first, last):
            other = indices[edge]
            if blocked[other]:
                continue
            if places[other] == 0:
                nodes[count] = other
                count += 1
                places[other] = count
            to = places[other] - 1
            residual[to] += share * weights[edge] * attraction[other]
            if not waiting[to] and residual[to] > epsilon * max(indptr[other + 1] - indptr[other], 1):
                waiting[to] = True
                queue[tail] = to
                tail += 1
    return nodes[:count], value[:count], residual[:count], np.maximum(onward[:count], 0.0), places


@njit(cache=True, nogil=True)
def _grow_buffers(nodes, value, residual, onward, waiting):  # type: ignore[no-untyped-def]
    more = len(nodes)
    return (
        np.concatenate((nodes, np.empty(more, dtype=np.int32))),
        np.concatenate((value, np.zeros(more))),
        np.concatenate((residual, np.zeros(more))),
        np.concatenate((onward, np.full(more, -1.0))),
        np.concatenate((waiting, np.zeros(more, dtype=np.bool_))),
    )
