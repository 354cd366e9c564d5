"""Diverse triple beam search as in its pseudocode, one chain at a time."""

import math
from collections.abc import Callable, Sequence

Chain = tuple[int, ...]


def beams(
    ends: Sequence[tuple[int, int]],
    starts: Sequence[int],
    score: Callable[[Chain], float],
    width: int,
    length: int,
    gamma: float,
) -> list[tuple[Chain, float]]:
    """Return the last beam; a chain that cannot be extended stays."""
    first: list[tuple[Chain, float]] = [((t,), score((t,))) for t in sorted(set(starts))]
    beam = sorted(first, key=lambda b: (-b[1], b[0]))[:width]
    for _ in range(1, length):
        used = {t for chain, _ in beam for t in chain}
        following: list[tuple[Chain, float]] = []
        for chain, s in beam:
            neighbours = [t for t in range(len(ends)) if set(ends[t]) & set(ends[chain[-1]]) and t not in used]
            options = sorted(((s + score((*chain, t)), t) for t in neighbours), key=lambda o: (-o[0], o[1]))
            following += [
                ((*chain, t), value * (math.exp(-min(n, gamma) / gamma) if gamma else 1.0))
                for n, (value, t) in enumerate(options)
            ]
            if not options:
                following.append((chain, s))
        beam = sorted(following, key=lambda b: (-b[1], b[0]))[:width]
    return beam
