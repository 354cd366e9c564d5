"""A tree that collects prizes at nodes and pays for edges: what is left out and what is paid, together, kept small.

Every node with a prize is a ball that grows. When the balls at both ends of an edge have eaten its cost, they become
one; when a ball has eaten the prizes inside it, it stops until another one runs into it. The last ball that grows holds
the answer; of the edges that joined it, those that lead only to balls that had stopped are taken away again.

Source: Goemans and Williamson, "A general approximation technique for constrained forest problems" (1995), section 4,
which is never worse than twice the best; Hegde, Indyk and Schmidt, "A nearly-linear time framework for graph-structured
sparsity" (2015), for no root and one tree.
Differs from the source: one queue of edges that are told anew when they come too early, not one for every ball; with
every event all nodes are looked at, which is nothing for graphs of some thousand nodes.
"""

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import IntArray, LongArray

    Amounts = NDArray[np.float64]

_TIME_TOLERANCE = 1e-9  # times that differ by no more are equal


def prize_collecting_tree(
    edges: "IntArray | LongArray", prizes: "Amounts", costs: "Amounts"
) -> "tuple[LongArray, LongArray]":
    """Return the nodes and the edges of a tree, both ascending.

    The costs of its edges and the prizes of all other nodes are together at most twice the least there is. Of events at
    the same time a ball's stop comes before a merger, and each by position.

    Args:
        edges: (m, 2) positions of nodes; loops are never taken.
        prizes: (n,) at least 0.
        costs: (m,) at least 0.
    """
    if not len(prizes):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    given = np.asarray(prizes, dtype=np.float64)
    indptr, around = _incident_edges(ends, len(given))
    joined, stopped, merged, last = _grow_moats(ends, indptr, around, given, np.asarray(costs, dtype=np.float64))
    kept, left = _prune_forest(ends, len(given), joined, stopped, merged, last)
    return np.flatnonzero(~left[: len(given)]), np.sort(joined[kept])


def _incident_edges(ends: "LongArray", count: int) -> "tuple[LongArray, LongArray]":
    """Return for each node where its edges begin (count + 1,), and all of them."""
    both = ends.T.ravel()
    indptr = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(both, minlength=count), out=indptr[1:])
    return indptr, np.argsort(both, kind="stable") % max(len(ends), 1)


# Ball `n + i` is what the i-th joining edge made of two. `stopped` is the one of the two that did not grow then, -1
# where both did. `eaten` of a node is by how much the balls around it have grown in all. An edge is in `due` by when it
# is eaten, or earlier where a ball at its ends has stopped since; none is there later, for what a ball that is woken
# has around it is put there anew.
@njit(cache=True, nogil=True)
def _grow_moats(ends, indptr, around, prizes, costs):  # type: ignore[no-untyped-def]
    n, now = len(prizes), 0.0
    ball, eaten = np.arange(n), np.zeros(n)
    left = np.zeros(2 * n)
    left[:n] = prizes
    growing = np.zeros(2 * n, dtype=np.bool_)
    growing[:n] = prizes > 0.0
    if not growing.any():
        growing[0] = True
    alive = [int(one) for one in np.flatnonzero(growing)]
    joined, stopped = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    merged = np.full(2 * n, -1, dtype=np.int64)
    due = [(0, 0) for _ in range(0)]
    for node in range(n):
        if growing[node]:
            _schedule_edges(due, node, now, ends, indptr, around, costs, ball, eaten, growing)
    steps = 0
    while len(alive) > 1:
        edge, until_edge = _next_edge(due, now, ends, costs, ball, eaten, growing)
        one, until_stop = _next_deactivation(alive, left)
        passed = max(min(until_edge, until_stop), 0.0)
        now += passed
        for node in range(n):
            if growing[ball[node]]:
                eaten[node] += passed
        for other in alive:
            left[other] -= passed
        if until_stop <= until_edge + _TIME_TOLERANCE:
            growing[one], left[one] = False, 0.0
            alive.remove(one)
            continue
        a, b = ball[ends[edge, 0]], ball[ends[edge, 1]]
        new = n + steps
        joined[steps] = edge
        stopped[steps] = -1 if growing[a] and growing[b] else (b if growing[a] else a)
        merged[a], merged[b] = new, new
        if growing[a]:
            alive.remove(a)
        if growing[b]:
            alive.remove(b)
        left[new], growing[new] = left[a] + left[b], True
        alive.append(new)
        growing[a], growing[b] = False, False
        woken = ball == stopped[steps]
        ball[(ball == a) | (ball == b)] = new
        for inside in np.flatnonzero(woken):
            _schedule_edges(due, inside, now, ends, indptr, around, costs, ball, eaten, growing)
        steps += 1
    return joined[:steps], stopped[:steps], merged, alive[0]


@njit(cache=True, nogil=True)
def _next_deactivation(alive, left):  # type: ignore[no-untyped-def]
    found, least = -1, np.inf
    for one in alive:
        if left[one] < least - _TIME_TOLERANCE or (left[one] < least + _TIME_TOLERANCE and one < found):
            found, least = one, left[one]
    return found, least


@njit(cache=True, nogil=True)
def _schedule_edges(due, node, now, ends, indptr, around, costs, ball, eaten, growing):  # type: ignore[no-untyped-def]
    for edge in around[indptr[node] : indptr[node + 1]]:
        until = _time_to_tight(edge, ends, costs, ball, eaten, growing)
        if until < np.inf:
            heappush(due, (_tick(now + until), int(edge)))


@njit(cache=True, nogil=True)
def _next_edge(due, now, ends, costs, ball, eaten, growing):  # type: ignore[no-untyped-def]
    while len(due) > 0:
        tick, edge = due[0]
        until = _time_to_tight(edge, ends, costs, ball, eaten, growing)
        if until < np.inf and _tick(now + until) <= tick:
            return edge, until
        heappop(due)
        if until < np.inf:
            heappush(due, (_tick(now + until), edge))
    return -1, np.inf


@njit(cache=True, nogil=True)
def _time_to_tight(edge, ends, costs, ball, eaten, growing):  # type: ignore[no-untyped-def]
    u, v = ends[edge, 0], ends[edge, 1]
    rate = int(growing[ball[u]]) + int(growing[ball[v]])
    if ball[u] == ball[v] or rate == 0:
        return np.inf
    return max((costs[edge] - eaten[u] - eaten[v]) / rate, 0.0)


@njit(cache=True, nogil=True)
def _tick(time):  # type: ignore[no-untyped-def]
    return round(time / _TIME_TOLERANCE)  # so that times that differ by rounding alone are equal


# From the last merger back: a ball that had stopped is needed only where a kept edge ends in it.
@njit(cache=True, nogil=True)
def _prune_forest(ends, n, joined, stopped, merged, last):  # type: ignore[no-untyped-def]
    balls = n + len(joined)
    left, needed = np.zeros(balls, dtype=np.bool_), np.zeros(balls, dtype=np.bool_)
    kept = np.zeros(len(joined), dtype=np.bool_)
    for one in range(balls - 1, -1, -1):
        if merged[one] < 0:
            left[one] = one != last
        elif left[merged[one]]:
            left[one] = True
        if left[one] or one < n:
            continue
        step = one - n
        if stopped[step] >= 0 and not needed[stopped[step]]:
            left[stopped[step]] = True
            continue
        kept[step] = True
        for end in ends[joined[step]]:
            while end >= 0 and not needed[end]:
                needed[end] = True
                end = merged[end]
    return kept, left
