"""The likeliest walk from a question to each passage, as an explanation of its PageRank score.

Only nodes that forward push expanded are searched: every node with a value was reached through them, so each has a
walk, and the cost depends on the push and not on the size of the graph.

Source: Dijkstra, "A note on two problems in connexion with graphs" (1959), on costs -log(probability of the step).
Differs from the source: several starts, each with its own cost; stops when all targets are reached.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency
from clew.graph.ppr.forward_push import PushResult
from clew.graph.ppr.node_table import node_position

# A node with more neighbours is a hub: its edges explain nothing, and reading them all takes long.
_MAX_DEGREE = 512
_MAX_STEPS = 8


def likeliest_walks(
    graph: Adjacency,
    push_result: PushResult,
    restart: tuple[IntArray, FloatArray],
    damping: float,
    targets: Sequence[int],
) -> list[tuple[float, tuple[int, ...]]]:
    """Return for each target the probability of the likeliest walk to it and its nodes, the start first.

    `push_result` is that of `push_pagerank` for the same graph of n nodes, restart (distinct nodes (s,) and their
    probabilities (s,)), attraction and damping. A target that is not reached within eight steps gets
    probability 0 and no nodes.
    """
    pushed = push_result.nodes, push_result.slots, push_result.open_weights, push_result.attraction
    starts = restart[0].astype(np.int32), restart[1].astype(np.float64)
    probability, previous, places = _dijkstra(
        *graph.arrays, *pushed, *starts, damping, np.asarray(targets, dtype=np.int32)
    )
    walks = []
    for position in places.tolist():
        likelihood = float(probability[position]) if position >= 0 else 0.0
        positions = _trace_back(position, previous) if likelihood else []
        walks.append((likelihood, tuple(int(push_result.nodes[p]) for p in positions)))
    return walks


def _trace_back(position: int, previous: IntArray) -> list[int]:
    positions = []
    while position >= 0:
        positions.append(position)
        position = int(previous[position])
    return positions[::-1]


# `probability`, `best`, `previous` and `wanted` are indexed by positions in `nodes`, which `slots` gives.
@njit
def _dijkstra(  # type: ignore[no-untyped-def]
    indptr, indices, weights, nodes, slots, open_weights, attraction, starts, start_weights, damping, targets
):
    probability, best = np.zeros(len(nodes)), np.zeros(len(nodes))
    previous = np.full(len(nodes), -1, dtype=np.int32)
    wanted = np.zeros(len(nodes), dtype=np.bool_)
    open_targets = 0
    places = np.empty(len(targets), dtype=np.int64)
    for i in range(len(targets)):
        position = node_position(slots, targets[i])
        places[i] = position
        if position >= 0 and not wanted[position]:
            wanted[position] = True
            open_targets += 1
    heap = [(0.0, np.int32(-1), np.int32(-1), 0)]
    for i in range(len(starts)):
        position = node_position(slots, starts[i])
        if position >= 0 and start_weights[i] > 0.0:
            heapq.heappush(heap, (-start_weights[i], np.int32(position), np.int32(-1), 0))
            best[position] = start_weights[i]
    while len(heap) > 0 and open_targets > 0:
        negative, position, parent, steps = heapq.heappop(heap)
        if position < 0 or probability[position] > 0.0:
            continue
        probability[position] = -negative
        previous[position] = parent
        if wanted[position]:
            open_targets -= 1
        first, last = indptr[nodes[position]], indptr[nodes[position] + 1]
        if open_weights[position] <= 0.0 or steps == _MAX_STEPS or (last - first > _MAX_DEGREE and parent >= 0):
            continue
        share = -negative * damping / open_weights[position]
        for edge in range(first, last):
            other = indices[edge]
            to = node_position(slots, other)
            if to < 0 or probability[to] > 0.0 or (open_weights[to] <= 0.0 and not wanted[to]):
                continue
            likelihood = share * weights[edge] * attraction[to]
            if likelihood > best[to]:
                best[to] = likelihood
                heapq.heappush(heap, (-likelihood, np.int32(to), position, steps + 1))
    return probability, previous, places
