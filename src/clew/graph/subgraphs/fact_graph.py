"""The facts around every entity, walked in both directions: what the search for paths reads.

Source: compressed sparse rows by counting, twice: Gustavson, "Two fast algorithms for sparse matrices" (1978), where to
transpose is to sort. Differs from the source: both directions of a fact are in one matrix; equal pairs stay apart.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import IntArray, LongArray

MAX_TRIPLES = 1 << 30  # an edge's code takes 31 bits


@dataclass(frozen=True, slots=True, eq=False)
class FactGraph:
    """E entities and the m edges that leave them.

    Every fact is an edge from each of its ends; one whose ends are equal is a single edge.

    Attributes:
        indptr: (E + 1,) where the edges of each entity begin.
        neighbours: (m,) where an edge leads.
        edges: (m,) 2 * triple, plus 1 where it is walked from its tail to its head. Rows are sorted by neighbour, then
            edge.
    """

    indptr: "LongArray"
    neighbours: "IntArray"
    edges: "IntArray"

    @property
    def entity_count(self) -> int:
        """The number of entities."""
        return len(self.indptr) - 1

    def row(self, entity: int) -> "tuple[IntArray, IntArray]":
        """Return where the edges of an entity lead, and their codes."""
        places = slice(int(self.indptr[entity]), int(self.indptr[entity + 1]))
        return self.neighbours[places], self.edges[places]


def fact_graph(triples: "IntArray", entity_count: int) -> FactGraph:
    """Return the graph of some triples, in time linear in them.

    Args:
        triples: (T, 3) head, relation, tail; several between two entities are several edges.
        entity_count: How many there are, E.

    Raises:
        InputError: A head or tail is not below E, or there are too many triples.
    """
    if len(triples) > MAX_TRIPLES:
        raise InputError(f"a graph of {len(triples):,} triples: at most {MAX_TRIPLES:,} fit; leave some out")
    heads, tails = (np.ascontiguousarray(triples[:, column], dtype=np.int32) for column in (0, 2))
    for ends in (heads, tails):
        if len(ends) and not 0 <= int(ends.min()) <= int(ends.max()) < entity_count:
            seen = int(ends.min()) if ends.min() < 0 else int(ends.max())
            raise InputError(
                f"a triple has entity {seen}: wanted 0 to {entity_count - 1}; give the number of all entities"
            )
    codes = np.arange(0, 2 * len(triples), 2, dtype=np.int32)
    return FactGraph(*symmetric_rows(heads, tails, codes, entity_count))


def symmetric_rows(
    sources: "IntArray", targets: "IntArray", codes: "IntArray", row_count: int
) -> "tuple[LongArray, IntArray, IntArray]":
    """Return edges and their opposites as rows that are sorted by neighbour, then code.

    Args:
        sources: (e,) below `row_count`.
        targets: (e,) below `row_count`.
        codes: (e,) at least 0, ascending among those that join the same two nodes; the opposite of a code differs in
            its last bit.
        row_count: How many rows.

    Returns:
        Beginnings of the rows (count + 1,), neighbours (m,) and codes (m,).
    """
    indptr = np.zeros(row_count + 1, dtype=np.int64)
    _count_rows(sources, targets, indptr)
    towards = np.empty(indptr[-1], dtype=np.int64)
    _sort_by_neighbour(sources, targets, codes, indptr[:-1].copy(), towards)
    neighbours, edges = np.empty(len(towards), dtype=np.int32), np.empty(len(towards), dtype=np.int32)
    _sort_by_owner(indptr, towards, indptr[:-1].copy(), neighbours, edges)
    return indptr, neighbours, edges


@njit(cache=True, nogil=True)
def _count_rows(froms, tos, indptr):  # type: ignore[no-untyped-def]
    for i in range(len(froms)):
        indptr[froms[i] + 1] += 1
        if froms[i] != tos[i]:
            indptr[tos[i] + 1] += 1
    for node in range(len(indptr) - 1):
        indptr[node + 1] += indptr[node]


# As many edges lead to a node as leave it, so one `indptr` serves for both. Owner and code are one number: what takes
# the time on a large graph is to reach a place in memory.
@njit(cache=True, nogil=True)
def _sort_by_neighbour(froms, tos, codes, places, towards):  # type: ignore[no-untyped-def]
    for i in range(len(froms)):
        one, other = froms[i], tos[i]
        towards[places[other]] = (np.int64(one) << 32) | codes[i]
        places[other] += 1
        if one != other:
            towards[places[one]] = (np.int64(other) << 32) | (codes[i] ^ 1)
            places[one] += 1


@njit(cache=True, nogil=True)
def _sort_by_owner(indptr, towards, places, neighbours, edges):  # type: ignore[no-untyped-def]
    for node in range(len(indptr) - 1):
        for i in range(indptr[node], indptr[node + 1]):
            owner = towards[i] >> 32
            neighbours[places[owner]], edges[places[owner]] = node, towards[i] & 0x7FFFFFFF
            places[owner] += 1
