"""The retriever that finds nothing, so that a language model alone can be evaluated beside retrievers.

Source: Gao et al., "FRAG" (2025), section 5.1 (vanilla language models). Differs from the source: nothing.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from clew.arrays import BoolArray
from clew.plugins.records import SettingsRecord
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.retrievers.evidence import empty_question_evidence, make_evidence
from clew.retrievers.supporting_passages import PathRetriever
from clew.types import Evidence

NOTHING_SEARCHED = "the retriever none searches nothing"


class NoRetrieval(SettingsRecord):
    """Settings of `none`, which has no setting."""

    label: ClassVar[str] = "none"


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoRetriever(PathRetriever[None]):
    """Returns empty evidence with a note."""

    scope: Scope

    def retrieve_one(
        self, question: str, names: Sequence[str], k: int, allowed: BoolArray, blocked_triples: BoolArray | None
    ) -> tuple[Evidence, None]:
        """Return evidence without passages and paths, whatever passages (P,) and triples (T,) are given."""
        del names, k, allowed, blocked_triples
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started), None
        return make_evidence((), (), (NOTHING_SEARCHED,), started), None


def build_no_retrieval(context: IndexContext, settings: NoRetrieval) -> NoRetriever:
    """Return the retriever."""
    del settings
    return NoRetriever(context.scope)
