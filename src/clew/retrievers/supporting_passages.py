"""The passages that state paths, for retrievers that find paths first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.query.scope import Scope
from clew.text.bm25 import BM25Index
from clew.types import Passage, Path, Scored

if TYPE_CHECKING:
    from clew.types import BoolArray


def find_supporting_passages(
    scope: Scope, lexical: BM25Index, question: str, paths: Sequence[Scored[Path]], k: int, allowed: "BoolArray"
) -> tuple[Sequence[Scored[Passage]], int]:
    """Return the passages that state the best paths, then those that share words with the question.

    The former score 1 and more, the latter less. Returned with them is how many the former are.

    Args:
        scope: The index.
        lexical: The words of its passages.
        question: As the user asked it.
        paths: Best first; a score below 0 counts as 0.
        k: Passages, at most.
        allowed: (P,) passages that a filter allows.
    """
    if not len(scope):
        return (), 0
    best: dict[str, float] = {}
    for path in paths:
        for id_ in (id_ for triple in path.item for id_ in triple.passages):
            best.setdefault(id_, max(path.score, 0.0))
    scores = lexical.scores(question)
    scores = scores / (1.0 + float(scores.max(initial=0.0)))
    for id_, score in best.items():
        scores[scope.snapshot.position(id_)] = 1.0 + score
    ranked = scope.rank(scores, k, allowed)
    return scope.scored_passages(ranked), sum(score >= 1.0 for _, score in ranked)
