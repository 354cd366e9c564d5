"""Reader of textual graphs without a language model: it scores the paths from the topic entities.

Every node that a path reaches within the given subgraph is a candidate answer. The texts of a path's relations are
compared with the question, and a candidate's score is that of its best path. A subgraph is thus worth the complete
paths it holds, and other edges only add distractors. In a subgraph without a topic entity, paths start from the node
most similar to the question.

Source: none; it takes the place of Llama 2 in Engel and Park, "Training Retrieval Augmented Generation for Text-Graph
Question Answering with LLMs" (2024). Differs from the source: nothing.
"""

from collections.abc import Callable, Sequence
from typing import final

import numpy as np

from clew.arrays import FloatArray, IntArray, LongArray, top_order
from clew.graph.paths.relation_paths import first_level, next_level
from clew.graph.subgraphs.k_hop import LocalGraph
from clew.graph.subgraphs.textual_graph import symmetric_rows
from clew.text.normalization import name_key
from clew_lab.graph.reader_context import GraphContext
from clew_lab.graph_readers.protocols import check_counts

TEMPERATURE = 0.05
"""Divisor that turns cosines, which differ little between texts, into log-likelihoods."""
MIN_LIKELIHOOD = 1e-3
"""Likelihood of an answer that no path reaches."""
_BEAM_WIDTH, _MAX_ENDS = 256, 200  # best relation paths that are extended per hop; end nodes each is extended from


@final
class PathGraphReader:
    """Reads a subgraph along its paths, in either direction of an edge but never straight back over one.

    `encode` returns unit rows (n, d) of texts; relation texts repeat, so it should cache them. Paths have at most
    `hops` edges, at least 1.
    """

    name = "local"

    def __init__(self, encode: Callable[[Sequence[str]], FloatArray], hops: int = 3) -> None:
        self._encode = encode
        self._hops = hops

    @property
    def fingerprint(self) -> str:
        """The settings of the path scores."""
        return f"paths-{self._hops}-{TEMPERATURE}-{MIN_LIKELIHOOD}"

    def loss(self, questions: Sequence[str], contexts: Sequence[GraphContext], answers: Sequence[str]) -> FloatArray:
        """Return losses (n,) in nats (see `GraphReader`); an answer's likelihood sums over all nodes of its name."""
        check_counts(questions, contexts, answers)
        losses = np.empty(len(questions), dtype=np.float32)
        for row, (context, answer) in enumerate(zip(contexts, answers, strict=True)):
            nodes, probabilities = self._probabilities(context)
            key, texts = name_key(answer), context.query.graph.graph.nodes
            correct = [name_key(texts[node]) == key for node in nodes.tolist()]
            likelihood = MIN_LIKELIHOOD + (1.0 - MIN_LIKELIHOOD) * float(probabilities[correct].sum())
            losses[row] = -np.log(min(likelihood, 1.0))
        return losses

    def generate(self, questions: Sequence[str], contexts: Sequence[GraphContext]) -> list[str]:
        """Return the most likely candidate per question, "" without a path (see `GraphReader`)."""
        check_counts(questions, contexts)
        answers: list[str] = []
        for context in contexts:
            nodes, probabilities = self._probabilities(context)
            answers.append(context.query.graph.graph.nodes[int(nodes[probabilities.argmax()])] if len(nodes) else "")
        return answers

    def _probabilities(self, context: GraphContext) -> tuple[IntArray, FloatArray]:
        """Return the candidates (c,) as ascending nodes of the graph, and their probabilities (c,)."""
        scores = self._path_scores(context)
        candidates = np.flatnonzero(np.isfinite(scores))
        if not len(candidates):
            return context.subgraph.nodes[:0], np.zeros(0, dtype=np.float32)
        weights = np.exp(scores[candidates] - scores[candidates].max())
        return context.subgraph.nodes[candidates], (weights / weights.sum()).astype(np.float32)

    def _path_scores(self, context: GraphContext) -> FloatArray:
        """Return the log-likelihood (k,) of each node of the subgraph by its best path, -inf without one."""
        best = np.full(len(context.subgraph.nodes), -np.inf, dtype=np.float32)
        starts = _start_nodes(context)
        if not len(starts) or not len(context.subgraph.edges):
            return best
        (local, codes), names = _local_graph(context), _relation_texts(context)
        levels, beam = [first_level(starts)], np.zeros(1, dtype=np.int64)
        for hop in range(self._hops):
            level = next_level(local, codes, levels, beam, _MAX_ENDS)
            if not len(level.relation_paths):
                break
            texts = [", ".join([names[code >> 1] for code in path]) for path in level.relation_paths.tolist()]
            scores = self._encode(texts) @ context.query.question_vector / TEMPERATURE
            np.maximum.at(best, level.positions, np.repeat(scores, np.diff(level.indptr)))
            if hop + 1 < self._hops:
                levels.append(level)
                beam = top_order(scores, _BEAM_WIDTH)
        return best


def _start_nodes(context: GraphContext) -> LongArray:
    """Return the positions in the subgraph of the topic entities, else of the node most similar to the question."""
    query, nodes = context.query, context.subgraph.nodes
    topics = np.flatnonzero(np.isin(nodes, query.topics))
    if len(topics) or not len(nodes):
        return topics
    return np.array([np.argmax(query.graph.node_vectors[nodes] @ query.question_vector)], dtype=np.int64)


def _local_graph(context: GraphContext) -> tuple[LocalGraph, IntArray]:
    """Return the subgraph with local node ids, and for each directed edge twice its relation, plus 1 if reversed."""
    graph, nodes, edges = context.query.graph, context.subgraph.nodes, context.subgraph.edges
    ends = np.searchsorted(nodes, graph.graph.edges[edges]).astype(np.int32)
    local = LocalGraph(nodes, *symmetric_rows(ends[:, 0], ends[:, 1], 2 * edges, len(nodes)))
    codes = 2 * graph.edge_relations[local.edges >> 1] + (local.edges & 1)
    return local, codes.astype(np.int32)


def _relation_texts(context: GraphContext) -> dict[int, str]:
    graph, edges = context.query.graph, context.subgraph.edges
    rows = graph.edge_relations[edges].tolist()
    return {row: graph.graph.relations[edge] for row, edge in zip(rows, edges.tolist(), strict=True)}
