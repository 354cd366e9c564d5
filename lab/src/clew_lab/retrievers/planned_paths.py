"""Beam search over the relation paths that lead away from some entities, with all simple paths of each.

Source: Luo et al., "Reasoning on Graphs" (RoG, 2024), section 4: relation paths are planned, then all paths of the
graph that follow them are retrieved.
Differs from the source: a score chooses among the relation paths that the graph has, where the source lets a language
model write them; the number of paths that follow one is bounded.
"""

from dataclasses import dataclass

import numpy as np

from clew.arrays import IntArray, LongArray, expand_ranges, top_order
from clew.graph.subgraphs.k_hop import LocalGraph
from clew.query.relation_matching import PathScorer, RelationPath


@dataclass(frozen=True, slots=True, eq=False)
class PlannedPaths:
    """A relation path of h relations, its score, and the w simple paths that follow it."""

    relation_path: RelationPath
    score: float
    positions: LongArray  # (w, h + 1) positions of the entities
    edges: LongArray  # (w, h) edge codes


@dataclass(frozen=True, slots=True)
class PlanBounds:
    """Limits of the search."""

    hops: int  # maximum length of a relation path
    beam: int  # number of relation paths of each length that are extended
    walks: int = 1_000  # maximum number of paths that follow one relation path; the first in the order of edges


def plan_paths(
    local: LocalGraph, codes: IntArray, starts: LongArray, score_paths: PathScorer, bounds: PlanBounds
) -> tuple[list[PlannedPaths], bool]:
    """Return all scored relation paths, best first, and whether paths were left out.

    `codes` (m,) are the relation codes of the edges, `starts` (s,) positions. Ties: shorter first, then by codes.
    """
    first = np.unique(starts)[:, None]
    beam = [PlannedPaths((), 0.0, first, np.zeros((len(first), 0), dtype=np.int64))]
    found: list[PlannedPaths] = []
    truncated = False
    for _ in range(bounds.hops):
        extended = [child for parent in beam for child in _extend(local, codes, parent)]
        truncated = truncated or any(len(child.edges) > bounds.walks for child in extended)
        if not extended:
            break
        scores = score_paths([child.relation_path for child in extended])
        level = [
            PlannedPaths(
                child.relation_path, float(score), child.positions[: bounds.walks], child.edges[: bounds.walks]
            )
            for child, score in zip(extended, scores, strict=True)
        ]
        found += level
        beam = [level[row] for row in top_order(scores, bounds.beam).tolist()]
    return sorted(found, key=lambda plan: (-plan.score, len(plan.relation_path), plan.relation_path)), truncated


def _extend(local: LocalGraph, codes: IntArray, parent: PlannedPaths) -> list[PlannedPaths]:
    """Return the relation paths of one relation more, by codes, without a score; their paths stay simple."""
    ends = parent.positions[:, -1]
    edges, rows = expand_ranges(local.indptr[ends], local.degrees()[ends])
    targets = local.neighbours[edges]
    simple = ~(parent.positions[rows] == targets[:, None]).any(axis=1)
    edges, rows, targets = edges[simple], rows[simple], targets[simple]
    children = []
    for code in np.unique(codes[edges]).tolist():
        own = np.flatnonzero(codes[edges] == code)
        positions = np.column_stack([parent.positions[rows[own]], targets[own]])
        taken = np.column_stack([parent.edges[rows[own]], local.edges[edges[own]]])
        children.append(PlannedPaths((*parent.relation_path, code), 0.0, positions, taken))
    return children
