"""The likeliest walk from a question to each passage: why PageRank ranked it.

Only the nodes that forward push walked on from are looked at: every node with a value was reached through them, so
each has a walk, and the cost depends on the walk and not on the size of the graph.

Source: Dijkstra, "A note on two problems in connexion with graphs" (1959), on costs -log(probability of the step).
Differs from the source: several starts, each with a cost of its own; stops when all targets are reached.
"""

import heapq
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.graph.csr import Adjacency
from clew.graph.ppr.forward_push import PushResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.types import FloatArray, IntArray

# Beyond this many neighbours a node is a hub: its edges explain nothing, and looking at them all takes long.
_MAX_DEGREE = 512
_MAX_STEPS = 8


def likeliest_walks(
    graph: Adjacency,
    push_result: PushResult,
    restart: "tuple[IntArray, FloatArray]",
    attraction: "FloatArray",
    damping: float,
    targets: "Sequence[int]",
) -> list[tuple[float, tuple[int, ...]]]:
    """Return for each target the probability of the likeliest walk to it and its nodes, the start first.

    Args:
        graph: n nodes.
        push_result: What `push_pagerank` gave for the same graph, restart, attraction and damping.
        restart: Distinct nodes (s,) and their probabilities (s,).
        attraction: (n,) positive.
        damping: Probability of another step.
        targets: Nodes; one that is not reached within eight steps gets probability 0 and no nodes.
    """
    nodes, weights = restart
    probability, before = _dijkstra(
        graph.indptr,
        graph.indices,
        graph.weights,
        push_result.nodes,
        push_result.slots,
        push_result.open_weights,
        nodes.astype(np.int32),
        weights.astype(np.float64),
        attraction,
        damping,
        np.asarray(targets, dtype=np.int32),
    )
    found = []
    for target in targets:
        place = int(push_result.slots[target]) - 1
        likely = float(probability[place]) if place >= 0 else 0.0
        found.append((likely, tuple(int(push_result.nodes[p]) for p in _trace_back(place, before)) if likely else ()))
    return found


def _trace_back(place: int, previous: "IntArray") -> list[int]:
    places = []
    while place >= 0:
        places.append(place)
        place = int(previous[place])
    return places[::-1]


# All arrays are over the places in `nodes`.
@njit(cache=True, nogil=True)
def _dijkstra(indptr, indices, weights, nodes, places, onward, starts, start_weights, attraction, damping, targets):  # type: ignore[no-untyped-def]
    probability, best = np.zeros(len(nodes)), np.zeros(len(nodes))
    before = np.full(len(nodes), -1, dtype=np.int32)
    wanted = np.zeros(len(nodes), dtype=np.bool_)
    open_targets = 0
    for target in targets:
        place = places[target] - 1
        if place >= 0 and not wanted[place]:
            wanted[place] = True
            open_targets += 1
    heap = [(0.0, np.int32(-1), np.int32(-1), 0)]
    for i in range(len(starts)):
        place = places[starts[i]] - 1
        if place >= 0 and start_weights[i] > 0.0:
            heapq.heappush(heap, (-start_weights[i], np.int32(place), np.int32(-1), 0))
            best[place] = start_weights[i]
    while len(heap) > 0 and open_targets > 0:
        negative, place, came_from, steps = heapq.heappop(heap)
        if place < 0 or probability[place] > 0.0:
            continue
        probability[place] = -negative
        before[place] = came_from
        if wanted[place]:
            open_targets -= 1
        first, last = indptr[nodes[place]], indptr[nodes[place] + 1]
        if onward[place] <= 0.0 or steps == _MAX_STEPS or (last - first > _MAX_DEGREE and came_from >= 0):
            continue
        share = -negative * damping / onward[place]
        for edge in range(first, last):
            other = indices[edge]
            to = places[other] - 1
            if to < 0 or probability[to] > 0.0 or (onward[to] <= 0.0 and not wanted[to]):
                continue
            likely = share * weights[edge] * attraction[other]
            if likely > best[to]:
                best[to] = likely
                heapq.heappush(heap, (-likely, np.int32(to), place, steps + 1))
    return probability, before
