"""Likeliest walks as explanations: of a passage's PageRank score, and through the layers of a graph neural network.

Only nodes that forward push expanded are searched: every node with a value was reached through them, so each has a
walk, and the cost depends on the push and not on the size of the graph.

Source: Dijkstra, "A note on two problems in connexion with graphs" (1959), on costs -log(probability of the step).
Differs from the source: several starts, each with its own cost; stops when all targets are reached.

The best walks through the layers of a graph neural network, by the importance of each edge at each layer.

In each layer a walk takes one edge or stays. Its score is the sum of the importances of its edges, so keeping the best
few at every node of every layer finds the best ones of all: the search is exact, unlike a beam.

Source: Zhu et al., "Neural Bellman-Ford Networks" (2021), section 4.3, on paths by the gradient of edge weights.
Differs from the source: a walk may be shorter than the number of layers; the search is exact.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from clew.arrays import FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency
from clew.graph.node_table import node_position
from clew.graph.ppr.forward_push import PushResult

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


def best_walks(
    senders: IntArray, receivers: IntArray, importance: FloatArray, starts: LongArray, target: int, max_walks: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Return the distinct walks of at least one edge to a node with the highest importance, best first.

    Edges lead from `senders` (m,) to `receivers` (m,) and have an `importance` (layers, m); a walk may begin at any of
    `starts` (s,). A walk is returned as its score and its edges in order.
    """
    size = 1 + int(max(senders.max(initial=-1), receivers.max(initial=-1), starts.max(initial=-1), target))
    width = max_walks * (len(importance) + 1)  # a walk takes several slots that differ in the layers where it stays
    scores, edges, slots = _best_prefixes(senders, receivers, importance, starts.astype(np.int64), size, width)
    walk_scores: dict[tuple[int, ...], float] = {}
    for slot in range(width):
        score = float(scores[-1, target, slot])
        if score > -np.inf:
            walk = _trace_edges(edges, slots, senders, target, slot)
            if walk and score > walk_scores.get(walk, -np.inf):
                walk_scores[walk] = score
    best = sorted(walk_scores, key=lambda walk: (-walk_scores[walk], walk))[:max_walks]
    return [(walk_scores[walk], walk) for walk in best]


def _trace_edges(edges: LongArray, slots: LongArray, senders: IntArray, node: int, slot: int) -> tuple[int, ...]:
    walk: list[int] = []
    for layer in range(len(edges) - 1, 0, -1):
        edge = int(edges[layer, node, slot])
        slot = int(slots[layer, node, slot])
        if edge >= 0:
            walk.append(edge)
            node = int(senders[edge])
    return tuple(reversed(walk))


@njit
def _best_prefixes(senders, receivers, importance, starts, size, width):  # type: ignore[no-untyped-def]
    layers = len(importance)
    scores = np.full((layers + 1, size, width), -np.inf, dtype=np.float32)
    edges = np.full((layers + 1, size, width), -1, dtype=np.int64)
    slots = np.zeros((layers + 1, size, width), dtype=np.int64)
    for start in starts:
        scores[0, start, 0] = 0.0
    for layer in range(layers):
        before, after = scores[layer], scores[layer + 1]
        for node in range(size):
            for slot in range(width):
                if before[node, slot] == -np.inf:
                    break
                _insert(after[node], edges[layer + 1, node], slots[layer + 1, node], before[node, slot], -1, slot)
        for edge in range(len(senders)):
            sender, receiver = senders[edge], receivers[edge]
            for slot in range(width):
                score = before[sender, slot] + importance[layer, edge]
                if before[sender, slot] == -np.inf or score <= after[receiver, width - 1]:
                    break
                _insert(after[receiver], edges[layer + 1, receiver], slots[layer + 1, receiver], score, edge, slot)
    return scores, edges, slots


@njit
def _insert(scores, edges, slots, score, edge, slot):  # type: ignore[no-untyped-def]
    position = len(scores) - 1
    if score <= scores[position]:
        return
    while position > 0 and scores[position - 1] < score:
        scores[position], edges[position], slots[position] = (
            scores[position - 1],
            edges[position - 1],
            slots[position - 1],
        )
        position -= 1
    scores[position], edges[position], slots[position] = score, edge, slot
