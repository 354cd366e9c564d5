"""Diverse triple beam search: chains of facts that together are near a question, without one fact crowding the beam.

Source: Shen et al., "GeAR: Graph-enhanced Agent for Retrieval-augmented Generation" (2024), the pseudocode of its
diverse triple beam search.
Differs from the source: a chain that cannot go on stays on the beam with its score, where the pseudocode loses it;
facts meet in a node, so that two names of one thing join them, but not in a node of very many facts; of each chain only
as many ways on are kept as the beam is wide, which changes nothing and bounds the memory at a hub.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.csr import Adjacency, build_adjacency

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

_SCORING_BATCH = 65_536  # ways on from one chain that are scored together: a hub may have a million

PathScorer = Callable[[tuple[int, ...], "LongArray"], "FloatArray"]
"""A chain and (n,) triples that may go on from it to the scores (n,) of the longer chains; each at least 0, so that a
discount always lowers."""


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """How the search goes.

    Attributes:
        width: Chains kept after each step.
        length: Triples in a chain, at most.
        hub: Triples of a node beyond which no chain goes on through it: such a node joins what has nothing in common.
        gamma: The n-th best way on from one chain, from 0, is worth exp(-min(n, gamma) / gamma) of its score; infinite
            or 0 for no discount.
    """

    width: int = 10
    length: int = 3
    gamma: float = 2.0
    hub: int = 256


@dataclass(frozen=True, slots=True)
class Beam:
    """A chain of triples by their positions, and the sum of the scores of all its beginnings, discounted."""

    triples: tuple[int, ...]
    score: float


class TripleGraph:
    """Which triples meet in which node.

    Args:
        ends: (T, 2) the nodes of each triple's head and tail.
        node_count: How many nodes there are.
    """

    def __init__(self, ends: "LongArray | IntArray", node_count: int) -> None:
        positions = np.arange(len(ends), dtype=np.int64)
        both = np.concatenate([ends[:, 0], ends[:, 1]])
        self.ends = ends
        self.node_triples: Adjacency = build_adjacency(both, np.tile(positions, 2), np.ones(2 * len(ends)), node_count)

    def neighbours(self, triple: int, max_node_triples: int | None = None) -> "LongArray":
        """Return the triples that share a node with one, ascending, itself among them; not through a hub."""
        rows = [self.node_triples.row(int(node)) for node in set(self.ends[triple].tolist())]
        open_ = [row for row in rows if max_node_triples is None or len(row) <= max_node_triples]
        return np.unique(np.concatenate(open_)).astype(np.int64) if open_ else np.zeros(0, dtype=np.int64)


def diverse_beam_search(
    graph: TripleGraph,
    starts: Sequence[int],
    score_paths: PathScorer,
    settings: BeamSettings,
    allowed: "BoolArray | None" = None,
) -> list[Beam]:
    """Return the chains on the last beam, best first; ties by the positions of their triples.

    Args:
        graph: The triples.
        starts: Triples to start from; equal ones count once.
        score_paths: What chains are worth; asked for all ways on from a chain at once.
        settings: Width, length and diversity.
        allowed: (T,) triples that may stand on a chain.
    """
    first = np.unique(np.asarray(list(starts), dtype=np.int64))
    if allowed is not None:
        first = first[allowed[first]]
    if not len(first):
        return []
    worth = score_paths((), first)
    beams = [Beam((int(first[i]),), float(worth[i])) for i in _top_positions(worth, settings.width)]
    for _ in range(1, settings.length):
        taken = np.unique(np.array([triple for beam in beams for triple in beam.triples], dtype=np.int64))
        found: list[Beam] = []
        for beam in beams:
            found += _extend_beam(graph, beam, taken, score_paths, settings, allowed) or [beam]
        beams = sorted(found, key=lambda beam: (-beam.score, beam.triples))[: settings.width]
    return beams


def _extend_beam(
    graph: TripleGraph,
    beam: Beam,
    used: "LongArray",
    score_paths: PathScorer,
    settings: BeamSettings,
    allowed: "BoolArray | None",
) -> list[Beam]:
    """Return the best ways on from a chain, each discounted by its place among them; none when it ends here."""
    options = graph.neighbours(beam.triples[-1], settings.hub)
    options = options[~np.isin(options, used, assume_unique=True)]
    if allowed is not None:
        options = options[allowed[options]]
    best = np.zeros(0, dtype=np.int64)
    worth = np.zeros(0, dtype=np.float32)
    for start in range(0, len(options), _SCORING_BATCH):
        part = options[start : start + _SCORING_BATCH]
        best, worth = np.concatenate([best, part]), np.concatenate([worth, score_paths(beam.triples, part)])
        kept = _top_positions(worth, settings.width)
        best, worth = best[kept], worth[kept]
    return [
        Beam((*beam.triples, int(triple)), (beam.score + float(score)) * discount(place, settings.gamma))
        for place, (triple, score) in enumerate(zip(best, worth, strict=True))
    ]


def discount(rank: int, gamma: float) -> float:
    """Return what the way on at a place, from 0, keeps of its score."""
    return math.exp(-min(rank, gamma) / gamma) if 0 < gamma < math.inf else 1.0


def _top_positions(worth: "FloatArray", count: int) -> "LongArray":
    """Return the places of the greatest values, greatest first, ties by place."""
    if len(worth) > 4 * count:
        floor = np.partition(worth, len(worth) - count)[len(worth) - count]
        places = np.flatnonzero(worth >= floor)
    else:
        places = np.arange(len(worth))
    return places[np.argsort(-worth[places], kind="stable")][:count]
