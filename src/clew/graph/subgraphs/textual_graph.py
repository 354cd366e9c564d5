"""Graphs whose nodes and edges are texts, and their subgraphs.

The facts of every entity in both directions, as sorted rows: the input of the path searches.

Source: Gustavson, "Two fast algorithms for sparse matrices" (1978), for sorting compressed sparse rows by transposing
them twice with counting sort. Differs from the source: both directions of a fact are in one matrix; parallel edges are
not merged.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class TextualGraph:
    """Nodes and edges with texts; parallel edges and loops are allowed."""

    nodes: Sequence[str]  # (n,) texts
    edges: IntArray  # (m, 2) positions of source and target among the nodes
    relations: Sequence[str]  # (m,) texts


@dataclass(frozen=True, slots=True, eq=False)
class Subgraph:
    """A subgraph of a textual graph."""

    nodes: IntArray  # (k,) positions of nodes, ascending
    edges: IntArray  # (e,) positions of edges between these nodes, ascending


@dataclass(frozen=True, slots=True, eq=False)
class EncodedGraph:
    """A textual graph with the embeddings of its texts."""

    graph: TextualGraph
    node_vectors: FloatArray  # (n, d) unit rows of the node texts
    relation_vectors: FloatArray  # (r, d) unit rows of the distinct relation texts
    edge_relations: IntArray  # (m,) row of each edge in `relation_vectors`


@dataclass(frozen=True, slots=True, eq=False)
class GraphQuery:
    """A question about an encoded graph."""

    graph: EncodedGraph
    question_vector: FloatArray  # (d,) unit vector of the question, without the names of its topics
    topics: IntArray  # (t,) positions of the nodes that the question names; may be empty
    # (r,) highest relevance of a word of the question to each distinct relation, relative to the other relations; None
    # if only the embedding of the full question is known.
    relation_relevance: FloatArray | None = None
    # (d,) unit vector of the question with the names of its topics; None where it names none
    full_question_vector: FloatArray | None = None


def induced_subgraph(graph: TextualGraph, nodes: IntArray | Sequence[int]) -> Subgraph:
    """Return the distinct nodes at some positions (s,), in any order, and all edges between them."""
    selected = np.unique(np.asarray(nodes, dtype=np.int32))
    inside: BoolArray = np.zeros(len(graph.nodes), dtype=np.bool_)
    inside[selected] = True
    between = inside[graph.edges].all(axis=1) if len(graph.edges) else np.zeros(0, dtype=np.bool_)
    return Subgraph(selected, np.flatnonzero(between).astype(np.int32))


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
