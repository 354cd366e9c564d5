"""Search of a small graph for the relation paths that lead away from some entities, and the paths of each.

There are three searches: all simple paths (`bfs`), one shortest path to each entity (`shortest`, or `cheapest` where
relations that match the question cost less), and `chains`, a beam search over relation paths.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray, top_order
from clew.graph.paths.relation_paths import RelationPathLevel, first_level, next_level, trace_back
from clew.graph.paths.simple_paths import PathSet, shortest_paths, simple_paths
from clew.graph.subgraphs.k_hop import LocalGraph
from clew.query.relation_matching import PathScorer, RelationPath


@dataclass(frozen=True, slots=True, eq=False)
class FoundPaths:
    """A relation path, its score, and the paths that follow it."""

    relation_path: RelationPath
    score: float
    ends: IntArray  # (e,) entities at the ends, one for each path, best first
    # returns the entities (h + 1,) and edge codes (h,) of the path to the i-th end
    path_to: Callable[[int], tuple[IntArray, IntArray]]


def without_ends(found: Sequence[FoundPaths], drop: Callable[[IntArray], BoolArray]) -> list[FoundPaths]:
    """Return the paths that end at no entity of those (n,) that `drop` tells to leave out."""
    kept = [(group, np.flatnonzero(~drop(group.ends))) for group in found]
    return [group if len(rows) == len(group.ends) else _rows_of(group, rows) for group, rows in kept if len(rows)]


def _rows_of(group: FoundPaths, rows: LongArray) -> FoundPaths:
    return FoundPaths(group.relation_path, group.score, group.ends[rows], lambda end: group.path_to(int(rows[end])))


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """Limits of a search."""

    hops: int  # maximum length of a path
    paths: int = 20_000  # maximum number of paths of `bfs`; the nearest are kept
    beam: int = 64  # number of relation paths of each length that `chains` extends
    ends: int = 1_000  # number of ends of one relation path that `chains` extends


def find_relation_paths(
    kind: str, local: LocalGraph, codes: IntArray, starts: LongArray, bounds: SearchBounds, score_paths: PathScorer
) -> tuple[list[FoundPaths], bool]:
    """Find relation paths with the search of a `kind`; returns them unsorted, and whether a limit cut the search.

    The nodes of the graph are best first; `codes` (m,) are the relation codes of its edges, `starts` (s,) positions.
    """
    if kind == "chains":
        return _search_relation_paths(local, codes, starts, bounds, score_paths)
    if kind == "bfs":
        paths = simple_paths(local, starts, bounds.hops, bounds.paths)
    else:
        costs = _edge_costs(codes, score_paths) if kind == "cheapest" else None
        paths, _ = shortest_paths(local, starts, bounds.hops, costs)
    return _group_paths(paths, _relations_along(local, codes, paths), score_paths), paths.truncated


def _edge_costs(codes: IntArray, score_paths: PathScorer) -> FloatArray:
    """Return the costs (m,) of edges: 1 for the relation that matches the question best, up to 2 for the worst."""
    distinct, rows = np.unique(codes, return_inverse=True)
    scores = score_paths([(int(code),) for code in distinct])
    span = float(scores.max() - scores.min()) if len(scores) else 0.0
    costs = 2.0 - (scores - scores.min()) / span if span > 0 else np.ones(len(scores))
    return np.asarray(costs[rows.ravel()], dtype=np.float64)


def _search_relation_paths(
    local: LocalGraph, codes: IntArray, starts: LongArray, bounds: SearchBounds, score_paths: PathScorer
) -> tuple[list[FoundPaths], bool]:
    levels = [first_level(starts)]
    beam = np.zeros(1, dtype=np.int64)
    found: list[FoundPaths] = []
    truncated = False
    for hops in range(1, bounds.hops + 1):
        level = next_level(local, codes, levels, beam, bounds.ends)
        levels.append(level)
        relation_paths = [tuple(row) for row in level.relation_paths.tolist()]
        scores = score_paths(relation_paths)
        found += [
            _paths_of_level(local, tuple(levels), row, path, float(score))
            for row, (path, score) in enumerate(zip(relation_paths, scores, strict=True))
        ]
        truncated = truncated or level.truncated or (len(relation_paths) > bounds.beam and hops < bounds.hops)
        if not relation_paths:
            break
        beam = top_order(scores, bounds.beam)  # best first, so that a limit cuts the worst
    return found, truncated


def _paths_of_level(
    local: LocalGraph, levels: tuple[RelationPathLevel, ...], row: int, relation_path: RelationPath, score: float
) -> FoundPaths:
    last = levels[-1]
    ends = last.ends(row)

    def path_to(end: int) -> tuple[IntArray, IntArray]:
        positions, edges = trace_back(list(levels), int(ends[end]))
        return local.nodes[positions], edges

    return FoundPaths(relation_path, score, local.nodes[last.positions[ends]], path_to)


def _relations_along(local: LocalGraph, codes: IntArray, paths: PathSet) -> IntArray:
    """Return the relation codes (P, h) along paths, -1 after their ends."""
    if not len(local.edges):
        return np.zeros((0, 0), dtype=np.int32)
    order = np.argsort(local.edges)
    positions = np.minimum(np.searchsorted(local.edges, np.maximum(paths.edges, 0), sorter=order), len(order) - 1)
    codes_along: IntArray = np.where(paths.edges >= 0, codes[order[positions]], -1)
    return codes_along


def _group_paths(paths: PathSet, codes: IntArray, score_paths: PathScorer) -> list[FoundPaths]:
    if not len(codes):
        return []
    rows, groups = np.unique(codes, axis=0, return_inverse=True)
    relation_paths = [tuple(code for code in row if code >= 0) for row in rows.tolist()]
    scores = score_paths(relation_paths)
    order = np.argsort(groups.ravel(), kind="stable")
    members = np.split(order, np.cumsum(np.bincount(groups.ravel(), minlength=len(relation_paths)))[:-1])
    return [
        _paths_of_group(paths, member, path, float(score))
        for path, score, member in zip(relation_paths, scores, members, strict=True)
    ]


def _paths_of_group(paths: PathSet, members: LongArray, relation_path: RelationPath, score: float) -> FoundPaths:
    length = len(relation_path)

    def path_to(end: int) -> tuple[IntArray, IntArray]:
        return paths.nodes[members[end], : length + 1], paths.edges[members[end], :length]

    return FoundPaths(relation_path, score, paths.nodes[members, length], path_to)
