"""One cheapest path to every node within a number of hops, exactly.

Layer h holds for each node the best path of exactly h edges; the next layer extends it by one edge. A path that costs
no less than one of fewer edges is dropped, so with unit costs every node is expanded once, as in breadth-first search.
With positive costs a cheapest path is simple: removing a cycle makes it cheaper.

Source: Dijkstra, "A note on two problems in connexion with graphs" (1959), as used by Gao et al., "FRAG" (2025);
Bellman, "On a routing problem" (1958), for layers by the number of edges.
Differs from the source: the number of edges is bounded, under which Dijkstra's order alone is not exact; ties are
broken by fewer edges, then by smaller edges from the start on.
"""

import numpy as np
from numpy.typing import NDArray

from clew.arrays import DoubleArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.errors import InputError
from clew.graph.paths.simple_paths import PathSet, entities_at
from clew.graph.subgraphs.k_hop import LocalGraph


def shortest_paths(
    local: LocalGraph, starts: LongArray | IntArray, max_hops: int, costs: NDArray[np.floating] | None = None
) -> tuple[PathSet, DoubleArray]:
    """Return a cheapest path of 1 to `max_hops` edges from any start to every other node that can be reached.

    `starts` (s,) are positions; `costs` (m,) are those of the edges, positive, None for 1 each. The paths are ordered
    by cost, then number of edges, then position of the end, and come with their costs (P,). Raises InputError where a
    start is not in the graph, `max_hops` is negative, or not every edge has one positive cost.
    """
    if max_hops < 0:
        raise InputError(f"paths of {max_hops} hops: wanted 0 or more")
    edge_costs = np.ones(len(local.edges)) if costs is None else np.asarray(costs, dtype=np.float64)
    if edge_costs.shape != local.edges.shape or not (np.isfinite(edge_costs) & (edge_costs > 0.0)).all():
        raise InputError(
            f"{len(edge_costs)} costs from {edge_costs.min(initial=np.inf):g} on for {len(local.edges)} edges: "
            "wanted one finite number above 0 for each"
        )
    first = np.sort(local.distinct_positions(starts))
    best, lengths, parents, codes = _search(local.indptr, local.neighbours, local.edges, edge_costs, first, max_hops)
    ends = np.flatnonzero(lengths > 0)
    ends = ends[np.lexsort((ends, lengths[ends], best[ends]))]
    positions, edges = _trace_paths(ends, lengths, parents, codes)
    return PathSet(entities_at(local, positions), edges), best[ends]


# Of two paths to a node with equal length and cost the one with the smaller edges wins: `ranks` orders the paths of the
# last layer by their edges, so that a path is compared by its parent's rank and its last edge.
@njit
def _search(indptr, neighbours, edges, costs, starts, hops):  # type: ignore[no-untyped-def]
    size = len(indptr) - 1
    best, lengths = np.full(size, np.inf), np.full(size, -1, dtype=np.int32)
    parents, codes = np.empty((hops, size), dtype=np.int32), np.empty((hops, size), dtype=np.int32)
    best[starts], lengths[starts] = 0.0, 0
    last, ranks = starts, np.zeros(len(starts), dtype=np.int64)
    last_costs, reached = np.zeros(len(starts)), np.empty(size, dtype=np.int64)
    new_cost, new_rank = np.full(size, np.inf), np.empty(size, dtype=np.int64)
    for hop in range(hops):
        count = 0
        for i in range(len(last)):
            for entry in range(indptr[last[i]], indptr[last[i] + 1]):
                node, cost = neighbours[entry], last_costs[i] + costs[entry]
                if cost >= best[node] or cost > new_cost[node]:
                    continue
                if cost == new_cost[node] and (
                    ranks[i] > new_rank[node] or (ranks[i] == new_rank[node] and edges[entry] >= codes[hop, node])
                ):
                    continue
                if new_cost[node] == np.inf:
                    reached[count] = node
                    count += 1
                new_cost[node], new_rank[node] = cost, ranks[i]
                parents[hop, node], codes[hop, node] = last[i], edges[entry]
        last = reached[:count].copy()
        last_costs = new_cost[last]
        keys = (new_rank[last] << 32) | codes[hop][last]
        ranks = np.empty(count, dtype=np.int64)
        ranks[np.argsort(keys)] = np.arange(count)
        for node in last:
            best[node], lengths[node], new_cost[node] = new_cost[node], hop + 1, np.inf
    return best, lengths, parents, codes


@njit
def _trace_paths(ends, lengths, parents, codes):  # type: ignore[no-untyped-def]
    hops = len(codes)
    positions = np.full((len(ends), hops + 1), -1, dtype=np.int32)
    edges = np.full((len(ends), hops), -1, dtype=np.int32)
    for i in range(len(ends)):
        node = ends[i]
        for step in range(lengths[node], 0, -1):
            positions[i, step], edges[i, step - 1] = node, codes[step - 1, node]
            node = parents[step - 1, node]
        positions[i, 0] = node
    return positions, edges
