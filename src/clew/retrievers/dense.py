"""Dense retrieval: passages whose vectors are similar to the question's."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.retrievers.evidence import PassageRetriever, make_evidence
from clew.types import Evidence


@dataclass(frozen=True, slots=True)
class DenseRetriever(PassageRetriever):
    """Ranks all passages by the cosine of their vector with the question's, exactly."""

    scope: Scope
    # encodes questions to unit rows (n, d) with the encoder of the passages' vectors
    encode: Callable[[Sequence[str]], FloatArray]

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` passages, by cosine."""
        started = time.perf_counter()
        ranked = self.scope.rank(self.similarity(question), k, allowed, floor=-np.inf)
        return make_evidence(self.scope.scored_passages(ranked), (), (), started)

    def similarity(self, question: str) -> FloatArray:
        """Return the cosine (P,) of every passage with a question."""
        return self.scope.snapshot.vectors.similarities(self.question_vector(question))

    def question_vector(self, question: str) -> FloatArray:
        """Return a question's unit vector (d,)."""
        vector: FloatArray = self.encode([question])[0]
        return vector


class Dense(SettingsRecord):
    """Settings of `dense`: none."""

    label: ClassVar[str] = "dense"


def build_dense(context: IndexContext, _: Dense) -> DenseRetriever:
    """Return the retriever over one index; raises InputError where the index has no vectors."""
    context.encoder  # noqa: B018 - refuses an index without vectors
    return DenseRetriever(context.scope, context.encode_questions)
