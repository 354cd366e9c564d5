"""Retrievers that find paths first, and their evidence: the paths, and the passages that state them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np

from clew.arrays import BoolArray, IntArray
from clew.query.scope import Scope
from clew.retrievers.evidence import check_k, make_evidence
from clew.text.bm25 import BM25Index
from clew.text.counts import format_count
from clew.types import Evidence, Filter, Passage, Path, Scored

Trace = TypeVar("Trace")


class PathRetriever(ABC, Generic[Trace]):
    """A `TopicRetriever` that starts from the entities of a question, and keeps a trace of its search."""

    __slots__ = ()
    scope: Scope

    @property
    def path_limit(self) -> int:
        """Maximum number of paths of a question; 0 where nothing but the size of the selected graph limits it."""
        return 0

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return paths, and at most `k` passages that state them (see `Retriever`).

        Names in square brackets are the topic entities; without brackets the names in the question are linked.
        """
        return self.retrieve_about(questions, [()] * len(questions), k, where)

    def retrieve_about(
        self, questions: Sequence[str], topics: Sequence[Sequence[str]], k: int, where: Filter | None = None
    ) -> list[Evidence]:
        """As `retrieve`, for questions about entities of given names, () to link the names in the question."""
        return [evidence for evidence, _ in self.retrieve_with_trace(questions, topics, k, where)]

    def retrieve_with_trace(
        self, questions: Sequence[str], topics: Sequence[Sequence[str]], k: int, where: Filter | None = None
    ) -> list[tuple[Evidence, Trace]]:
        """As `retrieve_about`, and also return the intermediate results of each question."""
        check_k(k, questions)
        allowed, blocked = self.scope.mask(where), self.scope.blocked_triples(where)
        return [
            self.retrieve_one(question, names, k, allowed, blocked)
            for question, names in zip(questions, topics, strict=True)
        ]

    @abstractmethod
    def retrieve_one(
        self, question: str, names: Sequence[str], k: int, allowed: BoolArray, blocked_triples: BoolArray | None
    ) -> tuple[Evidence, Trace]:
        """Return the evidence and trace of a question, by allowed passages (P,), without blocked triples (T,)."""


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
    stating = scope.restriction(allowed)
    paths = [Scored(tuple(snapshot.triple(int(code) >> 1, stating) for code in codes), score) for codes, score in walks]
    passages, supporting = find_supporting_passages(scope, lexical, question, paths, k, allowed)
    if len(passages) > supporting:
        others = format_count(len(passages) - supporting, "passage states no path", "passages state no path")
        notes = [*notes, f"{others}, only words of the question"]
    labels = scope.names(allowed).entities
    names = tuple(labels[int(entity)] for entity in topics)
    return replace(make_evidence(passages, paths, notes, started), topics=names)


def find_supporting_passages(
    scope: Scope, lexical: BM25Index, question: str, paths: Sequence[Scored[Path]], k: int, allowed: BoolArray
) -> tuple[Sequence[Scored[Passage]], int]:
    """Return allowed passages (P,) that state the best paths, then those that share words, and how many the former are.

    The former score at least 1, the latter less. Paths are best first; a score below 0 counts as 0.
    """
    if not len(scope):
        return (), 0
    best: dict[str, float] = {}
    for path in paths:
        for id_ in (id_ for triple in path.item for id_ in triple.passages):
            best.setdefault(id_, max(path.score, 0.0))
    # Passages that share words fill up what the paths leave; their scores are below those that state a path.
    corrected = scope.linker_among(allowed).link(question).corrected_text(question)
    query, some = lexical.query(corrected), scope.restriction(allowed)
    positions, scores = lexical.top(query, k + len(best), some)
    highest = float((scores[:1] if some is None else lexical.top(query, 1)[1]).sum())
    found = dict(zip(positions.tolist(), (scores / (1.0 + highest)).tolist(), strict=True))
    for id_, score in best.items():
        position = scope.snapshot.position(id_)
        if some is None or some[position]:
            found[position] = float(np.float32(1.0 + score))
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:k]
    return scope.scored_passages(ranked), sum(score >= 1.0 for _, score in ranked)
