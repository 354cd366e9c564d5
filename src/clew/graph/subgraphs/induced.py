"""A small graph of its own, cut out of the facts: nodes by position, in the order in which they were given.

Whoever gives the best entities first gets the best neighbours first, in every search that follows.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.errors import InputError
from clew.graph.subgraphs.fact_graph import FactGraph, symmetric_rows
from clew.graph.subgraphs.k_hop import Neighbourhood

if TYPE_CHECKING:
    from clew.types import BoolArray, IntArray, LongArray

LOOKUP_COST = 4  # one step of a binary search in a long row costs as much as reading so many of its edges


@dataclass(frozen=True, slots=True, eq=False)
class LocalGraph:
    """n nodes and the m edges between them, both directions.

    Attributes:
        nodes: (n,) the entity at each position.
        indptr: (n + 1,) where the edges of each position begin.
        neighbours: (m,) the position where an edge leads.
        edges: (m,) codes, as in `FactGraph`. Rows are sorted by neighbour, then edge.
    """

    nodes: "IntArray"
    indptr: "LongArray"
    neighbours: "IntArray"
    edges: "IntArray"

    def degrees(self) -> "LongArray":
        """Return the number of edges of every position, (n,)."""
        return np.diff(self.indptr)

    def positions(self, entities: "IntArray") -> "LongArray":
        """Return the position (s,) of each entity, -1 for one that is not here."""
        if not len(self.nodes):
            return np.full(len(entities), -1, dtype=np.int64)
        order = np.argsort(self.nodes)
        places = order[np.minimum(np.searchsorted(self.nodes, entities, sorter=order), len(order) - 1)]
        found: LongArray = np.where(self.nodes[places] == entities, places, -1)
        return found

    def distinct_positions(self, starts: "LongArray | IntArray") -> "LongArray":
        """Return positions as they come, each once.

        Raises:
            InputError: One is not a position of this graph.
        """
        given = np.asarray(starts, dtype=np.int64)
        if len(given) and not 0 <= int(given.min()) <= int(given.max()) < len(self.nodes):
            seen = int(given.min()) if given.min() < 0 else int(given.max())
            raise InputError(f"a start at position {seen} of {len(self.nodes)}: leave out entities that are not here")
        distinct: LongArray = given[np.sort(np.unique(given, return_index=True)[1])]
        return distinct


def local_graph(graph: FactGraph, nodes: "IntArray", blocked_triples: "BoolArray | None" = None) -> LocalGraph:
    """Return the graph that some entities induce, in the given order.

    An edge is found from the end that has fewer; from a long row only as much is read as is needed to look up those
    nodes that have still more.

    Args:
        graph: The facts.
        nodes: (n,) distinct entities.
        blocked_triples: (T,) triples that may not be used.

    Raises:
        InputError: A node is given twice or is no entity of the graph.
    """
    given = np.array(nodes, dtype=np.int32)
    ascending = np.sort(given)
    if len(given) and not 0 <= int(ascending[0]) <= int(ascending[-1]) < graph.entity_count:
        seen = int(ascending[0]) if ascending[0] < 0 else int(ascending[-1])
        raise InputError(
            f"a local graph of entity {seen}: wanted 0 to {graph.entity_count - 1}; take entities of this graph"
        )
    if (ascending[1:] == ascending[:-1]).any():
        twice = int(ascending[1:][ascending[1:] == ascending[:-1]][0])
        raise InputError(f"a local graph where entity {twice} stands twice: give each entity once")
    degrees = graph.indptr[given.astype(np.int64) + 1] - graph.indptr[given]
    froms, tos, codes = _induced_edges(
        graph.indptr,
        graph.neighbours,
        graph.edges,
        np.zeros(0, dtype=np.bool_) if blocked_triples is None else blocked_triples,
        given,
        np.argsort(-degrees, kind="stable"),
        np.zeros(graph.entity_count // 8 + 1, dtype=np.uint8),
    )
    return LocalGraph(given, *symmetric_rows(froms, tos, codes, len(given)))


def explored_graph(graph: FactGraph, explored: Neighbourhood, blocked_triples: "BoolArray | None" = None) -> LocalGraph:
    """Return the graph of the edges that were looked at to find a neighbourhood, in both directions.

    Unless something was cut, every walk from the starts over at most as many edges as there were hops is in it; what
    the induced graph has besides are edges between two of the farthest nodes. It never has more than twice the edges
    that were looked at, where the induced one has no bound but the whole graph.

    Args:
        graph: The facts.
        explored: n entities of this graph.
        blocked_triples: (T,) triples that may not be used, the same as for the neighbourhood.
    """
    froms, tos, codes = _explored_edges(
        graph.indptr,
        graph.neighbours,
        graph.edges,
        np.zeros(0, dtype=np.bool_) if blocked_triples is None else blocked_triples,
        explored.nodes,
        explored.edges_read,
        np.empty(graph.entity_count, dtype=np.int32),
    )
    return LocalGraph(explored.nodes, *symmetric_rows(froms, tos, codes, len(explored.nodes)))


def filter_edges(local: LocalGraph, mask: "BoolArray") -> LocalGraph:
    """Return the graph with those edges alone that a mask (m,) keeps; all nodes stay.

    The two directions of a fact should be kept or dropped together: the rankings of entities count on it.
    """
    before = np.zeros(len(mask) + 1, dtype=np.int64)
    np.cumsum(mask, out=before[1:])
    return LocalGraph(local.nodes, before[local.indptr], local.neighbours[mask], local.edges[mask])


# Entities are marked from the one of most edges on, so that the marked ones are those that have at least as many.
@njit(cache=True, nogil=True)
def _induced_edges(indptr, neighbours, edges, closed, nodes, by_degree, marked):  # type: ignore[no-untyped-def]
    slots, places = _build_hash_table(nodes)
    joined, count = np.empty((1024, 3), dtype=np.int32), 0
    for rank in range(len(nodes)):
        position = by_degree[rank]
        node = nodes[position]
        marked[node >> 3] |= 1 << (node & 7)
        first, last = indptr[node], indptr[node + 1]
        others, codes = neighbours[first:last], edges[first:last]
        if (rank + 1) * LOOKUP_COST * _bit_length(last - first) < last - first:
            joined, count = _look_up_edges(others, codes, closed, nodes, by_degree[: rank + 1], joined, count)
        else:
            joined, count = _scan_edges(others, codes, closed, position, marked, slots, places, joined, count)
    return joined[:count, 0].copy(), joined[:count, 1].copy(), joined[:count, 2].copy()


@njit(cache=True, nogil=True)
def _look_up_edges(others, codes, closed, nodes, ranked, joined, count):  # type: ignore[no-untyped-def]
    for to in ranked:
        place = np.searchsorted(others, nodes[to])
        while place < len(others) and others[place] == nodes[to]:
            if not (len(closed) and closed[codes[place] >> 1]):
                joined = _ensure_capacity(joined, count, 1)
                joined[count, 0], joined[count, 1], joined[count, 2] = ranked[-1], to, codes[place]
                count += 1
            place += 1
    return joined, count


@njit(cache=True, nogil=True)
def _scan_edges(others, codes, closed, position, marked, slots, places, joined, count):  # type: ignore[no-untyped-def]
    joined = _ensure_capacity(joined, count, len(others))
    for place in range(len(others)):
        other = others[place]
        if marked[other >> 3] & (1 << (other & 7)) and not (len(closed) and closed[codes[place] >> 1]):
            joined[count, 0], joined[count, 1] = position, places[_find_slot(slots, other)]
            joined[count, 2] = codes[place]
            count += 1
    return joined, count


@njit(cache=True, nogil=True)
def _ensure_capacity(joined, count, more):  # type: ignore[no-untyped-def]
    while len(joined) < count + more:
        joined = np.concatenate((joined, np.empty_like(joined)))
    return joined


# `places` comes as memory happens to be, so that nothing is spent on the entities that are far away: a position counts
# if the node there is the one that was asked for.
@njit(cache=True, nogil=True)
def _explored_edges(indptr, neighbours, edges, closed, nodes, looked, places):  # type: ignore[no-untyped-def]
    for position in range(len(nodes)):
        places[nodes[position]] = position
    room = looked.sum()
    froms, tos, codes = (np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32))
    count = 0
    for position in range(len(nodes)):
        node = nodes[position]
        first = indptr[node]
        for place in range(first, first + looked[position]):
            if len(closed) and closed[edges[place] >> 1]:
                continue
            other = neighbours[place]
            to = places[other]
            if not 0 <= to < len(nodes) or nodes[to] != other:
                continue
            # An edge that both ends looked at is taken from the first.
            if to < position and looked[to] > 0:
                end = indptr[other] + looked[to]
                if end == indptr[other + 1] or _is_before(node, edges[place] ^ 1, neighbours[end], edges[end]):
                    continue
            froms[count], tos[count], codes[count] = position, to, edges[place]
            count += 1
    return froms[:count], tos[:count], codes[:count]


@njit(cache=True, nogil=True)
def _is_before(node, code, other_node, other_code):  # type: ignore[no-untyped-def]
    return node < other_node or (node == other_node and code < other_code)


@njit(cache=True, nogil=True)
def _bit_length(number):  # type: ignore[no-untyped-def]
    bits = 0
    while number > 0:
        number >>= 1
        bits += 1
    return bits


@njit(cache=True, nogil=True)
def _build_hash_table(nodes):  # type: ignore[no-untyped-def]
    size = 1 << _bit_length(2 * len(nodes))
    slots, places = np.full(size, -1, dtype=np.int32), np.empty(size, dtype=np.int32)
    for position in range(len(nodes)):
        slot = _find_slot(slots, nodes[position])
        slots[slot], places[slot] = nodes[position], position
    return slots, places


@njit(cache=True, nogil=True)
def _find_slot(slots, node):  # type: ignore[no-untyped-def]
    mask = len(slots) - 1
    slot = ((np.int64(node) * 2654435761) >> 12) & mask
    while slots[slot] != -1 and slots[slot] != node:
        slot = (slot + 1) & mask
    return slot
