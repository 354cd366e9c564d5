"""Questions' graphs side by side as tensors: what the graph neural network is given, in training and in search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from clew.nn.relational.graph import RelationalGraph

if TYPE_CHECKING:
    from torch import Tensor

    from clew.graph.snapshot.relational_edges import RelationalEdges
    from clew.nn.query_gnn import QueryGNN
    from clew.retrievers.gfm.passage_graphs import QuestionGraph
    from clew.types import FloatArray, LongArray


@dataclass(frozen=True, slots=True, eq=False)
class GraphBatch:
    """Graphs of b questions over one index, n nodes in all.

    Attributes:
        graph: Its relations are numbered anew: below u as in `relations`, u and above for their inverses.
        relations: (u,) the relations of the index that occur, ascending.
        relation_count: How many relations the index has.
        questions: (b, t).
        owners: (n,) the question of each node.
        seeds: (n,).
        features: (n, f).
        prior: (n,).
        targets: (n,) nodes that are ranked.
    """

    graph: RelationalGraph
    relations: "LongArray"
    relation_count: int
    questions: "Tensor"
    owners: "Tensor"
    seeds: "Tensor"
    features: "Tensor"
    prior: "Tensor"
    targets: "Tensor"

    def needed_relations(self, model: "QueryGNN") -> "LongArray":
        """Return the relations whose vectors a model wants.

        They are those that occur, and after them their inverses, numbered from `relation_count`, unless the model has a
        learned inverse.
        """
        if model.settings.learned_inverse:
            return self.relations
        return np.concatenate([self.relations, self.relations + self.relation_count])

    def to(self, device: "torch.device") -> "GraphBatch":
        """Return the batch on another device."""
        if self.seeds.device == device:
            return self
        tensors = (self.questions, self.owners, self.seeds, self.features, self.prior, self.targets)
        moved = (part.to(device) for part in tensors)
        return GraphBatch(self.graph.to(device), self.relations, self.relation_count, *moved)

    def logits(
        self, model: "QueryGNN", projected: "Tensor", edge_weights: "Sequence[Tensor] | None" = None
    ) -> "Tensor":
        """Return a logit for each node, (n,), given the projections of the relations `needed`, (.., layers, width)."""
        learned = model.settings.learned_inverse
        both = torch.cat([projected, model.project_inverses(projected)]) if learned else projected
        return model(  # type: ignore[no-any-return]
            self.graph, both, self.questions, self.owners, self.seeds, self.features, self.prior, edge_weights
        )


def collate(graphs: "Sequence[QuestionGraph]", vectors: "Sequence[FloatArray]", edges: "RelationalEdges") -> GraphBatch:
    """Return the graphs of questions as one.

    Args:
        graphs: b, over the same index.
        vectors: b question vectors (t,).
        edges: The index's.
    """
    sizes = [len(graph.nodes) for graph in graphs]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    count = edges.relation_count
    relations = np.concatenate([edges.relations[graph.edges] for graph in graphs])
    inverse = relations >= count
    used, places = np.unique(relations - count * inverse, return_inverse=True)
    pairs = list(zip(graphs, starts[:-1], strict=True))
    senders = np.concatenate([graph.senders + start for graph, start in pairs])
    receivers = np.concatenate([graph.receivers + start for graph, start in pairs])
    ends = (
        torch.from_numpy(senders.astype(np.int64)),
        torch.from_numpy((places + len(used) * inverse).astype(np.int64)),
        torch.from_numpy(receivers.astype(np.int64)),
    )
    together = RelationalGraph(ends, int(starts[-1]), 2 * len(used))
    return GraphBatch(
        together,
        used.astype(np.int64),
        count,
        torch.from_numpy(np.stack(list(vectors))),
        torch.from_numpy(np.repeat(np.arange(len(graphs)), sizes)),
        *(
            torch.from_numpy(np.concatenate([getattr(graph, name) for graph in graphs]))
            for name in ("seeds", "features", "prior", "targets")
        ),
    )
