"""Sorting passages by score, a step shared by rerankers."""

from collections.abc import Sequence
from dataclasses import replace

from clew.types import Evidence, Scored


def sort_by_score(evidence: Evidence, scores: Sequence[float]) -> Evidence:
    """Return evidence with its n passages by descending score (n,), finite; ties keep their order."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    passages = tuple(Scored(evidence.passages[place].item, float(scores[place])) for place in order)
    return replace(evidence, passages=passages)
