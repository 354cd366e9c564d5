"""Walks through the graph as paths of triples: what each step stands on, with the passages that state it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot.snapshot import Snapshot
from clew.types import Path, Triple

if TYPE_CHECKING:
    from clew.types import BoolArray

MENTIONS = "mentions"


class WalkPathBuilder:
    """Reads a sequence of nodes as triples.

    Args:
        snapshot: The index the walk was made in.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def build_path(self, nodes: Sequence[int], allowed: "BoolArray") -> Path:
        """Return the triples that the steps of a walk stand on; () for a walk of one node.

        Args:
            nodes: A walk, in order.
            allowed: (P,) passages that may state a triple.
        """
        return tuple(self._edge_triple(one, other, allowed) for one, other in pairwise(nodes))

    def _edge_triple(self, one: int, other: int, allowed: "BoolArray") -> Triple:
        s = self._snapshot
        stating = [node for node in (one, other) if node < len(s.passage_ids) and allowed[node]]
        candidates = [self._connecting_triple(passage, one, other) for passage in stating]
        chosen = [position for position in candidates if position >= 0]
        if chosen:
            return s.triple(chosen[0], allowed)
        # An edge without a fact is a mention, by whichever of the two passages mentions the other.
        passage, entity = next(
            (passage, int(entity))
            for passage in stating
            for entity in s.mentions.row(passage)
            if s.entity_nodes[entity] == (other if passage == one else one)
        )
        return Triple(
            s.titles[passage] or s.passage_ids[passage], MENTIONS, s.entities[entity], (s.passage_ids[passage],)
        )

    def _connecting_triple(self, passage: int, one: int, other: int) -> int:
        """Return the position of a triple of the passage that touches both nodes, else -1."""
        snapshot = self._snapshot
        positions = snapshot.passage_triples.row(passage)
        if not len(positions):
            return -1
        ends = snapshot.triples[positions][:, [0, 2]]
        nodes = snapshot.entity_nodes[ends]
        about = other if passage == one else one
        touches = (nodes == about).any(axis=1)
        # Its other end should be what the passage is about; failing that, any fact of the passage about the node.
        title = snapshot.title_entities[passage]
        both = touches & ((ends == title).any(axis=1) if title >= 0 else touches)
        best = np.flatnonzero(both if both.any() else touches)
        return int(positions[best[0]]) if len(best) else -1
