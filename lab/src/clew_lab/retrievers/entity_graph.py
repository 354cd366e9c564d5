"""Entity graph without relations or title links: passages are joined only by the entities that they both mention.

Source: LinearRAG (2025), the relation-free graph of passages and entities with PageRank over it.
Differs from the source: no sentence nodes and no semantic activation of entities; the walk starts at names. `linearrag`
is the published form.
"""

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, top_order
from clew.graph.csr import Adjacency, build_adjacency
from clew.graph.paths.likeliest_walks import likeliest_walks
from clew.graph.ppr.forward_push import NodeAttraction, push_pagerank
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.graph_walk import NO_MATCH, mix_restart
from clew.query.linking import LinkedQuestion
from clew.query.scope import Scope
from clew.retrievers.evidence import PassageRetriever, make_evidence
from clew.retrievers.supporting_passages import mention_triple
from clew.text.bm25 import BM25Index
from clew.types import Evidence, Path, Scored

DAMPING = 0.5
LEXICAL_RESTART = 0.1
LEXICAL_DEPTH = 20
EPSILON = 1e-5


class EntityGraphRetriever(PassageRetriever):
    """Ranks passages by PageRank over shared mentions, from the question's names and its best lexical matches."""

    def __init__(self, scope: Scope, lexical: BM25Index) -> None:
        self.scope = scope
        self._lexical = lexical
        self._graph = build_mention_graph(scope.snapshot)

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` allowed passages (P,), by the PageRank of their node."""
        started = time.perf_counter()
        linked = self.scope.linker_among(allowed).link(question)
        notes, restart = linked.describe_similar_names(), self._restart_distribution(linked, question, allowed)
        if restart is None:
            return make_evidence((), (), (NO_MATCH,), started)
        some = self.scope.restriction(allowed)
        open_ = np.zeros(0, dtype=bool) if some is None else some
        walk = push_pagerank(self._graph, restart, NodeAttraction(), open_, DAMPING, EPSILON)
        count = int(walk.nodes.searchsorted(len(allowed)))
        values = walk.values[:count]
        best = [i for i in top_order(values, k) if values[i] > 0] if count else []
        ranked = [(int(walk.nodes[i]), float(values[i])) for i in best]
        walks = likeliest_walks(self._graph, walk, restart, DAMPING, [p for p, _ in ranked])
        paths = [
            Scored(self._build_path(nodes, allowed), probability) for probability, nodes in walks if len(nodes) > 1
        ]
        passages = self.scope.scored_passages(ranked)
        return make_evidence(passages, sorted(paths, key=lambda path: -path.score), notes, started)

    def _restart_distribution(
        self, linked: LinkedQuestion, question: str, allowed: BoolArray
    ) -> tuple[IntArray, FloatArray] | None:
        snapshot = self.scope.snapshot
        entities = [e for name in linked.linked_names for e in name.entities]
        named = {len(allowed) + e: float(max(len(snapshot.mentioned_in.row(e)), 1)) ** -0.5 for e in entities}
        query = self._lexical.query(linked.corrected_text(question))
        positions, scores = self._lexical.top(query, LEXICAL_DEPTH, self.scope.restriction(allowed))
        lexical = dict(zip(positions.tolist(), scores.tolist(), strict=True))
        return mix_restart(named, lexical, LEXICAL_RESTART)

    def _build_path(self, nodes: Sequence[int], allowed: BoolArray) -> Path:
        return tuple(
            mention_triple(self.scope.snapshot, min(step), max(step) - len(self.scope), allowed)
            for step in pairwise(nodes)
        )


def build_mention_graph(snapshot: Snapshot) -> Adjacency:
    """Return passages 0 to P - 1 and entities P to P + E - 1, joined by mentions of entities other than titles."""
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
