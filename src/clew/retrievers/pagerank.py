"""PageRank guided by the question: the passages where its walk ends, each with the likeliest walk to it.

Source: see `query.graph_walk`. Differs from the source: nothing more.
"""

import time
from collections.abc import Sequence
from typing import ClassVar

from clew.arrays import BoolArray, top_order
from clew.graph.paths.likeliest_walks import likeliest_walks
from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.graph_walk import NO_MATCH, GraphWalk, GraphWalkConfig, QuestionWalk
from clew.query.scope import Scope
from clew.retrievers.evidence import PassageRetriever, make_evidence
from clew.retrievers.walk_paths import walk_path
from clew.text.bm25 import BM25Index
from clew.types import Evidence, Path, Scored


class PageRankRetriever(PassageRetriever):
    """Ranks passages by a question's walk; each comes with the likeliest walk to it."""

    def __init__(self, scope: Scope, lexical: BM25Index, config: GraphWalkConfig) -> None:
        self.scope = scope
        self._graph_walk = GraphWalk(scope, lexical, config)

    def walk(self, question: str, allowed: BoolArray) -> QuestionWalk:
        """Return the walk of a question through the allowed passages (P,) only."""
        return self._graph_walk.walk(question, allowed)

    def walk_evidence(self, question_walk: QuestionWalk, k: int, allowed: BoolArray, started: float) -> Evidence:
        """Return at most `k` passages of a walk that started at `started` (a `time.perf_counter`)."""
        if question_walk.walk is None or question_walk.restart is None:
            return make_evidence((), (), (*question_walk.notes, NO_MATCH), started)
        nodes, scores = question_walk.nodes, question_walk.scores
        best = top_order(scores, k) if len(scores) else ()
        ranked = [(int(nodes[i]), float(scores[i])) for i in best if scores[i] > 0]
        graph, damping = self.scope.snapshot.walk, self._graph_walk.config.damping
        targets = [passage for passage, _ in ranked]
        walks = likeliest_walks(graph, question_walk.walk, question_walk.restart, damping, targets)
        passages = self.scope.scored_passages(ranked)
        return make_evidence(passages, self._paths(walks, allowed), question_walk.notes, started)

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` passages, and the walks to them, likeliest first."""
        started = time.perf_counter()
        return self.walk_evidence(self.walk(question, allowed), k, allowed, started)

    def _paths(self, walks: Sequence[tuple[float, tuple[int, ...]]], allowed: BoolArray) -> tuple[Scored[Path], ...]:
        """Return the walks as triples, likeliest first, without those that end where they start."""
        paths = [Scored(walk_path(self.scope.snapshot, nodes, allowed), probability) for probability, nodes in walks]
        return tuple(sorted((path for path in paths if path.item), key=lambda path: -path.score))


class PageRank(SettingsRecord):
    """Settings of `pagerank`: none."""

    label: ClassVar[str] = "pagerank"


def build_pagerank(context: IndexContext, _: PageRank) -> PageRankRetriever:
    """Return the retriever over one index."""
    return PageRankRetriever(context.scope, context.lexical, GraphWalkConfig())
