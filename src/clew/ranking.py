"""Order and rank by score: the one place where ties are decided.

Two rules, used everywhere. A ranking breaks ties by position (or by id), so it is the same on every machine. A figure
that must not depend on such a rule uses the optimistic, pessimistic and realistic rank of a tied item.

Source of the three ranks: Berrendorf et al., "On the ambiguity of rank-based evaluation of entity alignment or link
prediction methods" (2020), section 3.
Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import LongArray

    Scores = NDArray[np.floating[Any]]

_BLOCK_COUNT = 32


def top_order(scores: "Scores", k: int) -> "LongArray":
    """Return the positions of the `k` highest scores, best first, equal scores by position.

    Args:
        scores: (n,), any floats but NaN; minus infinity ranks last.
        k: At least 1.

    Returns:
        (min(k, n),) positions, exactly the first ones of a stable sort, in time linear in n.

    Raises:
        InputError: A score is NaN, `scores` is not one row, or `k` is below 1.
    """
    _check_scores(scores)
    if k < 1:
        raise InputError(f"k is {k}; ask for at least 1 result")
    if k >= len(scores):
        return np.argsort(-scores, kind="stable").astype(np.int64)
    if len(scores) > _BLOCK_COUNT * _BLOCK_COUNT * k:
        likely = _candidate_positions(scores, k)
        if len(likely) < len(scores) // 2:
            return likely[top_order(scores[likely], k)]
    lowest = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > lowest)
    # A partition alone would keep arbitrary members of the tie at the k-th score; the first positions must stay.
    tied = np.flatnonzero(scores == lowest)[: k - len(above)]
    kept = np.concatenate([above, tied])
    return kept[np.argsort(-scores[kept], kind="stable")].astype(np.int64)


def ranking(scores: "Scores", ids: Sequence[str]) -> "LongArray":
    """Return the positions (n,) in order of score, best first, equal scores by id.

    Args:
        scores: (n,), any floats but NaN.
        ids: n ids, in any order.

    Raises:
        InputError: A score is NaN, or there are not as many ids as scores.
    """
    _check_scores(scores)
    if len(ids) != len(scores):
        raise InputError(f"{len(ids)} ids for {len(scores)} scores; give one id a score")
    by_id = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    return by_id[np.argsort(-scores[by_id], kind="stable")]


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of n items, from 1, under the ways to place an item among those of its score.

    Attributes:
        optimistic: (n,) the item is first of its tie.
        pessimistic: (n,) the item is last of its tie.
    """

    optimistic: "LongArray"
    pessimistic: "LongArray"

    @classmethod
    def from_scores(cls, scores: "Scores") -> "Ranks":
        """Rank every item of `scores` (n,); a higher score is better.

        Raises:
            InputError: A score is NaN.
        """
        _check_scores(scores)
        ascending = np.sort(scores)
        at_most = np.searchsorted(ascending, scores, side="right")
        below = np.searchsorted(ascending, scores, side="left")
        return cls((len(scores) - at_most + 1).astype(np.int64), (len(scores) - below).astype(np.int64))

    @property
    def realistic(self) -> "NDArray[np.float64]":
        """The mean rank (n,) over all orders of the tie."""
        return (self.optimistic + self.pessimistic) / 2

    @property
    def tie_sizes(self) -> "LongArray":
        """How many items (n,) share the item's score, itself included."""
        return self.pessimistic - self.optimistic + 1


def _candidate_positions(scores: "Scores", k: int) -> "LongArray":
    """Return the positions, ascending, that can be among the `k` best: at least the k-th best of the blocks' best.

    One pass over the scores; to find the k-th score among all of them takes ten times as long.
    """
    whole = len(scores) - len(scores) % _BLOCK_COUNT
    # Blocks of far-apart positions, so that the maxima of all are taken side by side.
    best = np.concatenate([scores[:whole].reshape(_BLOCK_COUNT, -1).max(axis=0), scores[whole:]])
    return np.flatnonzero(scores >= np.partition(best, len(best) - k)[len(best) - k])


def _check_scores(scores: "Scores") -> None:
    if scores.ndim != 1:
        raise InputError(f"scores have shape {scores.shape}; give one row, one score an item")
    wrong = np.flatnonzero(np.isnan(scores))
    if len(wrong):
        raise InputError(
            f"the score at position {wrong[0]} is NaN ({len(wrong)} of {len(scores)} are), which has no rank; "
            "look for a division by zero or a zero vector where the scores are made"
        )
