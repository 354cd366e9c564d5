"""Rerankers of somebody else: what they return is checked at each call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, final

from clew.plugins.arguments import Origin, check_members, is_own
from clew.protocols import Reranker
from clew.types import Evidence

_METHOD = "rerank"


@final
@dataclass(frozen=True, slots=True, eq=False)
class GivenReranker:
    """A reranker of somebody else, whose evidence is checked."""

    reranker: Reranker  # the object
    origin: Origin  # where it comes from, for messages

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the object, "" if it has none."""
        return str(getattr(self.reranker, "fingerprint", ""))

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return what the object does; InputError: that is not the passages of each question in another order."""
        with self.origin.map_errors():
            returned = self.reranker.rerank(questions, evidence)
        ranked: list[Evidence] = self.origin.check_results(returned, len(evidence), (Evidence,), _METHOD)
        for before, after in zip(evidence, ranked, strict=True):
            self._check(before, after)
        return ranked

    def _check(self, before: Evidence, after: Evidence) -> None:
        for found in after.passages:
            self.origin.check_scored(found, _METHOD)
        wanted, seen = ([found.item.id for found in one.passages] for one in (before, after))
        if sorted(wanted) != sorted(seen):
            raise self.origin.wrong_part(_METHOD, "the passages", f"{seen[:5]}", f"those given, {wanted[:5]}")


def accept_reranker(given: object, origin: Origin) -> Reranker:
    """Return a reranker, with its evidence checked unless it is one of this package.

    Raises InputError where it has no method `rerank`.
    """
    check_members(given, origin.label, {"rerank": None})
    reranker = cast("Reranker", given)
    return reranker if is_own(given) else GivenReranker(reranker, origin)
