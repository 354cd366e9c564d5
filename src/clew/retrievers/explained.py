"""Walks through the graph as paths of triples: what each step stands on, with the passages that state it."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import Snapshot
from clew.types import Path, Triple

if TYPE_CHECKING:
    from clew.types import BoolArray, LongArray

EQUIVALENT = "equivalent"
MENTIONS = "mentions"


class WalkReader:
    """Reads a sequence of nodes as triples.

    Args:
        snapshot: The index the walk was made in.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @cached_property
    def _own_entities(self) -> "LongArray":
        """The entity of each node at P and above, by node - P."""
        nodes = np.asarray(self._snapshot.entity_nodes)
        count = len(self._snapshot.passage_ids)
        own = np.flatnonzero(nodes >= count)
        return own[np.argsort(nodes[own], kind="stable")]

    def path(self, nodes: Sequence[int], allowed: "BoolArray") -> Path:
        """Return the triples that the steps of a walk stand on; () for a walk of one node.

        Args:
            nodes: A walk, in order.
            allowed: (P,) passages that may state a triple.
        """
        steps = [self._step(one, other, allowed) for one, other in pairwise(nodes)]
        return tuple(triple for step in steps for triple in step)

    def _step(self, one: int, other: int, allowed: "BoolArray") -> tuple[Triple, ...]:
        count = len(self._snapshot.passage_ids)
        if one >= count and other >= count:
            return (Triple(self._name(one), EQUIVALENT, self._name(other)),)
        stating = [node for node in (one, other) if node < count and allowed[node]]
        candidates = [self._stated(passage, one, other) for passage in stating]
        chosen = [position for position in candidates if position >= 0]
        if chosen:
            return (self._snapshot.triple(chosen[0], allowed),)
        for passage in stating:
            about = other if passage == one else one
            if (self._snapshot.entity_nodes[self._snapshot.mentions.row(passage)] == about).any():
                return (
                    Triple(self._name(passage), MENTIONS, self._name(about), (self._snapshot.passage_ids[passage],)),
                )
        return (Triple(self._name(one), EQUIVALENT, self._name(other)),)

    def _stated(self, passage: int, one: int, other: int) -> int:
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

    def _name(self, node: int) -> str:
        snapshot = self._snapshot
        count = len(snapshot.passage_ids)
        if node >= count:
            return snapshot.entities[int(self._own_entities[node - count])]
        return snapshot.titles[node] or snapshot.passage_ids[node]
