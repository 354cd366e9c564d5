"""The walk of a question: from the names in it, along links that fit the rest of it; what graph retrievers start from.

The walk restarts at the entities the question names (rare ones more) and, with a small part, at the best passages by
BM25. At each step it prefers passages that match the question, and above all the *remainder* of the question, without
its names: that is what the far end of a chain is about. Names count through the graph, so they need not match there.

Source: HippoRAG (Gutierrez et al., 2024), section 2.3, for PageRank from a question's entities.
Differs from the source: passages are nodes and titles are entities; no language model; restart also at lexical matches;
edges weighted by the question and against hubs; values weighted by how well a passage matches; forward push.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.graph.ppr.forward_push import PushResult, push_pagerank
from clew.query.linking import LinkedQuestion, link_question
from clew.query.scope import Scope
from clew.ranking import top_order
from clew.text.bm25 import BM25Index

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray

NO_MATCH = "the question names nothing in the index and shares no word with it"


@dataclass(frozen=True, slots=True)
class GraphWalkConfig:
    """How the walk is steered; chosen on hotpotqa/dev and musique-dev (docs/decisions.md).

    Attributes:
        damping: Probability of another step.
        lexical_restart: Share of the restart on lexical matches, when the question names something.
        lexical_depth: How many lexical matches the walk restarts at.
        question: Attraction of the best match of the whole question, over that of no match.
        remainder: The same for the question without its names.
        question_value: The same for the value of a passage at the end.
        remainder_value: The same, without names.
        hub: Power of its number of neighbours that a node's attraction is divided by.
        rarity: Power of its number of neighbours that a named entity's restart is divided by.
        epsilon: Precision of the push.
    """

    damping: float = 0.7
    lexical_restart: float = 0.05
    lexical_depth: int = 20
    question: float = 2.0
    remainder: float = 5.0
    question_value: float = 0.5
    remainder_value: float = 2.0
    hub: float = 0.25
    rarity: float = 0.5
    epsilon: float = 3e-5


@dataclass(frozen=True, slots=True, eq=False)
class QuestionWalk:
    """What a question's walk found. P passages, n nodes of the walk graph, m nodes near the walk.

    Attributes:
        linked_question: The question and its names.
        bm25_full: (P,) BM25 of the whole question as a share of the best.
        bm25_remainder: (P,) the same without the names.
        named_nodes: For each node the question names, its share of the restart on names.
        restart: Nodes and probabilities; None when there is nowhere to start.
        attraction: (n,).
        walk: None when there is nowhere to start.
        nodes: The passages near the walk, ascending.
        scores: Their values, weighted by how well they match.
        notes: For people.
    """

    linked_question: LinkedQuestion
    bm25_full: "FloatArray"
    bm25_remainder: "FloatArray"
    named_nodes: dict[int, float]
    restart: "tuple[IntArray, FloatArray] | None"
    attraction: "FloatArray"
    walk: PushResult | None
    nodes: "IntArray"
    scores: "FloatArray"
    notes: tuple[str, ...]


class GraphWalk:
    """Walks from questions through an index.

    Args:
        scope: What is searched.
        lexical: The words of the same passages, in the same order.
        config: How the walk is steered.
    """

    def __init__(self, scope: Scope, lexical: BM25Index, config: GraphWalkConfig) -> None:
        self.scope = scope
        self.config = config
        self._lexical = lexical
        self._degrees = np.maximum(scope.snapshot.walk.degrees(), 1).astype(np.float32)
        self._hub_penalty = self._degrees**-config.hub

    def walk(self, question: str, allowed: "BoolArray") -> QuestionWalk:
        """Walk from a question that is not empty, through the allowed passages (P,) only."""
        linked = link_question(self.scope.snapshot, question)
        return self.walk_linked(linked, allowed)

    def walk_linked(self, linked: LinkedQuestion, allowed: "BoolArray") -> QuestionWalk:
        """Walk from a question whose names are known, or were changed."""
        weights, graph = self.config, self.scope.snapshot.walk
        matching = _scale_to_best(self._lexical.scores(linked.text), allowed)
        remaining = _scale_to_best(self._lexical.scores(linked.remainder), allowed)
        attraction = _node_attraction(self._hub_penalty, matching, remaining, weights.question, weights.remainder)
        named = self._named_nodes(linked)
        restart = self._restart_distribution(named, matching)
        notes = _walk_notes(
            linked, [self.scope.snapshot.entities[e] for name in linked.linked_names for e in name.entities]
        )
        nodes, scores = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        if restart is None:
            return QuestionWalk(linked, matching, remaining, named, None, attraction, None, nodes, scores, notes)
        blocked = np.zeros(graph.row_count, dtype=bool)
        blocked[: len(allowed)] = ~allowed
        walk = push_pagerank(graph, restart, attraction, blocked, weights.damping, weights.epsilon)
        passages = walk.nodes < len(matching)
        nodes, scores = walk.nodes[passages], walk.values[passages]
        scores = scores * (1.0 + weights.question_value * matching[nodes] + weights.remainder_value * remaining[nodes])
        return QuestionWalk(linked, matching, remaining, named, restart, attraction, walk, nodes, scores, notes)

    def _named_nodes(self, linked: LinkedQuestion) -> dict[int, float]:
        """Return the nodes a question names, rare ones with more weight; sums to 1."""
        named: dict[int, float] = {}
        for name in linked.linked_names:
            for entity in name.entities:
                node = int(self.scope.snapshot.entity_nodes[entity])
                rarity = float(self._degrees[node]) ** -self.config.rarity
                named[node] = named.get(node, 0.0) + rarity / len(name.entities)
        total = sum(named.values())
        return {node: weight / total for node, weight in named.items()}

    def _restart_distribution(
        self, named: dict[int, float], matching: "FloatArray"
    ) -> "tuple[IntArray, FloatArray] | None":
        """Return where the walk starts, as nodes and probabilities; None when there is nowhere to start."""
        depth = self.config.lexical_depth
        best = top_order(matching, depth) if len(matching) else np.zeros(0, dtype=np.int64)
        lexical = {int(p): float(matching[p]) for p in best if matching[p] > 0}
        share = self.config.lexical_restart if named else 1.0
        restart: dict[int, float] = {}
        for part, portion in ((named, 1.0 - share if lexical else 1.0), (lexical, share)):
            total = sum(part.values())
            for node, weight in part.items():
                restart[node] = restart.get(node, 0.0) + portion * weight / total
        if not restart:
            return None
        nodes = np.array(sorted(restart), dtype=np.int32)
        return nodes, np.array([restart[int(node)] for node in nodes], dtype=np.float32)


@njit(cache=True, nogil=True)
def _scale_to_best(scores, allowed):  # type: ignore[no-untyped-def]
    """Return scores (P,) divided by the best allowed one, 0 where not allowed."""
    best = np.float32(0.0)
    for passage in range(len(scores)):
        if allowed[passage] and scores[passage] > best:
            best = scores[passage]
    shares = np.zeros_like(scores)
    if best > 0.0:
        for passage in range(len(scores)):
            if allowed[passage]:
                shares[passage] = scores[passage] / best
    return shares


@njit(cache=True, nogil=True)
def _node_attraction(against_hubs, matching, remaining, question, remainder):  # type: ignore[no-untyped-def]
    """Return how much each node (n,) draws the walk; the first P are passages, with their match to the question."""
    attraction = against_hubs.copy()
    for passage in range(len(matching)):
        attraction[passage] *= 1.0 + question * matching[passage] + remainder * remaining[passage]
    return attraction


def _walk_notes(linked: LinkedQuestion, names: Sequence[str]) -> tuple[str, ...]:
    notes = [f"starts from {', '.join(dict.fromkeys(names))}"] if names else ["no name in the question is in the index"]
    if linked.unlinked_names:
        notes.append(f"not in the index: {', '.join(linked.unlinked_names)}")
    return tuple(notes)
