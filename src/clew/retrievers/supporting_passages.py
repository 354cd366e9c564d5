"""Evidence of retrievers that find paths first: the paths, and the passages that state them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from clew.arrays import BoolArray, IntArray
from clew.query.scope import Scope
from clew.retrievers.evidence import make_evidence
from clew.text.bm25 import BM25Index
from clew.types import Evidence, Passage, Path, Scored


def path_evidence(
    scope: Scope,
    lexical: BM25Index,
    question: str,
    walks: Iterable[tuple[IntArray, float]],
    topics: IntArray,
    notes: Sequence[str],
    k: int,
    allowed: BoolArray,
    started: float,
) -> Evidence:
    """Return evidence of paths, with at most `k` supporting passages, of those (P,) that a filter allows.

    Walks are edge codes (h,) and a score, best first, from the topics (s,); a note on passages that state no path is
    added. The search started at `started`, a `time.perf_counter`.
    """
    snapshot = scope.snapshot
    stating = None if allowed.all() else allowed
    paths = [Scored(tuple(snapshot.triple(int(code) >> 1, stating) for code in codes), score) for codes, score in walks]
    passages, supporting = find_supporting_passages(scope, lexical, question, paths, k, allowed)
    if len(passages) > supporting:
        notes = [*notes, f"{len(passages) - supporting} passages state no path; they share words with the question"]
    names = tuple(snapshot.entities[int(entity)] for entity in topics)
    return replace(make_evidence(passages, paths, notes, started), topics=names)


def find_supporting_passages(
    scope: Scope, lexical: BM25Index, question: str, paths: Sequence[Scored[Path]], k: int, allowed: BoolArray
) -> tuple[Sequence[Scored[Passage]], int]:
    """Return the passages that state the best paths, then those that share words, and the number of the former.

    The former score at least 1, the latter less. Paths are best first; a score below 0 counts as 0.
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
