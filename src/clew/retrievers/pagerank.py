"""PageRank steered by the question: the passages where its walk ends, each with the likeliest walk to it.

Source: see `question_walk`. Differs from the source: nothing more.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.graph.paths.likeliest_walks import likeliest_walks
from clew.query.graph_walk import NOTHING, PageRankWeights, QuestionWalk, Walker
from clew.ranking import top_order
from clew.retrievers.evidence import EMPTY_QUESTION, Scope, check_k, found
from clew.retrievers.walk_paths import WalkReader
from clew.text.bm25 import LexicalIndex
from clew.types import Evidence, Filter, Path, Scored

if TYPE_CHECKING:
    from clew.types import BoolArray


class PageRankRetriever:
    """Ranks passages by a question's walk; each comes with the likeliest walk to it.

    Args:
        scope: What is searched.
        lexical: The words of the same passages, in the same order.
        weights: How the walk is steered.
    """

    def __init__(self, scope: Scope, lexical: LexicalIndex, weights: PageRankWeights) -> None:
        self._scope = scope
        self._walker = Walker(scope, lexical, weights)
        self._reader = WalkReader(scope.snapshot)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, and the walks that lead to them, likeliest first."""
        check_k(k)
        allowed = self._scope.mask(where)
        return [self._one(question, k, allowed) for question in questions]

    def walked(self, question: str, allowed: "BoolArray") -> QuestionWalk:
        """Return the walk of a question through the allowed passages (P,) only."""
        return self._walker.walk(question, allowed)

    def evidence(self, asked: QuestionWalk, k: int, allowed: "BoolArray", started: float) -> Evidence:
        """Return at most `k` passages of a walk that began at `started` (a `time.perf_counter`)."""
        if asked.walk is None or asked.restart is None:
            return found((), (), (*asked.notes, NOTHING), started)
        best = top_order(asked.scores, k) if len(asked.scores) else ()
        ranked = [(int(asked.nodes[i]), float(asked.scores[i])) for i in best if asked.scores[i] > 0]
        graph, targets = self._scope.snapshot.walk, [passage for passage, _ in ranked]
        damping = self._walker.weights.damping
        walks = likeliest_walks(graph, asked.walk, asked.restart, asked.attraction, damping, targets)
        return found(self._scope.passages(ranked), self._paths(walks, allowed), asked.notes, started)

    def _one(self, question: str, k: int, allowed: "BoolArray") -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return found((), (), (EMPTY_QUESTION,), started)
        return self.evidence(self.walked(question, allowed), k, allowed, started)

    def _paths(self, walks: Sequence[tuple[float, tuple[int, ...]]], allowed: "BoolArray") -> tuple[Scored[Path], ...]:
        """Return the walks as triples, likeliest first; a passage the walk starts at needs no path."""
        read = [Scored(self._reader.path(nodes, allowed), probability) for probability, nodes in walks]
        return tuple(sorted((path for path in read if path.item), key=lambda path: -path.score))
