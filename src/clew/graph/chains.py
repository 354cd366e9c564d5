"""The likeliest walk from a question to each passage: why PageRank ranked it.

Source: Dijkstra, "A note on two problems in connexion with graphs" (1959), on costs -log(probability of the step).
Differs from the source: several starts, each with a cost of its own; stops when all targets are reached.
"""

import heapq
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.graph.adjacency import Adjacency
from clew.graph.pagerank import open_weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.types import FloatArray, IntArray

# Beyond this many neighbours a node is a hub: its edges explain nothing, and looking at them all takes long.
_HUB = 512
_LONGEST = 8


def likeliest_walks(
    graph: Adjacency,
    restart: "tuple[IntArray, FloatArray]",
    attraction: "FloatArray",
    blocked: "NDArray[np.bool_]",
    damping: float,
    targets: "Sequence[int]",
) -> list[tuple[float, tuple[int, ...]]]:
    """Return for each target the probability of the likeliest walk to it and its nodes, the start first.

    Args:
        graph: n nodes, as for `push_pagerank`.
        restart: Distinct nodes (s,) and their probabilities (s,).
        attraction: (n,) positive.
        blocked: (n,) nodes that are not entered.
        damping: Probability of another step.
        targets: Nodes; one that is not reached within eight steps gets probability 0 and no nodes.
    """
    nodes, weights = restart
    found = _dijkstra(
        graph.indptr,
        graph.indices,
        graph.weights,
        nodes.astype(np.int32),
        weights.astype(np.float64),
        attraction,
        blocked,
        damping,
        np.asarray(targets, dtype=np.int32),
    )
    probability, before = found
    return [(float(probability[t]), _back(t, probability, before)) for t in targets]


def _back(target: int, probability: "NDArray[np.float64]", before: "IntArray") -> tuple[int, ...]:
    nodes: list[int] = []
    node = target if probability[target] > 0 else -1
    while node >= 0:
        nodes.append(node)
        node = int(before[node])
    return tuple(reversed(nodes))


@njit(cache=True, nogil=True)
def _dijkstra(indptr, indices, weights, starts, start_weights, attraction, blocked, damping, targets):  # type: ignore[no-untyped-def]
    n = len(indptr) - 1
    probability = np.zeros(n)
    before = np.zeros(n, dtype=np.int32)
    best = np.zeros(n)
    wanted = np.zeros(n, dtype=np.bool_)
    open_targets = 0
    for target in targets:
        if not wanted[target] and not blocked[target]:
            wanted[target] = True
            open_targets += 1
    heap = [(0.0, np.int32(-1), np.int32(-1), 0)]
    for i in range(len(starts)):
        if start_weights[i] > 0.0 and not blocked[starts[i]]:
            heapq.heappush(heap, (-start_weights[i], starts[i], np.int32(-1), 0))
            best[starts[i]] = max(best[starts[i]], start_weights[i])
    while len(heap) > 0 and open_targets > 0:
        negative, node, came_from, steps = heapq.heappop(heap)
        if node < 0 or probability[node] > 0.0:
            continue
        probability[node] = -negative
        before[node] = came_from
        if wanted[node]:
            open_targets -= 1
        first, last = indptr[node], indptr[node + 1]
        if steps == _LONGEST or (last - first > _HUB and came_from >= 0):
            continue
        total = open_weight(node, indptr, indices, weights, attraction, blocked)
        for edge in range(first, last):
            other = indices[edge]
            if blocked[other] or probability[other] > 0.0:
                continue
            onward = -negative * damping * weights[edge] * attraction[other] / total
            if onward > best[other]:
                best[other] = onward
                heapq.heappush(heap, (-onward, other, node, steps + 1))
    return probability, before
