"""Question walk: personalised PageRank from the names of a question, along links that fit the rest of the question.

The walk restarts at the entities the question names (rare ones more) and, with a small share, at the best passages by
BM25. At each step it prefers passages that match the question, and above all the *remainder* of the question, without
its names: that is the topic of the far end of a chain. Names count through the graph, so they need not match there.

Source: HippoRAG (Gutierrez et al., 2024), section 2.3, for PageRank from a question's entities.
Differs from the source: passages are nodes and titles are entities; no language model; restart also at lexical matches;
edges weighted by the question and against hubs; values weighted by the passage's match; forward push.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, top_order
from clew.arrays.kernels import njit
from clew.graph.ppr.forward_push import PushResult, push_pagerank
from clew.query.linking import LinkedQuestion, describe_links, link_question
from clew.query.scope import Scope
from clew.text.bm25 import BM25Index

NO_MATCH = "the question names nothing in the index and shares no word with it"


@dataclass(frozen=True, slots=True)
class GraphWalkConfig:
    """Parameters of the walk; chosen on hotpotqa/dev and musique-dev (docs/decisions.md)."""

    damping: float = 0.7  # probability of another step
    lexical_restart: float = 0.05  # share of the restart on lexical matches, when the question names something
    lexical_depth: int = 20  # number of lexical matches that the walk restarts at
    question: float = 2.0  # attraction of the best match of the whole question, over that of no match
    remainder: float = 5.0  # the same for the question without its names
    question_value: float = 0.5  # weight of the match of the whole question in a passage's final value
    remainder_value: float = 2.0  # the same for the question without its names
    hub: float = 0.25  # power of a node's degree that its attraction is divided by
    rarity: float = 0.5  # power of a named entity's degree that its restart is divided by
    epsilon: float = 3e-5  # precision of the push


@dataclass(frozen=True, slots=True, eq=False)
class QuestionWalk:
    """Result of a question's walk: P passages, n nodes of the walk graph, m passages near the walk."""

    linked_question: LinkedQuestion  # the question and its names
    bm25_full: FloatArray  # (P,) BM25 of the whole question as a share of the best
    bm25_remainder: FloatArray  # (P,) the same without the names
    named_nodes: dict[int, float]  # each node that the question names, with its share of the restart on names
    # start nodes and their probabilities; None when the question matches nothing
    restart: tuple[IntArray, FloatArray] | None
    attraction: FloatArray  # (n,) weight of each node as the target of a step
    walk: PushResult | None  # result of the push; None when the question matches nothing
    nodes: IntArray  # (m,) passages near the walk, ascending
    scores: FloatArray  # (m,) their values, weighted by their match
    notes: tuple[str, ...]  # explanations for the user


class GraphWalk:
    """Walks from questions through an index; `lexical` is BM25 of its passages, in the same order."""

    def __init__(self, scope: Scope, lexical: BM25Index, config: GraphWalkConfig) -> None:
        self.scope = scope
        self.config = config
        self._lexical = lexical
        self._degrees = np.maximum(scope.snapshot.walk.degrees(), 1).astype(np.float32)
        self._hub_penalty = self._degrees**-config.hub

    def walk(self, question: str, allowed: BoolArray) -> QuestionWalk:
        """Walk from a non-empty question, through the allowed passages (P,) only."""
        return self.walk_linked(link_question(self.scope.snapshot, question), allowed)

    def walk_linked(self, linked: LinkedQuestion, allowed: BoolArray) -> QuestionWalk:
        """Walk from a question whose names are linked already."""
        config, graph, entities = self.config, self.scope.snapshot.walk, self.scope.snapshot.entities
        full = _scale_to_best(self._lexical.scores(linked.text), allowed)
        remainder = _scale_to_best(self._lexical.scores(linked.remainder), allowed)
        attraction = _node_attraction(self._hub_penalty, full, remainder, config.question, config.remainder)
        named = self._named_nodes(linked)
        restart = mix_restart(named, lexical_matches(full, config.lexical_depth), config.lexical_restart)
        notes = describe_links(linked, [entities[e] for name in linked.linked_names for e in name.entities])
        nodes, scores = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        if restart is None:
            return QuestionWalk(linked, full, remainder, named, None, attraction, None, nodes, scores, notes)
        blocked = np.zeros(graph.row_count, dtype=bool)
        blocked[: len(allowed)] = ~allowed
        walk = push_pagerank(graph, restart, attraction, blocked, config.damping, config.epsilon)
        is_passage = walk.nodes < len(full)
        nodes, scores = walk.nodes[is_passage], walk.values[is_passage]
        scores = scores * (1.0 + config.question_value * full[nodes] + config.remainder_value * remainder[nodes])
        return QuestionWalk(linked, full, remainder, named, restart, attraction, walk, nodes, scores, notes)

    def _named_nodes(self, linked: LinkedQuestion) -> dict[int, float]:
        """Return the nodes a question names with weights that sum to 1, higher for rare ones."""
        named: dict[int, float] = {}
        for name in linked.linked_names:
            for entity in name.entities:
                node = int(self.scope.snapshot.entity_nodes[entity])
                rarity = float(self._degrees[node]) ** -self.config.rarity
                named[node] = named.get(node, 0.0) + rarity / len(name.entities)
        total = sum(named.values())
        return {node: weight / total for node, weight in named.items()}


def lexical_matches(scores: FloatArray, depth: int) -> dict[int, float]:
    """Return the `depth` best positions with a score above 0, best first."""
    best = top_order(scores, depth) if len(scores) else ()
    return {int(p): float(scores[p]) for p in best if scores[p] > 0}


def mix_restart(
    named: Mapping[int, float], lexical: Mapping[int, float], lexical_share: float
) -> tuple[IntArray, FloatArray] | None:
    """Return the restart distribution as nodes, ascending, and probabilities; None when both parts are empty.

    `lexical_share` is that of the lexical matches; a part takes all where the other one is empty.
    """
    share = lexical_share if named else 1.0
    restart: dict[int, float] = {}
    for part, portion in ((named, 1.0 - share if lexical else 1.0), (lexical, share)):
        total = sum(part.values())
        for node, weight in part.items():
            restart[node] = restart.get(node, 0.0) + portion * weight / total
    if not restart:
        return None
    nodes = np.array(sorted(restart), dtype=np.int32)
    return nodes, np.array([restart[int(node)] for node in nodes], dtype=np.float32)


@njit
def _scale_to_best(scores, allowed):  # type: ignore[no-untyped-def]
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


@njit
def _node_attraction(hub_penalty, full, remainder, full_weight, remainder_weight):  # type: ignore[no-untyped-def]
    """Return the attraction (n,) of each node; the first P are passages, attracting by their match to the question."""
    attraction = hub_penalty.copy()
    for passage in range(len(full)):
        attraction[passage] *= 1.0 + full_weight * full[passage] + remainder_weight * remainder[passage]
    return attraction
