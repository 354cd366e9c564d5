"""The subgraph that G-Retriever selects: a prize-collecting tree over the most similar nodes and edges.

The k most similar nodes have the prizes k, k - 1, ..., 1. So do the edges of the k highest distinct similarities: the
edges of one value share its prize, and none has more than 1 - c = 0.99 of the prize before. An edge costs 0.5 or, if
the highest prize of an edge is less, 1 - c / 2 of that, so that some edge is worth its cost. The prize of an edge
reduces its cost; an edge whose prize exceeds its cost becomes a virtual node with the excess as its prize, joined to
both ends at no cost.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), section 5.3, and the authors' code, which defines c and the lowered cost.
Differs from the source: the solver is `pcst`, which finds the same tree except where two of its events coincide;
similarities are compared before any of them is overwritten by a prize; a tree can be pruned or grown to a budget, which
the source does not do.
"""

from heapq import heapify, heappop, heappush

import numpy as np

from clew.arrays import DoubleArray, FloatArray, IntArray, LongArray, top_order
from clew.graph.csr import build_adjacency
from clew.graph.subgraphs.textual_graph import Subgraph
from clew_lab.graph.pcst import prize_collecting_tree

EDGE_COST = 0.5
_MIN_DECREASE = 0.01  # c: minimum relative decrease from the prize of one value to the next


def node_prizes(similarity: FloatArray, k: int) -> DoubleArray:
    """Return prizes by similarity (n,): k for the highest, then descending to 1, 0 for the others; ties by position."""
    prizes = np.zeros(len(similarity))
    if k > 0 and len(similarity):
        best = top_order(similarity, k)
        prizes[best] = np.arange(len(best), 0, -1)
    return prizes


def edge_prizes(similarity: FloatArray, k: int) -> DoubleArray:
    """Return prizes (m,): those of the highest k distinct values of similarity (m,), each shared by its edges."""
    values, value_of_edge, edge_counts = np.unique(similarity, return_inverse=True, return_counts=True)
    k = min(k, len(values))
    shares, limit = np.zeros(len(values)), float(k)
    for rank in range(k):
        value = len(values) - 1 - rank
        shares[value] = min((k - rank) / edge_counts[value], limit)
        limit = shares[value] * (1.0 - _MIN_DECREASE)
    return np.asarray(shares[value_of_edge], dtype=np.float64)


def edge_cost(prizes: DoubleArray, cost: float = EDGE_COST) -> float:
    """Return the cost of an edge, lowered where no edge would be worth it by the prizes (m,)."""
    highest = float(prizes.max(initial=0.0))
    return min(cost, highest * (1.0 - _MIN_DECREASE / 2)) if highest > 0.0 else cost


def prize_tree(edges: IntArray, node_prize: DoubleArray, edge_prize: DoubleArray, cost: float = EDGE_COST) -> Subgraph:
    """Return the prize-collecting tree: connected, or all nodes of a graph without edges.

    `edges` (m, 2) are positions of nodes; prizes (n,) and (m,) are at least 0; `cost` is that of an edge before it is
    lowered.
    """
    n = len(node_prize)
    if not len(edges):
        return Subgraph(np.arange(n, dtype=np.int32), np.zeros(0, dtype=np.int32))
    cost = edge_cost(edge_prize, cost)
    is_virtual = edge_prize > cost
    plain, virtual = np.flatnonzero(~is_virtual), np.flatnonzero(is_virtual)
    virtual_nodes = n + np.arange(len(virtual))
    halves = [np.column_stack([edges[virtual, end], virtual_nodes]) for end in (0, 1)]
    all_edges = np.concatenate([edges[plain], *halves]).astype(np.int64)
    costs = np.concatenate([cost - edge_prize[plain], np.zeros(2 * len(virtual))])
    prizes = np.concatenate([node_prize, edge_prize[virtual] - cost])
    nodes, tree_edges = prize_collecting_tree(all_edges, prizes, costs)
    selected = np.sort(np.concatenate([plain[tree_edges[tree_edges < len(plain)]], virtual[nodes[nodes >= n] - n]]))
    # The tree may contain only one half of a virtual edge; the edge comes with both its ends.
    reached = np.union1d(nodes[nodes < n], edges[selected])
    return Subgraph(reached.astype(np.int32), selected.astype(np.int32))


def prune_to_budget(
    tree: Subgraph, edges: IntArray, node_prize: DoubleArray, edge_prize: DoubleArray, budget: int
) -> Subgraph:
    """Remove the leaves of least prize from a tree, one by one, until it has at most `budget` nodes, 1 or more.

    The prize of a leaf includes that of its edge; of equal leaves the later one goes first. A subgraph of several
    components is pruned too, and they stay connected; in one with cycles the edges outside a maximum spanning forest do
    not count. `edges` are (m, 2), prizes (n,) and (m,).
    """
    if len(tree.nodes) <= budget:
        return tree
    forest = _maximum_spanning_forest(tree, edges, edge_prize)

    def heap_entry(node: int) -> tuple[float, int]:
        return float(node_prize[node]) + sum(forest[node].values()), -node

    leaves = [heap_entry(node) for node in forest if len(forest[node]) <= 1]
    heapify(leaves)
    while len(forest) > budget:
        prize, negative = heappop(leaves)
        leaf = -negative
        if leaf not in forest or heap_entry(leaf)[0] != prize:
            continue  # outdated: pushed before its last edge was removed, or removed itself
        for other in forest.pop(leaf):
            del forest[other][leaf]
            if len(forest[other]) <= 1:
                heappush(leaves, heap_entry(other))
    return _edges_between(np.array(sorted(forest), dtype=np.int32), tree.edges, edges)


def grow_to_budget(subgraph: Subgraph, edges: IntArray, similarity: FloatArray, budget: int) -> Subgraph:
    """Add the most similar neighbours to a subgraph, one by one, until it has `budget` nodes or no more neighbours.

    Neighbours of added nodes count as neighbours. Added nodes come with all their edges (of m, 2) to the subgraph. Of
    equal similarities (n,) the first comes first.
    """
    if len(subgraph.nodes) >= budget or not len(edges):
        return subgraph
    both = np.concatenate([edges, edges[:, ::-1]])
    neighbours = build_adjacency(both[:, 0], both[:, 1], np.ones(len(both)), len(similarity))
    inside = np.zeros(len(similarity), dtype=np.bool_)
    inside[subgraph.nodes] = True
    outside, seen = ~inside, inside.copy()
    frontier: list[tuple[float, int]] = []

    def push_neighbours(node: int) -> None:
        for other in neighbours.row(node).tolist():
            if not seen[other]:
                seen[other] = True
                heappush(frontier, (-float(similarity[other]), other))

    for node in subgraph.nodes.tolist():
        push_neighbours(node)
    for _ in range(budget - len(subgraph.nodes)):
        if not frontier:
            break
        node = heappop(frontier)[1]
        inside[node] = True
        push_neighbours(node)
    candidates = np.union1d(subgraph.edges, np.flatnonzero(outside[edges].any(axis=1)))
    return _edges_between(np.flatnonzero(inside).astype(np.int32), candidates, edges)


def _maximum_spanning_forest(tree: Subgraph, edges: IntArray, edge_prize: DoubleArray) -> dict[int, dict[int, float]]:
    """Return for each node its neighbours in the spanning forest of highest prizes, and the prizes of these edges."""
    parents = {node: node for node in tree.nodes.tolist()}

    def find_root(node: int) -> int:
        while parents[node] != node:
            parents[node] = node = parents[parents[node]]
        return node

    forest: dict[int, dict[int, float]] = {node: {} for node in parents}
    for edge in tree.edges[np.argsort(-edge_prize[tree.edges], kind="stable")].tolist():
        one, other = edges[edge].tolist()
        if find_root(one) != find_root(other):
            parents[find_root(one)] = find_root(other)
            forest[one][other] = forest[other][one] = float(edge_prize[edge])
    return forest


def _edges_between(nodes: IntArray, candidates: IntArray | LongArray, edges: IntArray) -> Subgraph:
    """Return a subgraph of the nodes and of the candidate edges that join two of them."""
    return Subgraph(nodes, np.asarray(candidates, dtype=np.int32)[np.isin(edges[candidates], nodes).all(axis=1)])
