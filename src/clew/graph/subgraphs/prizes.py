"""The part of a textual graph that G-Retriever reads: a tree that collects the likest nodes and edges.

The likest k nodes have the prizes k, k - 1, ..., 1. The edges of the likest k values of similarity have them likewise;
those of one value share its prize, and none has more than 1 - c = 0.99 of the prize before. An edge costs 0.5, or
where the highest prize of an edge is less, 1 - c / 2 of that, so that some edge is worth its cost. What an edge costs
is less by its prize; one whose prize is above its cost becomes a node with the rest as its prize, joined to both ends
for nothing.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), section 5.3, and the authors' code, where c and the lowered cost are.
Differs from the source: the solver is `prize_collecting`, which finds the same tree but where two events of its growth
come at one time; values of similarity are compared before any prize is written over one; a tree can be made smaller or
larger than it is, which the source leaves out.
"""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.subgraphs.pcst import prize_collecting_tree
from clew.graph.subgraphs.textual_graph import Subgraph
from clew.ranking import top_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray, IntArray, LongArray

    Prizes = NDArray[np.float64]

EDGE_COST = 0.5
_MIN_DECREASE = 0.01  # c: how much less a value's prize is than the one before, at least


def node_prizes(similarity: "FloatArray", k: int) -> "Prizes":
    """Return prizes (n,): k for the likest node, 1 less for each that follows, 0 for the others; ties by position.

    Args:
        similarity: (n,).
        k: How many have a prize; 0 for none.
    """
    prizes = np.zeros(len(similarity))
    if k > 0 and len(similarity):
        best = top_order(similarity, k)
        prizes[best] = np.arange(len(best), 0, -1)
    return prizes


def edge_prizes(similarity: "FloatArray", k: int) -> "Prizes":
    """Return prizes (m,): those of the highest k distinct values of similarity, each shared by its edges.

    Args:
        similarity: (m,); equal texts have equal values.
        k: How many values have a prize; 0 for none.
    """
    values, value_of = np.unique(similarity, return_inverse=True)
    k = min(k, len(values))
    edges_of = np.bincount(value_of, minlength=len(values))
    shares, most = np.zeros(len(values)), float(k)
    for rank in range(k):
        value = len(values) - 1 - rank
        shares[value] = min((k - rank) / edges_of[value], most)
        most = shares[value] * (1.0 - _MIN_DECREASE)
    return np.asarray(shares[value_of], dtype=np.float64)


def edge_cost(prizes: "Prizes", cost: float = EDGE_COST) -> float:
    """Return the cost of an edge, lowered where no edge would be worth it.

    Args:
        prizes: (m,) of edges.
        cost: Of an edge as asked for.
    """
    highest = float(prizes.max(initial=0.0))
    return min(cost, highest * (1.0 - _MIN_DECREASE / 2)) if highest > 0.0 else cost


def prize_tree(edges: "IntArray", node_prize: "Prizes", edge_prize: "Prizes", cost: float = EDGE_COST) -> Subgraph:
    """Return the nodes and edges that are worth it: all of a graph without edges, a connected part of any other.

    Args:
        edges: (m, 2) positions of nodes.
        node_prize: (n,) prizes, at least 0.
        edge_prize: (m,) prizes, at least 0.
        cost: Of an edge before it is lowered.
    """
    n = len(node_prize)
    if not len(edges):
        return Subgraph(np.arange(n, dtype=np.int32), np.zeros(0, dtype=np.int32))
    cost = edge_cost(edge_prize, cost)
    worth = edge_prize > cost
    plain, virtual = np.flatnonzero(~worth), np.flatnonzero(worth)
    middles = n + np.arange(len(virtual))
    halves = [np.column_stack([edges[virtual, end], middles]) for end in (0, 1)]
    joined = np.concatenate([edges[plain], *halves]).astype(np.int64)
    costs = np.concatenate([cost - edge_prize[plain], np.zeros(2 * len(virtual))])
    nodes, taken = prize_collecting_tree(joined, np.concatenate([node_prize, edge_prize[virtual] - cost]), costs)
    chosen = np.sort(np.concatenate([plain[taken[taken < len(plain)]], virtual[nodes[nodes >= n] - n]]))
    # Of an edge that is a node one half may have been enough; it comes with both its ends.
    reached = np.union1d(nodes[nodes < n], edges[chosen])
    return Subgraph(reached.astype(np.int32), chosen.astype(np.int32))


def prune_to_budget(
    tree: Subgraph, edges: "IntArray", node_prize: "Prizes", edge_prize: "Prizes", budget: int
) -> Subgraph:
    """Return the tree without the leaves of least prize, taken away one by one until it fits.

    A leaf counts with the edge that holds it; of equal ones the later goes first. Of edges that close a circle the one
    of least prize counts for nothing.

    Args:
        tree: A part of the graph, connected or not; what is left hangs together as before.
        edges: (m, 2) of the graph.
        node_prize: (n,) prizes.
        edge_prize: (m,) prizes.
        budget: Nodes, at least 1.
    """
    left = len(tree.nodes)
    if left <= budget:
        return tree
    held = _maximum_spanning_forest(tree, edges, edge_prize)

    def worth(node: int) -> tuple[float, int]:
        return float(node_prize[node]) + sum(held[node].values()), -node

    leaves = [worth(node) for node in held if len(held[node]) <= 1]
    heapify(leaves)
    while left > budget:
        value, place = heappop(leaves)
        leaf = -place
        if leaf not in held or worth(leaf)[0] != value:
            continue  # it was the last of a pair and stands here again for itself alone
        for other in held.pop(leaf):
            del held[other][leaf]
            if len(held[other]) <= 1:
                heappush(leaves, worth(other))
        left -= 1
    return _edges_between(np.array(sorted(held), dtype=np.int32), tree.edges, edges)


def grow_to_budget(subgraph: Subgraph, edges: "IntArray", similarity: "FloatArray", budget: int) -> Subgraph:
    """Return a part with its likest neighbours, theirs among them, until it has as many nodes as it may.

    Those that are added come with all edges between them and the part.

    Args:
        subgraph: Of the graph.
        edges: (m, 2) of the graph.
        similarity: (n,) of its nodes; ties by position.
        budget: Nodes.
    """
    if len(subgraph.nodes) >= budget or not len(edges):
        return subgraph
    indptr, neighbours = _neighbours(edges, len(similarity))
    inside = np.zeros(len(similarity), dtype=np.bool_)
    inside[subgraph.nodes] = True
    added, seen = ~inside, inside.copy()
    near: list[tuple[float, int]] = []

    def look(node: int) -> None:
        for other in neighbours[indptr[node] : indptr[node + 1]].tolist():
            if not seen[other]:
                seen[other] = True
                heappush(near, (-float(similarity[other]), other))

    for node in subgraph.nodes.tolist():
        look(node)
    for _ in range(budget - len(subgraph.nodes)):
        if not near:
            break
        node = heappop(near)[1]
        inside[node] = True
        look(node)
    with_added = np.flatnonzero(added[edges].any(axis=1))
    return _edges_between(np.flatnonzero(inside).astype(np.int32), np.union1d(subgraph.edges, with_added), edges)


def _maximum_spanning_forest(tree: Subgraph, edges: "IntArray", edge_prize: "Prizes") -> dict[int, dict[int, float]]:
    """Return for each node those that the spanning tree of highest prizes joins it to, and the prizes of the edges."""
    root = {node: node for node in tree.nodes.tolist()}

    def top(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    held: dict[int, dict[int, float]] = {node: {} for node in root}
    for edge in tree.edges[np.argsort(-edge_prize[tree.edges], kind="stable")].tolist():
        one, other = edges[edge].tolist()
        if top(one) != top(other):
            root[top(one)] = top(other)
            held[one][other] = held[other][one] = float(edge_prize[edge])
    return held


def _neighbours(edges: "IntArray", count: int) -> "tuple[LongArray, IntArray]":
    """Return for each node where its neighbours begin (count + 1,), and all of them."""
    both = np.concatenate([edges, edges[:, ::-1]])
    order = np.argsort(both[:, 0], kind="stable")
    indptr = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(both[:, 0], minlength=count), out=indptr[1:])
    return indptr, both[order, 1].astype(np.int32)


def _edges_between(nodes: "IntArray", candidates: "IntArray | LongArray", edges: "IntArray") -> Subgraph:
    """Return nodes with those of some edges that join two of them."""
    return Subgraph(nodes, np.asarray(candidates, dtype=np.int32)[np.isin(edges[candidates], nodes).all(axis=1)])
