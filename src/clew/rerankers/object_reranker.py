"""Rerankers of somebody else: what they return is checked at each call."""

import math
from collections.abc import Sequence
from typing import cast, final

from clew.plugins.arguments import check_members
from clew.plugins.origin import Origin, is_own
from clew.protocols import Reranker
from clew.types import Evidence, Scored

_METHOD = "rerank"


@final
class GivenReranker:
    """A reranker of somebody else, whose evidence is checked.

    Args:
        reranker: The object.
        origin: Where it comes from, for messages.
    """

    def __init__(self, reranker: Reranker, origin: Origin) -> None:
        self._reranker = reranker
        self._origin = origin

    @property
    def fingerprint(self) -> str:
        """That of the object, "" where it has none."""
        return str(getattr(self._reranker, "fingerprint", ""))

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return what the object does; InputError: that is not the passages of each question in another order."""
        with self._origin.map_errors():
            returned = self._reranker.rerank(questions, evidence)
        ranked: list[Evidence] = self._origin.check_results(returned, len(evidence), (Evidence,), _METHOD)
        for before, after in zip(evidence, ranked, strict=True):
            self._check(before, after)
        return ranked

    def _check(self, before: Evidence, after: Evidence) -> None:
        for found in after.passages:
            self._origin.check_part(found, (Scored,), _METHOD, "a passage of the evidence")
            if not isinstance(found.score, float | int) or not math.isfinite(found.score):
                raise self._origin.wrong_part(_METHOD, "the score of a passage", repr(found.score), "a finite number")
        wanted, seen = ([found.item.id for found in one.passages] for one in (before, after))
        if sorted(wanted) != sorted(seen):
            raise self._origin.wrong_part(_METHOD, "the passages", f"{seen[:5]}", f"those given, {wanted[:5]}")


def accept_reranker(given: object, origin: Origin) -> Reranker:
    """Return a reranker, with its evidence checked unless it is one of this package.

    Raises InputError where it has no method `rerank`.
    """
    check_members(given, origin.label, {"rerank": None})
    reranker = cast("Reranker", given)
    return reranker if is_own(given) else GivenReranker(reranker, origin)
