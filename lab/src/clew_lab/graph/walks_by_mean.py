"""Walks through the layers of a graph neural network by the mean importance of their edges, as published.

Source: Zhu et al., "Neural Bellman-Ford Networks" (2021), section 4.3. Differs from the source: the search is exact.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from clew.arrays import FloatArray, IntArray, LongArray
from clew.graph.paths.likeliest_walks import best_walks


def best_walks_by_mean(
    senders: IntArray, receivers: IntArray, importance: FloatArray, starts: LongArray, target: int, max_walks: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Return the walks of `best_walks`, but by the mean importance of their edges, so that long ones are no better.

    The search is exact, too: nodes are counted apart by the number of edges behind them. Edges (m,), their importance
    (layers, m) and starts (s,) are as there.
    """
    layers, count = importance.shape
    size = 1 + int(max(senders.max(initial=-1), receivers.max(initial=-1), starts.max(initial=-1), target))
    taken = np.repeat(np.arange(layers), count)
    copies = [np.tile(ends, layers) for ends in (senders, receivers)]
    before, after = copies[0] + taken * size, copies[1] + (taken + 1) * size
    walks: list[tuple[float, tuple[int, ...]]] = []
    for edges in range(1, layers + 1):
        found = best_walks(
            before.astype(np.int32),
            after.astype(np.int32),
            np.tile(importance, layers),
            starts,
            target + edges * size,
            max_walks,
        )
        walks += [(score / edges, tuple(edge % count for edge in walk)) for score, walk in found]
    return sorted(walks, key=lambda walk: (-walk[0], walk[1]))[:max_walks]


def edge_layers(importance: FloatArray, walk: Sequence[int]) -> tuple[int, ...]:
    """Return the layer at which a walk takes each of its edges, so that the sum of their importances is highest.

    `importance` (layers, m) is that of m edges; the walk has at most as many edges as there are layers.
    """
    layers = combinations(range(len(importance)), len(walk))
    return max(layers, key=lambda chosen: sum(float(importance[i, e]) for i, e in zip(chosen, walk, strict=True)))
