"""Question graphs as published, and the ranking of passages by the scores of the entities that they mention.

A graph has the entities near those that a question names, with passages beside them in G-reasoner. Nodes have no
features.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), sections 3.2.1 and 3.3;
for passages as nodes the authors' code of G-reasoner. Differs from the source: names are linked by the gazetteer; only
the nodes near the named ones take part unless all are requested; where the question names nothing, the entities of
similar passages are the seeds; entities may be weighted by their score, not only the best may count, and rarity may be
ignored.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray, top_order
from clew.graph.csr import Adjacency
from clew.graph.ppr.forward_push import NodeAttraction, push_pagerank
from clew.graph.snapshot.relational_edges import RelationalEdges
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import are_tied, label_among
from clew.query.linking import LinkedQuestion, describe_links
from clew.retrievers.gfm.passage_graphs import (
    FALLBACK_SEED_COUNT,
    NodeFeatures,
    QuestionGraph,
    add_fallback_note,
    allowed_edges,
)
from clew.retrievers.gfm.passage_ranking import RankedPassages
from clew.retrievers.gfm.settings import Seeds

NearestPassages = Callable[[str, int, BoolArray], Sequence[int]]

_DAMPING, _EPSILON = 0.7, 3e-5


class EntityGraphBuilder:
    """Builds graphs of entities, of at most `size` nodes; None for all.

    In `edges` the first nodes may be the passages (`mention_graph`): then they are ranked, else the entities.

    `seeds` is the weight of a named entity: "rarity" for one over its number of passages, "plain" for 1.

    `nearest` returns, for a question, a number and allowed passages (P,), at most that number of these that are most
    similar to it, best first; None where the index has no vectors.
    """

    def __init__(
        self,
        edges: RelationalEdges,
        snapshot: Snapshot,
        size: int | None,
        nearest: NearestPassages | None = None,
        seeds: Seeds = "rarity",
    ) -> None:
        self.edges = edges
        self._snapshot = snapshot
        self._size = size
        self._nearest = nearest
        self._first_entity = edges.node_count - len(snapshot.entities)  # the number of passages among the nodes
        self._neighbours = Adjacency(edges.indptr, edges.senders, np.ones(len(edges.senders), dtype=np.float32))
        degrees = snapshot.mentioned_in.degrees()
        # An entity that no passage mentions has weight 0, as in the authors' code.
        rarity = np.where(degrees > 0, 1.0 / np.maximum(degrees, 1), 0.0).astype(np.float32)
        self.seed_weights: FloatArray = rarity if seeds == "rarity" else np.ones(len(degrees), dtype=np.float32)

    def texts(self, linked: LinkedQuestion) -> list[str]:
        """Return the question (see `QuestionGraphBuilder`)."""
        return [linked.text]

    def build(self, linked: LinkedQuestion, vector: Callable[[int], FloatArray], allowed: BoolArray) -> QuestionGraph:
        """Build the graph of a question, from allowed passages (P,) alone (see `QuestionGraphBuilder`)."""
        blocked = self._blocked_entities(allowed)
        named = [e for name in linked.linked_names for e in name.entities if not blocked[e]]
        fallback = [] if named else self._fallback_seeds(linked.text, allowed, blocked)
        seeds = np.unique(np.array(named or fallback, dtype=np.int32)) + np.int32(self._first_entity)
        if self._size is None and allowed.all():
            nodes, senders, receivers, edges = self._whole
        else:
            if self._first_entity:
                blocked = np.concatenate([~allowed, blocked])
            nodes = self._select_nodes(seeds, blocked)
            restriction = None if allowed.all() else allowed
            senders, receivers, edges = allowed_edges(self.edges, nodes, self._snapshot, restriction)
        weights = {int(node): float(self.seed_weights[node - self._first_entity]) for node in seeds}
        inputs = self.describe_nodes(nodes, np.zeros(len(nodes), dtype=np.float32), weights, lambda: vector(0))
        notes = describe_links(linked, lambda e: self._label(linked, e, allowed) if e in named else "")
        notes = add_fallback_note(notes) if fallback else notes
        no_walk = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        return QuestionGraph(nodes, senders, receivers, edges, *inputs, no_walk, notes)

    def _label(self, linked: LinkedQuestion, entity: int, allowed: BoolArray) -> str:
        """Return the name of an entity that a question names; its own word where no other is tied to that."""
        label = label_among(self._snapshot, entity, allowed)
        written = next(linked.text[n.start : n.end] for n in linked.linked_names if entity in n.entities)
        return label if are_tied(self._snapshot, entity, label, written, allowed) else written

    def describe_nodes(
        self, nodes: IntArray, values: FloatArray, seed_weights: Mapping[int, float], vector: Callable[[], FloatArray]
    ) -> NodeFeatures:
        """Return the seeds of nodes (n,), and which are ranked: passages if there are any; no features, no prior."""
        del values, vector  # not inputs of the published network
        seeds = np.zeros(len(nodes), dtype=np.float32)
        for node, weight in seed_weights.items():
            seeds[int(nodes.searchsorted(node))] = weight
        none = np.zeros((len(nodes), 0), dtype=np.float32)
        targets = nodes < self._first_entity if self._first_entity else np.ones(len(nodes), dtype=bool)
        return NodeFeatures(seeds, none, np.zeros(len(nodes), dtype=np.float32), targets)

    @cached_property
    def _whole(self) -> tuple[IntArray, IntArray, IntArray, LongArray]:
        """Nodes, senders, receivers and positions of the edges of the whole graph, which all its questions share."""
        nodes = np.arange(self.edges.node_count, dtype=np.int32)
        return (nodes, *allowed_edges(self.edges, nodes, self._snapshot, None))

    def _blocked_entities(self, allowed: BoolArray) -> BoolArray:
        """Return which entities (E,) no allowed passage mentions."""
        blocked = np.zeros(len(self._snapshot.entities), dtype=bool)
        if not allowed.all():
            blocked[:] = True
            pairs = np.repeat(allowed, self._snapshot.mentions.degrees())
            blocked[self._snapshot.mentions.indices[pairs]] = False
        return blocked

    def _fallback_seeds(self, question: str, allowed: BoolArray, blocked: BoolArray) -> list[int]:
        """Return the title entities of similar passages, or all entities of a similar passage without a title."""
        if self._nearest is None:
            return []
        entities: list[int] = []
        for passage in self._nearest(question, FALLBACK_SEED_COUNT, allowed):
            title = int(self._snapshot.title_entities[passage])
            entities += [title] if title >= 0 else self._snapshot.mentions.row(passage).tolist()
        return [entity for entity in entities if not blocked[entity]]

    def _select_nodes(self, starts: IntArray, blocked: BoolArray) -> IntArray:
        if self._size is None:
            return np.flatnonzero(~blocked).astype(np.int32)
        if not len(starts):
            return starts
        restart = starts, np.full(len(starts), 1.0 / len(starts), dtype=np.float32)
        walk = push_pagerank(self._neighbours, restart, NodeAttraction(), ~blocked, _DAMPING, _EPSILON)
        nodes = walk.nodes
        if len(nodes) > self._size:
            nodes = nodes[top_order(walk.values, self._size)]
        return np.union1d(nodes, starts).astype(np.int32)


PUBLISHED_ENTITIES = 20


class EntityRanker:
    """Ranks passages by the best entities that they mention.

    If `weighted`, entities count by their score, and ties of passages are broken by similarity to the question; else
    each of the best entities counts the same, as published. `entities` is the number of best entities that count, None
    for all; `rarity` divides an entity's weight by the number of passages that mention it; `same_encoder` tells whether
    the snapshot's vectors and the question's are of one encoder.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        weighted: bool,
        entities: int | None = PUBLISHED_ENTITIES,
        rarity: bool = True,
        same_encoder: bool = True,
    ) -> None:
        self._mentions = snapshot.mentions
        self._mentioning = snapshot.mentions.row_indices()
        degrees = np.maximum(snapshot.mentioned_in.degrees(), 1)
        self._rarity: NDArray[np.float64] = 1.0 / degrees if rarity else np.ones(len(degrees))
        self._vectors = snapshot.vectors if weighted and same_encoder else None
        self._weighted = weighted
        self._entities = entities

    def rank(
        self, graph: QuestionGraph, logits: FloatArray, vector: FloatArray, k: int, allowed: BoolArray
    ) -> RankedPassages:
        """Return at most `k` allowed passages (P,) that mention an entity of the best logits (n,) (see `Ranker`)."""
        count = len(logits) if self._entities is None else min(self._entities, len(logits))
        if not count:
            return RankedPassages((), ())
        best = top_order(logits, count)
        chosen = graph.nodes[best]
        weights = np.zeros(len(self._rarity))
        value = 1.0 / (1.0 + np.exp(-logits[best].astype(np.float64))) if self._weighted else 1.0
        weights[chosen] = self._rarity[chosen] * value
        sums = np.bincount(self._mentioning, weights[self._mentions.indices], self._mentions.row_count)
        scores = np.where(allowed, sums, 0.0)
        candidates = np.flatnonzero(scores > 0)
        similarity = np.zeros(len(candidates)) if self._vectors is None else self._vectors.rows(candidates) @ vector
        ranked = candidates[np.lexsort((candidates, -similarity, -scores[candidates]))[:k]]
        node_of_entity = np.full(len(weights), -1, dtype=np.int64)
        node_of_entity[chosen] = best
        return RankedPassages(
            tuple((int(p), float(scores[p])) for p in ranked),
            tuple(self._strongest_entity(int(p), weights, node_of_entity) for p in ranked),
        )

    def _strongest_entity(self, passage: int, weights: NDArray[np.float64], node_of_entity: NDArray[np.int64]) -> int:
        mentioned = self._mentions.row(passage)
        return int(node_of_entity[mentioned[int(np.argmax(weights[mentioned]))]])
