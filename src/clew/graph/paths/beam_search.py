"""Diverse triple beam search: paths of triples similar to a question, with a penalty for extensions of the same path.

Source: Shen et al., "GeAR: Graph-enhanced Agent for Retrieval-augmented Generation" (2024), the pseudocode of its
diverse triple beam search.
Differs from the source: a path that cannot be extended stays on the beam with its score, where the pseudocode drops it;
triples are joined by nodes, so that two names of an entity join them, but not by nodes of very many triples, unless
`hub` is None; of each
path only as many extensions are kept as the beam is wide, which changes nothing and bounds the memory at a hub.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray, top_order
from clew.graph.csr import Adjacency, build_adjacency

_SCORING_BATCH = 65_536  # extensions of one path scored at once: a hub may have a million

PathScorer = Callable[[tuple[int, ...], "LongArray"], "FloatArray"]
"""Function of a path and the triples (n,) that may extend it to the scores (n,) of the extended paths; at least 0, so
that a discount always lowers a score."""


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """Settings of the beam search."""

    width: int = 10  # number of paths kept after each step
    length: int = 3  # maximum number of triples in a path
    gamma: float = (
        2.0  # n-th best extension of a path, from 0: times exp(-min(n, gamma) / gamma); inf or 0: no discount
    )
    # maximum number of triples of a node through which a path continues: a hub joins unrelated triples; None: any
    hub: int | None = 256


@dataclass(frozen=True, slots=True)
class Beam:
    """A path of triples by position, and the discounted sum of the scores of all its prefixes."""

    triples: tuple[int, ...]
    score: float


class TripleGraph:
    """Triples, by their heads and tails (T, 2) among the nodes, as a graph: two are neighbours if they share a node."""

    def __init__(self, ends: LongArray | IntArray, node_count: int) -> None:
        positions = np.arange(len(ends), dtype=np.int64)
        both = np.concatenate([ends[:, 0], ends[:, 1]])
        self.ends = ends
        self.node_triples: Adjacency = build_adjacency(both, np.tile(positions, 2), np.ones(2 * len(ends)), node_count)

    def neighbours(self, triple: int, max_node_triples: int | None) -> LongArray:
        """Return the triples (n,) that share a node of at most `max_node_triples` with one, itself included, ascending.

        None for nodes of any number.
        """
        rows = [self.node_triples.row(int(node)) for node in set(self.ends[triple].tolist())]
        usable = [row for row in rows if max_node_triples is None or len(row) <= max_node_triples]
        return np.unique(np.concatenate(usable)).astype(np.int64) if usable else np.zeros(0, dtype=np.int64)


def diverse_beam_search(
    graph: TripleGraph,
    starts: Sequence[int],
    score_paths: PathScorer,
    settings: BeamSettings,
    allowed: BoolArray | None = None,
) -> list[Beam]:
    """Return the paths on the last beam, best first, ties by the positions of their triples.

    `starts` may repeat triples; `score_paths` scores all extensions of a path at once; `allowed` (T,) are the triples
    that may be on a path, None for all.
    """
    first = np.unique(np.asarray(list(starts), dtype=np.int64))
    if allowed is not None:
        first = first[allowed[first]]
    if not len(first):
        return []
    scores = score_paths((), first)
    beams = [Beam((int(first[i]),), float(scores[i])) for i in top_order(scores, settings.width)]
    for _ in range(1, settings.length):
        used = np.unique(np.array([triple for beam in beams for triple in beam.triples], dtype=np.int64))
        extended: list[Beam] = []
        for beam in beams:
            extended += _extend_beam(graph, beam, used, score_paths, settings, allowed) or [beam]
        beams = sorted(extended, key=lambda beam: (-beam.score, beam.triples))[: settings.width]
    return beams


def _extend_beam(
    graph: TripleGraph,
    beam: Beam,
    used: LongArray,
    score_paths: PathScorer,
    settings: BeamSettings,
    allowed: BoolArray | None,
) -> list[Beam]:
    """Return the best extensions of a path, each discounted by its rank among them."""
    options = graph.neighbours(beam.triples[-1], settings.hub)
    options = options[~np.isin(options, used, assume_unique=True)]
    if allowed is not None:
        options = options[allowed[options]]
    best = np.zeros(0, dtype=np.int64)
    scores = np.zeros(0, dtype=np.float32)
    for start in range(0, len(options), _SCORING_BATCH):
        batch = options[start : start + _SCORING_BATCH]
        best, scores = np.concatenate([best, batch]), np.concatenate([scores, score_paths(beam.triples, batch)])
        top = top_order(scores, settings.width)
        best, scores = best[top], scores[top]
    return [
        Beam((*beam.triples, int(triple)), (beam.score + float(score)) * discount(rank, settings.gamma))
        for rank, (triple, score) in enumerate(zip(best, scores, strict=True))
    ]


def discount(rank: int, gamma: float) -> float:
    """Return the factor on the score of the extension of some rank, from 0."""
    return math.exp(-min(rank, gamma) / gamma) if 0 < gamma < math.inf else 1.0
