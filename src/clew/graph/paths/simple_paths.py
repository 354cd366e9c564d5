"""All paths that visit no entity twice, breadth first, the nearest kept where there are too many.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on Knowledge Graphs"
(2025), section 3.2, path retrieval for simple questions.
Differs from the source: bounded. Shorter paths come first; of one length, paths take turns, the first way on from
every path before the second from any, so that a hub does not take all the room. Fewer paths are always the beginning
of more.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.errors import InputError
from clew.graph.subgraphs.induced import LocalGraph

if TYPE_CHECKING:
    from clew.types import IntArray, LongArray


@dataclass(frozen=True, slots=True, eq=False)
class PathSet:
    """P paths of at most `hops` edges.

    Attributes:
        nodes: (P, hops + 1) the entities on each path from its start on, then -1.
        edges: (P, hops) the codes of its edges, as in `FactGraph`, then -1.
        truncated: Whether paths were left out.
        omitted: How many of the length that was cut; longer ones were not looked for.
    """

    nodes: "IntArray"
    edges: "IntArray"
    truncated: bool = False
    omitted: int = 0

    def __len__(self) -> int:
        return len(self.edges)

    def lengths(self) -> "LongArray":
        """Return the number of edges of every path, (P,)."""
        lengths: LongArray = (self.edges >= 0).sum(axis=1, dtype=np.int64)
        return lengths


def simple_paths(local: LocalGraph, starts: "LongArray | IntArray", max_hops: int, max_paths: int) -> PathSet:
    """Return the simple paths of 1 to `max_hops` edges from the starts, by length, then as they take turns.

    The first paths are the starts, as given; the ways on from a path are the edges of its end, by position of the
    neighbour, then edge. Time and memory are bounded by `max_paths` and `max_hops`, at a hub too.

    Args:
        local: The graph; neighbours at low positions are taken first.
        starts: (s,) positions; one given again counts once.
        max_hops: Edges of a path, at most.
        max_paths: Paths, at most.

    Raises:
        InputError: A start is not in the graph, or `max_hops` or `max_paths` is negative.
    """
    if max_hops < 0 or max_paths < 0:
        raise InputError(f"{max_paths} paths of {max_hops} hops: wanted 0 or more of each")
    first = local.distinct_positions(starts).astype(np.int32)
    walks, codes = (
        np.full((len(first), max_hops + 1), -1, dtype=np.int32),
        np.full((len(first), max_hops), -1, dtype=np.int32),
    )
    walks[:, 0] = first
    found = [(walks[:0], codes[:0])]
    left_out = 0
    for length in range(max_hops):
        parents, places, left_out = _extend_paths(local.indptr, local.neighbours, walks, length, max_paths)
        walks, codes = walks[parents], codes[parents]
        walks[:, length + 1], codes[:, length] = local.neighbours[places], local.edges[places]
        found.append((walks, codes))
        max_paths -= len(parents)
        if left_out or not len(parents):
            break
    positions = np.concatenate([one for one, _ in found])
    return PathSet(
        entities_at(local, positions), np.concatenate([one for _, one in found]), left_out > 0, int(left_out)
    )


def entities_at(local: LocalGraph, positions: "IntArray") -> "IntArray":
    """Return the entities at some positions, -1 where there is no position."""
    if not len(local.nodes):
        return positions
    entities: IntArray = np.where(positions < 0, np.int32(-1), local.nodes[positions])
    return entities


# Each path has a cursor in the edges of its end and keeps its turn until they are used up.
@njit(cache=True, nogil=True)
def _extend_paths(indptr, neighbours, walks, length, most):  # type: ignore[no-untyped-def]
    count = len(walks)
    cursors, ends = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    room = 0
    for i in range(count):
        cursors[i], ends[i] = indptr[walks[i, length]], indptr[walks[i, length] + 1]
        room = min(room + ends[i] - cursors[i], most)
    parents, places = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    turns, waiting, found = np.arange(count), count, 0
    while waiting > 0 and found < room:
        still = 0
        for turn in range(waiting):
            i = turns[turn]
            place = _skip_visited(neighbours, cursors[i], ends[i], walks[i], length)
            cursors[i] = place
            if place == ends[i]:
                continue
            if found == room:
                break
            parents[found], places[found] = i, place
            found += 1
            cursors[i] = place + 1
            turns[still] = i
            still += 1
        waiting = still
    left_out = 0
    if found == most:
        for i in range(count):
            left_out += _count_open_edges(neighbours, cursors[i], ends[i], walks[i], length)
    return parents[:found], places[:found], left_out


@njit(cache=True, nogil=True)
def _skip_visited(neighbours, place, end, walk, length):  # type: ignore[no-untyped-def]
    """Return the first place from one on that leads off the path: equal neighbours, of a million edges, in one leap."""
    while place < end and _is_visited(walk, length, neighbours[place]):
        place += np.searchsorted(neighbours[place:end], neighbours[place], side="right")
    return place


@njit(cache=True, nogil=True)
def _is_visited(walk, length, node):  # type: ignore[no-untyped-def]
    for step in range(length + 1):  # noqa: SIM110 - a loop is what is compiled
        if walk[step] == node:
            return True
    return False


@njit(cache=True, nogil=True)
def _count_open_edges(neighbours, place, end, walk, length):  # type: ignore[no-untyped-def]
    rest = neighbours[place:end]
    closed = 0
    for step in range(length + 1):
        closed += np.searchsorted(rest, walk[step], side="right") - np.searchsorted(rest, walk[step])
    return len(rest) - closed
