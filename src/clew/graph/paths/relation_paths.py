"""Chains of relations from some entities, level by level, and the entities where each ends.

Many paths follow the same relations, and a question asks for relations: so chains are told apart by their relations
and directions alone, and of the paths of one chain to one end a single one stands for all. What the source enumerates
path by path, which grows with every branch, is here one entry a chain and end.

Source: none; it takes the place of the path retrieval of Gao et al., "FRAG" (2025), section 3.2.3.
Differs from the source: see above; a chain may return to an entity where a simple path of its relations has no end, but
not by the fact that it has just come by; an end that only another path than the one that stands for all leads on to
is missed.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.graph.subgraphs.induced import LocalGraph

if TYPE_CHECKING:
    from clew.types import BoolArray, IntArray, LongArray

MAX_EDGES = 400_000  # looked at for one level


@dataclass(frozen=True, slots=True, eq=False)
class RelationPathLevel:
    """The C chains of one length h and their n ends.

    Attributes:
        relation_paths: (C, h) relation codes: twice the relation, one more when it is walked from tail to head; sorted.
        indptr: (C + 1,) where the ends of each chain begin: simple ones first, then by position in the graph.
        positions: (n,) an end's position in the graph.
        parents: (n,) the end of the level before from which it was reached.
        edges: (n,) the edge code of the last step.
        simple: (n,) whether its path holds no entity twice.
        truncated: Whether ends were left out.
    """

    relation_paths: "IntArray"
    indptr: "LongArray"
    positions: "IntArray"
    parents: "IntArray"
    edges: "IntArray"
    simple: "BoolArray"
    truncated: bool = False

    def ends(self, index: int) -> "LongArray":
        """Return the ends of a chain: those of simple paths, or all where it has none of these."""
        first, last = int(self.indptr[index]), int(self.indptr[index + 1])
        simple = int(self.simple[first:last].sum())
        return np.arange(first, first + simple if simple else last)


def relation_codes(local: LocalGraph, triples: "IntArray") -> "IntArray":
    """Return the relation code (m,) of every edge of a local graph."""
    edges = local.edges
    codes: IntArray = (2 * triples[edges >> 1, 1] + (edges & 1)).astype(np.int32)
    return codes


def first_level(starts: "LongArray") -> RelationPathLevel:
    """Return the empty chain, which ends where it starts."""
    count = len(starts)
    return RelationPathLevel(
        np.zeros((1, 0), dtype=np.int32),
        np.array([0, count], dtype=np.int64),
        starts.astype(np.int32),
        np.full(count, -1, dtype=np.int32),
        np.full(count, -1, dtype=np.int32),
        np.ones(count, dtype=bool),
    )


def next_level(
    local: LocalGraph,
    codes: "IntArray",
    levels: list[RelationPathLevel],
    selected: "LongArray",
    max_ends: int,
    max_edges: int = MAX_EDGES,
) -> RelationPathLevel:
    """Return the chains that are longer by one relation.

    Args:
        local: The graph; its nodes best first, so that where ends are left out the best stay.
        codes: (m,) relation codes of its edges.
        levels: From the empty chain on.
        selected: Which of the last level's chains go on; where the bound of edges cuts, the first stay.
        max_ends: From how many ends of a chain it goes on, at most.
        max_edges: How many edges are looked at, at most.
    """
    last = levels[-1]
    distinct, compact = np.unique(codes, return_inverse=True)
    ancestors = _ancestors(levels)
    chain, code, position, parent, edge, simple, cut = _extend_paths(
        local.indptr,
        local.neighbours,
        local.edges,
        compact.astype(np.int32).ravel(),
        max(len(distinct), 1),
        last.indptr,
        last.positions,
        last.edges,
        last.simple,
        ancestors,
        np.asarray(selected, dtype=np.int64),
        max_ends,
        max_edges,
    )
    key = (chain.astype(np.int64) * max(len(distinct), 1) + code) * 2 + ~simple
    order = np.argsort(key * len(local.nodes) + position, kind="stable")
    chain, code, position, parent, edge, simple = (a[order] for a in (chain, code, position, parent, edge, simple))
    new = np.ones(len(chain), dtype=bool)
    new[1:] = (chain[1:] != chain[:-1]) | (code[1:] != code[:-1])
    begins = np.flatnonzero(new)
    made = np.column_stack([last.relation_paths[chain[begins]], distinct[code[begins]]]) if len(begins) else None
    grown = np.zeros((0, last.relation_paths.shape[1] + 1), dtype=np.int32) if made is None else made.astype(np.int32)
    bounds = np.append(begins, len(chain)).astype(np.int64)
    return RelationPathLevel(grown, bounds, position, parent, edge, simple, bool(cut))


def trace_back(levels: list[RelationPathLevel], end: int) -> "tuple[IntArray, IntArray]":
    """Return the positions (h + 1,) and edge codes (h,) of the path that leads to an end of the last level."""
    positions: list[int] = []
    edges: list[int] = []
    for level in reversed(levels[1:]):
        positions.append(int(level.positions[end]))
        edges.append(int(level.edges[end]))
        end = int(level.parents[end])
    positions.append(int(levels[0].positions[end]))
    return np.array(positions[::-1], dtype=np.int32), np.array(edges[::-1], dtype=np.int32)


def _ancestors(levels: list[RelationPathLevel]) -> "IntArray":
    """Return the positions (n, h + 1) on the path of every end of the last level."""
    found = levels[0].positions[:, None]
    for level in levels[1:]:
        found = np.column_stack([found[level.parents], level.positions])
    return np.ascontiguousarray(found.astype(np.int32))


# Of the ways to one end by one chain the first stands for all; a simple one takes the place of one that is not.
@njit(cache=True, nogil=True)
def _extend_paths(  # type: ignore[no-untyped-def]
    indptr, neighbours, edges, codes, kinds, bounds, positions, steps, simple, ancestors, chains, most_ends, most_edges
):
    nodes = len(indptr) - 1
    stamp = np.zeros(kinds * nodes, dtype=np.int32)
    place = np.zeros(kinds * nodes, dtype=np.int32)
    room, count, looked, cut = 1024, 0, 0, False
    out = np.empty((room, 5), dtype=np.int32)
    good = np.empty(room, dtype=np.bool_)
    for which in range(len(chains)):
        chain = chains[which]
        last = min(bounds[chain + 1], bounds[chain] + most_ends)
        cut |= last < bounds[chain + 1]
        for end in range(bounds[chain], last):
            node = positions[end]
            looked += indptr[node + 1] - indptr[node]
            if looked > most_edges:
                cut = True
                return _split_columns(out, good, count, cut)
            for edge in range(indptr[node], indptr[node + 1]):
                if steps[end] >= 0 and edges[edge] >> 1 == steps[end] >> 1:
                    continue
                other = neighbours[edge]
                plain = simple[end]
                if plain:
                    for i in range(ancestors.shape[1]):
                        plain &= ancestors[end, i] != other
                slot = codes[edge] * nodes + other
                if stamp[slot] == which + 1:
                    seen = place[slot]
                    if plain and not good[seen]:
                        out[seen, 3], out[seen, 4], good[seen] = end, edges[edge], True
                    continue
                if count == room:
                    room *= 2
                    out = np.concatenate((out, np.empty_like(out)))
                    good = np.concatenate((good, np.empty_like(good)))
                stamp[slot], place[slot] = which + 1, count
                out[count, 0], out[count, 1], out[count, 2] = chain, codes[edge], other
                out[count, 3], out[count, 4], good[count] = end, edges[edge], plain
                count += 1
    return _split_columns(out, good, count, cut)


@njit(cache=True, nogil=True)
def _split_columns(out, good, count, cut):  # type: ignore[no-untyped-def]
    return (
        out[:count, 0].copy(),
        out[:count, 1].copy(),
        out[:count, 2].copy(),
        out[:count, 3].copy(),
        out[:count, 4].copy(),
        good[:count].copy(),
        cut,
    )
