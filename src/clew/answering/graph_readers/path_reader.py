"""A reader of textual graphs that needs no language model: it follows paths from what the question names.

Every node to which a path leads within the part that it is given is a candidate; the path's relations in words are
compared with the question, and the best path of a candidate is what the candidate is worth. So a part is worth as much
as the paths it keeps whole, and what else it holds costs as far as it draws the reader away. Of a part that has nothing
of what the question names, paths lead from the node that is likest to the question.

Source: none; it stands where Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering
with LLMs" (2024), have Llama 2.
Differs from the source: nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, final

import numpy as np

from clew.errors import InputError
from clew.graph.paths.relation_paths import first_level, next_level
from clew.graph.subgraphs.fact_graph import symmetric_rows
from clew.graph.subgraphs.induced import LocalGraph
from clew.graph.subgraphs.textual_graph import GraphContext
from clew.ranking import top_order
from clew.text.normalization import name_key

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray, LongArray

TEMPERATURE = 0.05
"""What cosines of texts, which are near each other, are divided by to be logarithms of a likelihood."""
MIN_LIKELIHOOD = 1e-3
"""Likelihood of an answer to which no path leads."""
_BEAM_WIDTH, _MAX_ENDS = 256, 200  # chains of relations that go on, the best; ends from which each does, the first


@final
class PathGraphReader:
    """Reads a part of a graph along its paths, whichever way their edges point; none goes straight back over an edge.

    Args:
        encode: Gives unit rows (n, d) of texts; those of relations come back often, so it had better remember them.
        hops: Of a path, at least 1 and at most so many.
        temperature: What cosines are divided by, above 0.
        min_likelihood: Likelihood of an answer to which no path leads, above 0 and below 1.

    Raises:
        InputError: A number is out of its range.
    """

    def __init__(
        self,
        encode: "Callable[[Sequence[str]], FloatArray]",
        hops: int = 3,
        temperature: float = TEMPERATURE,
        min_likelihood: float = MIN_LIKELIHOOD,
    ) -> None:
        if hops < 1 or not temperature > 0 or not 0 < min_likelihood < 1:
            seen = f"hops {hops}, temperature {temperature}, floor {min_likelihood}"
            raise InputError(f"{seen}: wanted 1 hop or more, a temperature above 0, a floor between 0 and 1")
        self._encode = encode
        self._hops = hops
        self._temperature = temperature
        self._floor = min_likelihood

    @property
    def name(self) -> str:
        """As a user asks for it."""
        return "local"

    @property
    def fingerprint(self) -> str:
        """The numbers that it weighs paths by."""
        return f"paths-{self._hops}-{self._temperature}-{self._floor}"

    def loss(self, questions: Sequence[str], contexts: Sequence[GraphContext], answers: Sequence[str]) -> "FloatArray":
        """Return losses (n,) in nats (see `GraphReader`); an answer is told as any node that is called so.

        Raises:
            InputError: There are not as many contexts or answers as questions.
        """
        check_counts(questions, contexts, answers)
        losses = np.empty(len(questions), dtype=np.float32)
        for row, (context, answer) in enumerate(zip(contexts, answers, strict=True)):
            nodes, shares = self._probabilities(context)
            wanted, texts = name_key(answer), context.query.graph.graph.nodes
            right = [name_key(texts[node]) == wanted for node in nodes.tolist()]
            likelihood = self._floor + (1.0 - self._floor) * float(shares[right].sum())
            losses[row] = -np.log(min(likelihood, 1.0))
        return losses

    def generate(self, questions: Sequence[str], contexts: Sequence[GraphContext]) -> list[str]:
        """Return the likeliest candidate of each, "" where no path leads anywhere (see `GraphReader`).

        Raises:
            InputError: There are not as many contexts as questions.
        """
        check_counts(questions, contexts)
        found: list[str] = []
        for context in contexts:
            nodes, shares = self._probabilities(context)
            found.append(context.query.graph.graph.nodes[int(nodes[shares.argmax()])] if len(nodes) else "")
        return found

    def _probabilities(self, context: GraphContext) -> "tuple[IntArray, FloatArray]":
        """Return candidates (c,) as nodes of the graph, ascending, and their shares of the likelihood (c,)."""
        worth = self._path_scores(context)
        candidates = np.flatnonzero(np.isfinite(worth))
        if not len(candidates):
            return context.subgraph.nodes[:0], np.zeros(0, dtype=np.float32)
        shares = np.exp(worth[candidates] - worth[candidates].max())
        return context.subgraph.nodes[candidates], (shares / shares.sum()).astype(np.float32)

    def _path_scores(self, context: GraphContext) -> "FloatArray":
        """Return the logarithm (k,) of how likely the best path makes each node of the part, -inf where none leads."""
        worth = np.full(len(context.subgraph.nodes), -np.inf, dtype=np.float32)
        starts = _start_nodes(context)
        if not len(starts) or not len(context.subgraph.edges):
            return worth
        (local, codes), names = _local_graph(context), _relation_texts(context)
        levels, on = [first_level(starts)], np.zeros(1, dtype=np.int64)
        for hop in range(self._hops):
            level = next_level(local, codes, levels, on, _MAX_ENDS)
            if not len(level.relation_paths):
                break
            texts = [", ".join([names[code >> 1] for code in chain]) for chain in level.relation_paths.tolist()]
            scores = self._encode(texts) @ context.query.question_vector / self._temperature
            np.maximum.at(worth, level.positions, np.repeat(scores, np.diff(level.indptr)))
            if hop + 1 < self._hops:
                levels.append(level)
                on = top_order(scores, _BEAM_WIDTH)
        return worth


def check_counts(
    questions: Sequence[str], contexts: Sequence[GraphContext], answers: Sequence[str] | None = None
) -> None:
    """Refuse questions that have not each a context and, where answers are given, an answer.

    Raises:
        InputError: There are more or fewer.
    """
    if len(contexts) != len(questions):
        raise InputError(f"{len(questions)} questions have {len(contexts)} graphs; give one each")
    if answers is not None and len(answers) != len(questions):
        raise InputError(f"{len(questions)} questions have {len(answers)} answers; give one each")


def _start_nodes(context: GraphContext) -> "LongArray":
    """Return the places in the part of what the question names, or of the node that is likest to it."""
    graph, part = context.query, context.subgraph
    named = np.flatnonzero(np.isin(part.nodes, graph.topics))
    if len(named) or not len(part.nodes):
        return named
    return np.array([np.argmax(graph.graph.node_vectors[part.nodes] @ graph.question_vector)], dtype=np.int64)


def _local_graph(context: GraphContext) -> "tuple[LocalGraph, IntArray]":
    """Return the part as a graph of its own, and for each of its edges twice its relation, one more when reversed."""
    graph, part = context.query.graph, context.subgraph
    ends = np.searchsorted(part.nodes, graph.graph.edges[part.edges]).astype(np.int32)
    local = LocalGraph(part.nodes, *symmetric_rows(ends[:, 0], ends[:, 1], 2 * part.edges, len(part.nodes)))
    codes = 2 * graph.edge_relations[local.edges >> 1] + (local.edges & 1)
    return local, codes.astype(np.int32)


def _relation_texts(context: GraphContext) -> dict[int, str]:
    """Return the texts of the part's relations by their rows."""
    graph, edges = context.query.graph, context.subgraph.edges
    rows = graph.edge_relations[edges].tolist()
    return {row: graph.graph.relations[edge] for row, edge in zip(rows, edges.tolist(), strict=True)}
