"""Features of nodes that say where they stand in their graph, in place of their texts.

    laplacian    eigenvectors of the undirected graph's normalised Laplacian, of the least eigenvalues but the first
    random-walk  probabilities of a random walk to be back where it began after 1, 2, ... steps
    identity     the place of a node in the graph's order, as a unit vector
    learned      a trainable vector of that place

Source: Perozzi et al., "Let Your Graph Do the Talking" (2024), whose graphs have no texts; Dwivedi et al.,
"Benchmarking Graph Neural Networks" (2020), for `laplacian`, and "Graph Neural Networks with Learnable Structural and
Positional Representations" (2022), for `random-walk`.
Differs from the source: of an eigenvector, the first number of at least half the greatest size is positive, in place of
a random sign at every step of the training, so that a graph always has the same features; how many features there are
is ours; nodes after the last place that has a vector share that vector.
"""

from functools import lru_cache
from typing import Literal

import numpy as np

from clew.arrays import DoubleArray, FloatArray, IntArray, LongArray

NodeFeatures = Literal["text", "laplacian", "random-walk", "identity", "learned"]
EIGENVECTORS, WALK_STEPS, PLACES = 8, 16, 512
"""Numbers of a node by `laplacian`, by `random-walk`, and by `identity` and `learned`."""


def feature_width(features: NodeFeatures, text_width: int) -> int:
    """Return how many numbers a node has; `text_width` are those of its text's vector."""
    widths = {"laplacian": EIGENVECTORS, "random-walk": WALK_STEPS, "identity": PLACES, "learned": PLACES}
    return widths.get(features, text_width)


def node_features(features: NodeFeatures, places: IntArray, edges: LongArray) -> FloatArray:
    """Return features (n, `feature_width`) of nodes without texts.

    `places` (n,) are the nodes' places in their whole graph; `edges` (2, m) are positions among the n nodes.
    """
    if features in ("identity", "learned"):
        return np.eye(PLACES, dtype=np.float32)[np.minimum(places, PLACES - 1)]
    return _structure_features(features, len(places), np.ascontiguousarray(edges).tobytes())


@lru_cache(maxsize=1024)
def _structure_features(features: NodeFeatures, count: int, edge_bytes: bytes) -> FloatArray:
    """Return `laplacian` or `random-walk` of a graph, once for the epochs of a training; the edges are as bytes."""
    adjacency = _adjacency(count, np.frombuffer(edge_bytes, dtype=np.int64).reshape(2, -1))
    numbers = _eigenvectors(adjacency) if features == "laplacian" else _return_probabilities(adjacency)
    return numbers.astype(np.float32)


def _adjacency(count: int, edges: LongArray) -> DoubleArray:
    """Return which nodes are joined, in either direction and without loops (n, n)."""
    joined = np.zeros((count, count))
    joined[edges[0], edges[1]] = joined[edges[1], edges[0]] = 1.0
    np.fill_diagonal(joined, 0.0)
    return joined


def _eigenvectors(adjacency: DoubleArray) -> DoubleArray:
    """Return eigenvectors as columns (n, EIGENVECTORS), 0 where a graph has fewer."""
    filled = np.zeros((len(adjacency), EIGENVECTORS))
    if not len(adjacency):
        return filled
    degrees = adjacency.sum(axis=1)
    roots = 1.0 / np.sqrt(np.where(degrees > 0, degrees, np.inf))
    _, vectors = np.linalg.eigh(np.diag((degrees > 0).astype(np.float64)) - roots[:, None] * adjacency * roots)
    chosen = vectors[:, 1 : EIGENVECTORS + 1]
    sizes = np.abs(chosen)
    firsts = (2 * sizes >= sizes.max(axis=0)).argmax(axis=0)
    filled[:, : chosen.shape[1]] = np.where(np.take_along_axis(chosen, firsts[None, :], axis=0) < 0, -chosen, chosen)
    return filled


def _return_probabilities(adjacency: DoubleArray) -> DoubleArray:
    """Return for each node the probability (n, WALK_STEPS) to be back after each number of steps."""
    step = adjacency / np.maximum(adjacency.sum(axis=1, keepdims=True), 1.0)
    walked, numbers = np.eye(len(adjacency)), []
    for _ in range(WALK_STEPS):
        walked = walked @ step
        numbers.append(walked.diagonal())
    return np.stack(numbers, axis=1)
