"""Batches of question graphs as arrays: the input of the graph neural network, in training and in search."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, FloatArray, LongArray
from clew.graph.snapshot.relational_edges import RelationalEdges
from clew.inference.query_network import QueryBatch, QueryGNNSettings
from clew.inference.relational_sums import SortedEdges
from clew.retrievers.gfm.passage_graphs import QuestionGraph


@dataclass(frozen=True, slots=True, eq=False)
class GraphBatch:
    """Graphs of b questions over one index, n nodes in all."""

    query: QueryBatch  # relations 0 to u - 1 are those in `relations`, u to 2 u - 1 their inverses
    relations: LongArray  # (u,) the relations of the index that occur, ascending
    relation_count: int  # number of relations of the index
    targets: BoolArray  # (n,) whether a node is ranked

    def needed_relations(self, settings: QueryGNNSettings) -> LongArray:
        """Return the relations whose vectors a model reads: those that occur, and unless it learns inverses theirs.

        They are (u,) or (2 u,): the inverses are numbered from `relation_count`.
        """
        if settings.learned_inverse:
            return self.relations
        return np.concatenate([self.relations, self.relations + self.relation_count])


class WholeGraph:
    """The sorted edges of a whole graph, which all questions about it share."""

    def __init__(self) -> None:
        self._edges: SortedEdges | None = None

    def sort(
        self, senders: LongArray, relations: LongArray, receivers: LongArray, shape: tuple[int, int]
    ) -> SortedEdges:
        """Return edges (m,) sorted, of (nodes, relations) in all; the arguments are the same at every call."""
        if self._edges is None:
            self._edges = SortedEdges(senders, relations, receivers, *shape)
        return self._edges


def collate(
    graphs: Sequence[QuestionGraph],
    vectors: Sequence[FloatArray],
    edges: RelationalEdges,
    whole: "WholeGraph | None" = None,
    texts: FloatArray | None = None,
) -> GraphBatch:
    """Collate b question graphs over the same index, and b question vectors (t,), to one batch.

    `whole` keeps the sorted edges of a single graph with all nodes and edges, for the next question about it. `texts`
    (N, t) are embeddings of all nodes' texts, for networks that read them.
    """
    sizes = [len(graph.nodes) for graph in graphs]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    count = edges.relation_count
    relations = np.concatenate([edges.relations[graph.edges] for graph in graphs])
    inverse = relations >= count
    distinct, positions = np.unique(relations - count * inverse, return_inverse=True)
    graphs_with_starts = list(zip(graphs, starts[:-1], strict=True))
    senders = np.concatenate([graph.senders + start for graph, start in graphs_with_starts])
    receivers = np.concatenate([graph.receivers + start for graph, start in graphs_with_starts])
    own_relations = positions + len(distinct) * inverse
    ends = senders.astype(np.int64), own_relations.astype(np.int64), receivers.astype(np.int64)
    shape = int(starts[-1]), 2 * len(distinct)
    is_all = len(graphs) == 1 and shape[0] == edges.node_count
    is_whole = is_all and len(graphs[0].edges) == len(edges.relations)

    def join(name: str) -> FloatArray:
        rows: FloatArray = np.concatenate([getattr(graph, name) for graph in graphs])
        return rows

    query = QueryBatch(
        whole.sort(*ends, shape) if whole is not None and is_whole else SortedEdges(*ends, *shape),
        np.stack(list(vectors)),
        np.repeat(np.arange(len(graphs)), sizes),
        join("seeds"),
        join("features"),
        join("prior"),
        None if texts is None else (texts if is_all else texts[np.concatenate([graph.nodes for graph in graphs])]),
    )
    return GraphBatch(query, distinct.astype(np.int64), count, np.concatenate([graph.targets for graph in graphs]))
