"""A ranking against the gold ids of a question: at which ranks one counts.

A gold id names a passage or a document. A passage counts for one gold id: its own, else its document's. A document
counts once, at its first passage; its further passages count for nothing but keep their places in the ranking.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from clew.errors import InputError


@dataclass(frozen=True, slots=True)
class RelevanceJudgments:
    """A ranking seen through the gold ids of its question.

    Attributes:
        hits: For each rank the number of the gold id that counts there, or -1.
        gold_count: How many different gold ids the question has.
    """

    hits: tuple[int, ...]
    gold_count: int

    def hits_at(self, k: int) -> int:
        """Return how many gold ids count among the first `k` ranks."""
        return sum(hit >= 0 for hit in self.hits[:k])


def match_gold(passage_ids: Sequence[str], document_ids: Sequence[str], gold: Sequence[str]) -> RelevanceJudgments:
    """Say at which ranks a gold id counts.

    Args:
        passage_ids: (n,) the ranking, best first.
        document_ids: (n,) the document of each passage.
        gold: Ids of passages or documents; one given twice counts once.

    Raises:
        InputError: The ids are not as many as the documents.
    """
    if len(passage_ids) != len(document_ids):
        raise InputError(f"{len(passage_ids)} passages but {len(document_ids)} documents; give one document a passage")
    waiting = {identifier: number for number, identifier in enumerate(dict.fromkeys(gold))}
    size = len(waiting)
    hits = []
    for passage, document in zip(passage_ids, document_ids, strict=True):
        hits.append(waiting.pop(creditable_id(passage, document, waiting), -1))
    return RelevanceJudgments(tuple(hits), size)


def creditable_id(passage_id: str, document_id: str, gold: Container[str]) -> str:
    """Return the one id that a passage can count for: its own where that is gold, else its document's."""
    return passage_id if passage_id in gold else document_id
