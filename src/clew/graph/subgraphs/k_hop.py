"""Subgraphs around some nodes: those within some hops, and those that nodes induce.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on
Knowledge Graphs" (2025), section 4.3: the union of the k-hop neighbourhoods of the entities of a question.
Differs from the source: the number of edges that are read is bounded; where the bound is reached, hubs are cut first,
since their neighbours have little in common.

If the best entities are given first, every search in the local graph visits the best neighbours first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.errors import InputError
from clew.graph.node_table import find_slot, node_position, table_size
from clew.graph.subgraphs.textual_graph import FactGraph, blocked_mask, check_range, symmetric_rows

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


LOOKUP_COST = 4  # one step of a binary search in a long row costs as much as reading this many edges


@dataclass(frozen=True, slots=True, eq=False)
class LocalGraph:
    """n nodes and the m edges between them, in both directions."""

    nodes: IntArray  # (n,) the entity at each position
    indptr: LongArray  # (n + 1,) where the edges of each position begin
    neighbours: IntArray  # (m,) target position of each edge
    edges: IntArray  # (m,) codes, as in `FactGraph`. Rows are sorted by neighbour, then code.

    def degrees(self) -> LongArray:
        """Return the number of edges of every position, (n,)."""
        return np.diff(self.indptr)

    def positions(self, entities: IntArray) -> LongArray:
        """Return the position (s,) of each entity, -1 for one that is not in the graph."""
        if not len(self.nodes):
            return np.full(len(entities), -1, dtype=np.int64)
        order = np.argsort(self.nodes)
        candidates = order[np.minimum(np.searchsorted(self.nodes, entities, sorter=order), len(order) - 1)]
        positions: LongArray = np.where(self.nodes[candidates] == entities, candidates, -1)
        return positions

    def distinct_positions(self, starts: LongArray | IntArray) -> LongArray:
        """Return positions (s,) in the given order, without duplicates; raise InputError if one is not in the graph."""
        positions = np.asarray(starts, dtype=np.int64)
        check_range(positions, len(self.nodes), "a start has position", "leave out entities that are not in the graph")
        distinct: LongArray = positions[np.sort(np.unique(positions, return_index=True)[1])]
        return distinct


def local_graph(graph: FactGraph, nodes: IntArray, blocked_triples: BoolArray | None = None) -> LocalGraph:
    """Return the graph induced by entities (n,), in the given order, without the `blocked_triples` (T,).

    An edge is found from its end of lower degree; a long row is not read but searched for the nodes of still higher
    degree. Raises InputError where a node is given twice or is not an entity of the graph.
    """
    entities = np.array(nodes, dtype=np.int32)
    check_range(entities, graph.entity_count, "a node is entity", "take entities of this graph")
    ascending = np.sort(entities)
    duplicates = ascending[1:][ascending[1:] == ascending[:-1]]
    if len(duplicates):
        raise InputError(f"entity {duplicates[0]} is given twice: give each entity once")
    degrees = graph.indptr[entities.astype(np.int64) + 1] - graph.indptr[entities]
    by_degree = np.argsort(-degrees, kind="stable")
    marked = np.zeros(graph.entity_count // 8 + 1, dtype=np.uint8)
    blocked = blocked_mask(blocked_triples)
    sources, targets, codes = _induced_edges(*graph.arrays, blocked, entities, by_degree, marked)
    return LocalGraph(entities, *symmetric_rows(sources, targets, codes, len(entities)))


def explored_graph(graph: FactGraph, explored: Neighbourhood, blocked_triples: BoolArray | None = None) -> LocalGraph:
    """Return the graph of the edges that were read to find a neighbourhood, in both directions.

    Unless the neighbourhood is truncated, the graph contains every walk from the starts of at most as many edges as it
    has hops; the induced graph additionally has edges between two of the farthest nodes. The graph has at most twice
    the edges that were read, whereas the induced graph is bounded only by the full graph. `blocked_triples` (T,) have
    to be those of the neighbourhood.
    """
    blocked, nodes = blocked_mask(blocked_triples), explored.nodes
    positions = np.empty(graph.entity_count, dtype=np.int32)
    sources, targets, codes = _explored_edges(*graph.arrays, blocked, nodes, explored.edges_read, positions)
    return LocalGraph(nodes, *symmetric_rows(sources, targets, codes, len(nodes)))


def filter_edges(local: LocalGraph, mask: BoolArray) -> LocalGraph:
    """Return the graph with all nodes and the edges where a mask (m,) is true.

    The mask should have the same value for both directions of a fact: the entity rankings depend on it.
    """
    before = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
    return LocalGraph(local.nodes, before[local.indptr], local.neighbours[mask], local.edges[mask])


# Entities are marked by descending degree, so that the marked ones are those of at least the same degree.
@njit
def _induced_edges(indptr, neighbours, edges, blocked, nodes, by_degree, marked):  # type: ignore[no-untyped-def]
    slots = np.zeros(table_size(2 * len(nodes)), dtype=np.int64)
    for position in range(len(nodes)):
        slots[find_slot(slots, nodes[position])] = (np.int64(nodes[position]) + 1) << 32 | position
    out, count = np.empty((1024, 3), dtype=np.int32), 0
    for rank in range(len(nodes)):
        position = by_degree[rank]
        node = nodes[position]
        marked[node >> 3] |= 1 << (node & 7)
        first, last = indptr[node], indptr[node + 1]
        others, codes = neighbours[first:last], edges[first:last]
        if (rank + 1) * LOOKUP_COST * _bit_length(last - first) < last - first:
            out, count = _look_up_edges(others, codes, blocked, nodes, by_degree[: rank + 1], out, count)
        else:
            out, count = _scan_edges(others, codes, blocked, position, marked, slots, out, count)
    return out[:count, 0].copy(), out[:count, 1].copy(), out[:count, 2].copy()


@njit
def _look_up_edges(others, codes, blocked, nodes, ranked, out, count):  # type: ignore[no-untyped-def]
    for target in ranked:
        entry = np.searchsorted(others, nodes[target])
        while entry < len(others) and others[entry] == nodes[target]:
            if not (len(blocked) and blocked[codes[entry] >> 1]):
                out = _ensure_capacity(out, count, 1)
                out[count, 0], out[count, 1], out[count, 2] = ranked[-1], target, codes[entry]
                count += 1
            entry += 1
    return out, count


@njit
def _scan_edges(others, codes, blocked, position, marked, slots, out, count):  # type: ignore[no-untyped-def]
    out = _ensure_capacity(out, count, len(others))
    for entry in range(len(others)):
        other = others[entry]
        if marked[other >> 3] & (1 << (other & 7)) and not (len(blocked) and blocked[codes[entry] >> 1]):
            out[count, 0], out[count, 1], out[count, 2] = position, node_position(slots, other), codes[entry]
            count += 1
    return out, count


@njit
def _ensure_capacity(out, count, extra):  # type: ignore[no-untyped-def]
    while len(out) < count + extra:
        out = np.concatenate((out, np.empty_like(out)))
    return out


# `positions` is not initialised, to spend no time on distant entities: an entry is valid if the node there matches.
@njit
def _explored_edges(indptr, neighbours, edges, blocked, nodes, edges_read, positions):  # type: ignore[no-untyped-def]
    for position in range(len(nodes)):
        positions[nodes[position]] = position
    capacity = edges_read.sum()
    sources, targets = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.int32)
    codes = np.empty(capacity, dtype=np.int32)
    count = 0
    for position in range(len(nodes)):
        node = nodes[position]
        first = indptr[node]
        for entry in range(first, first + edges_read[position]):
            if len(blocked) and blocked[edges[entry] >> 1]:
                continue
            other = neighbours[entry]
            target = positions[other]
            if not 0 <= target < len(nodes) or nodes[target] != other:
                continue
            # An edge read from both ends is taken from the first.
            if target < position and edges_read[target] > 0:
                end = indptr[other] + edges_read[target]
                if end == indptr[other + 1] or (node, edges[entry] ^ 1) < (neighbours[end], edges[end]):
                    continue
            sources[count], targets[count], codes[count] = position, target, edges[entry]
            count += 1
    return sources[:count], targets[:count], codes[:count]


@njit
def _bit_length(number):  # type: ignore[no-untyped-def]
    bits = 0
    while number > 0:
        number >>= 1
        bits += 1
    return bits
