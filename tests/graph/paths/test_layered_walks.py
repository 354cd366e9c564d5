"""The best walks through layers against all walks."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.paths.likeliest_walks import best_walks

edges = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


def all_walks(
    pairs: list[tuple[int, int]], importance: list[list[float]], starts: set[int], target: int
) -> dict[tuple[int, ...], float]:
    """Return the best score of every walk; in each layer a walk takes an edge or stays (-1)."""
    best: dict[tuple[int, ...], float] = {}
    for start, choices in product(starts, product(range(-1, len(pairs)), repeat=len(importance))):
        node, score, walk = start, 0.0, []
        for layer, edge in enumerate(choices):
            if edge >= 0:
                if pairs[edge][0] != node:
                    break
                node, score = pairs[edge][1], score + importance[layer][edge]
                walk.append(edge)
        else:
            if node == target and walk:
                best[tuple(walk)] = max(best.get(tuple(walk), -np.inf), score)
    return best


@settings(deadline=None, max_examples=150)
@given(edges, st.integers(1, 3), st.sets(st.integers(0, 4), min_size=1), st.integers(0, 4), st.integers(0, 10_000))
def test_the_best_of_all_walks_are_found(
    pairs: list[tuple[int, int]], layers: int, starts: set[int], target: int, seed: int
) -> None:
    importance = np.random.default_rng(seed).normal(size=(layers, len(pairs))).astype(np.float32)
    senders, receivers = (np.array([pair[i] for pair in pairs], dtype=np.int32) for i in range(2))
    found = best_walks(senders, receivers, importance, np.array(sorted(starts)), target, 3)
    wanted = all_walks(pairs, importance.tolist(), starts, target)
    scores = sorted(wanted.values(), reverse=True)[:3]
    np.testing.assert_allclose([score for score, _ in found], scores, rtol=1e-4, atol=1e-5)
    for score, walk in found:
        np.testing.assert_allclose(score, wanted[walk], rtol=1e-4, atol=1e-5)
    assert len({walk for _, walk in found}) == len(found)


def test_no_edges_no_walks() -> None:
    none = np.zeros(0, dtype=np.int32)
    assert best_walks(none, none, np.zeros((3, 0), dtype=np.float32), np.array([0]), 0, 2) == []
