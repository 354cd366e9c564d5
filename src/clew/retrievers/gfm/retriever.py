"""GFM-RAG: a graph neural network that has never seen the corpus ranks its passages in one step.

A walk selects the nodes near the question's names; the network passes messages along their relations and gives each
node a logit, by which a ranker orders the passages. The projections of relations do not depend on the question and are
cached with the snapshot.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025).
Differs from the source: only the nodes near the question take part unless all are requested; with the shipped weights
passages are nodes, are scored directly, and nodes have features and a prior; no language model.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray
from clew.inference.query_network import QueryBatch, QueryGNNSettings
from clew.models.threads import BackgroundThread, worker_count
from clew.models.validation import replace_surrogates
from clew.plugins.tracing import trace_calls
from clew.protocols import Encoder
from clew.query.graph_walk import NO_MATCH
from clew.query.linking import LinkedQuestion
from clew.query.question_vectors import PendingVector, link_and_encode
from clew.query.scope import Scope
from clew.retrievers.evidence import ChainQuoter, check_k, empty_question_evidence, make_evidence
from clew.retrievers.gfm.batch import GraphBatch, WholeGraph, collate
from clew.retrievers.gfm.explanations import EdgePathBuilder, most_important_walks
from clew.retrievers.gfm.passage_graphs import QuestionGraph, QuestionGraphBuilder
from clew.retrievers.gfm.passage_ranking import Ranker
from clew.types import Evidence, Filter, Path, Scored, SentenceChain

_ONE_THREAD_NODES = 5_000  # beyond this several cores are faster than one


class GraphNetwork(Protocol):
    """A trained network over question graphs, as `QueryNetwork` is."""

    settings: QueryGNNSettings

    def with_inverses(self, projected: FloatArray) -> FloatArray:
        """Return projections (R, layers, width) followed by those of the inverses, (2R, layers, width)."""

    def logits(self, batch: QueryBatch, relations: FloatArray, workers: int = 1) -> FloatArray:
        """Return a logit (n,) for each node, from projections of the batch's relations."""

    def edge_importances(self, batch: QueryBatch, relations: FloatArray, targets: Sequence[int]) -> list[FloatArray]:
        """Return for each target node the gradient (layers, m) of its logit in the weights of the edges."""


@dataclass(frozen=True, slots=True, eq=False)
class GFMRetriever:
    """Ranks passages by the network's logits."""

    scope: Scope
    encoder: Encoder  # the encoder that the network was trained with
    graphs: QuestionGraphBuilder  # builds the graphs of questions
    model: GraphNetwork
    relation_projections: NDArray[Any]  # projections (n, layers, width) of vectors of relations; float16 or float32
    # (R,) the row of each relation among these, or (2 R,) with their inverses where the model does not learn those
    relation_rows: IntArray
    ranker: Ranker  # ranks the passages
    path_builder: EdgePathBuilder  # converts edges to triples
    paths_per_passage: int = 1  # number of paths that explain each passage; each costs a backward pass
    fingerprint: str = ""  # identifier of the weights
    quoter: ChainQuoter | None = None  # quotes chains; None where none are shown
    node_texts: FloatArray | None = None  # (N, t) text embeddings of all nodes, where the network reads them
    _whole_graph: WholeGraph = field(init=False, default_factory=WholeGraph)
    _encoder_thread: BackgroundThread = field(init=False, default_factory=partial(BackgroundThread, "clew-encode"))

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question.

        Several questions are scored on all cores, each in its own thread: scored in one batch, the last bits of a score
        would depend on the other questions. A question that is alone is encoded while its walk runs.
        """
        check_k(k, questions)
        allowed = self.scope.mask(where)
        if len(questions) < 2:
            with self._encoder_thread.borrow() as thread:
                return [self._retrieve_one(question, k, allowed, thread) for question in questions]
        with ThreadPoolExecutor(worker_count()) as pool:
            return list(pool.map(lambda question: self._retrieve_one(question, k, allowed, None), questions))

    def collate(self, graph: QuestionGraph, vector: FloatArray) -> GraphBatch:
        """Return the batch of one question, given its graph and its vector (t,)."""
        return collate([graph], [vector], self.graphs.edges, self._whole_graph, self.node_texts)

    @trace_calls("clew.network")
    def logits(self, batch: GraphBatch) -> FloatArray:
        """Return a logit (n,) for each node of a batch."""
        workers = 1 if len(batch.targets) < _ONE_THREAD_NODES else worker_count()
        return self.model.logits(batch.query, self._projections(batch), workers)

    def edge_importances(self, batch: GraphBatch, targets: Sequence[int]) -> list[FloatArray]:
        """Return for each target node the importance (layers, m) of each edge at each layer for its logit."""
        return self.model.edge_importances(batch.query, self._projections(batch), targets)

    def _projections(self, batch: GraphBatch) -> FloatArray:
        rows = self.relation_projections[self.relation_rows[batch.needed_relations(self.model.settings)]]
        return self.model.with_inverses(np.asarray(rows, dtype=np.float32))

    def _retrieve_one(
        self, question: str, k: int, allowed: BoolArray, encoder_thread: BackgroundThread | None
    ) -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started)
        graph, vector = self.build_graph(question, allowed, encoder_thread)
        if not graph.targets.any():
            return make_evidence((), (), (*graph.notes, NO_MATCH), started)
        question_vector = vector()
        batch = self.collate(graph, question_vector)
        ranked = self.ranker.rank(graph, self.logits(batch), question_vector, k, allowed)
        targets = list(dict.fromkeys(node for node in ranked.nodes if node >= 0))
        paths = self._explain(batch, graph, targets, allowed) if self.paths_per_passage else ()
        chains: tuple[Scored[SentenceChain], ...] = ()
        if self.quoter is not None and graph.chains is not None:
            found = np.array([p for p, _ in ranked.passages], dtype=np.int32)
            chains = self.quoter.quote(graph.chains, found, allowed)
        evidence = make_evidence(self.scope.scored_passages(ranked.passages), paths, graph.notes, started)
        return replace(evidence, chains=chains)

    def build_graph(
        self, question: str, allowed: BoolArray, encoder_thread: BackgroundThread | None = None
    ) -> tuple[QuestionGraph, PendingVector]:
        """Return the graph of a question over allowed passages (P,), and a function that returns its vector (t,)."""

        def texts(linked: LinkedQuestion) -> list[str]:
            return [linked.corrected_text(question), *self.graphs.texts(linked)[1:]]

        begin = partial(self._begin_encoding, thread=encoder_thread)
        linked, vector = link_and_encode(question, self.scope.linker_among(allowed).link, texts, begin)
        return self.graphs.build(linked, vector, allowed), partial(vector, 0)

    def _begin_encoding(self, text: str, thread: BackgroundThread | None) -> PendingVector:
        """Return a function that waits for the vector of a text, encoded in a thread, or without one when asked for."""
        return (
            cache(partial(self._encode, text)) if thread is None else thread.submit(partial(self._encode, text)).result
        )

    def _encode(self, text: str) -> FloatArray:
        # No encoder takes a lone surrogate; it is replaced by a question mark.
        vector: FloatArray = self.encoder.encode_queries([replace_surrogates(text)])[0]
        return vector

    def _explain(
        self, batch: GraphBatch, graph: QuestionGraph, targets: Sequence[int], allowed: BoolArray
    ) -> tuple[Scored[Path], ...]:
        walks = most_important_walks(self.edge_importances, batch, graph, targets, self.paths_per_passage)
        build = self.path_builder.build_triple
        paths = [Scored(tuple(build(graph, edge, allowed) for edge in edges), score) for score, edges in walks]
        return tuple(sorted((path for path in paths if path.item), key=lambda path: -path.score))
