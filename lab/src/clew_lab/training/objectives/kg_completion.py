"""Knowledge graph completion: predict one end of a fact from the other end and the relation.

No labels are needed: every index is a set of such questions. The queried fact is removed from the graph, so that it
cannot be copied.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.2.2, stage 1.
Differs from the source: only nodes near the known end take part, unless the whole graph is asked for; if the network
scores passages, the queried end is a passage; other true answers are never negatives ("strict", as in the authors'
code).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray, top_order
from clew.errors import InputError
from clew.graph.csr import Adjacency
from clew.graph.ppr.forward_push import NodeAttraction, push_pagerank
from clew.graph.snapshot.relational_edges import induced_edges
from clew.nn.query_gnn import QueryGNN
from clew.retrievers.gfm.batch import collate
from clew.retrievers.gfm.passage_graphs import QuestionGraph
from clew.training.data.gfm_examples import GraphView
from clew.training.hyperparameters import RetrievalLoss
from clew.training.objectives.document_retrieval import compute_logits, retrieval_loss
from clew_lab.graph.power_iteration import power_iteration
from clew_lab.training.hyperparameters import CompletionRecipe

_DAMPING, _EPSILON = 0.7, 1e-4


class CompletionFacts:
    """The facts of one index as questions, on graphs of at most `nodes` nodes, None for the whole graph.

    `question_vectors` (2 R, t) are the text vectors of the relations, followed by those of their inverses. `edges` is
    the graph, and `relations` are the text vectors of the relations as the network reads them.
    """

    def __init__(self, view: GraphView, question_vectors: FloatArray, nodes: int | None) -> None:
        self._view = view
        self._question_vectors = question_vectors
        self._max_nodes = nodes
        edges = view.graphs.edges
        self.edges, self.relations = edges, view.relations
        self._receivers = np.repeat(np.arange(edges.node_count, dtype=np.int32), np.diff(edges.indptr))
        weights = np.ones(len(edges.senders), dtype=np.float32)
        self._neighbours = Adjacency(edges.indptr, edges.senders, weights)
        self._open = np.zeros(0, dtype=bool)

    @cached_property
    def fact_ids(self) -> LongArray:
        """Number (m,) of the fact that each edge states, the same for both directions."""
        edges = self.edges
        back = edges.relations >= edges.relation_count
        heads = np.where(back, edges.senders, self._receivers).astype(np.int64)
        tails = np.where(back, self._receivers, edges.senders).astype(np.int64)
        relations = (edges.relations % edges.relation_count).astype(np.int64)
        return (heads * edges.node_count + tails) * edges.relation_count + relations

    @cached_property
    def queryable_edges(self) -> LongArray:
        """Positions (q,) of the edges whose receiver may be queried, given the sender, ascending."""
        stated: BoolArray = self.edges.triples >= 0
        if not self._view.targets_entities:
            stated &= self._receivers < len(self._view.snapshot.passage_ids)
        return np.flatnonzero(stated)

    def true_answers(self, edge: int) -> IntArray:
        """Return all receivers (n,) of the edge's sender over the edge's relation, ascending."""
        edges = self.edges
        back = (int(edges.relations[edge]) + edges.relation_count) % (2 * edges.relation_count)
        row = slice(edges.indptr[edges.senders[edge]], edges.indptr[edges.senders[edge] + 1])
        answers: IntArray = edges.senders[row][edges.relations[row] == back]
        return np.unique(answers)

    def question_vector(self, edge: int) -> FloatArray:
        """Return the question vector (t,): that of the relation, read from the known end."""
        edges, count = self.edges, self.edges.relation_count
        relation = int(edges.relations[edge])
        # The receiver of an inverse edge is the tail of the fact, which the relation itself asks for.
        row: FloatArray = self._question_vectors[relation - count if relation >= count else relation + count]
        return row

    def question_graph(self, edge: int) -> QuestionGraph:
        """Return the graph around the sender of an edge, without the edge and its inverse."""
        start, target = int(self.edges.senders[edge]), int(self._receivers[edge])
        nodes = self._select_nodes(start, target)
        senders, receivers, positions = induced_edges(self.edges, nodes)
        others = self.fact_ids[positions] != self.fact_ids[edge]  # in neither direction
        senders, receivers, positions = senders[others], receivers[others], positions[others]
        if self._view.targets_entities:
            values = np.zeros(len(nodes), dtype=np.float32)  # not an input of a network that scores entities
        else:
            values = self._walk_values(senders, receivers, len(nodes), int(nodes.searchsorted(start)))
        described = self._view.graphs.describe_nodes(nodes, values, {start: 1.0}, lambda: self.question_vector(edge))
        none = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        return QuestionGraph(nodes, senders, receivers, positions, *described, walk_passages=none, notes=())

    def _select_nodes(self, start: int, target: int) -> IntArray:
        if self._max_nodes is None:
            return np.arange(self.edges.node_count, dtype=np.int32)
        restart = np.array([start], dtype=np.int32), np.ones(1, dtype=np.float32)
        walk = push_pagerank(self._neighbours, restart, NodeAttraction(), self._open, _DAMPING, _EPSILON)
        nodes = walk.nodes
        if len(nodes) > self._max_nodes:
            nodes = nodes[top_order(walk.values, self._max_nodes)]
        return np.union1d(nodes, [start, target]).astype(np.int32)

    def target(self, edge: int) -> int:
        """Return the queried node."""
        return int(self._receivers[edge])

    def _walk_values(self, senders: IntArray, receivers: IntArray, count: int, start: int) -> FloatArray:
        """Return walk values (n,) on the remaining graph; those on the whole graph would leak the answer."""
        order = np.lexsort((receivers, senders))
        indptr = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(senders, minlength=count), out=indptr[1:])
        ones = np.ones(len(senders), dtype=np.float32)
        restart = np.zeros(count)
        restart[start] = 1.0
        graph = Adjacency(indptr, receivers[order].astype(np.int32), ones)
        return power_iteration(graph, restart, _DAMPING).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class CompletionBatch:
    """Queried edges of one index, and the seed of their negatives."""

    facts: CompletionFacts
    edges: tuple[int, ...]
    seed: int


class KGCompletion:
    """Objective of knowledge graph completion (see `clew.training.loop.Objective`); in the paper alpha is 1.

    Facts to train on are given by index. Without facts of validation indexes, a part of those is held out, drawn by
    `seed`.
    """

    no_signal_message = (
        "no fact is left to be completed, so there is nothing to learn from: give an index with more facts"
    )

    def __init__(
        self,
        graphs: Sequence[CompletionFacts],
        loss: RetrievalLoss,
        recipe: CompletionRecipe,
        seed: int = 0,
        validation: Sequence[CompletionFacts] = (),
    ) -> None:
        self._loss = loss
        self._recipe = recipe
        random = np.random.default_rng(seed)
        self._training: list[tuple[CompletionFacts, LongArray]] = []
        self._held_out: list[CompletionBatch] = []
        for facts in validation:
            chosen = random.permutation(facts.queryable_edges)[: recipe.held_out]
            self._held_out += [CompletionBatch(facts, (int(edge),), 0) for edge in chosen]
        for facts in graphs:
            edges = random.permutation(facts.queryable_edges)
            held_out = edges[: 0 if validation else min(recipe.held_out, len(edges) // 10)]
            self._held_out += [CompletionBatch(facts, (int(edge),), 0) for edge in held_out]
            rest = edges[~np.isin(facts.fact_ids[edges], facts.fact_ids[held_out])]
            if len(rest):
                self._training.append((facts, np.sort(rest)))
        if not self._training:
            raise InputError("there are no facts to learn from: the graphs have no edges; give other documents")

    def __len__(self) -> int:
        return self._recipe.steps

    def batches(self, epoch_seed: int) -> Iterator[CompletionBatch]:
        """Yield batches of one index each; indexes are sampled by their number of facts."""
        random = np.random.default_rng(epoch_seed)
        sizes = np.array([len(edges) for _, edges in self._training], dtype=np.float64)
        for index in random.choice(len(sizes), size=self._recipe.steps, p=sizes / sizes.sum()).tolist():
            facts, edges = self._training[index]
            chosen = tuple(int(edge) for edge in random.choice(edges, size=self._recipe.batch))
            yield CompletionBatch(facts, chosen, int(random.integers(2**31)))

    def halve(self, batch: CompletionBatch) -> tuple[CompletionBatch, CompletionBatch] | None:
        """Split a batch; None for a single fact."""
        cut = len(batch.edges) // 2
        if not cut:
            return None
        first = CompletionBatch(batch.facts, batch.edges[:cut], batch.seed)
        return first, CompletionBatch(batch.facts, batch.edges[cut:], batch.seed + 1)

    def loss(self, model: nn.Module, batch: CompletionBatch) -> Tensor | None:
        """Return the mean loss, a scalar, of the facts with at least one negative; None if there are none."""
        assert isinstance(model, QueryGNN)
        random = np.random.default_rng(batch.seed)
        losses: list[Tensor] = []
        for edge, (graph, logits) in zip(batch.edges, self._score_batch(model, batch), strict=True):
            negatives = self._negative_nodes(batch.facts, edge, graph)
            if len(negatives) > self._recipe.negatives:
                negatives = random.choice(negatives, size=self._recipe.negatives, replace=False)
            if len(negatives):
                target = int(graph.nodes.searchsorted(batch.facts.target(edge)))
                chosen = torch.from_numpy(np.concatenate([[target], negatives]).astype(np.int64)).to(logits.device)
                relevant = torch.zeros(len(chosen), dtype=torch.bool, device=logits.device)
                relevant[0] = True
                losses.append(retrieval_loss(self._loss, logits[chosen], relevant))
        return torch.stack(losses).mean() if losses else None

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return the mean reciprocal rank and hits at 10 of the held-out facts; true answers are not ranked against."""
        assert isinstance(model, QueryGNN)
        ranks: list[float] = []
        with torch.inference_mode():
            for batch in self._held_out:
                graph, logits = self._score_batch(model, batch)[0]
                negatives = logits[torch.from_numpy(self._negative_nodes(batch.facts, batch.edges[0], graph))]
                target = logits[int(graph.nodes.searchsorted(batch.facts.target(batch.edges[0])))]
                ranks.append(1.0 + float((negatives > target).sum()) + 0.5 * float((negatives == target).sum()))
        if not ranks:
            return {}
        table = np.array(ranks)
        return {"reciprocal rank": float((1.0 / table).mean()), "hits@10": float((table <= 10).mean())}

    def _score_batch(self, model: QueryGNN, batch: CompletionBatch) -> list[tuple[QuestionGraph, Tensor]]:
        graphs = [batch.facts.question_graph(edge) for edge in batch.edges]
        vectors = [batch.facts.question_vector(edge) for edge in batch.edges]
        logits = compute_logits(model, collate(graphs, vectors, batch.facts.edges), batch.facts.relations)
        return list(zip(graphs, torch.split(logits, [len(graph.nodes) for graph in graphs]), strict=True))

    @staticmethod
    def _negative_nodes(facts: CompletionFacts, edge: int, graph: QuestionGraph) -> LongArray:
        """Return the target nodes of a graph other than the true answers and the known end."""
        negative = graph.targets & ~np.isin(graph.nodes, facts.true_answers(edge)) & (graph.seeds == 0)
        return np.flatnonzero(negative)
