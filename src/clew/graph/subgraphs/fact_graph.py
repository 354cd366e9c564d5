"""The facts of every entity in both directions, as sorted rows: the input of the path searches.

Source: Gustavson, "Two fast algorithms for sparse matrices" (1978), for sorting compressed sparse rows by transposing
them twice with counting sort. Differs from the source: both directions of a fact are in one matrix; parallel edges are
not merged.
"""

from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.errors import InputError

MAX_TRIPLES = 1 << 30  # an edge's code takes 31 bits


@dataclass(frozen=True, slots=True, eq=False)
class FactGraph:
    """E entities and the m edges that leave them: a fact is an edge from each end, or one edge if both are equal."""

    indptr: LongArray  # (E + 1,) where the edges of each entity begin
    neighbours: IntArray  # (m,) target of each edge; rows are sorted by it, then by code
    edges: IntArray  # (m,) code of each edge: 2 * triple, plus 1 if it leads from tail to head

    @property
    def entity_count(self) -> int:
        """The number of entities."""
        return len(self.indptr) - 1

    @property
    def arrays(self) -> tuple[LongArray, IntArray, IntArray]:
        """Row pointers (E + 1,), neighbours (m,) and codes (m,), as the compiled functions take them."""
        return self.indptr, self.neighbours, self.edges


def fact_graph(triples: IntArray, entity_count: int) -> FactGraph:
    """Return the graph of triples (T, 3), in linear time; several between two entities are parallel edges.

    Raises InputError where a head or tail is not below `entity_count`, or there are too many triples.
    """
    if len(triples) > MAX_TRIPLES:
        raise InputError(f"the graph has {len(triples):,} triples: at most {MAX_TRIPLES:,} fit; leave some out")
    heads, tails = (np.ascontiguousarray(triples[:, column], dtype=np.int32) for column in (0, 2))
    for ends in (heads, tails):
        check_range(ends, entity_count, "a triple has entity", "give the number of all entities")
    codes = np.arange(0, 2 * len(triples), 2, dtype=np.int32)
    return FactGraph(*symmetric_rows(heads, tails, codes, entity_count))


def check_range(values: LongArray | IntArray, count: int, subject: str, advice: str) -> None:
    """Raise InputError if one of the values (n,) is not from 0 to `count` - 1."""
    if len(values) and not 0 <= int(values.min()) <= int(values.max()) < count:
        seen = int(values.min()) if values.min() < 0 else int(values.max())
        raise InputError(f"{subject} {seen}: wanted 0 to {count - 1}; {advice}")


def blocked_mask(blocked_triples: BoolArray | None) -> BoolArray:
    """Return a mask (T,) for the compiled functions, which take an empty one (0,) for None."""
    return np.zeros(0, dtype=np.bool_) if blocked_triples is None else blocked_triples


def symmetric_rows(
    sources: IntArray, targets: IntArray, codes: IntArray, row_count: int
) -> tuple[LongArray, IntArray, IntArray]:
    """Return edges and their reverse edges as rows sorted by neighbour, then code.

    `sources` (e,) and `targets` (e,) are below `row_count`; `codes` (e,) are at least 0, ascending among those that
    join the same two nodes, and differ from that of the reverse edge in the last bit. Returned are row pointers
    (row_count + 1,), neighbours (m,) and codes (m,).
    """
    indptr = np.zeros(row_count + 1, dtype=np.int64)
    _count_rows(sources, targets, indptr)
    packed = np.empty(indptr[-1], dtype=np.int64)
    _sort_by_neighbour(sources, targets, codes, indptr[:-1].copy(), packed)
    neighbours, edges = np.empty(len(packed), dtype=np.int32), np.empty(len(packed), dtype=np.int32)
    _sort_by_owner(indptr, packed, indptr[:-1].copy(), neighbours, edges)
    return indptr, neighbours, edges


@njit
def _count_rows(sources, targets, indptr):  # type: ignore[no-untyped-def]
    for i in range(len(sources)):
        indptr[sources[i] + 1] += 1
        if sources[i] != targets[i]:
            indptr[targets[i] + 1] += 1
    for node in range(len(indptr) - 1):
        indptr[node + 1] += indptr[node]


# A node has as many incoming as outgoing edges, so one `indptr` serves for both. Owner and code are packed into one
# number, since memory access dominates on a large graph.
@njit
def _sort_by_neighbour(sources, targets, codes, cursors, packed):  # type: ignore[no-untyped-def]
    for i in range(len(sources)):
        source, target = sources[i], targets[i]
        packed[cursors[target]] = (np.int64(source) << 32) | codes[i]
        cursors[target] += 1
        if source != target:
            packed[cursors[source]] = (np.int64(target) << 32) | (codes[i] ^ 1)
            cursors[source] += 1


@njit
def _sort_by_owner(indptr, packed, cursors, neighbours, edges):  # type: ignore[no-untyped-def]
    for node in range(len(indptr) - 1):
        for i in range(indptr[node], indptr[node + 1]):
            owner = packed[i] >> 32
            neighbours[cursors[owner]], edges[cursors[owner]] = node, packed[i] & 0x7FFFFFFF
            cursors[owner] += 1
