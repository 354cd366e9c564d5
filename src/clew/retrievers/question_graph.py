"""What the graph neural network sees of a question: the nodes near its walk, their edges, and what is known of each.

The walk decides which nodes matter, so the cost does not follow the size of the graph. Everything else that is known
before any learning goes in as numbers of a node, and the walk's own ranking as the prior that the scores start from:
fusing rankings afterwards loses what both know (docs/decisions.md).

Source: none; measured in docs/benchmarks.md. Differs from the source: nothing.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.relations import RelationalEdges, induced
from clew.graph.snapshot import Snapshot
from clew.ranks import top_order
from clew.retrievers.question_walk import QuestionWalk

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

FEATURES = ("matching", "remaining", "value", "similarity", "passage", "degree", "named")
"""What a node brings, in order; all between about -1 and 1."""

SOFT_SEEDS = 10
_LEAST = 1e-6  # of the best value: below it the walk tells nothing apart
_SCALE = float(-np.log(_LEAST))


@dataclass(frozen=True, slots=True, eq=False)
class QuestionGraph:
    """The part of a graph that a question is about: n nodes, m edges.

    Attributes:
        nodes: (n,) in the whole graph, ascending.
        senders: (m,) positions in `nodes`.
        receivers: (m,) positions in `nodes`.
        edges: (m,) positions in the whole graph's edges.
        seeds: (n,) weight of what the question names, the greatest 1.
        features: (n, len(FEATURES)).
        prior: (n,) log of the walk's score as a share of the best; nothing but passages has one above the least.
        passages: (n,) whether a node is a passage that may be found.
        soft: Whether the seeds are near passages because the question names nothing that is known.
    """

    nodes: "IntArray"
    senders: "IntArray"
    receivers: "IntArray"
    edges: "LongArray"
    seeds: "FloatArray"
    features: "FloatArray"
    prior: "FloatArray"
    passages: "BoolArray"
    soft: bool


class QuestionGraphs:
    """Makes the graphs of questions over one index.

    Args:
        edges: The whole graph; its first nodes are the passages.
        snapshot: The index.
        size: How many nodes are kept; None for all.
    """

    def __init__(self, edges: RelationalEdges, snapshot: Snapshot, size: int | None) -> None:
        self.edges = edges
        self._snapshot = snapshot
        self._vectors = snapshot.vectors
        self._size = size
        degrees = np.log1p(np.diff(edges.indptr).astype(np.float32))
        self._degrees = degrees / max(float(degrees.max(initial=1.0)), 1.0)

    def of(self, asked: QuestionWalk, vector: "FloatArray", allowed: "BoolArray") -> QuestionGraph:
        """Return the graph of a question.

        Args:
            asked: Its walk.
            vector: (d,) its unit vector.
            allowed: (P,) passages that may be found, or lend their edges.
        """
        value = np.zeros(self.edges.nodes, dtype=np.float32)
        if asked.walk is not None:
            value[asked.walk.nodes] = asked.walk.values
            value[asked.nodes] = asked.scores
        soft = self._soft_seeds(asked, vector, allowed)
        nodes = self._kept(value, soft, allowed)
        senders, receivers, edges = self._open(induced(self.edges, nodes), allowed)
        passages = nodes < len(allowed)
        own = nodes[passages]
        features = np.zeros((len(nodes), len(FEATURES)), dtype=np.float32)
        features[passages, 0] = asked.matching[own]
        features[passages, 1] = asked.remaining[own]
        share = np.maximum(value[nodes] / max(float(value.max(initial=0.0)), 1e-30), _LEAST)
        features[:, 2] = 1.0 + np.log(share) / _SCALE
        features[passages, 3] = self._vectors[own] @ vector
        features[:, 4] = passages
        features[:, 5] = self._degrees[nodes]
        seeds = np.zeros(len(nodes), dtype=np.float32)
        for node, weight in (soft or asked.named).items():
            place = int(nodes.searchsorted(node))
            if place < len(nodes) and nodes[place] == node:
                seeds[place] = weight
        seeds /= max(float(seeds.max(initial=0.0)), 1e-30)
        features[:, 6] = seeds if not soft else 0.0
        prior = np.full(len(nodes), np.log(_LEAST), dtype=np.float32)
        best = max(float(value[own].max(initial=0.0)), 1e-30)
        prior[passages] = np.log(np.maximum(value[own] / best, _LEAST))
        return QuestionGraph(nodes, senders, receivers, edges, seeds, features, prior, passages, bool(soft))

    def _open(
        self, edges: "tuple[IntArray, IntArray, LongArray]", allowed: "BoolArray"
    ) -> "tuple[IntArray, IntArray, LongArray]":
        """Leave out the triples that no allowed passage states."""
        if allowed.all():
            return edges
        triples = self.edges.triples[edges[2]]
        stated = self._snapshot.triple_passages
        asked = np.unique(triples[triples >= 0])
        open_ = np.array([bool(allowed[stated.row(int(triple))].any()) for triple in asked], dtype=bool)
        kept = triples < 0
        kept[~kept] = open_[asked.searchsorted(triples[~kept])]
        return edges[0][kept], edges[1][kept], edges[2][kept]

    def _soft_seeds(self, asked: QuestionWalk, vector: "FloatArray", allowed: "BoolArray") -> dict[int, float]:
        """Return near passages in place of names, when the question names nothing."""
        if asked.named or not len(self._vectors):
            return {}
        near = np.where(allowed, self._vectors @ vector, np.float32(-1.0))
        best = top_order(near, SOFT_SEEDS)
        return {int(passage): float(near[passage]) for passage in best if near[passage] > 0}

    def _kept(self, value: "FloatArray", soft: dict[int, float], allowed: "BoolArray") -> "IntArray":
        if self._size is None:
            open_ = np.ones(self.edges.nodes, dtype=bool)
            open_[: len(allowed)] = allowed
            return np.flatnonzero(open_).astype(np.int32)
        near = np.flatnonzero(value)
        if len(near) > self._size:
            near = near[top_order(value[near], self._size)]
        return np.unique(np.concatenate([near, np.array(list(soft), dtype=np.int64)])).astype(np.int32)
