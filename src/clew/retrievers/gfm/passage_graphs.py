"""Question graphs over passages: the nodes near a question's walk, their edges, and their features.

The walk selects the nodes, so the cost does not depend on the size of the graph. Everything else that is known before
learning is a feature of a node, and the walk's own ranking is the prior that the scores start from: fusing rankings
afterwards loses what both know (docs/decisions.md).

Source: none; measured in docs/benchmarks.md. Differs from the source: nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray, top_order
from clew.graph.snapshot.relational_edges import RelationalEdges, induced_edges, stated_edge_mask
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.graph_walk import GraphWalk
from clew.query.linking import LinkedQuestion

FEATURES = ("matching", "remaining", "value", "similarity", "passage", "degree", "named")
"""Features of a node, in order; all between about -1 and 1."""

FALLBACK_NOTE = "the question names nothing in the index: the passages nearest in meaning stand in for names"
FALLBACK_SEED_COUNT = 10
_MIN_SHARE = 1e-6  # as a share of the best value; the walk separates no nodes below it
_SCALE = float(-np.log(_MIN_SHARE))


@dataclass(frozen=True, slots=True, eq=False)
class QuestionGraph:
    """The part of a graph near a question: n nodes, m edges."""

    nodes: IntArray  # (n,) in the whole graph, ascending
    senders: IntArray  # (m,) positions in `nodes`
    receivers: IntArray  # (m,) positions in `nodes`
    edges: LongArray  # (m,) positions in the whole graph's edges
    seeds: FloatArray  # (n,) weights of the named nodes, the greatest 1
    features: FloatArray  # (n, len(FEATURES))
    prior: FloatArray  # (n,) log of the walk's score as a share of the best; above the minimum for passages only
    targets: BoolArray  # (n,) whether a node is ranked
    has_fallback_seeds: bool  # whether the seeds are similar passages, because the question names nothing in the index
    # passages near the walk, ascending, and their values; empty where there was no walk
    walk_passages: tuple[IntArray, FloatArray]
    notes: tuple[str, ...]  # explanations for the user


class NodeFeatures(NamedTuple):
    """Inputs of the network for n nodes; see `QuestionGraph`."""

    seeds: FloatArray
    features: FloatArray
    prior: FloatArray
    targets: BoolArray


class QuestionGraphBuilder(Protocol):
    """Builds question graphs over one index."""

    @property
    def edges(self) -> RelationalEdges:
        """The whole graph."""

    def build(self, linked: LinkedQuestion, vector: Callable[[], FloatArray], allowed: BoolArray) -> QuestionGraph:
        """Build the graph of a question with a vector (d,) from the passages (P,) that may be ranked, or state edges.

        The vector is asked for as late as possible, since another thread may be computing it.
        """

    def describe_nodes(
        self, nodes: IntArray, values: FloatArray, seed_weights: Mapping[int, float], vector: Callable[[], FloatArray]
    ) -> NodeFeatures:
        """Return the inputs of the network for nodes (n,), ascending, given the walk's values (n,) and seeds' weights.

        `vector` is as for `build`.
        """


def allowed_edges(
    whole: RelationalEdges, nodes: IntArray, snapshot: Snapshot, allowed: BoolArray
) -> tuple[IntArray, IntArray, LongArray]:
    """Return senders, receivers and positions (m,) of the edges among nodes (n,) that allowed passages (P,) state."""
    senders, receivers, edges = induced_edges(whole, nodes)
    if allowed.all():
        return senders, receivers, edges
    usable = stated_edge_mask(whole, edges, snapshot, allowed)
    return senders[usable], receivers[usable], edges[usable]


class PassageGraphBuilder:
    """Builds graphs of passages, the first nodes of the whole, and entities that link them; size None for all nodes."""

    def __init__(self, edges: RelationalEdges, graph_walk: GraphWalk, size: int | None) -> None:
        self.edges = edges
        self._graph_walk = graph_walk
        self._snapshot = graph_walk.scope.snapshot
        self._vectors = self._snapshot.vectors
        self._size = size
        degrees = np.log1p(np.diff(edges.indptr).astype(np.float32))
        self._degrees = degrees / max(float(degrees.max(initial=1.0)), 1.0)

    def build(self, linked: LinkedQuestion, vector: Callable[[], FloatArray], allowed: BoolArray) -> QuestionGraph:
        """Build the graph of a question (see `QuestionGraphBuilder`)."""
        walk = self._graph_walk.walk_linked(linked, allowed)
        values = np.zeros(self.edges.node_count, dtype=np.float32)
        if walk.walk is not None:
            values[walk.walk.nodes] = walk.walk.values
            values[walk.nodes] = walk.scores
        fallback = {} if walk.named_nodes else self._fallback_seeds(vector(), allowed)
        nodes = self._select_nodes(values, fallback, allowed)
        senders, receivers, edges = allowed_edges(self.edges, nodes, self._snapshot, allowed)
        passages = nodes[nodes < len(allowed)]
        seeds = fallback or walk.named_nodes
        inputs = self.describe_nodes(nodes, values[nodes], seeds, vector)
        inputs.features[: len(passages), 0] = walk.bm25_full[passages]
        inputs.features[: len(passages), 1] = walk.bm25_remainder[passages]
        if fallback:
            inputs.features[:, 6] = 0.0  # similar passages are not named
        notes = (*walk.notes, *((FALLBACK_NOTE,) if fallback else ()))
        return QuestionGraph(
            nodes, senders, receivers, edges, *inputs, bool(fallback), (walk.nodes, walk.scores), notes
        )

    def describe_nodes(
        self, nodes: IntArray, values: FloatArray, seed_weights: Mapping[int, float], vector: Callable[[], FloatArray]
    ) -> NodeFeatures:
        """Return the inputs of the network for nodes (see `QuestionGraphBuilder` and `FEATURES`)."""
        is_passage = nodes < len(self._vectors)
        passages = nodes[is_passage]
        features = np.zeros((len(nodes), len(FEATURES)), dtype=np.float32)
        shares = np.maximum(values / max(float(values.max(initial=0.0)), 1e-30), _MIN_SHARE)
        features[:, 2] = 1.0 + np.log(shares) / _SCALE
        features[:, 4] = is_passage
        features[:, 5] = self._degrees[nodes]
        seeds = np.zeros(len(nodes), dtype=np.float32)
        for node, weight in seed_weights.items():
            position = int(nodes.searchsorted(node))
            if position < len(nodes) and nodes[position] == node:
                seeds[position] = weight
        seeds /= max(float(seeds.max(initial=0.0)), 1e-30)
        features[:, 6] = seeds
        prior = np.full(len(nodes), np.log(_MIN_SHARE), dtype=np.float32)
        best = max(float(values[is_passage].max(initial=0.0)), 1e-30)
        prior[is_passage] = np.log(np.maximum(values[is_passage] / best, _MIN_SHARE))
        features[is_passage, 3] = self._vectors.rows(passages) @ vector()
        return NodeFeatures(seeds, features, prior, is_passage)

    def _fallback_seeds(self, vector: FloatArray, allowed: BoolArray) -> dict[int, float]:
        if not len(self._vectors):
            return {}
        similarity = np.where(allowed, self._vectors.similarities(vector), np.float32(-1.0))
        best = top_order(similarity, FALLBACK_SEED_COUNT)
        return {int(passage): float(similarity[passage]) for passage in best if similarity[passage] > 0}

    def _select_nodes(self, values: FloatArray, fallback: dict[int, float], allowed: BoolArray) -> IntArray:
        if self._size is None:
            is_allowed = np.ones(self.edges.node_count, dtype=bool)
            is_allowed[: len(allowed)] = allowed
            return np.flatnonzero(is_allowed).astype(np.int32)
        near = np.flatnonzero(values)
        if len(near) > self._size:
            near = near[top_order(values[near], self._size)]
        return np.unique(np.concatenate([near, np.array(list(fallback), dtype=np.int64)])).astype(np.int32)
