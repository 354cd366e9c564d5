"""Prize-collecting Steiner tree by the Goemans-Williamson primal-dual 2-approximation.

Moats grow around all active components, at first the nodes with a prize. Two components merge when the edge between
them is tight (its cost is covered by their moats); a component whose prizes are exhausted is deactivated until another
one merges with it. The last active component contains the tree; finally edges to deactivated components are pruned.

Source: Goemans and Williamson, "A general approximation technique for constrained forest problems" (1995), section 4,
with a guarantee of twice the optimum; Hegde, Indyk and Schmidt, "A nearly-linear time framework for graph-structured
sparsity" (2015), for the unrooted variant with one tree.
Differs from the source: one queue for all edges, in which an edge that comes too early is rescheduled, instead of one
per component; each event visits all nodes, which is cheap for graphs of some thousand nodes.
"""

from heapq import heappop, heappush

import numpy as np

from clew.arrays import DoubleArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import row_pointers

_TIME_TOLERANCE = 1e-9  # times that differ by less are equal


def prize_collecting_tree(
    edges: IntArray | LongArray, prizes: DoubleArray, costs: DoubleArray
) -> tuple[LongArray, LongArray]:
    """Return the nodes and the edges of a tree, both ascending.

    The costs of its edges plus the prizes of all other nodes are at most twice the minimum. Of simultaneous events a
    deactivation comes before a merger, and each in order of position. `edges` (m, 2) are positions of nodes, and loops
    are never taken; `prizes` (n,) and `costs` (m,) are at least 0.
    """
    if not len(prizes):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    node_prizes = np.asarray(prizes, dtype=np.float64)
    count = len(node_prizes)
    both_ends = ends.T.ravel()
    indptr, incident = row_pointers(both_ends, count), np.argsort(both_ends, kind="stable") % max(len(ends), 1)
    edge_costs = np.asarray(costs, dtype=np.float64)
    merges, inactive, parents, last = _grow_moats(ends, indptr, incident, node_prizes, edge_costs)
    kept, pruned = _prune_forest(ends, count, merges, inactive, parents, last)
    return np.flatnonzero(~pruned[:count]), np.sort(merges[kept])


# Component `n + i` is the union created by the i-th merge edge, `merges[i]`; `inactive[i]` is the one of the two that
# was inactive then, -1 if none. `moat` of a node is the total width of the moats around it. `queue` holds edges by the
# time when they become tight, or earlier if a component at their ends was deactivated since, never later: the edges
# around a reactivated component are scheduled again.
@njit
def _grow_moats(ends, indptr, incident, prizes, costs):  # type: ignore[no-untyped-def]
    n, now = len(prizes), 0.0
    component, moat = np.arange(n), np.zeros(n)
    surplus = np.zeros(2 * n)
    surplus[:n] = prizes
    active = np.zeros(2 * n, dtype=np.bool_)
    active[:n] = prizes > 0.0
    if not active.any():
        active[0] = True
    active_components = [int(node) for node in np.flatnonzero(active)]
    merges, inactive = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    parents = np.full(2 * n, -1, dtype=np.int64)
    queue = [(0, 0) for _ in range(0)]
    for node in range(n):
        if active[node]:
            _schedule_edges(queue, node, now, ends, indptr, incident, costs, component, moat, active)
    steps = 0
    while len(active_components) > 1:
        edge, until_edge = _next_edge(queue, now, ends, costs, component, moat, active)
        stopping, until_stop = _next_deactivation(active_components, surplus)
        elapsed = max(min(until_edge, until_stop), 0.0)
        now += elapsed
        for node in range(n):
            if active[component[node]]:
                moat[node] += elapsed
        for other in active_components:
            surplus[other] -= elapsed
        if until_stop <= until_edge + _TIME_TOLERANCE:
            active[stopping], surplus[stopping] = False, 0.0
            active_components.remove(stopping)
            continue
        a, b = component[ends[edge, 0]], component[ends[edge, 1]]
        new = n + steps
        merges[steps] = edge
        inactive[steps] = -1 if active[a] and active[b] else (b if active[a] else a)
        parents[a], parents[b] = new, new
        if active[a]:
            active_components.remove(a)
        if active[b]:
            active_components.remove(b)
        surplus[new], active[new] = surplus[a] + surplus[b], True
        active_components.append(new)
        active[a], active[b] = False, False
        reactivated = component == inactive[steps]
        component[(component == a) | (component == b)] = new
        for member in np.flatnonzero(reactivated):
            _schedule_edges(queue, member, now, ends, indptr, incident, costs, component, moat, active)
        steps += 1
    return merges[:steps], inactive[:steps], parents, active_components[0]


@njit
def _next_deactivation(active_components, surplus):  # type: ignore[no-untyped-def]
    first, least = -1, np.inf
    for component in active_components:
        time = surplus[component]
        if time < least - _TIME_TOLERANCE or (time < least + _TIME_TOLERANCE and component < first):
            first, least = component, time
    return first, least


@njit
def _schedule_edges(queue, node, now, ends, indptr, incident, costs, component, moat, active):  # type: ignore[no-untyped-def]
    for edge in incident[indptr[node] : indptr[node + 1]]:
        until = _time_to_tight(edge, ends, costs, component, moat, active)
        if until < np.inf:
            heappush(queue, (_tick(now + until), int(edge)))


@njit
def _next_edge(queue, now, ends, costs, component, moat, active):  # type: ignore[no-untyped-def]
    while len(queue) > 0:
        tick, edge = queue[0]
        until = _time_to_tight(edge, ends, costs, component, moat, active)
        if until < np.inf and _tick(now + until) <= tick:
            return edge, until
        heappop(queue)
        if until < np.inf:
            heappush(queue, (_tick(now + until), edge))
    return -1, np.inf


@njit
def _time_to_tight(edge, ends, costs, component, moat, active):  # type: ignore[no-untyped-def]
    u, v = ends[edge, 0], ends[edge, 1]
    rate = int(active[component[u]]) + int(active[component[v]])
    if component[u] == component[v] or rate == 0:
        return np.inf
    return max((costs[edge] - moat[u] - moat[v]) / rate, 0.0)


@njit
def _tick(time):  # type: ignore[no-untyped-def]
    return round(time / _TIME_TOLERANCE)  # so that times that differ only by rounding are equal


# From the last merger back: a component that was inactive is needed only if a kept edge ends in it.
@njit
def _prune_forest(ends, n, merges, inactive, parents, last):  # type: ignore[no-untyped-def]
    components = n + len(merges)
    pruned, needed = np.zeros(components, dtype=np.bool_), np.zeros(components, dtype=np.bool_)
    kept = np.zeros(len(merges), dtype=np.bool_)
    for component in range(components - 1, -1, -1):
        if parents[component] < 0:
            pruned[component] = component != last
        elif pruned[parents[component]]:
            pruned[component] = True
        if pruned[component] or component < n:
            continue
        step = component - n
        if inactive[step] >= 0 and not needed[inactive[step]]:
            pruned[inactive[step]] = True
            continue
        kept[step] = True
        for end in ends[merges[step]]:
            while end >= 0 and not needed[end]:
                needed[end] = True
                end = parents[end]
    return kept, pruned
