"""HippoRAG 2's ranking, without a language model: the published baseline.

A graph of phrases and passages: triple edges both ways, weighted by the number of passages that state them;
phrase-passage edges of weight 1; synonym edges. The five triples most similar to a question give weights to their
phrases, every passage gets a twentieth of its dense score, and personalised PageRank from both ranks the passages.

Source: Gutierrez et al., "From RAG to Memory" (2025), section 3, and the settings of its published code.
Differs from the source: triples are not filtered by a language model.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray, FloatArray, top_order
from clew.graph.csr import Adjacency
from clew.graph.ppr.power_iteration import PowerWalk, summed_adjacency
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.retrievers.dense import Dense, DenseRetriever, build_dense, scale_similarities
from clew.retrievers.evidence import check_k, empty_question_evidence, make_evidence
from clew.retrievers.walk_paths import mention_triple
from clew.types import Evidence, Filter, Path, Scored

TOP_TRIPLES = 5
TOP_PHRASES = 5
PASSAGE_WEIGHT = 0.05
DAMPING = 0.5


@dataclass(frozen=True, eq=False)
class HippoRAG2Retriever:
    """Ranks passages by PageRank from the phrases of the nearest triples and from all passages' dense scores."""

    scope: Scope
    dense: DenseRetriever  # computes the similarity of passages
    load_triple_vectors: Callable[[], FloatArray]  # returns unit rows (T, d) of the texts of all triples

    @cached_property
    def _triple_vectors(self) -> FloatArray:
        return self.load_triple_vectors()

    @cached_property
    def _walk(self) -> PowerWalk:
        return PowerWalk(build_phrase_graph(self.scope.snapshot, np.ones(len(self.scope), dtype=bool)))

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question; without a triple to start from, the dense ranking."""
        check_k(k)
        allowed = self.scope.mask(where)
        walk = self._walk if allowed.all() else PowerWalk(build_phrase_graph(self.scope.snapshot, allowed))
        return [self._retrieve_one(question, k, allowed, walk) for question in questions]

    def _retrieve_one(self, question: str, k: int, allowed: BoolArray, walk: PowerWalk) -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started)
        triples = self._nearest_triples(question, allowed)
        if not len(triples):
            ranked, notes = self.dense.rank(question, k, allowed)
            notes = ("no triple to start from: dense ranking", *notes)
            return make_evidence(self.scope.scored_passages(ranked), (), notes, started)
        similarity = self.dense.similarity(question)  # of all passages, as published
        restart = np.zeros(len(allowed) + len(self.scope.snapshot.entities), dtype=np.float64)
        restart[: len(allowed)] = PASSAGE_WEIGHT * scale_similarities(similarity, allowed)
        for phrase, weight in self._phrase_weights(triples).items():
            restart[len(allowed) + phrase] = weight
        values = walk.values(restart / restart.sum(), DAMPING)[: len(allowed)].astype(np.float32)
        ranked = self.scope.rank(values, k, allowed, floor=-np.inf)
        passages = self.scope.scored_passages(ranked)
        return make_evidence(passages, self._paths(triples, ranked, allowed), (), started)

    def _nearest_triples(self, question: str, allowed: BoolArray) -> list[tuple[int, float]]:
        if not len(self.scope.snapshot.triples):
            return []
        scores = self._triple_vectors @ self.dense.question_vector(question)
        if not allowed.all():
            scores = np.where(self.scope.snapshot.stated_triple_mask(allowed), scores, -np.inf).astype(np.float32)
        best = top_order(scores, TOP_TRIPLES)
        return [(int(t), float(scores[t])) for t in best if np.isfinite(scores[t])]

    def _phrase_weights(self, triples: Sequence[tuple[int, float]]) -> dict[int, float]:
        """Return the weights of the best phrases: mean over their triples of score / number of passages."""
        snapshot = self.scope.snapshot
        by_phrase: dict[int, list[float]] = {}
        for triple, score in triples:
            for phrase in {int(snapshot.triples[triple, 0]), int(snapshot.triples[triple, 2])}:
                passages = max(len(snapshot.mentioned_in.row(phrase)), 1)
                by_phrase.setdefault(phrase, []).append(max(score, 0.0) / passages)
        means = {phrase: sum(scores) / len(scores) for phrase, scores in by_phrase.items()}
        return {phrase: means[phrase] for phrase in sorted(means, key=lambda p: (-means[p], p))[:TOP_PHRASES]}

    def _paths(
        self, triples: Sequence[tuple[int, float]], ranked: Sequence[tuple[int, float]], allowed: BoolArray
    ) -> list[Scored[Path]]:
        """Return the nearest triples, each followed by the best ranked passage that mentions one of its phrases."""
        snapshot = self.scope.snapshot
        paths: list[Scored[Path]] = []
        for triple, score in triples:
            first = snapshot.triple(triple, allowed)
            ends = {int(snapshot.triples[triple, 0]), int(snapshot.triples[triple, 2])}
            for passage, _ in ranked:
                shared = sorted(ends & set(snapshot.mentions.row(passage).tolist()))
                if shared and snapshot.passage_ids[passage] not in first.passages:
                    paths.append(Scored((first, mention_triple(snapshot, passage, shared[0])), score))
                    break
            else:
                paths.append(Scored((first,), score))
        return paths


def build_phrase_graph(snapshot: Snapshot, allowed: BoolArray) -> Adjacency:
    """Return passages 0 to P - 1 and phrases P to P + E - 1 with triple, mention and synonym edges, both ways.

    Only allowed passages (P,) state a triple or mention a phrase.
    """
    count = len(snapshot.passage_ids)
    passages = np.repeat(np.arange(count), snapshot.mentions.degrees())
    is_allowed = allowed[passages]
    stated = snapshot.triple_passages
    triples = np.repeat(np.arange(stated.row_count), stated.degrees())[allowed[stated.indices]]
    triples = np.concatenate([triples, np.flatnonzero(snapshot.imported)])  # an imported graph states each triple once
    synonyms = np.repeat(np.arange(snapshot.equivalences.row_count), snapshot.equivalences.degrees())
    heads, tails = snapshot.triples[triples, 0].astype(np.int64), snapshot.triples[triples, 2].astype(np.int64)
    one = np.concatenate([passages[is_allowed], heads + count])
    two = np.concatenate([snapshot.mentions.indices[is_allowed].astype(np.int64) + count, tails + count])
    both = np.concatenate([one, two]), np.concatenate([two, one])
    weights = np.ones(2 * len(one), dtype=np.float32)
    # Equivalences are stored in both directions.
    rows = np.concatenate([both[0], synonyms + count])
    columns = np.concatenate([both[1], snapshot.equivalences.indices.astype(np.int64) + count])
    return summed_adjacency(
        rows, columns, np.concatenate([weights, snapshot.equivalences.weights]), count + len(snapshot.entities)
    )


class HippoRAG2(SettingsRecord):
    """Settings of `hipporag2`: none."""

    label: ClassVar[str] = "hipporag2"


def build_hipporag2(context: IndexContext, _: HippoRAG2) -> HippoRAG2Retriever:
    """Return the retriever over one index; raises InputError where the index has no vectors."""
    return HippoRAG2Retriever(context.scope, build_dense(context, Dense()), context.triple_text_vectors)
