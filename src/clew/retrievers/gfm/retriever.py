"""GFM-RAG: a graph neural network that has never seen the corpus ranks its passages in one step.

The nodes near what a question asks about are chosen by a walk; the network passes messages along their relations and
gives each a logit, from which a ranker orders the passages. The projections of relations depend on no question and are
kept with the snapshot.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025).
Differs from the source: only the nodes near the question take part unless all are asked for; with the shipped weights
passages are nodes, are scored directly, and nodes bring features and a prior; no language model.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from clew.models.torch_threads import one_thread, worker_count
from clew.protocols import Encoder
from clew.query.graph_walk import NO_MATCH
from clew.query.linking import link_question
from clew.query.scope import Scope
from clew.retrievers.evidence import EMPTY_QUESTION, check_k, make_evidence
from clew.retrievers.gfm.batch import GraphBatch, collate
from clew.retrievers.gfm.explanations import EdgePathBuilder, most_important_walks
from clew.retrievers.gfm.passage_graphs import QuestionGraph, QuestionGraphBuilder
from clew.retrievers.gfm.passage_ranking import Ranker
from clew.types import Evidence, Filter, Path, Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from clew.nn.query_gnn import QueryGNN
    from clew.types import BoolArray, FloatArray

_ONE_THREAD_NODES = 5_000  # beyond this two cores are faster than one


class GFMRetriever:
    """Ranks passages by the network's logits.

    Args:
        scope: What is searched.
        encoder: The one the network was trained with.
        graphs: Makes the graphs of questions.
        model: The network.
        relation_projections: Projections (.., layers, width) of the index's relations, and of their inverses after
            them where the
            model has no learned inverse; float16 or float32.
        ranker: Orders the passages.
        path_builder: Reads edges as triples.
        paths_per_passage: How many paths explain each passage; each costs a backward pass.
        fingerprint: What tells these weights from others.
    """

    def __init__(
        self,
        scope: Scope,
        encoder: Encoder,
        graphs: QuestionGraphBuilder,
        model: "QueryGNN",
        relation_projections: "NDArray[Any]",
        ranker: Ranker,
        path_builder: EdgePathBuilder,
        paths_per_passage: int = 1,
        fingerprint: str = "",
    ) -> None:
        self.fingerprint = fingerprint
        self._scope = scope
        self._encoder = encoder
        self._graphs = graphs
        self._model = model
        self._relation_projections = relation_projections
        self._ranker = ranker
        self._path_builder = path_builder
        self._paths_per_passage = paths_per_passage
        self._encoder_thread = ThreadPoolExecutor(1, thread_name_prefix="clew-encode")

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question.

        Several questions are scored on all cores, each in one thread: side by side in one product their scores would
        depend on their neighbours in the last bits. A single one is encoded while its walk goes on.
        """
        check_k(k)
        allowed = self._scope.mask(where)
        if len(questions) < 2:
            return [self._retrieve_one(question, k, allowed, self._encoder_thread) for question in questions]
        with ThreadPoolExecutor(worker_count()) as pool:
            return list(pool.map(lambda question: self._retrieve_one(question, k, allowed, None), questions))

    def logits(self, batch: GraphBatch, edge_weights: "Sequence[Tensor] | None" = None) -> "Tensor":
        """Return a logit (n,) for each node of a batch, differentiable in the weights of the edges when given."""
        wanted = batch.needed_relations(self._model)
        rows = torch.from_numpy(np.asarray(self._relation_projections[wanted], dtype=np.float32))
        small = len(batch.seeds) < _ONE_THREAD_NODES
        with torch.set_grad_enabled(edge_weights is not None), one_thread() if small else nullcontext():
            return batch.logits(self._model, rows, edge_weights)

    def _retrieve_one(self, question: str, k: int, allowed: "BoolArray", beside: ThreadPoolExecutor | None) -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return make_evidence((), (), (EMPTY_QUESTION,), started)
        if beside is None:
            vector = self._encode_question(question)
            graph = self._graphs.build(link_question(self._scope.snapshot, question), lambda: vector, allowed)
        else:
            coming = beside.submit(self._encode_question, question)
            graph = self._graphs.build(link_question(self._scope.snapshot, question), coming.result, allowed)
            vector = coming.result()
        if not graph.targets.any():
            return make_evidence((), (), (*graph.notes, NO_MATCH), started)
        batch = collate([graph], [vector], self._graphs.edges)
        ranked = self._ranker.rank(graph, self.logits(batch).numpy(), vector, k, allowed)
        targets = list(dict.fromkeys(node for node in ranked.nodes if node >= 0))
        paths = self._explain(batch, graph, targets, allowed) if self._paths_per_passage else ()
        return make_evidence(self._scope.scored_passages(ranked.passages), paths, graph.notes, started)

    def _encode_question(self, question: str) -> "FloatArray":
        # A lone surrogate, which no encoder takes, counts as a question mark.
        vector: FloatArray = self._encoder.encode_queries([question.encode(errors="replace").decode()])[0]
        return vector

    def _explain(
        self, batch: GraphBatch, graph: QuestionGraph, targets: Sequence[int], allowed: "BoolArray"
    ) -> tuple[Scored[Path], ...]:
        walks = most_important_walks(
            self.logits, batch, graph, targets, self._paths_per_passage, self._model.settings.layers
        )
        read = [Scored(self._path_builder.build_path(graph, edges, allowed), score) for score, edges in walks]
        return tuple(sorted((path for path in read if path.item), key=lambda path: -path.score))
