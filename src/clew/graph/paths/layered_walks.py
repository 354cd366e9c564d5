"""The best walks through the layers of a graph neural network, by the importance of each edge at each layer.

A walk takes one edge a layer or stays where it is. Its score is the sum of the importances of its edges, so keeping the
best few at every node of every layer finds the best ones of all: it is exact, not a beam that may lose them.

Source: Zhu et al., "Neural Bellman-Ford Networks" (2021), section 4.3, on paths by the gradient of edge weights.
Differs from the source: a walk may be shorter than the number of layers; the search is exact.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray, LongArray


def best_walks(
    senders: "IntArray",
    receivers: "IntArray",
    importance: "FloatArray",
    starts: "LongArray",
    target: int,
    max_walks: int,
) -> list[tuple[float, tuple[int, ...]]]:
    """Return the walks to a node with the greatest importance, best first, each of at least one edge, none twice.

    Args:
        senders: (m,) of each edge.
        receivers: (m,).
        importance: (layers, m).
        starts: (s,) nodes where a walk may begin.
        target: Where it ends.
        max_walks: How many at most.

    Returns:
        Scores, and the edges in order.
    """
    size = 1 + int(max(senders.max(initial=-1), receivers.max(initial=-1), starts.max(initial=-1), target))
    kept = max_walks * (len(importance) + 1)  # one walk stands in several places that differ in where it stays
    scores, edges, slots = _best_prefixes(senders, receivers, importance, starts.astype(np.int64), size, kept)
    found: dict[tuple[int, ...], float] = {}
    for slot in range(kept):
        score = float(scores[-1, target, slot])
        if score > -np.inf:
            walk = _trace_edges(edges, slots, senders, target, slot)
            if walk and score > found.get(walk, -np.inf):
                found[walk] = score
    best = sorted(found, key=lambda walk: (-found[walk], walk))[:max_walks]
    return [(found[walk], walk) for walk in best]


def _trace_edges(edges: "LongArray", slots: "LongArray", senders: "IntArray", node: int, slot: int) -> tuple[int, ...]:
    walk: list[int] = []
    for layer in range(len(edges) - 1, 0, -1):
        edge = int(edges[layer, node, slot])
        slot = int(slots[layer, node, slot])
        if edge >= 0:
            walk.append(edge)
            node = int(senders[edge])
    return tuple(reversed(walk))


@njit(cache=True, nogil=True)
def _best_prefixes(senders, receivers, importance, starts, size, kept):  # type: ignore[no-untyped-def]
    layers = len(importance)
    scores = np.full((layers + 1, size, kept), -np.inf, dtype=np.float32)
    edges = np.full((layers + 1, size, kept), -1, dtype=np.int64)
    slots = np.zeros((layers + 1, size, kept), dtype=np.int64)
    for start in starts:
        scores[0, start, 0] = 0.0
    for layer in range(layers):
        before, after = scores[layer], scores[layer + 1]
        for node in range(size):
            for slot in range(kept):
                if before[node, slot] == -np.inf:
                    break
                _insert(after[node], edges[layer + 1, node], slots[layer + 1, node], before[node, slot], -1, slot)
        for edge in range(len(senders)):
            sender, receiver = senders[edge], receivers[edge]
            for slot in range(kept):
                score = before[sender, slot] + importance[layer, edge]
                if before[sender, slot] == -np.inf or score <= after[receiver, kept - 1]:
                    break
                _insert(after[receiver], edges[layer + 1, receiver], slots[layer + 1, receiver], score, edge, slot)
    return scores, edges, slots


@njit(cache=True, nogil=True)
def _insert(scores, edges, slots, score, edge, slot):  # type: ignore[no-untyped-def]
    place = len(scores) - 1
    if score <= scores[place]:
        return
    while place > 0 and scores[place - 1] < score:
        scores[place], edges[place], slots[place] = scores[place - 1], edges[place - 1], slots[place - 1]
        place -= 1
    scores[place], edges[place], slots[place] = score, edge, slot
