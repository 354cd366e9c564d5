"""PageRank guided by the question: the passages where its walk ends, each with the likeliest walk to it.

Source: see `query.graph_walk`. Differs from the source: nothing more.
"""

import time
from collections.abc import Sequence
from typing import ClassVar

from clew.arrays import BoolArray
from clew.graph.paths.likeliest_walks import likeliest_walks
from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.graph_walk import NO_MATCH, GraphWalk, GraphWalkConfig, QuestionWalk
from clew.query.scope import Scope
from clew.ranking import top_order
from clew.retrievers.evidence import check_k, empty_question_evidence, make_evidence
from clew.retrievers.walk_paths import walk_path
from clew.text.bm25 import BM25Index
from clew.types import Evidence, Filter, Path, Scored


class PageRankRetriever:
    """Ranks passages by a question's walk; each comes with the likeliest walk to it.

    Args:
        scope: The index.
        lexical: BM25 of the same passages, in the same order.
        config: Parameters of the walk.
    """

    def __init__(self, scope: Scope, lexical: BM25Index, config: GraphWalkConfig) -> None:
        self._scope = scope
        self._graph_walk = GraphWalk(scope, lexical, config)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, and the walks to them, likeliest first."""
        check_k(k)
        allowed = self._scope.mask(where)
        return [self._retrieve_one(question, k, allowed) for question in questions]

    def walk(self, question: str, allowed: BoolArray) -> QuestionWalk:
        """Return the walk of a question through the allowed passages (P,) only."""
        return self._graph_walk.walk(question, allowed)

    def walk_evidence(self, question_walk: QuestionWalk, k: int, allowed: BoolArray, started: float) -> Evidence:
        """Return at most `k` passages of a walk that started at `started` (a `time.perf_counter`)."""
        if question_walk.walk is None or question_walk.restart is None:
            return make_evidence((), (), (*question_walk.notes, NO_MATCH), started)
        best = top_order(question_walk.scores, k) if len(question_walk.scores) else ()
        ranked = [
            (int(question_walk.nodes[i]), float(question_walk.scores[i])) for i in best if question_walk.scores[i] > 0
        ]
        graph, targets = self._scope.snapshot.walk, [passage for passage, _ in ranked]
        damping = self._graph_walk.config.damping
        walks = likeliest_walks(
            graph, question_walk.walk, question_walk.restart, question_walk.attraction, damping, targets
        )
        return make_evidence(
            self._scope.scored_passages(ranked), self._paths(walks, allowed), question_walk.notes, started
        )

    def _retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started)
        return self.walk_evidence(self.walk(question, allowed), k, allowed, started)

    def _paths(self, walks: Sequence[tuple[float, tuple[int, ...]]], allowed: BoolArray) -> tuple[Scored[Path], ...]:
        """Return the walks as triples, likeliest first, without those that end where they start."""
        paths = [Scored(walk_path(self._scope.snapshot, nodes, allowed), probability) for probability, nodes in walks]
        return tuple(sorted((path for path in paths if path.item), key=lambda path: -path.score))


class PageRank(SettingsRecord):
    """Settings of `pagerank`: none."""

    label: ClassVar[str] = "pagerank"


def build_pagerank(context: IndexContext, _: PageRank) -> PageRankRetriever:
    """Return the retriever over one index."""
    return PageRankRetriever(context.scope, context.lexical, GraphWalkConfig())
