"""Measures over all gold ids of a question: mean reciprocal rank of all, and ranks and hits that are fair to ties.

This is not the usual reciprocal rank ("mrr" of `ranking_metrics`) of the first hit: each gold id counts with its own
rank, and one that was not retrieved counts 0. The paper's MHits@k is "recall@k" of `ranking_metrics`.

Let t passages be tied with a passages above them, and m of the t match a gold id (m > 1 for a document of several
passages). With ties broken at random, the first match has the expected rank a + (t + 1) / (m + 1), and is among the
first k with probability 1 - C(t - m, s) / C(t, s), s = clip(k - a, 0, t). For m = 1 these are a + (t + 1) / 2 and
clip((k - a) / t, 0, 1).

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (arXiv 2405.18414), section
4.1.1: MRR is "positives_rr", MTRR "tied_rr", TMHits@k "tied_hits@k".
Differs from the source: the printed cases of TMHits@10 give 1 where exactly ten passages are better, and more than 1 to
a tie below better passages that fits into the first ten; this form gives each its expected hit. Documents of several
passages count once. A tie that is cut by the end of the ranking has the length of its ranked part.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import comb, fsum

import numpy as np

from clew.arrays import DoubleArray
from clew.errors import InputError
from clew.evaluation.ranking_metrics import creditable_id
from clew.evaluation.runs import Ranking
from clew.types import Question


@dataclass(frozen=True, slots=True)
class TiedRank:
    """Rank of one gold id."""

    rank: int  # rank of its first passage, from 1, with ties as the ranking broke them
    above: int  # number of passages with a higher score
    tied: int  # number of passages with the score of its first passage, including that one
    matching_ties: int  # number of the tied passages that match the gold id

    @property
    def mean_rank(self) -> float:
        """Expected rank of its first passage, from 1, over all orders of the tie."""
        return self.above + (self.tied + 1) / (self.matching_ties + 1)

    def hit(self, k: int) -> float:
        """Return the probability, over all orders of the tie, of a matching passage among the first `k`."""
        places = min(max(k - self.above, 0), self.tied)
        orders = comb(self.tied, places)
        return (orders - comb(self.tied - self.matching_ties, places)) / orders


@dataclass(frozen=True, slots=True)
class PositiveRanks:
    """Ranks of the retrieved gold ids of one question, ascending, and the number of its distinct gold ids."""

    retrieved: tuple[TiedRank, ...]
    gold: int


def rank_positives(
    passage_ids: Sequence[str], document_ids: Sequence[str], scores: Sequence[float], gold: Sequence[str]
) -> PositiveRanks:
    """Rank the gold ids, of passages or documents, of one question; duplicates count once.

    The ranking (n,) is best first and distinct, with the document of each passage, and `scores` on any scale, never
    rising; equal at single precision means tied, since a reranked retriever separates its ties by less than that.
    """
    if not len(passage_ids) == len(document_ids) == len(scores):
        raise InputError(
            f"passages: {len(passage_ids)}, documents: {len(document_ids)}, scores: {len(scores)}; "
            "give one document and one score per passage"
        )
    _check_descending(scores)
    values = np.array(scores, dtype=np.float32)
    if np.isnan(values).any():
        raise InputError(f"the score at position {int(np.isnan(values).argmax())} is NaN, which has no rank")
    ascending = np.sort(values)
    not_above, below = (np.searchsorted(ascending, values, side).tolist() for side in ("right", "left"))
    gold_ids = frozenset(gold)
    retrieved: dict[str, TiedRank] = {}
    for place, (passage, document) in enumerate(zip(passage_ids, document_ids, strict=True)):
        identifier = creditable_id(passage, document, gold_ids)
        if identifier not in gold_ids:
            continue
        above, first = len(values) - not_above[place], retrieved.get(identifier)
        if first is None:
            retrieved[identifier] = TiedRank(place + 1, above, not_above[place] - below[place], 1)
        elif first.above == above:
            retrieved[identifier] = replace(first, matching_ties=first.matching_ties + 1)
    return PositiveRanks(tuple(retrieved.values()), len(gold_ids))


def compute_multi_positive_measures(questions: Sequence[PositiveRanks], ks: Sequence[int]) -> dict[str, DoubleArray]:
    """Return measures (n,), means over a question's gold ids, of which one not retrieved counts 0; NaN without gold.

    "positives_rr" is of 1 / rank, "tied_rr" of 1 / mean rank, "tied_hits@k" the expected share among the first k, from
    1 on, with ties broken at random; without ties it equals "recall@k".
    """
    if wrong := [k for k in ks if k < 1]:
        raise InputError(f"the cut-off is {wrong[0]}; it must be at least 1")
    values: dict[str, Callable[[TiedRank], float]] = {
        "positives_rr": lambda rank: 1 / rank.rank,
        "tied_rr": lambda rank: 1 / rank.mean_rank,
        **{f"tied_hits@{k}": partial(TiedRank.hit, k=k) for k in ks},
    }
    return {measure: _mean_over_gold(questions, value) for measure, value in values.items()}


def _mean_over_gold(questions: Sequence[PositiveRanks], value: Callable[[TiedRank], float]) -> DoubleArray:
    # An exact sum, so that the order of tied gold ids does not change the last digit.
    means = [fsum(map(value, item.retrieved)) / item.gold if item.gold else np.nan for item in questions]
    return np.array(means, dtype=np.float64)


def _check_descending(scores: Sequence[float]) -> None:
    for place in range(1, len(scores)):
        if scores[place] > scores[place - 1]:
            raise InputError(
                f"the score rises from {scores[place - 1]} at rank {place} to {scores[place]} at rank {place + 1}; "
                "wanted the best first, so sort the passages by score"
            )


def score_positives(
    rankings: Sequence[Ranking], questions: Sequence[Question], ks: Sequence[int]
) -> dict[str, DoubleArray]:
    """Return "positives_rr", "tied_rr" and "tied_hits@k" for each k over whole runs, which should hold 100 passages."""
    pairs = zip(rankings, questions, strict=True)
    ranks = [rank_positives(r.passage_ids, r.document_ids, r.scores, q.gold) for r, q in pairs]
    return compute_multi_positive_measures(ranks, ks)
