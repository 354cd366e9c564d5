"""BM25: passages that share rare words with the question; the baseline for every other retriever.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), by way of `bm25s`.
Differs from the source: nothing.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.retrievers.evidence import EMPTY_QUESTION, check_k, make_evidence
from clew.text.bm25 import BM25Index
from clew.types import Evidence, Filter

NO_SHARED_WORD = "no passage shares a word with the question"


@dataclass(frozen=True, slots=True)
class BM25Retriever:
    """Ranks passages by BM25; passages that share no word with the question are not returned."""

    scope: Scope
    lexical: BM25Index  # BM25 of the same passages, in the same order

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, by BM25 score."""
        check_k(k)
        allowed = self.scope.mask(where)
        evidence: list[Evidence] = []
        for question in questions:
            started = time.perf_counter()
            ranked = self.scope.rank(self.lexical.scores(question), k, allowed)
            note = EMPTY_QUESTION if not question.strip() else NO_SHARED_WORD
            evidence.append(make_evidence(self.scope.scored_passages(ranked), (), () if ranked else (note,), started))
        return evidence


class BM25(SettingsRecord):
    """Settings of `bm25`: none."""

    label: ClassVar[str] = "bm25"


def build_bm25(context: IndexContext, _: BM25) -> BM25Retriever:
    """Return the retriever over one index."""
    return BM25Retriever(context.scope, context.lexical)
