"""BM25: passages that share rare words with the question; the baseline for every other retriever.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
Differs from the source: nothing.
"""

import time
from dataclasses import dataclass
from typing import ClassVar

from clew.arrays import BoolArray
from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.retrievers.evidence import PassageRetriever, make_evidence
from clew.text.bm25 import BM25Index
from clew.types import Evidence

NO_SHARED_WORD = "no passage shares a word with the question"


@dataclass(frozen=True, slots=True)
class BM25Retriever(PassageRetriever):
    """Ranks passages by BM25; passages that share no word with the question are not returned."""

    scope: Scope
    lexical: BM25Index  # BM25 of the same passages, in the same order

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` allowed passages (P,), by BM25 score."""
        started = time.perf_counter()
        positions, scores = self.lexical.top(self.lexical.query(question), k, self.scope.restriction(allowed))
        ranked = list(zip(positions.tolist(), scores.tolist(), strict=True))
        return make_evidence(self.scope.scored_passages(ranked), (), () if ranked else (NO_SHARED_WORD,), started)


class BM25(SettingsRecord):
    """Settings of `bm25`: none."""

    label: ClassVar[str] = "bm25"


def build_bm25(context: IndexContext, _: BM25) -> BM25Retriever:
    """Return the retriever over one index."""
    return BM25Retriever(context.scope, context.lexical)
