"""GFM-RAG: a graph neural network that has never seen the corpus ranks its passages in one step.

A question's walk chooses the nodes near what it asks about; the network passes messages along their relations and gives
each passage a logit, starting from the walk's own ranking. The projections of relations depend on no question and are
kept with the snapshot.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025).
Differs from the source: passages are nodes and are scored directly; only the nodes near the question's walk take part
unless all are asked for; nodes bring features and a prior; no language model.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from clew.graph.relations import RelationalEdges
from clew.models.one_thread import one_thread, workers
from clew.protocols import Encoder
from clew.ranks import top_order
from clew.retrievers.gfm_batch import Batch, side_by_side
from clew.retrievers.gfm_paths import PathReader, walks_by_importance
from clew.retrievers.question_graph import QuestionGraph, QuestionGraphs
from clew.retrievers.question_walk import NOTHING, Walker
from clew.retrievers.scope import EMPTY_QUESTION, check_k, found
from clew.types import Evidence, Filter, Path, Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from clew.nn.query_gnn import QueryGNN
    from clew.types import BoolArray

SOFT = "the question names nothing in the index: the passages nearest in meaning stand in for names"
_ONE_THREAD_NODES = 5_000  # beyond this two cores are faster than one


class GFMRetriever:
    """Ranks passages by the network's logits.

    Args:
        walker: Walks from questions through the index.
        encoder: The one the network was trained with.
        edges: The graph of passages.
        model: The network.
        projected: (R, layers, width) projections of the index's relations, float16 or float32.
        size: How many nodes a question's graph has at most; None for the whole graph.
        paths: How many paths explain each passage; each costs a backward pass.
    """

    def __init__(
        self,
        walker: Walker,
        encoder: Encoder,
        edges: RelationalEdges,
        model: "QueryGNN",
        projected: "NDArray[Any]",
        size: int | None,
        paths: int = 1,
    ) -> None:
        self._walker = walker
        self._scope = walker.scope
        self._encoder = encoder
        self._model = model
        self._projected = projected
        self._paths = paths
        self._graphs = QuestionGraphs(edges, walker.scope.snapshot, size)
        self._reader = PathReader(walker.scope.snapshot, edges)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question.

        Several questions are scored on all cores, each in one thread: side by side in one product their scores would
        depend on their neighbours in the last bits.
        """
        check_k(k)
        allowed = self._scope.mask(where)
        if len(questions) < 2:
            return [self._one(question, k, allowed) for question in questions]
        with ThreadPoolExecutor(workers()) as pool:
            return list(pool.map(lambda question: self._one(question, k, allowed), questions))

    def logits(self, batch: Batch, edge_weights: "Sequence[Tensor] | None" = None) -> "Tensor":
        """Return a logit (n,) for each node of a batch, differentiable in the weights of the edges when given."""
        rows = torch.from_numpy(np.asarray(self._projected[batch.relations], dtype=np.float32))
        small = len(batch.seeds) < _ONE_THREAD_NODES
        with torch.set_grad_enabled(edge_weights is not None), one_thread() if small else nullcontext():
            return batch.logits(self._model, rows, edge_weights)

    def _one(self, question: str, k: int, allowed: "BoolArray") -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return found((), (), (EMPTY_QUESTION,), started)
        walk = self._walker.walk(question, allowed)
        # A lone surrogate, which no encoder takes, counts as a question mark.
        vector = self._encoder.encode_queries([question.encode(errors="replace").decode()])[0]
        graph = self._graphs.of(walk, vector, allowed)
        own = np.flatnonzero(graph.passages)
        if not len(own):
            return found((), (), (*walk.notes, NOTHING), started)
        batch = side_by_side([graph], [vector], self._graphs.edges)
        values = self.logits(batch).numpy()[own]
        best = own[top_order(values, k)]
        scores = 1.0 / (1.0 + np.exp(-np.sort(values)[::-1][: len(best)].astype(np.float64)))
        ranked = [(int(node), float(score)) for node, score in zip(graph.nodes[best], scores, strict=True)]
        paths = self._explained(batch, graph, best.tolist(), allowed) if self._paths else ()
        notes = (*walk.notes, *((SOFT,) if graph.soft else ()))
        return found(self._scope.passages(ranked), paths, notes, started)

    def _explained(
        self, batch: Batch, graph: QuestionGraph, targets: Sequence[int], allowed: "BoolArray"
    ) -> tuple[Scored[Path], ...]:
        walks = walks_by_importance(self.logits, batch, graph, targets, self._paths, self._model.settings.layers)
        read = [Scored(self._reader.path(graph, edges, allowed), score) for score, edges in walks]
        return tuple(sorted((path for path in read if path.item), key=lambda path: -path.score))
