"""The graph of the random walk: passages, and the entities that join several of them.

A node is a passage or an entity. An entity that only one passage mentions, or that titles exactly one passage, is
represented by that passage: a node of its own would only return its probability. Edges join a passage with the entities
it mentions, in both directions. Equivalent names are not joined: that leads from one Henry to the next
(docs/decisions/index.md).
"""

import numpy as np

from clew.arrays import IntArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency


def entity_nodes(title_entities: IntArray, mentioned_in: Adjacency) -> IntArray:
    """Return the node (E,) of every entity: a passage's position, or P and above for a node of its own.

    `title_entities` (P,) is the entity that titles a passage, -1 for none; `mentioned_in` has E rows of passages.
    """
    count = mentioned_in.row_count
    titled = np.flatnonzero(title_entities >= 0)
    title_counts = np.bincount(title_entities[titled], minlength=count)
    title_passages = np.full(count, -1, dtype=np.int64)
    title_passages[title_entities[titled]] = titled
    nodes = np.full(count, -1, dtype=np.int64)
    single = mentioned_in.degrees() == 1
    nodes[single] = mentioned_in.indices[mentioned_in.indptr[:-1][single]]
    nodes[title_counts == 1] = title_passages[title_counts == 1]
    own = nodes < 0
    nodes[own] = len(title_entities) + np.arange(int(own.sum()))
    return nodes.astype(np.int32)


def walk_graph(nodes: IntArray, mentions: Adjacency) -> Adjacency:
    """Return the edges between `entity_nodes` (E,) in both directions, without loops, from P rows of mentions."""
    count = max(mentions.row_count, int(nodes.max(initial=-1)) + 1)
    return Adjacency(*_join_nodes(nodes, *mentions.arrays, count))


@njit
def _join_nodes(nodes, mention_indptr, entities, mention_weights, count):  # type: ignore[no-untyped-def]
    """Return the rows of `count` nodes: each edge is written to both its ends, then rows are sorted and made distinct.

    Of equal edges the highest weight stays.
    """
    starts = np.zeros(count + 1, dtype=np.int64)
    for passage in range(len(mention_indptr) - 1):
        for i in range(mention_indptr[passage], mention_indptr[passage + 1]):
            node = nodes[entities[i]]
            if node != passage:
                starts[passage + 1] += 1
                starts[node + 1] += 1
    for node in range(count):
        starts[node + 1] += starts[node]
    cursor = starts[:-1].copy()
    indices, weights = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.float32)
    for passage in range(len(mention_indptr) - 1):
        for i in range(mention_indptr[passage], mention_indptr[passage + 1]):
            node = nodes[entities[i]]
            if node != passage:
                indices[cursor[passage]], weights[cursor[passage]] = node, mention_weights[i]
                indices[cursor[node]], weights[cursor[node]] = passage, mention_weights[i]
                cursor[passage] += 1
                cursor[node] += 1
    indptr = np.zeros(count + 1, dtype=np.int64)
    size = 0
    for node in range(count):
        _sort_row(indices[starts[node] : starts[node + 1]], weights[starts[node] : starts[node + 1]])
        for i in range(starts[node], starts[node + 1]):
            if size > indptr[node] and indices[size - 1] == indices[i]:
                weights[size - 1] = max(weights[size - 1], weights[i])
            else:
                indices[size], weights[size] = indices[i], weights[i]
                size += 1
        indptr[node + 1] = size
    return indptr, indices[:size].copy(), weights[:size].copy()


# Shell's sort: numpy's takes seconds to compile.
@njit
def _sort_row(neighbours, weights):  # type: ignore[no-untyped-def]
    gap = 1
    while 3 * gap < len(neighbours):
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(neighbours)):
            neighbour, weight = neighbours[i], weights[i]
            j = i
            while j >= gap and neighbours[j - gap] > neighbour:
                neighbours[j], weights[j] = neighbours[j - gap], weights[j - gap]
                j -= gap
            neighbours[j], weights[j] = neighbour, weight
        gap //= 3
