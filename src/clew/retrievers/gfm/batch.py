"""Batches of question graphs as tensors: the input of the graph neural network, in training and in search."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clew.arrays import FloatArray, LongArray
from clew.graph.snapshot.relational_edges import RelationalEdges
from clew.nn.query_gnn import QueryGNN
from clew.nn.relational.graph import RelationalGraph
from clew.retrievers.gfm.passage_graphs import QuestionGraph


@dataclass(frozen=True, slots=True, eq=False)
class GraphBatch:
    """Graphs of b questions over one index, n nodes in all."""

    graph: RelationalGraph  # the edges; relations 0 to u - 1 are those in `relations`, u to 2 u - 1 their inverses
    relations: LongArray  # (u,) the relations of the index that occur, ascending
    relation_count: int  # number of relations of the index
    questions: Tensor  # (b, t) question vectors
    owners: Tensor  # (n,) the question of each node
    seeds: Tensor  # (n,) as in `QuestionGraph`
    features: Tensor  # (n, f) as in `QuestionGraph`
    prior: Tensor  # (n,) as in `QuestionGraph`
    targets: Tensor  # (n,) whether a node is ranked

    def needed_relations(self, model: QueryGNN) -> LongArray:
        """Return the relations whose vectors a model reads: those that occur, and unless it learns inverses theirs.

        The inverses are numbered from `relation_count`.
        """
        if model.settings.learned_inverse:
            return self.relations
        return np.concatenate([self.relations, self.relations + self.relation_count])

    def to(self, device: torch.device) -> "GraphBatch":
        """Return the batch on another device."""
        if self.seeds.device == device:
            return self
        tensors = (self.questions, self.owners, self.seeds, self.features, self.prior, self.targets)
        moved = (tensor.to(device) for tensor in tensors)
        return GraphBatch(self.graph.to(device), self.relations, self.relation_count, *moved)

    def logits(self, model: QueryGNN, projected: Tensor, edge_weights: Sequence[Tensor] | None = None) -> Tensor:
        """Return a logit (n,) for each node, given projections (.., layers, width) of the `needed_relations`."""
        has_learned_inverse = model.settings.learned_inverse
        all_projections = (
            torch.cat([projected, model.project_inverses(projected)]) if has_learned_inverse else projected
        )
        return model(  # type: ignore[no-any-return]
            self.graph,
            all_projections,
            self.questions,
            self.owners,
            self.seeds,
            self.features,
            self.prior,
            edge_weights,
        )


def collate(graphs: Sequence[QuestionGraph], vectors: Sequence[FloatArray], edges: RelationalEdges) -> GraphBatch:
    """Collate b question graphs over the same index, and b question vectors (t,), to one batch."""
    sizes = [len(graph.nodes) for graph in graphs]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    count = edges.relation_count
    relations = np.concatenate([edges.relations[graph.edges] for graph in graphs])
    inverse = relations >= count
    distinct, positions = np.unique(relations - count * inverse, return_inverse=True)
    graphs_with_starts = list(zip(graphs, starts[:-1], strict=True))
    senders = np.concatenate([graph.senders + start for graph, start in graphs_with_starts])
    receivers = np.concatenate([graph.receivers + start for graph, start in graphs_with_starts])
    ends = (
        torch.from_numpy(senders.astype(np.int64)),
        torch.from_numpy((positions + len(distinct) * inverse).astype(np.int64)),
        torch.from_numpy(receivers.astype(np.int64)),
    )
    combined = RelationalGraph(ends, int(starts[-1]), 2 * len(distinct))
    return GraphBatch(
        combined,
        distinct.astype(np.int64),
        count,
        torch.from_numpy(np.stack(list(vectors))),
        torch.from_numpy(np.repeat(np.arange(len(graphs)), sizes)),
        *(
            torch.from_numpy(np.concatenate([getattr(graph, name) for graph in graphs]))
            for name in ("seeds", "features", "prior", "targets")
        ),
    )
