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

from clew.graph.adjacency import Adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import BoolArray, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """Where the walk ends.

    Attributes:
        nodes: (m,) the nodes with a value, ascending.
        values: (m,) the probability that the walk ends there.
        left: What was not moved any further; the exact values add up to at most this much more.
    """

    nodes: "IntArray"
    values: "FloatArray"
    left: float


def push_pagerank(
    graph: Adjacency,
    restart: "tuple[IntArray, FloatArray]",
    attraction: "FloatArray",
    blocked: "NDArray[np.bool_]",
    damping: float,
    epsilon: float,
) -> Walk:
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
    values, residual, touched = _push(
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
    touched.sort()
    return Walk(touched, values[touched].astype(np.float32), float(residual[touched].sum()))


@njit(cache=True, nogil=True)
def open_weight(
    node: int,
    indptr: "LongArray",
    indices: "IntArray",
    weights: "FloatArray",
    attraction: "FloatArray",
    blocked: "BoolArray",
) -> float:
    """Return the sum of weight times attraction over the neighbours of a node that are not blocked."""
    total = 0.0
    for edge in range(indptr[node], indptr[node + 1]):
        if not blocked[indices[edge]]:
            total += weights[edge] * attraction[indices[edge]]
    return total


@njit(cache=True, nogil=True)
def _push(indptr, indices, weights, starts, start_weights, attraction, blocked, damping, epsilon):  # type: ignore[no-untyped-def]
    n = len(indptr) - 1
    value = np.zeros(n)
    residual = np.zeros(n)
    seen = np.zeros(n, dtype=np.bool_)
    waiting = np.zeros(n, dtype=np.bool_)
    touched = np.empty(1024, dtype=np.int32)
    count = 0
    queue = np.empty(1024, dtype=np.int32)
    head, tail = 0, 0
    for i in range(len(starts)):
        node = starts[i]
        residual[node] += start_weights[i]
        if not seen[node]:
            seen[node] = True
            touched, count = _append(touched, count, node)
        if not waiting[node]:
            waiting[node] = True
            queue, tail = _append(queue, tail, node)
    while head < tail:
        node = queue[head]
        head += 1
        waiting[node] = False
        mass = residual[node]
        first, last = indptr[node], indptr[node + 1]
        if mass <= epsilon * max(last - first, 1):
            continue
        residual[node] = 0.0
        total = open_weight(node, indptr, indices, weights, attraction, blocked)
        if total <= 0.0:
            value[node] += mass
            continue
        value[node] += (1.0 - damping) * mass
        for edge in range(first, last):
            other = indices[edge]
            if blocked[other]:
                continue
            residual[other] += damping * mass * weights[edge] * attraction[other] / total
            if not seen[other]:
                seen[other] = True
                touched, count = _append(touched, count, other)
            if not waiting[other] and residual[other] > epsilon * max(indptr[other + 1] - indptr[other], 1):
                waiting[other] = True
                queue, tail = _append(queue, tail, other)
    return value, residual, touched[:count]


@njit(cache=True, nogil=True)
def _append(items, count, item):  # type: ignore[no-untyped-def]
    if count == len(items):
        larger = np.empty(2 * count, dtype=items.dtype)
        larger[:count] = items
        items = larger
    items[count] = item
    return items, count + 1
