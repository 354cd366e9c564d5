"""What lies within some steps of some entities, breadth first, looking at a bounded number of edges.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on
Knowledge Graphs" (2025), section 3.2: the union of the k-hop neighbourhoods of the entities of a question.
Differs from the source: the number of edges that are looked at is bounded; where the bound cuts, hubs are left alone
first, for what they join has little in common.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.errors import InputError
from clew.graph.subgraphs.fact_graph import FactGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import BoolArray, IntArray, LongArray

MAX_HOPS = 127


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """Entities by their distance from the nearest start, then by id.

    Attributes:
        nodes: (n,) distinct; the starts come first.
        hops: (n,) the distance.
        edges_read: (n,) how many of its first edges were looked at.
        truncated_nodes: Of how many nodes nearer than the farthest not all edges were looked at; 0 when nothing was
            cut.
    """

    nodes: "IntArray"
    hops: "NDArray[np.int8]"
    edges_read: "LongArray"
    truncated_nodes: int


def neighbourhood(
    graph: FactGraph, starts: "IntArray", hops: int, max_edges: int, blocked_triples: "BoolArray | None" = None
) -> Neighbourhood:
    """Return the entities within some hops of the starts.

    Levels are finished in order. In the level that the bound cuts, nodes of few edges come first, those of equally many
    by id; the one that does not fit is expanded by its first edges.

    Args:
        graph: The facts.
        starts: (s,) entities.
        hops: How far, 0 to 127.
        max_edges: How many edges are looked at, at most.
        blocked_triples: (T,) triples that may not be used.

    Raises:
        InputError: A start is no entity of the graph, or `hops` or `max_edges` is out of range.
    """
    level = np.unique(np.asarray(starts, dtype=np.int32))
    if len(level) and not 0 <= int(level[0]) <= int(level[-1]) < graph.entity_count:
        seen = int(level[0]) if level[0] < 0 else int(level[-1])
        raise InputError(
            f"a search from entity {seen}: wanted 0 to {graph.entity_count - 1}; take entities of this graph"
        )
    if not 0 <= hops <= MAX_HOPS or max_edges < 0:
        raise InputError(f"{hops} hops over {max_edges} edges: wanted 0 to {MAX_HOPS}, and 0 or more edges")
    blocked = np.zeros(0, dtype=np.bool_) if blocked_triples is None else blocked_triples
    seen_bits = np.zeros(graph.entity_count // 8 + 1, dtype=np.uint8)
    _mark_visited(seen_bits, level)
    levels, looked, unexpanded = [level], [], 0
    for _ in range(hops):
        degrees = graph.indptr[level.astype(np.int64) + 1] - graph.indptr[level]
        shares = _edge_quotas(degrees, max_edges)
        max_edges -= int(shares.sum())
        unexpanded += int((shares < degrees).sum())
        found = _expand_level(graph.indptr, graph.neighbours, graph.edges, blocked, level, shares, seen_bits)
        level = np.sort(found)
        levels.append(level)
        looked.append(shares)
    looked.append(np.zeros(len(level), dtype=np.int64))
    distances = np.repeat(np.arange(len(levels), dtype=np.int8), [len(one) for one in levels])
    return Neighbourhood(np.concatenate(levels), distances, np.concatenate(looked), unexpanded)


def _edge_quotas(degrees: "LongArray", budget: int) -> "LongArray":
    """Return how many edges of each node are looked at when `budget` may be: the nodes of few edges first."""
    if int(degrees.sum()) <= budget:
        return degrees
    ascending = np.sort(degrees)
    upto = np.cumsum(ascending)
    whole = int(np.searchsorted(upto, budget, side="right"))
    least = ascending[whole]  # of the nodes that do not all fit
    shares: LongArray = np.where(degrees < least, degrees, 0)
    equal = np.flatnonzero(degrees == least)
    fitting = whole - int((degrees < least).sum())
    shares[equal[:fitting]] = least
    shares[equal[fitting]] = budget - (int(upto[whole - 1]) if whole else 0)
    return shares


@njit(cache=True, nogil=True)
def _mark_visited(bits, nodes):  # type: ignore[no-untyped-def]
    for node in nodes:
        bits[node >> 3] |= 1 << (node & 7)


# One bit an entity: a byte would leave the processor's cache on a graph of millions.
@njit(cache=True, nogil=True)
def _expand_level(indptr, neighbours, edges, closed, level, shares, bits):  # type: ignore[no-untyped-def]
    found = np.empty(shares.sum(), dtype=np.int32)
    count = 0
    for i in range(len(level)):
        first = indptr[level[i]]
        for place in range(first, first + shares[i]):
            if len(closed) and closed[edges[place] >> 1]:
                continue
            node = neighbours[place]
            bit = 1 << (node & 7)
            if not bits[node >> 3] & bit:
                bits[node >> 3] |= bit
                found[count] = node
                count += 1
    return found[:count]
