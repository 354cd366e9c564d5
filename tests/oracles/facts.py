"""Searches in a list of facts, by the obvious ways: sets, sorting, and trying every path."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

Fact = tuple[int, int, int]
Step = tuple[int, int]  # where an edge leads, and its code
Way = tuple[tuple[int, ...], tuple[int, ...]]  # nodes, codes
Steps = Callable[[int], list[Step]]


def steps(facts: Sequence[Fact], entity: int, closed: Iterable[int] = ()) -> list[Step]:
    """Return the edges of an entity, by neighbour, then code."""
    found = set()
    for number, (head, _, tail) in enumerate(facts):
        if number not in set(closed):
            found |= {(tail, 2 * number)} if head == entity else set()
            found |= {(head, 2 * number + 1)} if tail == entity != head else set()
    return sorted(found)


def neighbourhood(
    facts: Sequence[Fact], starts: Iterable[int], hops: int, most: int, closed: set[int]
) -> tuple[list[tuple[int, int]], dict[int, int], int]:
    """Return (hop, node) in order, how many edges were looked at of each node, and how many were not wholly."""
    distance = dict.fromkeys(starts, 0)
    looked: dict[int, int] = {}
    unexpanded = 0
    for hop in range(hops):
        rows = {node: steps(facts, node) for node, far in distance.items() if far == hop}
        fits = sum(map(len, rows.values())) <= most
        for node in sorted(rows, key=lambda node: (len(rows[node]), node)):
            looked[node] = len(rows[node]) if fits else min(len(rows[node]), most)
            most -= looked[node]
            unexpanded += looked[node] < len(rows[node])
            for neighbour, code in rows[node][: looked[node]]:
                if code // 2 not in closed:
                    distance.setdefault(neighbour, hop + 1)
    return sorted((far, node) for node, far in distance.items()), looked, unexpanded


def induced(facts: Sequence[Fact], nodes: Sequence[int], closed: set[int]) -> list[list[Step]]:
    """Return the edges of each position: (position, code)."""
    place = {node: i for i, node in enumerate(nodes)}
    return [
        sorted((place[other], code) for other, code in steps(facts, node, closed) if other in place) for node in nodes
    ]


def explored(facts: Sequence[Fact], nodes: Sequence[int], looked: dict[int, int], closed: set[int]) -> list[list[Step]]:
    """Return the edges of each position that were looked at from either end."""
    seen = {code // 2 for node, count in looked.items() for _, code in steps(facts, node)[:count]}
    return induced(facts, nodes, closed | (set(range(len(facts))) - seen))


def simple_paths(onward: Steps, starts: Sequence[int], hops: int) -> list[list[Way]]:
    """Return all simple paths by length, in the order in which they take turns."""
    level: list[Way] = [((start,), ()) for start in dict.fromkeys(starts)]
    levels = []
    for _ in range(hops):
        longer = [
            (turn, parent, ((*nodes, other), (*codes, code)))
            for parent, (nodes, codes) in enumerate(level)
            for turn, (other, code) in enumerate(s for s in onward(nodes[-1]) if s[0] not in nodes)
        ]
        level = [way for _, _, way in sorted(longer)]
        levels.append(level)
    return levels


def walks(onward: Steps, starts: Iterable[int], hops: int) -> Iterator[Way]:
    """Yield all walks of at most so many edges, round and round too."""
    stack: list[Way] = [((start,), ()) for start in set(starts)]
    while stack:
        nodes, codes = stack.pop()
        if codes:
            yield nodes, codes
        if len(codes) < hops:
            stack += [((*nodes, other), (*codes, code)) for other, code in onward(nodes[-1])]


def cheapest(
    onward: Steps, starts: Sequence[int], hops: int, cost: Callable[[int, int, int], float]
) -> dict[int, tuple[float, int, tuple[int, ...], tuple[int, ...]]]:
    """Return cost, length, codes and nodes of the best of all walks to every node but the starts."""
    best: dict[int, tuple[float, int, tuple[int, ...], tuple[int, ...]]] = {}
    for nodes, codes in walks(onward, starts, hops):
        total = sum(cost(one, other, code) for (one, other), code in zip(pairwise(nodes), codes, strict=True))
        found = total, len(codes), codes, nodes
        if nodes[-1] not in starts and found < best.get(nodes[-1], (float("inf"), 0, (), ())):
            best[nodes[-1]] = found
    return best


def conductance(rows: Sequence[Sequence[Step]], inside: set[int]) -> float | None:
    """Return the share of edge ends of a set, or of what is outside if that is less, that lead out; None for 0 ends."""
    ends = [(node in inside, other in inside) for node, row in enumerate(rows) for other, _ in row]
    smaller = min(sum(one for one, _ in ends), sum(not one for one, _ in ends))
    return sum(one and not other for one, other in ends) / smaller if smaller else None
