"""k-hop neighbourhoods by breadth-first search with a bounded number of edges.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on
Knowledge Graphs" (2025), section 4.3: the union of the k-hop neighbourhoods of the entities of a question.
Differs from the source: the number of edges that are read is bounded; where the bound is reached, hubs are cut first,
since their neighbours have little in common.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.errors import InputError
from clew.graph.subgraphs.fact_graph import FactGraph, blocked_mask, check_range

MAX_HOPS = 127


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """Entities ordered by their distance from the nearest start, then by id."""

    nodes: IntArray  # (n,) distinct; the starts come first
    hops: NDArray[np.int8]  # (n,) distance of each node
    edges_read: LongArray  # (n,) number of edges of each node that were read, from its first one on
    truncated_nodes: int  # number of expanded nodes of which not all edges were read; 0 if nothing was cut


def neighbourhood(
    graph: FactGraph, starts: IntArray, hops: int, max_edges: int, blocked_triples: BoolArray | None = None
) -> Neighbourhood:
    """Return the entities within some hops of the starts (s,), without the `blocked_triples` (T,).

    Levels are finished in order. In the level where the bound of edges that are read is reached, nodes of few edges
    come first, ties by id; the node that does not fit is expanded by its first edges. Raises InputError where a start
    is not an entity of the graph, `hops` is not 0 to 127, or `max_edges` is negative.
    """
    level = np.unique(np.asarray(starts, dtype=np.int32))
    check_range(level, graph.entity_count, "a start of the search is entity", "take entities of this graph")
    if not 0 <= hops <= MAX_HOPS or max_edges < 0:
        raise InputError(f"{hops} hops over {max_edges} edges: wanted 0 to {MAX_HOPS} hops, and 0 or more edges")
    blocked = blocked_mask(blocked_triples)
    visited_bits = np.zeros(graph.entity_count // 8 + 1, dtype=np.uint8)
    np.bitwise_or.at(visited_bits, level >> 3, (1 << (level & 7)).astype(np.uint8))
    levels, edges_read, truncated_nodes = [level], [], 0
    for _ in range(hops):
        degrees = graph.indptr[level.astype(np.int64) + 1] - graph.indptr[level]
        quotas = _edge_quotas(degrees, max_edges)
        max_edges -= int(quotas.sum())
        truncated_nodes += int((quotas < degrees).sum())
        level = np.sort(_expand_level(*graph.arrays, blocked, level, quotas, visited_bits))
        levels.append(level)
        edges_read.append(quotas)
    edges_read.append(np.zeros(len(level), dtype=np.int64))
    distances = np.repeat(np.arange(len(levels), dtype=np.int8), [len(nodes) for nodes in levels])
    return Neighbourhood(np.concatenate(levels), distances, np.concatenate(edges_read), truncated_nodes)


def _edge_quotas(degrees: LongArray, budget: int) -> LongArray:
    """Return how many edges of each node to read within a budget: nodes of few edges first, ties by position."""
    if int(degrees.sum()) <= budget:
        return degrees
    order = np.argsort(degrees, kind="stable")
    before = np.cumsum(degrees[order]) - degrees[order]
    quotas = np.zeros_like(degrees)
    quotas[order] = np.clip(budget - before, 0, degrees[order])
    return quotas


# One bit per entity: with a byte, a graph of millions would not fit into the processor's cache.
@njit
def _expand_level(indptr, neighbours, edges, blocked, level, quotas, bits):  # type: ignore[no-untyped-def]
    reached = np.empty(quotas.sum(), dtype=np.int32)
    count = 0
    for i in range(len(level)):
        first = indptr[level[i]]
        for entry in range(first, first + quotas[i]):
            if len(blocked) and blocked[edges[entry] >> 1]:
                continue
            node = neighbours[entry]
            bit = 1 << (node & 7)
            if not bits[node >> 3] & bit:
                bits[node >> 3] |= bit
                reached[count] = node
                count += 1
    return reached[:count]
