"""Retrievers of somebody else: what they return is checked at each search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from clew.errors import InputError
from clew.plugins.arguments import Origin, check_given, is_own
from clew.protocols import Retriever, TopicRetriever
from clew.query.evidence_gate import check_evidence
from clew.query.scope import Scope
from clew.types import Evidence, Filter, Passage

KIND = "retriever"


@dataclass(frozen=True, eq=False)
class GivenRetriever:
    """A retriever of somebody else, whose evidence is checked."""

    retriever: Retriever  # the object
    scope: Scope  # of the index that it searches
    origin: Origin  # where it comes from, for messages

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the object, "" if it has none."""
        return str(getattr(self.retriever, "fingerprint", ""))

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return what the object does; InputError: that is not the evidence of `Retriever.retrieve`."""
        with self.origin.map_errors():
            found = self.retriever.retrieve(questions, k, where)
        return self._check(found, len(questions), k, where, "retrieve")

    def _check(self, found: object, count: int, k: int, where: Filter | None, method: str) -> list[Evidence]:
        checked: list[Evidence] = self.origin.check_results(found, count, (Evidence,), method)
        for evidence in checked:
            check_passages(evidence, self.origin, method)
            if len(evidence.passages) > k:
                seen = f"{len(evidence.passages)} passages"
                raise self.origin.wrong_part(method, "the evidence of a question", seen, f"at most k = {k}")
            if where is not None:
                self._check_filter(evidence, where)
        return checked

    def _check_filter(self, evidence: Evidence, where: Filter) -> None:
        try:
            check_evidence(evidence, self.scope, where)
        except RuntimeError as error:
            raise InputError(f"the {self.origin.label} does not keep the filter {where!r}: {error}") from error


class GivenTopicRetriever(GivenRetriever):
    """A retriever of somebody else that takes topics, whose evidence is checked."""

    def retrieve_about(
        self, questions: Sequence[str], topics: Sequence[Sequence[str]], k: int, where: Filter | None = None
    ) -> list[Evidence]:
        """Return what the object does; InputError: that is not the evidence of `TopicRetriever.retrieve_about`."""
        with self.origin.map_errors():
            found = cast("TopicRetriever", self.retriever).retrieve_about(questions, topics, k, where)
        return self._check(found, len(questions), k, where, "retrieve_about")


def accept_retriever(given: object, scope: Scope, origin: Origin | None = None) -> Retriever:
    """Return a retriever over the index of a scope, with its evidence checked unless it is one of this package.

    Raises InputError where it has no method `retrieve`.
    """
    found_at = check_given(given, KIND, {"retrieve": None}, origin)
    if is_own(given):
        return cast("Retriever", given)
    if isinstance(given, TopicRetriever):
        return GivenTopicRetriever(given, scope, found_at)
    return GivenRetriever(cast("Retriever", given), scope, found_at)


def check_passages(evidence: Evidence, origin: Origin, method: str) -> None:
    """Raise InputError unless passages come with finite scores, best first, each once."""
    scores = []
    for found in evidence.passages:
        origin.check_scored(found, method)
        origin.check_part(found.item, (Passage,), method, "the item of a passage of the evidence")
        scores.append(found.score)
    if scores != sorted(scores, reverse=True):
        seen = f"scores {scores[:5]}"
        raise origin.wrong_part(method, "the order of passages", seen, "the best first")
    ids = [found.item.id for found in evidence.passages]
    if len(set(ids)) < len(ids):
        twice = next(id_ for number, id_ in enumerate(ids) if id_ in ids[:number])
        raise origin.wrong_part(method, "a passage", f"{twice!r}, twice", "each once")
