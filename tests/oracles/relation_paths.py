"""Relation paths and their ends, by enumerating every walk that uses no fact twice in a row."""

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
    """Return the ends of all walks of every relation path of exactly `hops` relations, and those of simple walks."""
    every: dict[Chain, set[int]] = {}
    simple: dict[Chain, set[int]] = {}
    for nodes, edges in walks(edges_of, starts, hops):
        turns_back = any(one // 2 == other // 2 for one, other in pairwise(edges))
        if len(edges) == hops and not turns_back:
            relation_path = tuple(relation_code(facts, edge) for edge in edges)
            every.setdefault(relation_path, set()).add(nodes[-1])
            if len(set(nodes)) == len(nodes):
                simple.setdefault(relation_path, set()).add(nodes[-1])
    return every, simple
