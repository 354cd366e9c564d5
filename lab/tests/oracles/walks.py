"""Personalised PageRank with dictionaries and loops, for the oracles of the rankings that walk."""

from collections.abc import Mapping
from typing import TypeVar

Node = TypeVar("Node")


def walk_mass(
    edges: Mapping[Node, Mapping[Node, float]],
    restart: Mapping[Node, float],
    damping: float,
    steps: int = 300,
    *,
    lost: bool = False,
) -> dict[Node, float]:
    """Return the mass of the nodes after a number of steps.

    What steps from a node without neighbours is back at the restart, or with `lost` it is lost.
    """
    whole = sum(restart.values())
    start = {node: weight / whole for node, weight in restart.items()}
    mass = dict(start)
    for _ in range(steps):
        following = {node: (1 - damping) * weight for node, weight in start.items()}
        for node, weight in mass.items():
            targets = edges.get(node) or ({} if lost else start)
            total = sum(targets.values())
            for other, share in targets.items():
                following[other] = following.get(other, 0.0) + damping * weight * share / total
        mass = following
    return mass
