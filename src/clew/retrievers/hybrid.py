"""Vectors and words in one score, for encoders of many languages: words count as far as the index has the question's.

A passage scores the higher one of its own cosine with the question and that of its best sentence, and its BM25 score as
a share of the most that the question could get, its words that no passage has counted as the rarest. So a question in
another language than the passages is answered by vectors, one in theirs by both.

Source: none; measured by bench/languages.py. Differs from the source: nothing.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray, FloatArray, top_order
from clew.plugins.records import Amount, SettingsRecord, setting
from clew.query.chain_search import sentences_of
from clew.query.context import IndexContext
from clew.query.question_vectors import SimilarPassages
from clew.query.scope import Scope
from clew.retrievers.evidence import PassageRetriever, make_evidence
from clew.text.bm25 import BM25Index
from clew.text.normalization import Analyzer
from clew.types import Evidence

_CANDIDATES = 200  # passages that are scored, of the nearest and of those with the rarest words each


class Hybrid(SettingsRecord):
    """Settings of `hybrid`."""

    label: ClassVar[str] = "hybrid"

    words: Amount = setting(1.0, "weight of the question's words beside a cosine")


@dataclass(frozen=True, slots=True)
class HybridRetriever(PassageRetriever):
    """Ranks passages by vectors and words."""

    scope: Scope
    similar: SimilarPassages
    encode: Callable[[Sequence[str]], FloatArray]  # encodes questions to unit rows (n, d)
    lexical: BM25Index  # of the same passages
    words: float

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` allowed passages (P,), by score."""
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
        unknown = len(set(Analyzer().terms(question))) - len(query.terms)
        most = query.weights.sum() + unknown * math.log(2 * len(self.lexical) + 2)
        scores += self.words * self.lexical.scores_at(query, found) / max(most, 1e-9)
        ranked = [(int(found[row]), float(scores[row])) for row in top_order(scores, k)]
        return make_evidence(scope.scored_passages(ranked), (), notes, started)


def build_hybrid(context: IndexContext, settings: Hybrid) -> HybridRetriever:
    """Return the retriever over one index; raises InputError where the index has no vectors."""
    context.encoder  # noqa: B018 - refuses an index without vectors
    search = context.similar_passages()
    return HybridRetriever(context.scope, search, context.encode_questions, context.lexical, settings.words)
