"""Match rankings against gold ids.

A gold id names a passage or a document. A passage is credited with one gold id: its own, otherwise its document's. A
document is credited once, at its first passage; its further passages are credited with nothing but keep their ranks.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from clew.errors import InputError


@dataclass(frozen=True, slots=True)
class RelevanceJudgments:
    """A ranking matched against the gold ids of its question."""

    hits: tuple[int, ...]  # for each rank the index of the gold id credited there, or -1
    gold_count: int  # number of distinct gold ids

    def hits_at(self, k: int) -> int:
        """Return the number of gold ids credited within the first `k` ranks."""
        return sum(hit >= 0 for hit in self.hits[:k])


def match_gold(passage_ids: Sequence[str], document_ids: Sequence[str], gold: Sequence[str]) -> RelevanceJudgments:
    """Match a ranking (n,) and its documents (n,) against gold ids; each is credited once, at its best rank.

    Gold ids name passages or documents; duplicates count once. Raises InputError if the lengths differ.
    """
    if len(passage_ids) != len(document_ids):
        raise InputError(f"passages: {len(passage_ids)}, documents: {len(document_ids)}; give one document per passage")
    remaining = {identifier: index for index, identifier in enumerate(dict.fromkeys(gold))}
    gold_count = len(remaining)
    hits = []
    for passage, document in zip(passage_ids, document_ids, strict=True):
        hits.append(remaining.pop(creditable_id(passage, document, remaining), -1))
    return RelevanceJudgments(tuple(hits), gold_count)


def creditable_id(passage_id: str, document_id: str, gold: Container[str]) -> str:
    """Return the one id that a passage can be credited with: its own if that is gold, otherwise its document's."""
    return passage_id if passage_id in gold else document_id
