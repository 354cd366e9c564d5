"""Triples of the edges of the published graphs: of entities alone, or of passages and all entities."""

import numpy as np

from clew.arrays import BoolArray
from clew.graph.snapshot.relational_edges import EQUIVALENT_RELATION, RelationalEdges
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import label_among
from clew.retrievers.gfm.explanations import EdgePathBuilder
from clew.retrievers.gfm.passage_graphs import QuestionGraph
from clew.retrievers.gfm.settings import Targets
from clew.types import Triple


class NodePathBuilder(EdgePathBuilder):
    """Converts edges of a question's graph to triples; `nodes` are those of the graph.

    These are passages and what joins them (`passage_graph`), passages and all entities (`mention_graph`), or entities
    alone.
    """

    def __init__(self, snapshot: Snapshot, edges: RelationalEdges, nodes: Targets) -> None:
        super().__init__(snapshot, edges)
        self.scores_entities = nodes == "entities"
        first = 0 if self.scores_entities else len(snapshot.passage_ids)
        if nodes != "passages":
            self.entity_nodes = np.arange(first, first + len(snapshot.entities), dtype=np.int32)

    def build_triple(self, graph: QuestionGraph, edge: int, allowed: BoolArray) -> Triple:
        """Return the triple of an edge, with the allowed passages (P,) that state it; two names may be equivalent."""
        position, count = int(graph.edges[edge]), self.edges.relation_count
        if self.edges.triples[position] >= 0 or self.edges.relations[position] % count != count - 1:
            return super().build_triple(graph, edge, allowed)
        head, tail = self.ends(graph, edge)
        return Triple(self._compared_name(head, allowed), EQUIVALENT_RELATION, self._compared_name(tail, allowed))

    def node_name(self, node: int, allowed: BoolArray | None = None) -> str:
        """Return the name of a node of the whole graph: an entity, as allowed passages (P,) write it, or a title."""
        return label_among(self.snapshot, node, allowed) if self.scores_entities else super().node_name(node, allowed)

    def _compared_name(self, node: int, allowed: BoolArray) -> str:
        """Return the name of a node that was compared with others, "" where allowed passages (P,) write another."""
        label = self.node_name(node, allowed)
        return label if allowed.all() or label == self.node_name(node) else ""


def scores_entities(builder: EdgePathBuilder) -> bool:
    """Return whether all nodes of the graph of a builder are entities."""
    return isinstance(builder, NodePathBuilder) and builder.scores_entities
