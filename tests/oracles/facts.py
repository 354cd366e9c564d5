"""Searches in a list of facts by brute force: sets, sorting, and enumerating every path."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

Fact = tuple[int, int, int]
Step = tuple[int, int]  # target of an edge, code
Walk = tuple[tuple[int, ...], tuple[int, ...]]  # nodes, codes
EdgesOf = Callable[[int], list[Step]]


def entity_edges(facts: Sequence[Fact], entity: int, blocked: Iterable[int] = ()) -> list[Step]:
    """Return the edges of an entity, by neighbour, then code."""
    edges = set()
    for number, (head, _, tail) in enumerate(facts):
        if number not in set(blocked):
            edges |= {(tail, 2 * number)} if head == entity else set()
            edges |= {(head, 2 * number + 1)} if tail == entity != head else set()
    return sorted(edges)


def neighbourhood(
    facts: Sequence[Fact], starts: Iterable[int], hops: int, max_edges: int, blocked: set[int]
) -> tuple[list[tuple[int, int]], dict[int, int], int]:
    """Return (hop, node) in order, the number of edges read of each node, and the number of nodes cut short."""
    distance = dict.fromkeys(starts, 0)
    edges_read: dict[int, int] = {}
    truncated_nodes = 0
    for hop in range(hops):
        rows = {node: entity_edges(facts, node) for node, hops_away in distance.items() if hops_away == hop}
        fits = sum(map(len, rows.values())) <= max_edges
        for node in sorted(rows, key=lambda node: (len(rows[node]), node)):
            edges_read[node] = len(rows[node]) if fits else min(len(rows[node]), max_edges)
            max_edges -= edges_read[node]
            truncated_nodes += edges_read[node] < len(rows[node])
            for neighbour, code in rows[node][: edges_read[node]]:
                if code // 2 not in blocked:
                    distance.setdefault(neighbour, hop + 1)
    return sorted((hops_away, node) for node, hops_away in distance.items()), edges_read, truncated_nodes


def induced_edges(facts: Sequence[Fact], nodes: Sequence[int], blocked: set[int]) -> list[list[Step]]:
    """Return the edges of each position: (position, code)."""
    position = {node: i for i, node in enumerate(nodes)}
    return [
        sorted((position[other], code) for other, code in entity_edges(facts, node, blocked) if other in position)
        for node in nodes
    ]


def explored_edges(
    facts: Sequence[Fact], nodes: Sequence[int], edges_read: dict[int, int], blocked: set[int]
) -> list[list[Step]]:
    """Return the edges of each position that were read from either end."""
    seen = {code // 2 for node, count in edges_read.items() for _, code in entity_edges(facts, node)[:count]}
    return induced_edges(facts, nodes, blocked | (set(range(len(facts))) - seen))


def simple_paths(edges_of: EdgesOf, starts: Sequence[int], hops: int) -> list[list[Walk]]:
    """Return all simple paths by length, within a length round by round."""
    level: list[Walk] = [((start,), ()) for start in dict.fromkeys(starts)]
    levels = []
    for _ in range(hops):
        longer = [
            (turn, parent, ((*nodes, other), (*codes, code)))
            for parent, (nodes, codes) in enumerate(level)
            for turn, (other, code) in enumerate(s for s in edges_of(nodes[-1]) if s[0] not in nodes)
        ]
        level = [way for _, _, way in sorted(longer)]
        levels.append(level)
    return levels


def walks(edges_of: EdgesOf, starts: Iterable[int], hops: int) -> Iterator[Walk]:
    """Yield all walks of at most `hops` edges, with repetitions of nodes and edges."""
    stack: list[Walk] = [((start,), ()) for start in set(starts)]
    while stack:
        nodes, codes = stack.pop()
        if codes:
            yield nodes, codes
        if len(codes) < hops:
            stack += [((*nodes, other), (*codes, code)) for other, code in edges_of(nodes[-1])]


def cheapest_walks(
    edges_of: EdgesOf, starts: Sequence[int], hops: int, cost: Callable[[int, int, int], float]
) -> dict[int, tuple[float, int, tuple[int, ...], tuple[int, ...]]]:
    """Return cost, length, codes and nodes of the best of all walks to every node but the starts."""
    best: dict[int, tuple[float, int, tuple[int, ...], tuple[int, ...]]] = {}
    for nodes, codes in walks(edges_of, starts, hops):
        total = sum(cost(one, other, code) for (one, other), code in zip(pairwise(nodes), codes, strict=True))
        candidate = total, len(codes), codes, nodes
        if nodes[-1] not in starts and candidate < best.get(nodes[-1], (float("inf"), 0, (), ())):
            best[nodes[-1]] = candidate
    return best
