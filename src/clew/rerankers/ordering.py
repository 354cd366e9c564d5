"""Steps shared by all rerankers: the check of their arguments, and sorting passages by score."""

from collections.abc import Sequence
from dataclasses import replace

from clew.errors import InputError
from clew.types import Evidence, Scored


def check_lengths(questions: Sequence[str], evidence: Sequence[Evidence]) -> None:
    """Raise InputError unless there is one piece of evidence per question."""
    if len(questions) != len(evidence):
        raise InputError(f"{len(questions)} questions, {len(evidence)} pieces of evidence; give one per question")


def sort_by_score(evidence: Evidence, scores: Sequence[float]) -> Evidence:
    """Return evidence with its n passages by descending score (n,), finite; ties keep their order."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    passages = tuple(Scored(evidence.passages[place].item, float(scores[place])) for place in order)
    return replace(evidence, passages=passages)
