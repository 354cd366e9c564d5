"""Prize-collecting trees by enumerating every set of nodes, and G-Retriever's prizes of edges by value."""

from collections.abc import Sequence
from itertools import combinations

Edge = tuple[int, int]


def is_connected(nodes: Sequence[int], edges: Sequence[Edge]) -> bool:
    """Return whether the edges between the nodes join all of them."""
    if not nodes:
        return True
    reached, inside = {nodes[0]}, set(nodes)
    for _ in nodes:
        for a, b in edges:
            if a in inside and b in inside and (a in reached) != (b in reached):
                reached |= {a, b}
    return reached == inside


def spanning_cost(nodes: Sequence[int], edges: Sequence[Edge], costs: Sequence[float]) -> float | None:
    """Return the least cost of edges that join all of the nodes (Prim, from the first); None if there are none."""
    reached, total, inside = {nodes[0]}, 0.0, set(nodes)
    while reached != inside:
        leading = [
            c for (a, b), c in zip(edges, costs, strict=True) if {a, b} <= inside and (a in reached) != (b in reached)
        ]
        if not leading:
            return None
        least = min(leading)
        total += least
        for (a, b), cost in zip(edges, costs, strict=True):
            if cost == least and {a, b} <= inside and (a in reached) != (b in reached):
                reached |= {a, b}
                break
    return total


def least_loss(edges: Sequence[Edge], prizes: Sequence[float], edge_prizes: Sequence[float], cost: float) -> float:
    """Return the minimum, over connected sets of nodes, of the costs of edges plus the missed prizes.

    An edge costs `cost` minus its prize, or nothing if that is negative. The excess of its prize over the cost is
    missed if the edge is not selected; it is selected if both its ends are.
    """
    costs = [max(cost - prize, 0.0) for prize in edge_prizes]
    best = float("inf")
    for size in range(1, len(prizes) + 1):
        for nodes in combinations(range(len(prizes)), size):
            paid = spanning_cost(nodes, edges, costs)
            if paid is not None:
                missed = sum(prize for node, prize in enumerate(prizes) if node not in nodes)
                for (a, b), prize in zip(edges, edge_prizes, strict=True):
                    missed += 0.0 if a in nodes and b in nodes else max(prize - cost, 0.0)
                best = min(best, paid + missed)
    return best


def shared_prizes(similarity: Sequence[float], k: int) -> list[float]:
    """Return the prizes of edges, by descending similarity."""
    prizes, before = [0.0] * len(similarity), None
    values = sorted(set(similarity), reverse=True)[:k]
    for rank, value in enumerate(values):
        equal = [edge for edge, one in enumerate(similarity) if one == value]
        share = (len(values) - rank) / len(equal)
        if before is not None:
            share = min(share, 0.99 * before)
        for edge in equal:
            prizes[edge] = share
        before = share
    return prizes
