"""Relation paths from some entities, level by level, and the entities where each ends.

Many paths follow the same relations, and a question asks for relations. So relation paths are identified by their
relations and directions alone, and all paths of a relation path to the same end are represented by one of them. The
source enumerates single paths, whose number grows with every branch; here there is one entry per relation path and end.

Replaces the path retrieval of Gao et al., "FRAG" (2025), section 4.3.
Differs from the source: see above; if no simple path follows a relation path, it may revisit entities, but never
returns by the fact it has just used; an end that can only be reached through a path other than the representative one
is missed.
"""

from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import run_starts
from clew.graph.subgraphs.k_hop import LocalGraph

MAX_EDGES = 400_000  # read for one level


@dataclass(frozen=True, slots=True, eq=False)
class RelationPathLevel:
    """The C relation paths of one length h and their n ends."""

    relation_paths: IntArray  # (C, h) codes: twice the relation, plus 1 if walked from tail to head; sorted
    indptr: LongArray  # (C + 1,) where the ends of each relation path begin: simple ones first, then by position
    positions: IntArray  # (n,) position of each end in the graph
    parents: IntArray  # (n,) index in the previous level of the end from which it was reached
    edges: IntArray  # (n,) edge code of the last step
    simple: BoolArray  # (n,) whether its path visits no entity twice
    truncated: bool = False  # whether ends were left out

    def ends(self, index: int) -> LongArray:
        """Return the ends (n,) of a relation path: those of simple paths, or all if there are none."""
        first, last = int(self.indptr[index]), int(self.indptr[index + 1])
        simple = int(self.simple[first:last].sum())
        return np.arange(first, first + simple if simple else last)


def relation_codes(local: LocalGraph, triples: IntArray) -> IntArray:
    """Return the relation code (m,) of every edge of a local graph; triples (T, 3) are those of the whole graph."""
    codes: IntArray = (2 * triples[local.edges >> 1, 1] + (local.edges & 1)).astype(np.int32)
    return codes


def first_level(starts: LongArray) -> RelationPathLevel:
    """Return the level of the empty relation path, which ends at the starts (n,)."""
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
    codes: IntArray,
    levels: list[RelationPathLevel],
    selected: LongArray,
    max_ends: int,
    max_edges: int = MAX_EDGES,
) -> RelationPathLevel:
    """Return the relation paths that extend some of the last level by one relation.

    The nodes of `local` come best first, so that the best ends stay where some are left out; `codes` (m,) are the
    relation codes of its edges; `levels` are all levels so far, from the empty relation path on. The first `selected`
    relation paths of the last level stay where `max_edges` are read; each is extended from at most `max_ends` ends.
    """
    last = levels[-1]
    distinct, compact = np.unique(codes, return_inverse=True)
    graph = local.indptr, local.neighbours, local.edges, compact.astype(np.int32).ravel()
    ends = last.indptr, last.positions, last.edges, last.simple, _ancestors(levels)
    code_count, rows = max(len(distinct), 1), np.asarray(selected, dtype=np.int64)
    columns, simple, truncated = _extend_paths(*graph, code_count, *ends, rows, max_ends, max_edges)
    key = (columns[:, 0].astype(np.int64) * code_count + columns[:, 1]) * 2 + ~simple
    order = np.argsort(key * len(local.nodes) + columns[:, 2], kind="stable")
    row, code, position, parent, edge = np.ascontiguousarray(columns[order].T)
    begins = np.flatnonzero(run_starts(row, code))
    extended = np.column_stack([last.relation_paths[row[begins]], distinct[code[begins]]]).astype(np.int32)
    bounds = np.append(begins, len(row)).astype(np.int64)
    return RelationPathLevel(extended, bounds, position, parent, edge, simple[order], bool(truncated))


def trace_back(levels: list[RelationPathLevel], end: int) -> tuple[IntArray, IntArray]:
    """Return the positions (h + 1,) and edge codes (h,) of the path to an end of the last level."""
    positions: list[int] = []
    edges: list[int] = []
    for level in reversed(levels[1:]):
        positions.append(int(level.positions[end]))
        edges.append(int(level.edges[end]))
        end = int(level.parents[end])
    positions.append(int(levels[0].positions[end]))
    return np.array(positions[::-1], dtype=np.int32), np.array(edges[::-1], dtype=np.int32)


def _ancestors(levels: list[RelationPathLevel]) -> IntArray:
    """Return the positions (n, h + 1) on the path of every end of the last level."""
    ancestors = levels[0].positions[:, None]
    for level in levels[1:]:
        ancestors = np.column_stack([ancestors[level.parents], level.positions])
    return np.ascontiguousarray(ancestors.astype(np.int32))


# The first path found represents all of its relation path and end; a simple path replaces one that is not.
@njit
def _extend_paths(  # type: ignore[no-untyped-def]
    indptr,
    neighbours,
    edges,
    codes,
    code_count,
    bounds,
    positions,
    steps,
    simple,
    ancestors,
    selected,
    max_ends,
    max_edges,
):
    """Return the extensions (n, 5): row, code, position, parent, edge; whether each path is simple; and a flag."""
    nodes = len(indptr) - 1
    stamp = np.zeros(code_count * nodes, dtype=np.int32)  # number of the last relation path with this code and end
    index = np.zeros(code_count * nodes, dtype=np.int32)
    capacity, count, edges_read, truncated = 1024, 0, 0, False
    out = np.empty((capacity, 5), dtype=np.int32)
    out_simple = np.empty(capacity, dtype=np.bool_)
    for i in range(len(selected)):
        row = selected[i]
        last = min(bounds[row + 1], bounds[row] + max_ends)
        truncated |= last < bounds[row + 1]
        for end in range(bounds[row], last):
            node = positions[end]
            edges_read += indptr[node + 1] - indptr[node]
            if edges_read > max_edges:
                return out[:count], out_simple[:count], True
            for edge in range(indptr[node], indptr[node + 1]):
                if steps[end] >= 0 and edges[edge] >> 1 == steps[end] >> 1:
                    continue
                other = neighbours[edge]
                is_simple = simple[end]
                if is_simple:
                    for step in range(ancestors.shape[1]):
                        is_simple &= ancestors[end, step] != other
                slot = codes[edge] * nodes + other
                if stamp[slot] == i + 1:
                    known = index[slot]
                    if is_simple and not out_simple[known]:
                        out[known, 3], out[known, 4], out_simple[known] = end, edges[edge], True
                    continue
                if count == capacity:
                    capacity *= 2
                    out = np.concatenate((out, np.empty_like(out)))
                    out_simple = np.concatenate((out_simple, np.empty_like(out_simple)))
                stamp[slot], index[slot] = i + 1, count
                out[count, 0], out[count, 1], out[count, 2] = row, codes[edge], other
                out[count, 3], out[count, 4], out_simple[count] = end, edges[edge], is_simple
                count += 1
    return out[:count], out_simple[:count], truncated
