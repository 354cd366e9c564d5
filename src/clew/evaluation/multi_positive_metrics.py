"""Measures over every positive of a question: mean reciprocal rank of all gold ids, and hits and ranks fair to ties.

Not the usual reciprocal rank ("mrr" of `ranking.py`), which looks at the first hit alone: here each gold id counts with
its own rank, and one that was not retrieved counts 0. The paper's MHits@k is "recall@k" of `ranking.py`.

Among t passages of one score, a passages above them, a gold id has m: one, or more where it is a document of several.
With ties broken at random its first one stands at rank a + (t + 1) / (m + 1) on average, and is among the first k with
probability 1 - C(t - m, s) / C(t, s), s = clip(k - a, 0, t). For m = 1 these are a + (t + 1) / 2 and
clip((k - a) / t, 0, 1).

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (arXiv 2405.18414), section
4.1.1: MRR is `positives_rr`, MTRR `tied_rr`, TMHits@k `tied_hits`.
Differs from the source: the printed cases of TMHits@10 give 1 where exactly ten passages are better, and more than 1 to
a tie below better passages that fits into the first ten; this form gives each its expected hit. Documents of several
passages count once. A tie that the end of the ranking cuts is as long as what is left of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb, fsum
from typing import TYPE_CHECKING

import numpy as np

from clew.datasets.relevance import creditable_id
from clew.errors import InputError
from clew.ranking import Ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    DoubleArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TiedRank:
    """Where one gold id stands.

    Attributes:
        rank: Of its first passage, from 1, ties as the ranking broke them.
        above: How many passages have a higher score.
        tied: How many have the score of its first passage, that one included.
        matching_ties: How many of the tied ones count for it.
    """

    rank: int
    above: int
    tied: int
    matching_ties: int

    @property
    def mean_rank(self) -> float:
        """The rank of its first passage, from 1, as a mean over all orders of the tie."""
        return self.above + (self.tied + 1) / (self.matching_ties + 1)

    def hit(self, k: int) -> float:
        """Return the share of all orders of the tie that have one of its passages among the first `k`."""
        places = min(max(k - self.above, 0), self.tied)
        whole = comb(self.tied, places)
        return (whole - comb(self.tied - self.matching_ties, places)) / whole


@dataclass(frozen=True, slots=True)
class PositiveRanks:
    """A ranking seen from the gold ids of its question.

    Attributes:
        retrieved: Those that were retrieved, by rank.
        gold: How many different gold ids the question has.
    """

    retrieved: tuple[TiedRank, ...]
    gold: int


def rank_positives(
    passage_ids: Sequence[str], document_ids: Sequence[str], scores: Sequence[float], gold: Sequence[str]
) -> PositiveRanks:
    """Say where each gold id stands.

    Args:
        passage_ids: (n,) the ranking, best first, each once.
        document_ids: (n,) the document of each passage.
        scores: (n,) of any scale, never rising; those equal at single precision are tied, since a reranked retriever
            keeps ties in order by less than that.
        gold: Ids of passages or documents; one given twice counts once.

    Raises:
        InputError: Ids, documents and scores are not as many, or scores rise or are NaN.
    """
    if not len(passage_ids) == len(document_ids) == len(scores):
        raise InputError(
            f"{len(passage_ids)} passages, {len(document_ids)} documents and {len(scores)} scores; "
            "give one document and one score a passage"
        )
    ranks = Ranks.from_scores(np.array(scores, dtype=np.float32))
    _check_descending(scores)
    wanted = frozenset(gold)
    found: dict[str, TiedRank] = {}
    for place, (passage, document) in enumerate(zip(passage_ids, document_ids, strict=True)):
        identifier = creditable_id(passage, document, wanted)
        if identifier not in wanted:
            continue
        above, first = int(ranks.optimistic[place]) - 1, found.get(identifier)
        if first is None:
            found[identifier] = TiedRank(place + 1, above, int(ranks.tie_sizes[place]), 1)
        elif first.above == above:
            found[identifier] = replace(first, matching_ties=first.matching_ties + 1)
    return PositiveRanks(tuple(found.values()), len(wanted))


def compute_multi_positive_measures(questions: Sequence[PositiveRanks], ks: Sequence[int]) -> "dict[str, DoubleArray]":
    """Return every measure of every question, (n,) each, NaN where a question has no gold.

    Args:
        questions: n questions.
        ks: Cut-offs, each at least 1.

    Returns:
        "positives_rr", "tied_rr", then "tied_hits@k" for each k: its form without ties is "recall@k".

    Raises:
        InputError: A cut-off is below 1.
    """
    values = {"positives_rr": mean_reciprocal_rank_all(questions), "tied_rr": tied_reciprocal_rank(questions)}
    return values | {f"tied_hits@{k}": tied_hits(questions, k) for k in ks}


def mean_reciprocal_rank_all(questions: Sequence[PositiveRanks]) -> "DoubleArray":
    """Return (n,) the mean of 1 / rank over all gold ids, 0 for one not retrieved, NaN without gold."""
    return _mean_over_gold(questions, lambda standing: 1 / standing.rank)


def tied_reciprocal_rank(questions: Sequence[PositiveRanks]) -> "DoubleArray":
    """Return (n,) the mean of 1 / mean rank over all gold ids, 0 for one not retrieved, NaN without gold."""
    return _mean_over_gold(questions, lambda standing: 1 / standing.mean_rank)


def tied_hits(questions: Sequence[PositiveRanks], k: int) -> "DoubleArray":
    """Return (n,) the share of gold ids to expect among the first `k` with ties broken at random, NaN without gold.

    Raises:
        InputError: `k` is below 1.
    """
    if k < 1:
        raise InputError(f"the cut-off is {k}; it must be at least 1")
    return _mean_over_gold(questions, lambda standing: standing.hit(k))


def _mean_over_gold(questions: Sequence[PositiveRanks], value: Callable[[TiedRank], float]) -> "DoubleArray":
    # An exact sum: the order of tied gold ids must not show in the last digit.
    means = [fsum(map(value, item.retrieved)) / item.gold if item.gold else np.nan for item in questions]
    return np.array(means, dtype=np.float64)


def _check_descending(scores: Sequence[float]) -> None:
    for place in range(1, len(scores)):
        if scores[place] > scores[place - 1]:
            raise InputError(
                f"the score rises from {scores[place - 1]} at rank {place} to {scores[place]} at rank {place + 1}; "
                "wanted the best first, so sort the passages by score"
            )
