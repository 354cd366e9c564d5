"""An entity graph without relations or title links: passages joined only by the entities they both mention.

Source: LinearRAG (2025), the relation-free graph of passages and entities with PageRank over it.
Differs from the source: no sentence nodes and no semantic activation of entities; names of the question start the walk.
"""

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from clew.graph.csr import Adjacency, build_adjacency
from clew.graph.paths.likeliest_walks import likeliest_walks
from clew.graph.ppr.forward_push import push_pagerank
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.linking import link_question
from clew.query.scope import Scope
from clew.ranking import top_order
from clew.retrievers.evidence import EMPTY_QUESTION, check_k, make_evidence
from clew.retrievers.walk_paths import MENTIONS
from clew.text.bm25 import BM25Index
from clew.types import Evidence, Filter, Path, Scored, Triple

if TYPE_CHECKING:
    from clew.types import BoolArray

DAMPING = 0.5
LEXICAL_RESTART = 0.1
LEXICAL_DEPTH = 20
EPSILON = 1e-5


class EntityGraphRetriever:
    """Ranks passages by PageRank over shared mentions, from the question's names and best lexical matches.

    Args:
        scope: What is searched.
        lexical: The words of the same passages, in the same order.
    """

    def __init__(self, scope: Scope, lexical: BM25Index) -> None:
        self._scope = scope
        self._lexical = lexical
        self._graph = build_mention_graph(scope.snapshot)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, by the value of their node."""
        check_k(k)
        allowed = self._scope.mask(where)
        return [self._retrieve_one(question, k, allowed) for question in questions]

    def _retrieve_one(self, question: str, k: int, allowed: "BoolArray") -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return make_evidence((), (), (EMPTY_QUESTION,), started)
        restart = self._restart_distribution(question, allowed)
        if not restart:
            note = "the question names nothing in the index and shares no word with it"
            return make_evidence((), (), (note,), started)
        nodes = np.array(sorted(restart), dtype=np.int32)
        start = nodes, np.array([restart[int(node)] for node in nodes], dtype=np.float32)
        blocked = np.zeros(self._graph.row_count, dtype=bool)
        blocked[: len(allowed)] = ~allowed
        even = np.ones(self._graph.row_count, dtype=np.float32)
        walk = push_pagerank(self._graph, start, even, blocked, DAMPING, EPSILON)
        scores = np.zeros(len(allowed), dtype=np.float32)
        passages = walk.nodes < len(allowed)
        scores[walk.nodes[passages]] = walk.values[passages]
        ranked = self._scope.rank(scores, k, allowed)
        walks = likeliest_walks(self._graph, walk, start, even, DAMPING, [p for p, _ in ranked])
        paths = [Scored(self._build_path(steps), probability) for probability, steps in walks if len(steps) > 1]
        return make_evidence(self._scope.scored_passages(ranked), sorted(paths, key=lambda p: -p.score), (), started)

    def _restart_distribution(self, question: str, allowed: "BoolArray") -> dict[int, float]:
        snapshot = self._scope.snapshot
        count = len(allowed)
        degrees = snapshot.mentioned_in.degrees()
        entities = [e for name in link_question(snapshot, question).linked_names for e in name.entities]
        named = {count + e: float(max(degrees[e], 1)) ** -0.5 for e in entities}
        scores = np.where(allowed, self._lexical.scores(question), np.float32(0.0))
        best = top_order(scores, LEXICAL_DEPTH) if count else np.zeros(0, dtype=np.int64)
        lexical = {int(p): float(scores[p]) for p in best if scores[p] > 0}
        share = LEXICAL_RESTART if named else 1.0
        return {
            node: portion * weight / sum(part.values())
            for part, portion in ((named, 1.0 - share if lexical else 1.0), (lexical, share))
            for node, weight in part.items()
        }

    def _build_path(self, nodes: Sequence[int]) -> Path:
        snapshot = self._scope.snapshot
        count = len(snapshot.passage_ids)
        steps: list[Triple] = []
        for one, other in pairwise(nodes):
            passage, entity = min(one, other), max(one, other) - count
            id_ = snapshot.passage_ids[passage]
            steps.append(Triple(snapshot.titles[passage] or id_, MENTIONS, snapshot.entities[entity], (id_,)))
        return tuple(steps)


def build_mention_graph(snapshot: Snapshot) -> Adjacency:
    """Return passages 0 to P - 1 and entities P to P + E - 1, joined where a passage mentions what it is not called."""
    count, entities = len(snapshot.passage_ids), len(snapshot.entities)
    passages = np.repeat(np.arange(count), snapshot.mentions.degrees())
    mentioned = snapshot.mentions.indices.astype(np.int64)
    other = mentioned != snapshot.title_entities[passages]
    one, two, weights = passages[other], mentioned[other] + count, snapshot.mentions.weights[other]
    return build_adjacency(
        np.concatenate([one, two]), np.concatenate([two, one]), np.tile(weights, 2), count + entities
    )


class EntityGraph(SettingsRecord):
    """Settings of `entity-graph`: none."""

    label: ClassVar[str] = "entity-graph"


def build_entity_graph(context: IndexContext, _: EntityGraph) -> EntityGraphRetriever:
    """Return the retriever over one index."""
    return EntityGraphRetriever(context.scope, context.lexical)
