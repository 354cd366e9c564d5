"""PageRank guided by the question: the passages where its walk ends, each with the likeliest walk to it.

Source: see `query.graph_walk`. Differs from the source: nothing more.
"""

import time
from typing import ClassVar

from clew.arrays import BoolArray, top_order
from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.graph_walk import NO_MATCH, GraphWalk, GraphWalkConfig, QuestionWalk
from clew.query.scope import Scope
from clew.retrievers.evidence import PassageRetriever, make_evidence
from clew.retrievers.supporting_passages import explain_walk
from clew.text.bm25 import BM25Index
from clew.types import Evidence


class PageRankRetriever(PassageRetriever):
    """Ranks passages by a question's walk; each comes with the likeliest walk to it."""

    def __init__(self, scope: Scope, lexical: BM25Index, config: GraphWalkConfig) -> None:
        self.scope = scope
        self._graph_walk = GraphWalk(scope, lexical, config)

    def walk(self, question: str, allowed: BoolArray) -> QuestionWalk:
        """Return the walk of a question through the allowed passages (P,) only."""
        return self._graph_walk.walk(question, allowed)

    def walk_evidence(self, question_walk: QuestionWalk, k: int, allowed: BoolArray, started: float) -> Evidence:
        """Return at most `k` allowed passages (P,) of a walk that started at `started` (a `time.perf_counter`)."""
        if question_walk.walk is None or question_walk.restart is None:
            return make_evidence((), (), (*question_walk.notes, NO_MATCH), started)
        nodes, scores = question_walk.nodes, question_walk.scores
        best = top_order(scores, k) if len(scores) else ()
        ranked = [(int(nodes[i]), float(scores[i])) for i in best if scores[i] > 0]
        targets, damping = [passage for passage, _ in ranked], self._graph_walk.config.damping
        paths = explain_walk(self.scope.snapshot, question_walk, damping, targets, allowed)
        return make_evidence(self.scope.scored_passages(ranked), paths, question_walk.notes, started)

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` allowed passages (P,), and the walks to them, likeliest first."""
        started = time.perf_counter()
        return self.walk_evidence(self.walk(question, allowed), k, allowed, started)


class PageRank(SettingsRecord):
    """Settings of `pagerank`: none."""

    label: ClassVar[str] = "pagerank"


def build_pagerank(context: IndexContext, _: PageRank) -> PageRankRetriever:
    """Return the retriever over one index."""
    return PageRankRetriever(context.scope, context.lexical, GraphWalkConfig())
