"""Enumeration of simple paths (no entity twice), breadth first, up to a maximum number.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on Knowledge Graphs"
(2025), section 4.3 and algorithm 2, path retrieval for simple questions.
Differs from the source: bounded. Shorter paths come first; within a length, paths are extended in rounds, the first
extension of every path before the second of any, so that a hub does not use up the bound. A smaller bound gives a
prefix of the result of a larger one.

The entities along a path, whose triples may be walked in either direction.

The shortest simple paths between two entities, for people who ask how two things are connected.

Nodes are walked depth first, one length after the other, and a node is left out where its distance from the end, by
breadth-first search, does not fit into what is left of the length; so each step is on some walk to the end, and time
goes with the paths that are returned, but for walks that meet themselves, whose number is bounded.

Source: Korf, "Depth-first iterative-deepening: an optimal admissible tree search" (1985), with distances as bounds.
Differs from the source: several paths are wanted, and none meets an entity twice.

One cheapest path to every node within a number of hops, exactly.

Layer h holds for each node the best path of exactly h edges; the next layer extends it by one edge. A path that costs
no less than one of fewer edges is dropped, so with unit costs every node is expanded once, as in breadth-first search.
With positive costs a cheapest path is simple: removing a cycle makes it cheaper.

Source: Dijkstra, "A note on two problems in connexion with graphs" (1959), as used by Gao et al., "FRAG" (2025);
Bellman, "On a routing problem" (1958), for layers by the number of edges.
Differs from the source: the number of edges is bounded, under which Dijkstra's order alone is not exact; ties are
broken by fewer edges, then by smaller edges from the start on.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from clew.arrays import DoubleArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.subgraphs.k_hop import LocalGraph
from clew.types import Path


@dataclass(frozen=True, slots=True, eq=False)
class PathSet:
    """P paths of at most `max_hops` edges."""

    nodes: IntArray  # (P, max_hops + 1) the entities on each path from its start on, padded with -1
    edges: IntArray  # (P, max_hops) the codes of its edges, as in `FactGraph`, padded with -1
    truncated: bool = False  # whether there are more paths

    def __len__(self) -> int:
        return len(self.edges)

    def lengths(self) -> LongArray:
        """Return the number of edges of every path, (P,)."""
        lengths: LongArray = (self.edges >= 0).sum(axis=1, dtype=np.int64)
        return lengths


def simple_paths(local: LocalGraph, starts: LongArray | IntArray, max_hops: int, max_paths: int) -> PathSet:
    """Return the simple paths of 1 to `max_hops` edges from some positions (s,), by length, then round by round.

    Paths of length 0 are the starts in the given order, without duplicates; a path is extended by the edges of its end,
    ordered by the position of the neighbour, then edge. Time and memory are bounded by `max_paths` and `max_hops`, at
    hubs too. Raises InputError where a start is not in the graph.
    """
    first = local.distinct_positions(starts)
    positions = np.full((len(first), max_hops + 1), -1, dtype=np.int32)
    codes = np.full((len(first), max_hops), -1, dtype=np.int32)
    positions[:, 0] = first
    levels = [(positions[:0], codes[:0])]
    truncated = False
    for length in range(max_hops):
        parents, entries, truncated = _extend_paths(local.indptr, local.neighbours, positions, length, max_paths)
        positions, codes = positions[parents], codes[parents]
        positions[:, length + 1], codes[:, length] = local.neighbours[entries], local.edges[entries]
        levels.append((positions, codes))
        max_paths -= len(parents)
        if truncated or not len(parents):
            break
    all_positions, all_codes = (np.concatenate(arrays) for arrays in zip(*levels, strict=True))
    return PathSet(entities_at(local, all_positions), all_codes, bool(truncated))


def entities_at(local: LocalGraph, positions: IntArray) -> IntArray:
    """Return the entities at positions of any shape, in that shape; -1 for negative positions."""
    if not len(local.nodes):
        return positions
    entities: IntArray = np.where(positions < 0, np.int32(-1), local.nodes[positions])
    return entities


# Each path has a cursor into the edges of its end and stays in the rounds until they are exhausted.
@njit
def _extend_paths(indptr, neighbours, paths, length, max_paths):  # type: ignore[no-untyped-def]
    count = len(paths)
    cursors, ends = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    capacity = 0
    for i in range(count):
        cursors[i], ends[i] = indptr[paths[i, length]], indptr[paths[i, length] + 1]
        capacity = min(capacity + ends[i] - cursors[i], max_paths)
    parents, entries = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    active, active_count, found = np.arange(count), count, 0
    while active_count > 0 and found < capacity:
        remaining = 0
        for turn in range(active_count):
            i = active[turn]
            cursors[i] = _skip_visited(neighbours, cursors[i], ends[i], paths[i], length)
            if cursors[i] == ends[i]:
                continue
            if found == capacity:
                break
            parents[found], entries[found] = i, cursors[i]
            found += 1
            cursors[i] += 1
            active[remaining] = i
            remaining += 1
        active_count = remaining
    truncated = False
    if found == max_paths:
        for i in range(count):
            truncated |= _skip_visited(neighbours, cursors[i], ends[i], paths[i], length) < ends[i]
    return parents[:found], entries[:found], truncated


@njit
def _skip_visited(neighbours, entry, end, path, length):  # type: ignore[no-untyped-def]
    """Return the first entry that leads off the path; a million edges to one neighbour are skipped in one search."""
    while entry < end and _is_visited(path, length, neighbours[entry]):
        entry += np.searchsorted(neighbours[entry:end], neighbours[entry], side="right")
    return entry


@njit
def _is_visited(path, length, node):  # type: ignore[no-untyped-def]
    for step in range(length + 1):  # noqa: SIM110 - compiled, a loop is faster
        if path[step] == node:
            return True
    return False


def path_entities(path: Path, topics: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the entities of a path, of at least one triple, in the order in which it visits them, as it writes them.

    `topics` are names of likely starts, which decide the direction where the triples leave it open.
    """
    head, tail = path[0].entities
    from_head, from_tail = _follow_path(path, head), _follow_path(path, tail)
    if from_head is None or from_tail is None:
        return from_head or from_tail or (path[0].head, *(triple.tail for triple in path))
    # `A parent B, B child A` may be walked from either end: the topics decide.
    return from_tail if tail in topics and head not in topics else from_head


def _follow_path(path: Path, start: str) -> tuple[str, ...] | None:
    """Return the entities from a start on; None if some triple does not continue from the entity before it."""
    written, current = [path[0].head if path[0].entities[0] == start else path[0].tail], start
    for triple in path:
        head, tail = triple.entities
        if current not in (head, tail):
            return None
        current, end = (tail, triple.tail) if head == current else (head, triple.head)
        written.append(end)
    return tuple(written)


_MAX_STEPS = 200_000  # of all walks together


@dataclass(frozen=True, slots=True)
class ConnectingPaths:
    """Paths between two positions of a local graph."""

    nodes: tuple[tuple[int, ...], ...]  # the positions on each path, the start first
    truncated: bool  # whether the search ended before all paths within its length were known


def connecting_paths(local: LocalGraph, start: int, end: int, max_hops: int, max_paths: int) -> ConnectingPaths:
    """Return the simple paths between two positions, at most `max_paths`, the shortest first.

    Paths of one length are in the order of their positions. Parallel edges make one path. A start that is the end has
    no path.
    """
    neighbours = _distinct_neighbours(local)
    distances = _distances(neighbours, end, max_hops)
    if start == end or start not in distances:
        return ConnectingPaths((), truncated=False)
    budget = [_MAX_STEPS]
    found: list[tuple[int, ...]] = []
    for length in range(distances[start], max_hops + 1):
        for path in _walk(neighbours, distances, [start], end, length, budget):
            if len(found) == max_paths:
                return ConnectingPaths(tuple(found), truncated=True)
            found.append(path)
        if budget[0] <= 0:
            return ConnectingPaths(tuple(found), truncated=True)
    return ConnectingPaths(tuple(found), truncated=False)


def _distinct_neighbours(local: LocalGraph) -> list[list[int]]:
    rows = (local.neighbours[a:b].tolist() for a, b in zip(local.indptr[:-1], local.indptr[1:], strict=True))
    return [[node for node, _ in groupby(row)] for row in rows]  # rows are sorted


def _distances(neighbours: list[list[int]], end: int, max_hops: int) -> dict[int, int]:
    """Return the number of edges from each position to the end, of those within `max_hops`."""
    distances, queue = {end: 0}, deque([end])
    while queue:
        node = queue.popleft()
        if distances[node] == max_hops:
            break
        for other in neighbours[node]:
            if other not in distances:
                distances[other] = distances[node] + 1
                queue.append(other)
    return distances


def _walk(
    neighbours: list[list[int]],
    distances: dict[int, int],
    path: list[int],
    end: int,
    remaining: int,
    budget: list[int],
) -> Iterator[tuple[int, ...]]:
    """Yield the simple paths that continue one by exactly the remaining edges; each step is paid from the budget."""
    if remaining == 0:
        yield tuple(path)
        return
    for node in neighbours[path[-1]]:
        if budget[0] <= 0:
            return
        budget[0] -= 1
        too_far = distances.get(node, remaining) > remaining - 1
        if too_far or node in path or (node == end and remaining > 1):
            continue
        path.append(node)
        yield from _walk(neighbours, distances, path, end, remaining - 1, budget)
        path.pop()


def shortest_paths(
    local: LocalGraph, starts: LongArray | IntArray, max_hops: int, costs: NDArray[np.floating] | None = None
) -> tuple[PathSet, DoubleArray]:
    """Return a cheapest path of 1 to `max_hops` edges from any start to every other node that can be reached.

    `starts` (s,) are positions; `costs` (m,) are those of the edges, positive, None for 1 each. The paths are ordered
    by cost, then number of edges, then position of the end, and come with their costs (P,). Raises InputError where a
    start is not in the graph.
    """
    edge_costs = np.ones(len(local.edges)) if costs is None else np.asarray(costs, dtype=np.float64)
    first = np.sort(local.distinct_positions(starts))
    best, lengths, parents, codes = _search(local.indptr, local.neighbours, local.edges, edge_costs, first, max_hops)
    ends = np.flatnonzero(lengths > 0)
    ends = ends[np.lexsort((ends, lengths[ends], best[ends]))]
    positions, edges = _trace_paths(ends, lengths, parents, codes)
    return PathSet(entities_at(local, positions), edges), best[ends]


# Of two paths to a node with equal length and cost the one with the smaller edges wins: `ranks` orders the paths of the
# last layer by their edges, so that a path is compared by its parent's rank and its last edge.
@njit
def _search(indptr, neighbours, edges, costs, starts, hops):  # type: ignore[no-untyped-def]
    size = len(indptr) - 1
    best, lengths = np.full(size, np.inf), np.full(size, -1, dtype=np.int32)
    parents, codes = np.empty((hops, size), dtype=np.int32), np.empty((hops, size), dtype=np.int32)
    best[starts], lengths[starts] = 0.0, 0
    last, ranks = starts, np.zeros(len(starts), dtype=np.int64)
    last_costs, reached = np.zeros(len(starts)), np.empty(size, dtype=np.int64)
    new_cost, new_rank = np.full(size, np.inf), np.empty(size, dtype=np.int64)
    for hop in range(hops):
        count = 0
        for i in range(len(last)):
            for entry in range(indptr[last[i]], indptr[last[i] + 1]):
                node, cost = neighbours[entry], last_costs[i] + costs[entry]
                if cost >= best[node] or cost > new_cost[node]:
                    continue
                if cost == new_cost[node] and (
                    ranks[i] > new_rank[node] or (ranks[i] == new_rank[node] and edges[entry] >= codes[hop, node])
                ):
                    continue
                if new_cost[node] == np.inf:
                    reached[count] = node
                    count += 1
                new_cost[node], new_rank[node] = cost, ranks[i]
                parents[hop, node], codes[hop, node] = last[i], edges[entry]
        last = reached[:count].copy()
        last_costs = new_cost[last]
        keys = (new_rank[last] << 32) | codes[hop][last]
        ranks = np.empty(count, dtype=np.int64)
        ranks[np.argsort(keys)] = np.arange(count)
        for node in last:
            best[node], lengths[node], new_cost[node] = new_cost[node], hop + 1, np.inf
    return best, lengths, parents, codes


@njit
def _trace_paths(ends, lengths, parents, codes):  # type: ignore[no-untyped-def]
    hops = len(codes)
    positions = np.full((len(ends), hops + 1), -1, dtype=np.int32)
    edges = np.full((len(ends), hops), -1, dtype=np.int32)
    for i in range(len(ends)):
        node = ends[i]
        for step in range(lengths[node], 0, -1):
            positions[i, step], edges[i, step - 1] = node, codes[step - 1, node]
            node = parents[step - 1, node]
        positions[i, 0] = node
    return positions, edges
