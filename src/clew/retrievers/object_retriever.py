"""Retrievers of somebody else: what they return is checked at each search."""

import math
from collections.abc import Sequence
from typing import cast

from clew.errors import InputError
from clew.plugins.arguments import check_members
from clew.plugins.origin import Origin, is_own, origin_of
from clew.protocols import Retriever, TopicRetriever
from clew.query.evidence_gate import check_evidence
from clew.query.scope import Scope
from clew.types import Evidence, Filter, Passage, Scored

KIND = "retriever"


class GivenRetriever:
    """A retriever of somebody else, whose evidence is checked.

    Args:
        retriever: The object.
        scope: Of the index that it searches.
        origin: Where it comes from, for messages.
    """

    def __init__(self, retriever: Retriever, scope: Scope, origin: Origin) -> None:
        self._retriever = retriever
        self._scope = scope
        self._origin = origin

    @property
    def fingerprint(self) -> str:
        """That of the object, "" where it has none."""
        return str(getattr(self._retriever, "fingerprint", ""))

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return what the object does; InputError: that is not the evidence of `Retriever.retrieve`."""
        with self._origin.map_errors():
            found = self._retriever.retrieve(questions, k, where)
        return self._check(found, len(questions), k, where, "retrieve")

    def _check(self, found: object, count: int, k: int, where: Filter | None, method: str) -> list[Evidence]:
        checked: list[Evidence] = self._origin.check_results(found, count, (Evidence,), method)
        for evidence in checked:
            check_passages(evidence, self._origin, method)
            if len(evidence.passages) > k:
                seen = f"{len(evidence.passages)} passages"
                raise self._origin.wrong_part(method, "the evidence of a question", seen, f"at most k = {k}")
            if where is not None:
                self._check_filter(evidence, where)
        return checked

    def _check_filter(self, evidence: Evidence, where: Filter) -> None:
        try:
            check_evidence(evidence, self._scope, where)
        except RuntimeError as error:
            raise InputError(f"the {self._origin.label} does not keep the filter {where!r}: {error}") from error


class GivenTopicRetriever(GivenRetriever):
    """A retriever of somebody else that takes topics, whose evidence is checked."""

    def retrieve_about(
        self, questions: Sequence[str], topics: Sequence[Sequence[str]], k: int, where: Filter | None = None
    ) -> list[Evidence]:
        """Return what the object does; InputError: that is not the evidence of `TopicRetriever.retrieve_about`."""
        with self._origin.map_errors():
            found = cast("TopicRetriever", self._retriever).retrieve_about(questions, topics, k, where)
        return self._check(found, len(questions), k, where, "retrieve_about")


def accept_retriever(given: object, scope: Scope, origin: Origin | None = None) -> Retriever:
    """Return a retriever over the index of a scope, with its evidence checked unless it is one of this package.

    One that selects subgraphs, too, stays as it is. Raises InputError where it has no method `retrieve`.
    """
    check_members(given, KIND if origin is None else origin.label, {"retrieve": None})
    if is_own(given) or hasattr(given, "retrieve_subgraphs"):
        return cast("Retriever", given)
    origin = origin or origin_of(given, KIND)
    if isinstance(given, TopicRetriever):
        return GivenTopicRetriever(given, scope, origin)
    return GivenRetriever(cast("Retriever", given), scope, origin)


def check_passages(evidence: Evidence, origin: Origin, method: str) -> None:
    """Raise InputError unless passages come with finite scores, best first, each once."""
    scores = []
    for found in evidence.passages:
        origin.check_part(found, (Scored,), method, "a passage of the evidence")
        origin.check_part(found.item, (Passage,), method, "the item of a passage of the evidence")
        if not isinstance(found.score, float | int) or not math.isfinite(found.score):
            raise origin.wrong_part(method, "the score of a passage", repr(found.score), "a finite number")
        scores.append(found.score)
    if scores != sorted(scores, reverse=True):
        seen = f"scores {scores[:5]}"
        raise origin.wrong_part(method, "the order of passages", seen, "the best first")
    ids = [found.item.id for found in evidence.passages]
    if len(set(ids)) < len(ids):
        twice = next(id_ for number, id_ in enumerate(ids) if id_ in ids[:number])
        raise origin.wrong_part(method, "a passage", f"{twice!r}, twice", "each once")
