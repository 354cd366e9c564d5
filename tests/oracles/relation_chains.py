"""Chains of relations and their ends, by trying every walk that takes no fact twice in a row."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from tests.oracles.facts import EdgesOf, Fact, walks

Chain = tuple[int, ...]


def relation_code(facts: Sequence[Fact], edge: int) -> int:
    """Return twice the relation of an edge, one more where it is walked from tail to head."""
    return 2 * facts[edge // 2][1] + edge % 2


def relation_path_ends(
    edges_of: EdgesOf, facts: Sequence[Fact], starts: Iterable[int], hops: int
) -> tuple[dict[Chain, set[int]], dict[Chain, set[int]]]:
    """Return where the walks of every chain of exactly so many relations end, and where the simple ones do."""
    every: dict[Chain, set[int]] = {}
    simple: dict[Chain, set[int]] = {}
    for nodes, edges in walks(edges_of, starts, hops):
        turned = any(one // 2 == other // 2 for one, other in pairwise(edges))
        if len(edges) == hops and not turned:
            chain = tuple(relation_code(facts, edge) for edge in edges)
            every.setdefault(chain, set()).add(nodes[-1])
            if len(set(nodes)) == len(nodes):
                simple.setdefault(chain, set()).add(nodes[-1])
    return every, simple
