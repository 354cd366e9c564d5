"""Explanations of a ranking: the walks whose edges contribute most to the score of a passage.

Every edge has a weight of 1 at every layer; the gradient of the passage's own logit with respect to these weights,
through the function that ranked it, is the importance of each edge.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 4.8.
Differs from the source: the function explained is the one that ranked.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.graph.paths.likeliest_walks import best_walks
from clew.graph.snapshot.relational_edges import MENTIONS_RELATION, RelationalEdges
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import are_tied, find_spelling, label_among
from clew.retrievers.gfm.batch import GraphBatch
from clew.retrievers.gfm.passage_graphs import QuestionGraph
from clew.types import Triple

OVERSAMPLING = 4  # factor of walks that are searched, since walks that revisit a node are dropped
ImportantWalk = tuple[float, tuple[int, ...]]
"""Importance, and positions of the edges in a question's graph, in order."""


def most_important_walks(
    edge_importances: Callable[[GraphBatch, Sequence[int]], list[FloatArray]],
    batch: GraphBatch,
    graph: QuestionGraph,
    targets: Sequence[int],
    count: int,
) -> list[ImportantWalk]:
    """Return the `count` most important walks from the named nodes to each target that is not named itself.

    Only walks that raise the target's score are returned, and none that visits a node twice: the shorter walk without
    the loop explains as much. `edge_importances` returns for each target the importance (layers, m) of the m edges of
    the batch for its score.
    """
    starts = np.flatnonzero(graph.seeds)
    targets = [target for target in targets if not graph.seeds[target]]
    walks: list[ImportantWalk] = []
    if not len(starts) or not len(graph.edges) or not len(targets):
        return walks
    order = batch.query.edges.order
    for target, importance in zip(targets, edge_importances(batch, targets), strict=True):
        by_edge = np.empty_like(importance)
        by_edge[:, order] = importance
        candidates = best_walks(graph.senders, graph.receivers, by_edge, starts, target, OVERSAMPLING * count)
        simple = [(score, edges) for score, edges in candidates if score > 0 and _is_simple(graph, edges)]
        walks += simple[:count]
    return walks


def _is_simple(graph: QuestionGraph, edges: tuple[int, ...]) -> bool:
    nodes = [int(graph.senders[edges[0]]), *(int(graph.receivers[edge]) for edge in edges)]
    return len(set(nodes)) == len(nodes)


class EdgePathBuilder:
    """Converts edges of a question's graph, whose nodes are those of `passage_graph`, to triples."""

    def __init__(self, snapshot: Snapshot, edges: RelationalEdges) -> None:
        self.snapshot = snapshot
        self.edges = edges
        self.entity_nodes = snapshot.entity_nodes

    @cached_property
    def _by_node(self) -> tuple[LongArray, IntArray]:
        order = np.argsort(self.entity_nodes, kind="stable")
        return order, self.entity_nodes[order]

    def build_triple(self, graph: QuestionGraph, edge: int, allowed: BoolArray) -> Triple:
        """Return the triple of an edge in its own direction, as the allowed passages (P,) that state it write it."""
        triple = int(self.edges.triples[graph.edges[edge]])
        if triple >= 0:
            return self.snapshot.triple(triple, allowed)
        head, tail = self.ends(graph, edge)
        label, s = self.node_name(tail, allowed), self.snapshot
        entity = int(s.title_entities[tail]) if tail < len(s.passage_ids) else self._entity(tail)
        name = find_spelling(s, head, entity, allowed) if entity >= 0 else ""
        is_other = name not in ("", label) and are_tied(s, entity, label, name, allowed)
        passages = (s.passage_ids[head],)
        other = label if is_other else ""
        return Triple(self.node_name(head), MENTIONS_RELATION, name or label, passages, tail_name=other)

    def ends(self, graph: QuestionGraph, edge: int) -> tuple[int, int]:
        """Return the nodes of the whole graph that an edge's relation leads from and to."""
        ends = int(graph.nodes[graph.receivers[edge]]), int(graph.nodes[graph.senders[edge]])
        return ends if self.edges.relations[graph.edges[edge]] < self.edges.relation_count else ends[::-1]

    def node_name(self, node: int, allowed: BoolArray | None = None) -> str:
        """Return the name of a node of the whole graph: an entity, as allowed passages (P,) write it, or a title."""
        if node < len(self.snapshot.passage_ids):
            return self.snapshot.titles[node] or self.snapshot.passage_ids[node]
        return label_among(self.snapshot, self._entity(node), allowed)

    def _entity(self, node: int) -> int:
        order, nodes = self._by_node
        return int(order[nodes.searchsorted(node)])
