"""The likeliest walk to a node, by enumerating every walk that visits no node twice."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

Graph = Mapping[int, Mapping[int, float]]


def simple_walks(graph: Graph, start: int, blocked: set[int]) -> Iterator[tuple[int, ...]]:
    """Yield every walk from a node that enters no blocked node and no node twice."""
    if start in blocked:
        return
    stack: list[tuple[int, ...]] = [(start,)]
    while stack:
        walk = stack.pop()
        yield walk
        stack.extend((*walk, other) for other in graph[walk[-1]] if other not in walk and other not in blocked)


def probability(
    graph: Graph,
    walk: tuple[int, ...],
    restart: Mapping[int, float],
    attraction: list[float],
    blocked: set[int],
    damping: float,
) -> float:
    """Return the probability of a walk: that of its start times those of its steps."""
    likelihood = restart.get(walk[0], 0.0)
    for one, other in pairwise(walk):
        out = sum(weight * attraction[v] for v, weight in graph[one].items() if v not in blocked)
        likelihood *= damping * graph[one][other] * attraction[other] / out
    return likelihood
