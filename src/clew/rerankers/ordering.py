"""What every reranker does with its scores: it puts them to the passages, best first."""

from collections.abc import Sequence
from dataclasses import replace

from clew.errors import InputError
from clew.types import Evidence, Scored


def check_lengths(questions: Sequence[str], evidence: Sequence[Evidence]) -> None:
    """Refuse questions and evidence that do not go together.

    Raises:
        InputError: There are not as many questions as pieces of evidence.
    """
    if len(questions) != len(evidence):
        raise InputError(f"{len(questions)} questions, {len(evidence)} pieces of evidence; give one a question")


def sort_by_score(evidence: Evidence, scores: Sequence[float]) -> Evidence:
    """Return evidence with its passages by descending score; passages of one score keep their order.

    Args:
        evidence: With n passages.
        scores: (n,) finite, higher is better.
    """
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    passages = tuple(Scored(evidence.passages[place].item, float(scores[place])) for place in order)
    return replace(evidence, passages=passages)
