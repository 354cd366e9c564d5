"""How near every node of a small graph is to some of its nodes, by the walk that starts there.

The walk starts at a node drawn from s, the starts by their weights. At each step it goes on with probability d, the
damping, along one of the edges of its node, each as likely: several facts between two nodes are several edges, a fact
of a node with itself is one. At a node without edges it ends. The score p of a node is the probability that the walk
ends there: p = (1 - d) s + d p A / degree where a node has edges, all that comes in where it has none.

Source: Haveliwala, "Topic-sensitive PageRank" (2002) for the walk; Andersen, Chung and Lang, "Local graph partitioning
using PageRank vectors" (2006) for forward push and the sweep.
Differs from the source: no lazy steps, so that d is the damping as commonly told; what push leaves unmoved is counted
where it lies, as far as it ends there; the sweep looks at all nodes that push touched, without a bound on their volume.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.errors import InputError
from clew.graph.subgraphs.induced import LocalGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import IntArray, LongArray

    Scores = NDArray[np.float64]

DAMPING = 0.8
EPSILON = 1e-5
MAX_ITERATIONS = 1000
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class SweepCut:
    """A ranking by score a degree, and how many of the first nodes belong together most.

    Attributes:
        scores: (n,) score divided by degree.
        size: That many of the best nodes, ties by position, have the least conductance of all beginnings of the
            ranking; all that have a score where no beginning has a conductance.
        conductance: Of the edge ends of those nodes, or of the other nodes if theirs are fewer, the share whose edge
            leads out; 1 where there is none.
    """

    scores: "Scores"
    size: int
    conductance: float


def push_ppr(
    local: LocalGraph,
    starts: "LongArray | IntArray",
    weights: "NDArray[np.floating]",
    damping: float = DAMPING,
    epsilon: float = EPSILON,
) -> "Scores":
    """Return personalised PageRank (n,), from below: each score lacks at most `epsilon` times the node's degree.

    The work is at most 1 / (epsilon (1 - damping)) edges and those of the starts, however large the graph: a start is
    always walked on from, for of a hub nothing would be found otherwise.

    Args:
        local: n nodes.
        starts: (s,) positions.
        weights: (s,) at least 0; scaled to a sum of 1.
        damping: Probability of another step, in [0, 1).
        epsilon: Probability an edge below which a node is left alone, positive.

    Raises:
        InputError: A start is not in the graph, a weight, the damping or epsilon is out of range.
    """
    if not epsilon > 0.0:
        raise InputError(f"push with epsilon {epsilon}: wanted a number above 0, as {EPSILON:g}")
    residual = _restart_vector(local, starts, weights, damping)
    values = np.zeros_like(residual)
    _push_mass(local.indptr, local.neighbours, values, residual, np.flatnonzero(residual), damping, epsilon)
    return values


def random_walk_with_restart(
    local: LocalGraph,
    starts: "LongArray | IntArray",
    weights: "NDArray[np.floating]",
    damping: float = DAMPING,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> "Scores":
    """Return personalised PageRank (n,) by power iteration over all edges.

    Args:
        local: n nodes.
        starts: (s,) positions.
        weights: (s,) at least 0; scaled to a sum of 1.
        damping: Probability of another step, in [0, 1).
        max_iterations: At most.
        tolerance: It ends when the scores change by no more than this, summed; then they are off by no more than
            damping / (1 - damping) times as much, summed.

    Raises:
        InputError: A start is not in the graph, a weight or the damping is out of range.
    """
    start = _restart_vector(local, starts, weights, damping)
    scores: Scores = _iterate(local.indptr, local.neighbours, start, damping, max_iterations, tolerance)
    return scores


def pagerank_nibble(
    local: LocalGraph,
    starts: "LongArray | IntArray",
    weights: "NDArray[np.floating]",
    damping: float = DAMPING,
    epsilon: float = EPSILON,
) -> SweepCut:
    """Rank nodes by personalised PageRank a degree, and find the beginning of the ranking that is best cut off.

    Args:
        local: n nodes.
        starts: (s,) positions.
        weights: (s,) at least 0; scaled to a sum of 1.
        damping: Probability of another step, in [0, 1).
        epsilon: As for `push_ppr`.

    Raises:
        InputError: As `push_ppr`.
    """
    degrees = np.maximum(local.degrees(), 1)
    scores = push_ppr(local, starts, weights, damping, epsilon) / degrees
    order = best_positions(scores, len(scores))
    size, conductance = _sweep_cut(local.indptr, local.neighbours, order)
    return SweepCut(scores, int(size), float(conductance))


def best_positions(scores: "Scores", max_count: int) -> "LongArray":
    """Return the positions of the highest scores above 0, best first, ties by position; at most so many."""
    if not 0 < max_count < np.count_nonzero(scores > 0.0):
        found = np.flatnonzero(scores > 0.0)
    else:
        least = np.sort(scores)[len(scores) - max_count]  # partition is slow where many scores are equal
        better = np.flatnonzero(scores > least)
        found = np.concatenate([better, np.flatnonzero(scores == least)[: max_count - len(better)]])
    best: LongArray = found[np.lexsort((found, -scores[found]))][: max(max_count, 0)]
    return best


def _restart_vector(
    local: LocalGraph, starts: "LongArray | IntArray", weights: "NDArray[np.floating]", damping: float
) -> "Scores":
    if not 0.0 <= damping < 1.0:
        raise InputError(f"a walk with damping {damping}: wanted at least 0 and less than 1, as {DAMPING}")
    local.distinct_positions(starts)
    given = np.asarray(weights, dtype=np.float64)
    if len(given) != len(starts):
        raise InputError(f"{len(given)} weights for {len(starts)} starts: wanted one for each")
    wrong = given[~(np.isfinite(given) & (given >= 0.0))]
    if len(wrong):
        raise InputError(f"a start with weight {wrong[0]:g}: wanted 0 or more, and finite")
    start = np.zeros(len(local.nodes))
    np.add.at(start, np.asarray(starts, dtype=np.int64), given)
    total = start.sum()
    return start / total if total > 0.0 else start


# A node waits at most once, so the queue is a ring of n places; what lies on a waiting node only grows, so it is looked
# at when it is put there. What is left over is at most epsilon a degree; of that, 1 - damping is sure to stay and is
# added where it lies.
@njit(cache=True, nogil=True)
def _push_mass(indptr, neighbours, values, residual, starts, damping, epsilon):  # type: ignore[no-untyped-def]
    size = len(values)
    queue, waiting = np.empty(size, dtype=np.int32), np.zeros(size, dtype=np.bool_)
    head, count = 0, 0
    for start in starts:
        queue[count], waiting[start] = start, True
        count += 1
    while count > 0:
        node = queue[head]
        head = head + 1 if head + 1 < size else 0
        count -= 1
        waiting[node] = False
        first, last = indptr[node], indptr[node + 1]
        mass = residual[node]
        if first == last:
            values[node] += mass
            residual[node] = 0.0
            continue
        residual[node] = 0.0
        values[node] += (1.0 - damping) * mass
        share = damping * mass / (last - first)
        for place in range(first, last):
            other = neighbours[place]
            residual[other] += share
            if not waiting[other] and residual[other] > epsilon * (indptr[other + 1] - indptr[other]):
                waiting[other] = True
                tail = head + count
                queue[tail if tail < size else tail - size] = other
                count += 1
    for node in range(size):
        values[node] += (1.0 - damping) * residual[node]


@njit(cache=True, nogil=True)
def _iterate(indptr, neighbours, start, damping, iterations, tolerance):  # type: ignore[no-untyped-def]
    size = len(start)
    values, shares = start.copy(), np.zeros(size)
    for _ in range(iterations):
        for node in range(size):
            degree = indptr[node + 1] - indptr[node]
            shares[node] = damping * values[node] / degree if degree else 0.0
        change = 0.0
        for node in range(size):
            first, last = indptr[node], indptr[node + 1]
            following = (1.0 - damping) * start[node]
            if first == last:
                following = start[node]
            for place in range(first, last):
                following += shares[neighbours[place]]
            change += abs(following - values[node])
            values[node] = following
        if change <= tolerance:
            break
    return values


@njit(cache=True, nogil=True)
def _sweep_cut(indptr, neighbours, order):  # type: ignore[no-untyped-def]
    inside = np.zeros(len(indptr) - 1, dtype=np.bool_)
    volume, leaving = 0, 0
    size, least = len(order), 2.0
    for i in range(len(order)):
        node = order[i]
        inside[node] = True
        volume += indptr[node + 1] - indptr[node]
        for place in range(indptr[node], indptr[node + 1]):
            if neighbours[place] != node:
                leaving += -1 if inside[neighbours[place]] else 1
        smaller = min(volume, len(neighbours) - volume)
        if smaller > 0 and leaving / smaller < least:
            size, least = i + 1, leaving / smaller
    return size, min(least, 1.0)
