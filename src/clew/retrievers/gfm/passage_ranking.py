"""Ranking of passages by the scores of nodes.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.3. Differs
from the source: passages are nodes and are scored directly; the ranking by entities is in the package `clew_lab`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clew.arrays import BoolArray, FloatArray, top_order
from clew.retrievers.coverage import PassageWords, order_by_coverage
from clew.retrievers.gfm.passage_graphs import QuestionGraph

_COVERAGE = 1.6  # weight of the words that no passage before has, beside a logit


@dataclass(frozen=True, slots=True)
class RankedPassages:
    """Passages, best first."""

    passages: tuple[tuple[int, float], ...]  # positions and scores
    nodes: tuple[int, ...]  # for each passage the node of the question's graph that explains its score, -1 for none


class Ranker(Protocol):
    """Ranks passages by the scores of nodes."""

    def rank(
        self, graph: QuestionGraph, logits: FloatArray, vector: FloatArray, k: int, allowed: BoolArray
    ) -> RankedPassages:
        """Return at most `k` allowed passages (P,), for logits (n,) of the nodes and the question's vector (d,)."""


@dataclass(frozen=True, slots=True)
class PassageRanker:
    """Ranks passages that are nodes by their own score, and by what they cover of the question (see `coverage`).

    Passages that only the walk found follow, in its order.
    """

    def rank(
        self, graph: QuestionGraph, logits: FloatArray, vector: FloatArray, k: int, allowed: BoolArray
    ) -> RankedPassages:
        """Return at most `k` passages of the graph by their logits (n,), with scores up to 1 (see `Ranker`)."""
        del vector, allowed  # the graph holds no other passages
        targets = np.flatnonzero(graph.targets)
        words = PassageWords.none(len(targets)) if graph.words is None else graph.words
        order, covering = order_by_coverage(logits[targets], words, _COVERAGE, k)
        best = targets[order]
        scores = 1.0 / (1.0 + np.exp(_COVERAGE * bool(words.present.size) - covering))
        ranked = [(int(node), float(score)) for node, score in zip(graph.nodes[best], scores, strict=True)]
        nodes = best.tolist()
        passages, values = graph.walk_passages
        if len(ranked) < k and len(passages):
            others = np.flatnonzero(~np.isin(passages, graph.nodes) & (values > 0))
            if len(others):
                further = others[top_order(values[others], k - len(ranked))]
                least = min((score for _, score in ranked), default=1.0)
                share = least / (1.0 + float(values[further].max()))
                ranked += [(int(passages[i]), float(values[i]) * share) for i in further]
                nodes += [-1] * len(further)
        return RankedPassages(tuple(ranked), tuple(nodes))
