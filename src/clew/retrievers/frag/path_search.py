"""From a small graph to the chains of relations that lead away from some entities, and the paths of each.

Three searches find them: all simple paths (`bfs`), one shortest path to each entity (`shortest`, or `cheapest` where
relations that are asked for cost less), and `chains`, which goes from relation to relation and keeps a beam.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.paths.relation_paths import RelationPathLevel, first_level, next_level, trace_back
from clew.graph.paths.shortest_paths import shortest_paths
from clew.graph.paths.simple_paths import PathSet, simple_paths
from clew.graph.subgraphs.induced import LocalGraph
from clew.query.relation_matching import RelationPath
from clew.ranking import top_order

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray, LongArray

SEARCHES = ("bfs", "shortest", "cheapest", "chains")
PathScorer = Callable[[Sequence[RelationPath]], "FloatArray"]
"""Chains to their scores (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundPaths:
    """A chain of relations and where it ends.

    Attributes:
        ends: (e,) entities, best first.
        path_to: Gives the entities (h + 1,) and edge codes (h,) of the path to the i-th end.
    """

    relation_path: RelationPath
    score: float
    ends: "IntArray"
    path_to: "Callable[[int], tuple[IntArray, IntArray]]"


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """How far a search goes.

    Attributes:
        hops: Of a path, at most.
        paths: That `bfs` finds, at most; the nearest stay.
        beam: Chains of one length that `chains` goes on from.
        ends: Ends of one chain that `chains` goes on from.
    """

    hops: int
    paths: int = 20_000
    beam: int = 64
    ends: int = 1_000


def find_relation_paths(
    kind: str, local: LocalGraph, codes: "IntArray", starts: "LongArray", bounds: SearchBounds, score_paths: PathScorer
) -> tuple[list[FoundPaths], bool]:
    """Return the chains that a search finds, as they come, and whether it left something out.

    Args:
        kind: One of `SEARCHES`.
        local: The graph; its nodes best first.
        codes: (m,) relation codes of its edges.
        starts: (s,) positions in the graph.
        bounds: How far.
        score_paths: What chains are worth.
    """
    if kind == "chains":
        return _search_relation_paths(local, codes, starts, bounds, score_paths)
    if kind == "bfs":
        paths = simple_paths(local, starts, bounds.hops, bounds.paths)
    else:
        costs = _edge_costs(codes, score_paths) if kind == "cheapest" else None
        paths, _ = shortest_paths(local, starts, bounds.hops, costs)
    return _group_paths(paths, _relations_along(local, codes, paths), score_paths), paths.truncated


def _edge_costs(codes: "IntArray", scores: PathScorer) -> "FloatArray":
    """Return what each edge costs: 1 for the relation that is most asked for, up to 2 for the least."""
    distinct, places = np.unique(codes, return_inverse=True)
    worth = scores([(int(code),) for code in distinct])
    span = float(worth.max() - worth.min()) if len(worth) else 0.0
    costs = 2.0 - (worth - worth.min()) / span if span > 0 else np.ones(len(worth))
    return np.asarray(costs[places.ravel()], dtype=np.float64)


def _search_relation_paths(
    local: LocalGraph, codes: "IntArray", starts: "LongArray", bounds: SearchBounds, scores: PathScorer
) -> tuple[list[FoundPaths], bool]:
    levels = [first_level(starts)]
    on = np.zeros(1, dtype=np.int64)
    found: list[FoundPaths] = []
    cut = False
    for hops in range(1, bounds.hops + 1):
        level = next_level(local, codes, levels, on, bounds.ends)
        levels.append(level)
        chains = [tuple(row) for row in level.relation_paths.tolist()]
        worth = scores(chains)
        found += [
            _paths_of_level(local, tuple(levels), place, chain, float(score))
            for place, (chain, score) in enumerate(zip(chains, worth, strict=True))
        ]
        cut = cut or level.truncated or (len(chains) > bounds.beam and hops < bounds.hops)
        if not chains:
            break
        on = top_order(worth, bounds.beam)  # best first: what a bound cuts is the worst
    return found, cut


def _paths_of_level(
    local: LocalGraph, levels: tuple[RelationPathLevel, ...], place: int, chain: RelationPath, score: float
) -> FoundPaths:
    last = levels[-1]
    ends = last.ends(place)

    def walk(end: int) -> "tuple[IntArray, IntArray]":
        positions, edges = trace_back(list(levels), int(ends[end]))
        return local.nodes[positions], edges

    return FoundPaths(chain, score, local.nodes[last.positions[ends]], walk)


def _relations_along(local: LocalGraph, codes: "IntArray", paths: PathSet) -> "IntArray":
    """Return the relation codes (P, h) along paths, -1 after their ends."""
    if not len(local.edges):
        return np.zeros((0, 0), dtype=np.int32)
    order = np.argsort(local.edges)
    places = np.minimum(np.searchsorted(local.edges, np.maximum(paths.edges, 0), sorter=order), len(order) - 1)
    found: IntArray = np.where(paths.edges >= 0, codes[order[places]], -1)
    return found


def _group_paths(paths: PathSet, codes: "IntArray", scores: PathScorer) -> list[FoundPaths]:
    """Group paths by their relations (P, h)."""
    if not len(codes):
        return []
    rows, groups = np.unique(codes, axis=0, return_inverse=True)
    chains = [tuple(code for code in row if code >= 0) for row in rows.tolist()]
    worth = scores(chains)
    order = np.argsort(groups.ravel(), kind="stable")
    members = np.split(order, np.cumsum(np.bincount(groups.ravel(), minlength=len(chains)))[:-1])
    return [
        _paths_of_group(paths, member, chain, float(score))
        for chain, score, member in zip(chains, worth, members, strict=True)
    ]


def _paths_of_group(paths: PathSet, members: "LongArray", chain: RelationPath, score: float) -> FoundPaths:
    length = len(chain)
    _, first = np.unique(paths.nodes[members, length], return_index=True)
    kept = members[np.sort(first)]  # one path stands for all that end there

    def walk(end: int) -> "tuple[IntArray, IntArray]":
        return paths.nodes[kept[end], : length + 1], paths.edges[kept[end], :length]

    return FoundPaths(chain, score, paths.nodes[kept, length], walk)
