"""Personalised PageRank by forward push, on a graph whose edges are reweighted for a question.

The walk starts at a node sampled from `restart`; at each step it continues with probability `damping`, to a neighbour v
of u with probability w(u, v) a(v) / sum over v' of w(u, v') a(v'), where a(v) is the attraction of v for this question.
The value of a node is the probability that the walk ends there. Forward push moves probability only from nodes with
enough of it, so its cost depends on the walk, not on the size of the graph, and its error is known exactly.

Source: Andersen, Chung and Lang, "Local graph partitioning using PageRank vectors" (2006), algorithm ApproximatePR.
Differs from the source: no lazy steps; edges are weighted and scaled by a question's attraction; blocked nodes are
never entered; a walk at a node without open (unblocked) neighbours ends there.
"""

from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, DoubleArray, FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency
from clew.graph.node_table import find_slot, node_position, table_size
from clew.text.row_scores import score_row_pair

NO_ROWS = (
    np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint16), np.zeros(0, dtype=np.int32),
    0.0, 0.0, np.zeros(0, dtype=np.int32), np.zeros((2, 0)), np.zeros(1, dtype=np.int32),
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class NodeAttraction:
    """The attraction of the nodes of a graph for a question, computed for a node when a walk first touches it.

    It is degree ** -hub, times one plus the weighted matches for a node that is a passage with a row.
    """

    hub: float = 0.0
    given: FloatArray | None = None  # (n,) the attraction itself, in place of all else
    rows: tuple[object, ...] = NO_ROWS  # arguments of `score_row_pair`
    bests: tuple[float, float] = (0.0, 0.0)  # scores that the two scores of a row are shares of, 0 for none
    weights: tuple[float, float] = (0.0, 0.0)  # weights of the two matches


@dataclass(frozen=True, slots=True, eq=False)
class PushResult:
    """Result of a forward push, which touched m nodes."""

    nodes: IntArray  # (m,) ascending
    values: FloatArray  # (m,) the probability that the walk ends there
    open_weights: DoubleArray  # (m,) sum of weight times attraction over an expanded node's open neighbours, else 0
    attraction: FloatArray  # (m,) weight of each node as the target of a step
    matches: FloatArray  # (m, 2) the two matches of each node, 0 for a node that is no passage
    slots: LongArray  # hash table of `find_slot`: the position in `nodes` of each node
    residual: float  # probability that was not moved further; the sum of the exact values is higher by at most this


def push_pagerank(
    graph: Adjacency,
    restart: tuple[IntArray, FloatArray],
    attraction: NodeAttraction,
    allowed: BoolArray,
    damping: float,
    epsilon: float,
) -> PushResult:
    """Return approximate personalised PageRank around the restart nodes, in a symmetric graph of positive weights.

    `restart` are distinct nodes (s,) and their probabilities (s,), which sum to 1; of the first p nodes the walk enters
    those that `allowed` (p,) holds, and all others. `damping` is the probability of another step, in [0, 1); `epsilon`
    the probability per edge below which a node is not expanded: smaller is more exact and slower.
    """
    starts, weights = restart
    if len(allowed):
        open_ = allowed[np.minimum(starts, len(allowed) - 1)] | (starts >= len(allowed))
        starts, weights = starts[open_], weights[open_]
    given = np.zeros(0, dtype=np.float32) if attraction.given is None else attraction.given
    result = _push_mass(
        *graph.arrays,
        starts.astype(np.int32),
        weights.astype(np.float64),
        allowed,
        damping,
        epsilon,
        given,
        attraction.hub,
        *attraction.rows,
        *attraction.bests,
        *attraction.weights,
    )
    nodes, values, residual, open_weights, pull, matches, slots = result
    order = np.argsort(nodes)
    nodes = nodes[order]
    used = np.flatnonzero(slots)
    slots[used] = (slots[used] >> 32 << 32) | order.argsort()[slots[used] & 0xFFFFFFFF]
    return PushResult(
        nodes,
        values[order].astype(np.float32),
        np.maximum(open_weights[order], 0.0),
        pull[order],
        matches[order],
        slots,
        float(residual.sum()),
    )


# All buffers grow with the walk, so that a large graph does not cost more than a small one. The neighbours of a node
# are entered into the table before it is expanded; their attraction is computed then, once.
@njit
def _push_mass(  # type: ignore[no-untyped-def]
    indptr, indices, weights, starts, start_weights, allowed, damping, epsilon, given, hub,
    row_offsets, row_terms, row_counts, lengths, base, slope, terms, term_weights, term_slots, full_best, rest_best,
    full_weight, rest_weight,
):  # fmt: skip
    rows = row_offsets, row_terms, row_counts, lengths, base, slope, terms, term_weights, term_slots
    factors = hub, full_best, rest_best, full_weight, rest_weight
    count = 0
    capacity = max(2 * len(starts), 1024)
    slots = np.zeros(table_size(2 * capacity), dtype=np.int64)
    nodes, queue = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.int32)
    # For each node its value, its residual, and the sum over its open neighbours, -1 before that is computed.
    masses = np.empty((capacity, 3))
    pulls = np.empty((capacity, 3), dtype=np.float32)  # attraction, and both matches
    queued = np.zeros(capacity, dtype=np.bool_)
    for i in range(len(starts)):
        _enter(starts[i], count, indptr, given, rows, factors, slots, nodes, masses, pulls)
        masses[i, 1], queued[i], queue[i] = start_weights[i], True, i
        count += 1
    head, tail = 0, count
    while head < tail:
        position = queue[head]
        head += 1
        queued[position] = False
        node, mass = nodes[position], masses[position, 1]
        first, last = indptr[node], indptr[node + 1]
        if mass <= epsilon * max(last - first, 1):
            continue
        masses[position, 1] = 0.0
        if masses[position, 2] < 0.0:
            if len(nodes) < count + last - first:
                size = max(2 * len(nodes), count + last - first)
                nodes, masses, pulls, queued = _grow(nodes, masses, pulls, queued, count, size)
                slots = _rehash(nodes, count, table_size(2 * size))
            count, masses[position, 2] = _enter_neighbours(
                first, last, indptr, indices, weights, allowed, given, rows, factors, slots, nodes, masses, pulls, count
            )
        if masses[position, 2] <= 0.0:
            masses[position, 0] += mass
            continue
        masses[position, 0] += (1.0 - damping) * mass
        if len(queue) < tail + last - first:
            longer = np.empty(max(2 * len(queue), tail + last - first), dtype=np.int32)
            longer[:tail] = queue[:tail]
            queue = longer
        share = damping * mass / masses[position, 2]
        tail = _push_to_neighbours(
            share, first, last, indptr, indices, weights, allowed, epsilon, slots, masses, pulls, queued, queue, tail
        )
    return (
        nodes[:count], masses[:count, 0].copy(), masses[:count, 1].copy(), masses[:count, 2].copy(),
        pulls[:count, 0].copy(), pulls[:count, 1:].copy(), slots,
    )  # fmt: skip


@njit
def _is_open(node, allowed):  # type: ignore[no-untyped-def]
    return node >= len(allowed) or allowed[node]


@njit
def _enter(node, position, indptr, given, rows, factors, slots, nodes, masses, pulls):  # type: ignore[no-untyped-def]
    """Give a node a position, and compute its attraction."""
    slots[find_slot(slots, node)] = (np.int64(node) + 1) << 32 | position
    nodes[position] = node
    masses[position, 0], masses[position, 1], masses[position, 2] = 0.0, 0.0, -1.0
    full, rest = np.float32(0.0), np.float32(0.0)
    if len(given):
        attraction = given[node]
    else:
        hub, full_best, rest_best, full_weight, rest_weight = factors
        attraction = np.float32(max(indptr[node + 1] - indptr[node], 1) ** -hub) if hub != 0.0 else np.float32(1.0)
        row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, term_slots = rows
        if node < len(row_offsets) - 1 and len(terms):
            full, rest = score_row_pair(
                row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, term_slots, node
            )
            full = np.float32(full / full_best) if full_best > 0.0 else np.float32(0.0)
            rest = np.float32(rest / rest_best) if rest_best > 0.0 else np.float32(0.0)
            attraction *= 1.0 + full_weight * full + rest_weight * rest
    pulls[position, 0], pulls[position, 1], pulls[position, 2] = attraction, full, rest


@njit
def _enter_neighbours(  # type: ignore[no-untyped-def]
    first, last, indptr, indices, weights, allowed, given, rows, factors, slots, nodes, masses, pulls, count
):
    """Enter the open neighbours of a node; return the number of nodes, and the sum of weight times attraction."""
    total = 0.0
    for edge in range(first, last):
        other = indices[edge]
        if not _is_open(other, allowed):
            continue
        position = node_position(slots, other)
        if position < 0:
            position = count
            _enter(other, position, indptr, given, rows, factors, slots, nodes, masses, pulls)
            count += 1
        total += weights[edge] * pulls[position, 0]
    return count, total


@njit
def _push_to_neighbours(  # type: ignore[no-untyped-def]
    share, first, last, indptr, indices, weights, allowed, epsilon, slots, masses, pulls, queued, queue, tail
):
    """Move probability to the open neighbours of a node, and queue those that have enough; return the queue's end."""
    for edge in range(first, last):
        other = indices[edge]
        if not _is_open(other, allowed):
            continue
        target = node_position(slots, other)
        masses[target, 1] += share * weights[edge] * pulls[target, 0]
        if not queued[target] and masses[target, 1] > epsilon * max(indptr[other + 1] - indptr[other], 1):
            queued[target] = True
            queue[tail] = target
            tail += 1
    return tail


@njit
def _rehash(nodes, count, size):  # type: ignore[no-untyped-def]
    slots = np.zeros(size, dtype=np.int64)
    for position in range(count):
        slots[find_slot(slots, nodes[position])] = (np.int64(nodes[position]) + 1) << 32 | position
    return slots


@njit
def _grow(nodes, masses, pulls, queued, count, size):  # type: ignore[no-untyped-def]
    more_nodes, more_masses = np.empty(size, dtype=np.int32), np.empty((size, 3))
    more_pulls, more_queued = np.empty((size, 3), dtype=np.float32), np.zeros(size, dtype=np.bool_)
    more_nodes[:count], more_masses[:count] = nodes[:count], masses[:count]
    more_pulls[:count], more_queued[:count] = pulls[:count], queued[:count]
    return more_nodes, more_masses, more_pulls, more_queued
