"""Retrievers that find paths first, and their evidence: the paths, and the passages that state them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from clew.arrays import BoolArray, IntArray
from clew.graph.paths.likeliest_walks import likeliest_walks
from clew.graph.snapshot.relational_edges import MENTIONS_RELATION
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import are_tied, find_spelling, label_among
from clew.query.graph_walk import QuestionWalk
from clew.query.scope import Scope
from clew.retrievers.evidence import check_k, make_evidence
from clew.text.bm25 import BM25Index
from clew.text.display import format_count
from clew.types import Evidence, Filter, Passage, Path, Scored, Triple

Trace = TypeVar("Trace")


class PathRetriever(ABC, Generic[Trace]):
    """A `TopicRetriever` that starts from the entities of a question, and keeps a trace of its search."""

    __slots__ = ()
    scope: Scope

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


def mention_triple(snapshot: Snapshot, passage: int, entity: int, allowed: BoolArray | None = None) -> Triple:
    """Return the mention of an entity by a passage as a triple, named as the passage writes it.

    Where it writes none, as where it links to the entity's document, the name is that of the allowed passages (P,).
    """
    id_, label = snapshot.passage_ids[passage], label_among(snapshot, entity, allowed)
    name = find_spelling(snapshot, passage, entity, allowed) or label
    other = label if label != name and are_tied(snapshot, entity, label, name, allowed) else ""
    return Triple(snapshot.titles[passage] or id_, MENTIONS_RELATION, name, (id_,), tail_name=other)


def walk_path(snapshot: Snapshot, nodes: Sequence[int], allowed: BoolArray) -> Path:
    """Return the triple of each step of a walk over nodes, () for one node; allowed passages (P,) state them."""
    return tuple(_edge_triple(snapshot, one, other, allowed) for one, other in pairwise(nodes))


def explain_walk(
    snapshot: Snapshot, found: QuestionWalk, damping: float, passages: Sequence[int], allowed: BoolArray
) -> tuple[Scored[Path], ...]:
    """Return the likeliest walk to each of some passages as triples, likeliest first.

    Without those that end where they start, and those to passages that the walk did not reach. Triples are as allowed
    passages (P,) write them.
    """
    if found.walk is None or found.restart is None:
        return ()
    reached = set(found.nodes[found.scores > 0].tolist())
    targets = [passage for passage in passages if passage in reached]
    walks = likeliest_walks(snapshot.walk, found.walk, found.restart, damping, targets)
    paths = [Scored(walk_path(snapshot, nodes, allowed), probability) for probability, nodes in walks]
    return tuple(sorted((path for path in paths if path.item), key=lambda path: -path.score))


def _edge_triple(s: Snapshot, one: int, other: int, allowed: BoolArray) -> Triple:
    stating = [node for node in (one, other) if node < len(s.passage_ids) and allowed[node]]
    candidates = [_connecting_triple(s, passage, other if passage == one else one) for passage in stating]
    chosen = [position for position in candidates if position >= 0]
    if chosen:
        return s.triple(chosen[0], allowed)
    # An edge without a triple is a mention, by whichever of the two passages mentions the other node.
    passage, entity = next(
        (passage, int(entity))
        for passage in stating
        for entity in s.mentions.row(passage)
        if s.entity_nodes[entity] == (other if passage == one else one)
    )
    return mention_triple(s, passage, entity, allowed)


def _connecting_triple(s: Snapshot, passage: int, node: int) -> int:
    """Return the position of a triple of the passage that has another node as an end, else -1."""
    positions = s.passage_triples.row(passage)
    if not len(positions):
        return -1
    ends = s.triples[positions][:, [0, 2]]
    touches = (s.entity_nodes[ends] == node).any(axis=1)
    # The other end should be the passage's title; failing that, any triple of the passage with the node is taken.
    title = s.title_entities[passage]
    both = touches & ((ends == title).any(axis=1) if title >= 0 else touches)
    best = np.flatnonzero(both if both.any() else touches)
    return int(positions[best[0]]) if len(best) else -1
