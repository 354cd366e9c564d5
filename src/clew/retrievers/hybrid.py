"""Vectors, words and chains of sentences in one score, for long documents, and for encoders of many languages.

A passage scores the higher one of its own cosine with the question and that of its best sentence, and its BM25 score as
a share of the weight of the question's words, of which those that no passage has count as the rarest. So a question in
another language than the passages is answered by vectors, one in theirs by both. A little is added for the best chain
of sentences that it stands in, and for words that no passage before it has (`coverage`); chains and walks are shown as
those of `chains`.

Source: none; measured by bench/languages.py and bench/long_files.py. Differs from the source: nothing.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.models.encoders.int4_e5 import Int4E5
from clew.plugins.records import Amount, SettingsRecord, setting
from clew.query.chain_search import ChainSearch, sentences_of
from clew.query.context import IndexContext
from clew.query.question_vectors import SimilarPassages
from clew.query.scope import Scope
from clew.retrievers.coverage import PassageWords, order_by_coverage
from clew.retrievers.evidence import ChainQuoter, PassageRetriever, make_evidence
from clew.retrievers.supporting_passages import explain_walk
from clew.text.bm25 import BM25Index
from clew.types import Evidence

_CANDIDATES = 200  # passages that are scored, of the nearest and of those with the rarest words each


@dataclass(frozen=True, slots=True)
class HybridWeights:
    """Weights beside the best cosine of a passage."""

    words: float = 1.3  # of the question's words
    chains: float = 0.3  # of its best chain, as a share of the best one
    coverage: float = 0.5  # of the words that no passage before has


# Cosines of this encoder lie close together; words and chains mislead where the question is in another language.
_OF_MANY_LANGUAGES = HybridWeights(words=0.5, chains=0.0, coverage=0.0)


class Hybrid(SettingsRecord):
    """Settings of `hybrid`."""

    label: ClassVar[str] = "hybrid"

    words: Amount | None = setting(
        None, "weight of the question's words beside a cosine; by default 1.3, 0.5 for many languages"
    )
    chains: Amount | None = setting(
        None, "weight of a passage's best chain, as a share of the best one; by default 0.3, 0 for many languages"
    )


@dataclass(frozen=True, slots=True)
class HybridRetriever(PassageRetriever):
    """Ranks passages by vectors, words and chains of sentences."""

    scope: Scope
    similar: SimilarPassages
    encode: Callable[[Sequence[str]], FloatArray]  # encodes questions to unit rows (n, d)
    lexical: BM25Index  # of the same passages
    weights: HybridWeights
    chain_search: ChainSearch
    quoter: ChainQuoter | None  # None where neither chains nor walks are shown

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` allowed passages (P,) by score, with the walks and chains that `chains` finds to them."""
        started = time.perf_counter()
        scope, vector, depth = self.scope, self.encode([question])[0], max(k, _CANDIDATES)
        nearest, notes = self.similar.rank(vector, depth, allowed)
        query = self.lexical.query(question)
        by_words, _ = self.lexical.top(query, depth, scope.restriction(allowed))
        found = np.union1d(np.array([position for position, _ in nearest], dtype=np.int32), by_words).astype(np.int32)
        scores = (scope.snapshot.vectors.rows(found) @ vector).astype(np.float64)
        index = scope.snapshot.sentences
        if index.vectors is not None:
            sentences, owners = sentences_of(found, index.offsets)
            np.maximum.at(scores, owners, index.vectors.similarities(sentences, vector[None])[:, 0])
        scores += (
            self.weights.words * self.lexical.scores_at(query, found) / max(self.lexical.weigh_words(question), 1e-9)
        )
        walked = self.chain_search.search(question, allowed)
        _, in_found, in_walked = np.intersect1d(found, walked.passages, assume_unique=True, return_indices=True)
        scores[in_found] += self.weights.chains * walked.chain_shares[in_walked]
        order, values = order_by_coverage(
            scores, PassageWords.find(self.lexical, query, found), self.weights.coverage, k
        )
        ranked = list(zip(found[order].tolist(), values.tolist(), strict=True))
        if self.quoter is None:
            return make_evidence(scope.scored_passages(ranked), (), notes, started)
        passages = np.array([passage for passage, _ in ranked], dtype=np.int32)
        paths = explain_walk(scope.snapshot, walked.walk, self.chain_search.damping, passages.tolist(), allowed)
        chains = self.quoter.quote(walked.chains, passages, allowed)
        return replace(make_evidence(scope.scored_passages(ranked), paths, notes, started), chains=chains)


def build_hybrid(context: IndexContext, settings: Hybrid) -> HybridRetriever:
    """Return the retriever over one index; raises InputError where the index has no vectors."""
    similar, chain_search, snapshot = context.similar_passages(), context.chain_search(), context.scope.snapshot
    quoter = ChainQuoter(snapshot, context.lexical, snapshot.sentences) if context.paths_per_passage else None
    weights = _OF_MANY_LANGUAGES if context.encoder.fingerprint == Int4E5.fingerprint else HybridWeights()
    given = {name: weight for name in ("words", "chains") if (weight := getattr(settings, name)) is not None}
    weights, encode = replace(weights, **given), context.encode_questions
    return HybridRetriever(context.scope, similar, encode, context.lexical, weights, chain_search, quoter)
