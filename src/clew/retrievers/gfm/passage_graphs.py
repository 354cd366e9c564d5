"""What the graph neural network sees of a question: the nodes near its walk, their edges, and what is known of each.

The walk decides which nodes matter, so the cost does not follow the size of the graph. Everything else that is known
before any learning goes in as numbers of a node, and the walk's own ranking as the prior that the scores start from:
fusing rankings afterwards loses what both know (docs/decisions.md).

Source: none; measured in docs/benchmarks.md. Differs from the source: nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from clew.graph.snapshot.relational_edges import RelationalEdges, induced_edges, stated_edge_mask
from clew.query.graph_walk import GraphWalk
from clew.query.linking import LinkedQuestion
from clew.ranking import top_order

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

FEATURES = ("matching", "remaining", "value", "similarity", "passage", "degree", "named")
"""What a node brings, in order; all between about -1 and 1."""

FALLBACK_NOTE = "the question names nothing in the index: the passages nearest in meaning stand in for names"
FALLBACK_SEED_COUNT = 10
_MIN_SHARE = 1e-6  # of the best value: below it the walk tells nothing apart
_SCALE = float(-np.log(_MIN_SHARE))


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
        targets: (n,) whether a node is ranked.
        has_fallback_seeds: Whether the seeds are near passages because the question names nothing that is known.
        walk_passages: All passages that the walk came near, ascending, and their values; none where there was no walk.
        notes: For people.
    """

    nodes: "IntArray"
    senders: "IntArray"
    receivers: "IntArray"
    edges: "LongArray"
    seeds: "FloatArray"
    features: "FloatArray"
    prior: "FloatArray"
    targets: "BoolArray"
    has_fallback_seeds: bool
    walk_passages: "tuple[IntArray, FloatArray]"
    notes: tuple[str, ...]


class NodeFeatures(NamedTuple):
    """What the network is told of n nodes; see `QuestionGraph`."""

    seeds: "FloatArray"
    features: "FloatArray"
    prior: "FloatArray"
    targets: "BoolArray"


class QuestionGraphBuilder(Protocol):
    """Makes the graphs of questions over one index."""

    @property
    def edges(self) -> RelationalEdges:
        """The whole graph."""
        ...

    def build(self, linked: LinkedQuestion, vector: "Callable[[], FloatArray]", allowed: "BoolArray") -> QuestionGraph:
        """Return the graph of a question.

        Args:
            linked: The question and its names.
            vector: Gives its unit vector (d,); called as late as possible, since another thread may still compute it.
            allowed: (P,) passages that may be found, or lend their edges.
        """
        ...

    def describe_nodes(
        self,
        nodes: "IntArray",
        values: "FloatArray",
        seed_weights: Mapping[int, float],
        vector: "Callable[[], FloatArray]",
        *,
        fallback_seeds: bool = False,
    ) -> NodeFeatures:
        """Return what the network is told of some nodes (n,), ascending.

        Args:
            nodes: (n,).
            values: (n,) of the walk.
            seed_weights: Weight of each node that is named.
            vector: As for `of`.
            fallback_seeds: Whether they are only near what the question says.
        """
        ...


class PassageGraphBuilder:
    """Graphs of passages, and of entities that join them.

    Args:
        edges: The whole graph; its first nodes are the passages.
        graph_walk: Over the same index.
        size: How many nodes are kept; None for all.
    """

    def __init__(self, edges: RelationalEdges, graph_walk: GraphWalk, size: int | None) -> None:
        self.edges = edges
        self._graph_walk = graph_walk
        self._snapshot = graph_walk.scope.snapshot
        self._vectors = self._snapshot.vectors
        self._size = size
        degrees = np.log1p(np.diff(edges.indptr).astype(np.float32))
        self._degrees = degrees / max(float(degrees.max(initial=1.0)), 1.0)

    def build(self, linked: LinkedQuestion, vector: "Callable[[], FloatArray]", allowed: "BoolArray") -> QuestionGraph:
        """Return the graph of a question (see `GraphQuestionSource`)."""
        asked = self._graph_walk.walk_linked(linked, allowed)
        value = np.zeros(self.edges.node_count, dtype=np.float32)
        if asked.walk is not None:
            value[asked.walk.nodes] = asked.walk.values
            value[asked.nodes] = asked.scores
        soft = {} if asked.named_nodes else self._fallback_seeds(vector(), allowed)
        nodes = self._select_nodes(value, soft, allowed)
        senders, receivers, edges = induced_edges(self.edges, nodes)
        if not allowed.all():
            open_ = stated_edge_mask(self.edges, edges, self._snapshot, allowed)
            senders, receivers, edges = senders[open_], receivers[open_], edges[open_]
        own = nodes[nodes < len(allowed)]
        described = self.describe_nodes(
            nodes, value[nodes], soft or asked.named_nodes, vector, fallback_seeds=bool(soft)
        )
        described.features[: len(own), 0] = asked.bm25_full[own]
        described.features[: len(own), 1] = asked.bm25_remainder[own]
        notes = (*asked.notes, *((FALLBACK_NOTE,) if soft else ()))
        walked = asked.nodes, asked.scores
        return QuestionGraph(
            nodes,
            senders,
            receivers,
            edges,
            *described,
            has_fallback_seeds=bool(soft),
            walk_passages=walked,
            notes=notes,
        )

    def describe_nodes(
        self,
        nodes: "IntArray",
        values: "FloatArray",
        seed_weights: Mapping[int, float],
        vector: "Callable[[], FloatArray]",
        *,
        fallback_seeds: bool = False,
    ) -> NodeFeatures:
        """Return what the network is told of some nodes (n,), ascending, of values (n,) by the walk; see `FEATURES`."""
        passages = nodes < len(self._vectors)
        own = nodes[passages]
        features = np.zeros((len(nodes), len(FEATURES)), dtype=np.float32)
        share = np.maximum(values / max(float(values.max(initial=0.0)), 1e-30), _MIN_SHARE)
        features[:, 2] = 1.0 + np.log(share) / _SCALE
        features[:, 4] = passages
        features[:, 5] = self._degrees[nodes]
        seeds = np.zeros(len(nodes), dtype=np.float32)
        for node, weight in seed_weights.items():
            place = int(nodes.searchsorted(node))
            if place < len(nodes) and nodes[place] == node:
                seeds[place] = weight
        seeds /= max(float(seeds.max(initial=0.0)), 1e-30)
        features[:, 6] = seeds if not fallback_seeds else 0.0
        prior = np.full(len(nodes), np.log(_MIN_SHARE), dtype=np.float32)
        best = max(float(values[passages].max(initial=0.0)), 1e-30)
        prior[passages] = np.log(np.maximum(values[passages] / best, _MIN_SHARE))
        features[passages, 3] = self._vectors[own] @ vector()
        return NodeFeatures(seeds, features, prior, passages)

    def _fallback_seeds(self, vector: "FloatArray", allowed: "BoolArray") -> dict[int, float]:
        """Return near passages in place of names, when the question names nothing."""
        if not len(self._vectors):
            return {}
        near = np.where(allowed, self._vectors @ vector, np.float32(-1.0))
        best = top_order(near, FALLBACK_SEED_COUNT)
        return {int(passage): float(near[passage]) for passage in best if near[passage] > 0}

    def _select_nodes(self, value: "FloatArray", soft: dict[int, float], allowed: "BoolArray") -> "IntArray":
        if self._size is None:
            open_ = np.ones(self.edges.node_count, dtype=bool)
            open_[: len(allowed)] = allowed
            return np.flatnonzero(open_).astype(np.int32)
        near = np.flatnonzero(value)
        if len(near) > self._size:
            near = near[top_order(value[near], self._size)]
        return np.unique(np.concatenate([near, np.array(list(soft), dtype=np.int64)])).astype(np.int32)
