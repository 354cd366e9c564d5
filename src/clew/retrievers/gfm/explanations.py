"""Why the network ranked a passage where it did: the walks whose edges its score leans on most.

A weight of 1 stands on every edge at every layer; the gradient of the passage's own logit by these weights, through the
very function that ranked it, says how much the score leans on each.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 4.8.
Differs from the source: the function explained is the one that ranked.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from clew.graph.paths.layered_walks import best_walks
from clew.graph.snapshot.relational_edges import EQUIVALENT_RELATION, MENTIONS_RELATION, RelationalEdges
from clew.graph.snapshot.snapshot import Snapshot
from clew.types import Path, Triple

if TYPE_CHECKING:
    from torch import Tensor

    from clew.retrievers.gfm.batch import GraphBatch
    from clew.retrievers.gfm.passage_graphs import QuestionGraph
    from clew.types import BoolArray, FloatArray

_OVERSAMPLING = 4  # times as many walks are looked for, since some come back to where they were
ImportantWalk = tuple[float, tuple[int, ...]]
"""Importance, and positions of edges in a question's graph, in order."""


def edge_importances(
    logits: "Callable[[GraphBatch, Sequence[Tensor]], Tensor]", batch: "GraphBatch", targets: Sequence[int], layers: int
) -> "list[FloatArray]":
    """Return for each target node how much its logit leans on each edge at each layer, (layers, m)."""
    weights = [torch.ones(batch.graph.edge_count, requires_grad=True) for _ in range(layers)]
    scores = logits(batch, weights)
    found = []
    for number, target in enumerate(targets):
        again = number + 1 < len(targets)
        gradients = torch.autograd.grad(scores[target], weights, retain_graph=again, allow_unused=True)
        rows = [torch.zeros(batch.graph.edge_count) if g is None else g for g in gradients]
        found.append(torch.stack(rows).numpy())
    return found


def most_important_walks(
    logits: "Callable[[GraphBatch, Sequence[Tensor]], Tensor]",
    batch: "GraphBatch",
    graph: "QuestionGraph",
    targets: Sequence[int],
    count: int,
    layers: int,
) -> list[ImportantWalk]:
    """Return the best walks from what the question names to each target that it does not name itself.

    Only walks that raise the target's score explain why it was found; one that comes back to where it was explains
    nothing that the shorter one does not.
    """
    starts = np.flatnonzero(graph.seeds)
    targets = [target for target in targets if not graph.seeds[target]]
    found: list[ImportantWalk] = []
    if not len(starts) or not len(graph.edges) or not len(targets):
        return found
    order = batch.graph.order.numpy()
    for target, leaning in zip(targets, edge_importances(logits, batch, targets, layers), strict=True):
        by_edge = np.empty_like(leaning)
        by_edge[:, order] = leaning
        walks = best_walks(graph.senders, graph.receivers, by_edge, starts, target, _OVERSAMPLING * count)
        straight = [(score, edges) for score, edges in walks if score > 0 and _is_simple(graph, edges)]
        found += straight[:count]
    return found


def _is_simple(graph: "QuestionGraph", edges: tuple[int, ...]) -> bool:
    nodes = [int(graph.senders[edges[0]]), *(int(graph.receivers[edge]) for edge in edges)]
    return len(set(nodes)) == len(nodes)


class EdgePathBuilder:
    """Reads the edges of a question's graph as triples.

    Args:
        snapshot: The index.
        edges: The whole graph.
        entities: Whether its nodes are entities; else the first of them are passages.
    """

    def __init__(self, snapshot: Snapshot, edges: RelationalEdges, *, entities: bool = False) -> None:
        self._snapshot = snapshot
        self._edges = edges
        self._entities = entities
        order = np.argsort(snapshot.entity_nodes, kind="stable")
        self._by_node = order, snapshot.entity_nodes[order]

    def build_path(self, graph: "QuestionGraph", walk: Sequence[int], allowed: "BoolArray") -> Path:
        """Return the triples of a walk in its order; a triple reads as it was stated, whichever way it was walked."""
        return tuple(self._triple(graph, edge, allowed) for edge in walk)

    def _triple(self, graph: "QuestionGraph", edge: int, allowed: "BoolArray") -> Triple:
        position = int(graph.edges[edge])
        triple = int(self._edges.triples[position])
        if triple >= 0:
            return self._snapshot.triple(triple, allowed)
        ends = int(graph.nodes[graph.receivers[edge]]), int(graph.nodes[graph.senders[edge]])
        head, tail = ends if self._edges.relations[position] < self._edges.relation_count else ends[::-1]
        if self._edges.relations[position] % self._edges.relation_count == self._edges.relation_count - 1:
            return Triple(self._name(head), EQUIVALENT_RELATION, self._name(tail))
        return Triple(self._name(head), MENTIONS_RELATION, self._name(tail), (self._snapshot.passage_ids[head],))

    def _name(self, node: int) -> str:
        if self._entities:
            return self._snapshot.entities[node]
        if node < len(self._snapshot.passage_ids):
            return self._snapshot.titles[node] or self._snapshot.passage_ids[node]
        order, nodes = self._by_node
        return self._snapshot.entities[int(order[nodes.searchsorted(node)])]
