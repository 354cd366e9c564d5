"""Dense retrieval: passages whose vectors are similar to the question's."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from clew.arrays import BoolArray, FloatArray
from clew.plugins.records import SettingsRecord, setting
from clew.query.context import IndexContext
from clew.query.question_vectors import SimilarPassages
from clew.query.scope import Scope
from clew.retrievers.evidence import PassageRetriever, make_evidence
from clew.types import Evidence


@dataclass(frozen=True, slots=True)
class DenseRetriever(PassageRetriever):
    """Ranks passages by the cosine of their vector with the question's."""

    scope: Scope
    similar: SimilarPassages
    # encodes questions to unit rows (n, d) with the encoder of the passages' vectors
    encode: Callable[[Sequence[str]], FloatArray]

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` allowed passages (P,), by cosine."""
        started = time.perf_counter()
        ranked, notes = self.rank(question, k, allowed)
        return make_evidence(self.scope.scored_passages(ranked), (), notes, started)

    def rank(self, question: str, k: int, allowed: BoolArray) -> tuple[list[tuple[int, float]], tuple[str, ...]]:
        """Return positions and cosines of at most `k` of the allowed passages (P,), best first, and notes."""
        return self.similar.rank(self.question_vector(question), k, allowed)

    def question_vector(self, question: str) -> FloatArray:
        """Return a question's unit vector (d,)."""
        vector: FloatArray = self.encode([question])[0]
        return vector


class Dense(SettingsRecord):
    """Settings of `dense`."""

    label: ClassVar[str] = "dense"

    exact: bool = setting(
        default=False,
        description="whether every passage is compared with the question; else, from 30,000 passages on, those in the "
        "nearest lists",
    )


def build_dense(context: IndexContext, settings: Dense) -> DenseRetriever:
    """Return the retriever over one index; raises InputError where the index has no vectors."""
    context.encoder  # noqa: B018 - refuses an index without vectors
    return DenseRetriever(context.scope, context.similar_passages(exact=settings.exact), context.encode_questions)
