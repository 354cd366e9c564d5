"""HippoRAG 2's ranking, with its language model that filters triples or without: the published baseline.

A graph of phrases and passages: triple edges both ways, weighted by the number of passages that state them;
phrase-passage edges of weight 1; synonym edges. The five triples most similar to a question, or those of them that a
language model keeps, give weights to their phrases, every passage gets a twentieth of its dense score, and personalised
PageRank from both ranks the passages.

Source: Gutierrez et al., "From RAG to Memory" (2025), section 3, and the settings of its published code.
Differs from the source: triples are filtered by a language model only where one is given (`filter`).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, cast

import numpy as np

from clew.arrays import BoolArray, FloatArray, top_order
from clew.errors import BudgetError
from clew.graph.csr import Adjacency
from clew.plugins.records import SettingsRecord, setting
from clew.protocols import LanguageModel
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.retrievers.dense import Dense, DenseRetriever, build_dense
from clew.retrievers.evidence import check_k, empty_question_evidence, make_evidence
from clew.retrievers.supporting_passages import mention_triple
from clew.types import Evidence, Filter, Path, Reply, Scored, Usage
from clew_lab.graph.phrase_graph import build_phrase_graph
from clew_lab.graph.power_iteration import PowerWalk
from clew_lab.graph.scaled_similarity import scale_similarities
from clew_lab.graph.synonyms import SYNONYMS, SynonymNames, load_synonyms
from clew_lab.models import fact_filter

TOP_TRIPLES = 5
TOP_PHRASES = 5
PASSAGE_WEIGHT = 0.05
DAMPING = 0.5
_Triples = Sequence[tuple[int, float]]  # positions and scores


@dataclass(frozen=True, eq=False)
class HippoRAG2Retriever:
    """Ranks passages by PageRank from the phrases of the nearest triples and from all passages' dense scores."""

    scope: Scope
    dense: DenseRetriever  # computes the similarity of passages
    load_triple_vectors: Callable[[], FloatArray]  # returns unit rows (T, d) of the texts of all triples
    load_synonyms: Callable[[], Adjacency]  # returns those of each phrase (E rows)
    model: LanguageModel | None = None  # filters the nearest triples; None to keep them all

    @property
    def fingerprint(self) -> str:
        """The model and the hash of its prompt; "" without a model."""
        return f"{self.model.name}:{fact_filter.TEMPLATE.fingerprint}" if self.model is not None else ""

    @cached_property
    def _triple_vectors(self) -> FloatArray:
        return self.load_triple_vectors()

    @cached_property
    def _synonyms(self) -> Adjacency:
        return self.load_synonyms()

    @cached_property
    def _walk(self) -> PowerWalk:
        return self._walk_among(np.ones(len(self.scope), dtype=bool))

    def _walk_among(self, allowed: BoolArray) -> PowerWalk:
        return PowerWalk(build_phrase_graph(self.scope.snapshot, allowed, self._synonyms))

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question; without a triple to start from, the dense ranking."""
        check_k(k, questions)
        allowed = self.scope.mask(where)
        walk = self._walk if allowed.all() else self._walk_among(allowed)
        nearest = [self._nearest_triples(question, allowed) if question.strip() else [] for question in questions]
        results = []
        for question, (triples, notes, usage) in zip(questions, self._filter(questions, nearest, allowed), strict=True):
            evidence = self._retrieve_one(question, k, allowed, walk, triples)
            results.append(replace(evidence, notes=(*notes, *evidence.notes), usage=evidence.usage + usage))
        return results

    def _filter(
        self, questions: Sequence[str], nearest: Sequence[_Triples], allowed: BoolArray
    ) -> list[tuple[_Triples, tuple[str, ...], Usage]]:
        """Return the triples that the language model keeps, with a note and the usage.

        All are kept where there is no model, or its reply cannot be used.
        """
        filtered: list[tuple[_Triples, tuple[str, ...], Usage]] = [(triples, (), Usage()) for triples in nearest]
        asked = [number for number, triples in enumerate(nearest) if triples]
        if self.model is None or not asked:
            return filtered
        snapshot, some = self.scope.snapshot, self.scope.restriction(allowed)
        prompts = [
            fact_filter.build_prompt(questions[n], [snapshot.triple(triple, some) for triple, _ in nearest[n]])
            for n in asked
        ]
        for number, result in zip(asked, self.model.complete(prompts), strict=True):
            triples = nearest[number]
            if isinstance(result, Reply):
                positions = fact_filter.parse_positions(cast("fact_filter.FactNumbers", result.value), len(triples))
                note = f"{self.model.name} keeps {len(positions)} of {len(triples)} triples"
                triples = [triples[p] for p in positions]
            elif result.run_error is not None and not isinstance(result.run_error, BudgetError):
                raise result.run_error
            else:
                note = f"{self.model.name}: no triple is left out: {result.reason}"
            filtered[number] = triples, (note,), result.usage
        return filtered

    def _retrieve_one(self, question: str, k: int, allowed: BoolArray, walk: PowerWalk, triples: _Triples) -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started)
        if not len(triples):
            ranked, notes = self.dense.rank(question, k, allowed)
            notes = ("no triple to start from: dense ranking", *notes)
            return make_evidence(self.scope.scored_passages(ranked), (), notes, started)
        vectors = self.scope.snapshot.vectors
        similarity = vectors.similarities(self.dense.question_vector(question))  # of all passages, as published
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
                    paths.append(Scored((first, mention_triple(snapshot, passage, shared[0], allowed)), score))
                    break
            else:
                paths.append(Scored((first,), score))
        return paths


class HippoRAG2(SettingsRecord):
    """Settings of `hipporag2`."""

    label: ClassVar[str] = "hipporag2"

    filter: str = setting(
        "", "language model that filters the nearest triples, such as openai:gpt-4o-mini", "HippoRAG 2: one", "none"
    )
    synonyms: SynonymNames = SYNONYMS


def build_hipporag2(context: IndexContext, settings: HippoRAG2) -> HippoRAG2Retriever:
    """Return the retriever over one index; raises InputError where it has no vectors, or no model has the name."""
    model = context.open_model(settings.filter) if settings.filter else None
    synonyms = partial(load_synonyms, context, settings.synonyms)
    return HippoRAG2Retriever(
        context.scope, build_dense(context, Dense()), context.triple_text_vectors, synonyms, model
    )
