"""PageRank steered by the question: from the names in it, along links that fit the rest of it, to the evidence.

The walk restarts at the entities the question names (rare ones more) and, with a small part, at the best passages by
BM25. At each step it prefers passages that match the question, and above all the *remainder* of the question, without
its names: that is what the far end of a chain is about. Names count through the graph, so they need not match there.

Source: HippoRAG (Gutierrez et al., 2024), section 2.3, for PageRank from a question's entities.
Differs from the source: passages are nodes and titles are entities; no language model; restart also at lexical matches;
edges weighted by the question and against hubs; values weighted by how well a passage matches; forward push.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.graph.chains import likeliest_walks
from clew.graph.pagerank import push_pagerank
from clew.lexical import LexicalIndex
from clew.linking import LinkedQuestion, link
from clew.ranks import top_order
from clew.retrievers.explained import WalkReader
from clew.retrievers.scope import EMPTY_QUESTION, Scope, check_k, found
from clew.types import Evidence, Filter, Path, Scored

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class PageRankWeights:
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


class PageRankRetriever:
    """Ranks passages by a question's walk; each comes with the likeliest walk to it.

    Args:
        scope: What is searched.
        lexical: The words of the same passages, in the same order.
        weights: How the walk is steered.
    """

    def __init__(self, scope: Scope, lexical: LexicalIndex, weights: PageRankWeights) -> None:
        self._scope = scope
        self._lexical = lexical
        self._weights = weights
        self._reader = WalkReader(scope.snapshot)
        degrees = np.maximum(scope.snapshot.walk.degrees(), 1).astype(np.float32)
        self._degrees = degrees
        self._against_hubs = degrees**-weights.hub

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, and the walks that lead to them, likeliest first."""
        check_k(k)
        allowed = self._scope.mask(where)
        return [self._one(question, k, allowed) for question in questions]

    def _one(self, question: str, k: int, allowed: "BoolArray") -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return found((), (), (EMPTY_QUESTION,), started)
        linked = link(self._scope.snapshot, question)
        matching = _share_of_best(self._lexical.scores(question), allowed)
        remaining = _share_of_best(self._lexical.scores(linked.remainder), allowed)
        restart = self._restart(linked, matching)
        notes = _notes(linked, [self._scope.snapshot.entities[e] for name in linked.known for e in name.entities])
        if restart is None:
            return found(
                (), (), (*notes, "the question names nothing in the index and shares no word with it"), started
            )
        weights, graph = self._weights, self._scope.snapshot.walk
        attraction = _attraction(self._against_hubs, matching, remaining, weights.question, weights.remainder)
        blocked = np.zeros(graph.rows, dtype=bool)
        blocked[: len(allowed)] = ~allowed
        walk = push_pagerank(graph, restart, attraction, blocked, weights.damping, weights.epsilon)
        passages = walk.nodes < len(matching)
        nodes, values = walk.nodes[passages], walk.values[passages]
        scores = values * (1.0 + weights.question_value * matching[nodes] + weights.remainder_value * remaining[nodes])
        best = top_order(scores, k) if len(scores) else np.zeros(0, dtype=np.int64)
        ranked = [(int(nodes[i]), float(scores[i])) for i in best if scores[i] > 0]
        walks = likeliest_walks(graph, walk, restart, attraction, weights.damping, [p for p, _ in ranked])
        return found(self._scope.passages(ranked), self._paths(walks, allowed), notes, started)

    def _restart(self, linked: LinkedQuestion, matching: "FloatArray") -> "tuple[IntArray, FloatArray] | None":
        """Return where the walk starts, as nodes and probabilities; None when there is nowhere to start."""
        weights, snapshot = self._weights, self._scope.snapshot
        named: dict[int, float] = {}
        for name in linked.known:
            for entity in name.entities:
                node = int(snapshot.entity_nodes[entity])
                rarity = float(self._degrees[node]) ** -weights.rarity
                named[node] = named.get(node, 0.0) + rarity / len(name.entities)
        best = top_order(matching, weights.lexical_depth) if len(matching) else np.zeros(0, dtype=np.int64)
        lexical = {int(p): float(matching[p]) for p in best if matching[p] > 0}
        share = weights.lexical_restart if named else 1.0
        restart: dict[int, float] = {}
        for part, portion in ((named, 1.0 - share if lexical else 1.0), (lexical, share)):
            total = sum(part.values())
            for node, weight in part.items():
                restart[node] = restart.get(node, 0.0) + portion * weight / total
        if not restart:
            return None
        nodes = np.array(sorted(restart), dtype=np.int32)
        return nodes, np.array([restart[int(node)] for node in nodes], dtype=np.float32)

    def _paths(self, walks: Sequence[tuple[float, tuple[int, ...]]], allowed: "BoolArray") -> tuple[Scored[Path], ...]:
        """Return the walks as triples, likeliest first; a passage the walk starts at needs no path."""
        read = [Scored(self._reader.path(nodes, allowed), probability) for probability, nodes in walks]
        return tuple(sorted((path for path in read if path.item), key=lambda path: -path.score))


@njit(cache=True, nogil=True)
def _share_of_best(scores, allowed):  # type: ignore[no-untyped-def]
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
def _attraction(against_hubs, matching, remaining, question, remainder):  # type: ignore[no-untyped-def]
    """Return how much each node (n,) draws the walk; the first P are passages, with their match to the question."""
    attraction = against_hubs.copy()
    for passage in range(len(matching)):
        attraction[passage] *= 1.0 + question * matching[passage] + remainder * remaining[passage]
    return attraction


def _notes(linked: LinkedQuestion, names: Sequence[str]) -> tuple[str, ...]:
    notes = [f"starts from {', '.join(dict.fromkeys(names))}"] if names else ["no name in the question is in the index"]
    if linked.unknown:
        notes.append(f"not in the index: {', '.join(linked.unknown)}")
    return tuple(notes)
