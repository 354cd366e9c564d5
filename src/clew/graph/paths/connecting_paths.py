"""The shortest simple paths between two entities, for people who ask how two things are connected.

Nodes are walked depth first, one length after the other, and a node is left out where its distance from the end, by
breadth-first search, does not fit into what is left of the length; so each step is on some walk to the end, and time
goes with the paths that are returned, but for walks that meet themselves, whose number is bounded.

Source: Korf, "Depth-first iterative-deepening: an optimal admissible tree search" (1985), with distances as bounds.
Differs from the source: several paths are wanted, and none meets an entity twice.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from clew.graph.subgraphs.induced import LocalGraph

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
