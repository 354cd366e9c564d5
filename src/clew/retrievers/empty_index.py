"""Retriever used when the index has no passages: returns empty evidence and loads no model."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from clew.query.scope import Scope
from clew.retrievers.evidence import EMPTY_QUESTION, check_k, make_evidence
from clew.types import Evidence, Filter

NO_PASSAGES = "the index holds no passages, so none was found: add documents with `clew index`"
ONLY_GRAPH = f"{NO_PASSAGES}, or search its imported graph with the retriever frag"


@dataclass(frozen=True, slots=True)
class EmptyIndexRetriever:
    """Returns empty evidence with a note that states the reason."""

    scope: Scope  # an index without passages

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return empty evidence with a note a question."""
        check_k(k, questions)
        self.scope.mask(where)
        started = time.perf_counter()
        note = ONLY_GRAPH if len(self.scope.snapshot.triples) else NO_PASSAGES
        return [make_evidence((), (), (note if text.strip() else EMPTY_QUESTION,), started) for text in questions]
