"""Ranking measures against the gold ids of a question: recall, all-gold, nDCG, reciprocal rank, and the recall ceiling.

A gold id names a passage or a document. A passage is credited with one gold id: its own, otherwise its document's. A
document is credited once, at its first passage; its further passages are credited with nothing but keep their ranks.

Recall, nDCG and reciprocal rank come from `ir-measures` (its
pytrec_eval provider), all-gold and the ceiling are computed here.
Source of nDCG: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002); gain 1 per gold id.
Differs from the source: a question without gold is NaN, to be left out of a mean, never 0.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np

from clew.arrays import DoubleArray
from clew.plugins.extras import import_extra


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

    Gold ids name passages or documents; duplicates count once.
    """
    remaining = {identifier: index for index, identifier in enumerate(dict.fromkeys(gold))}
    gold_count = len(remaining)
    hits = []
    for passage, document in zip(passage_ids, document_ids, strict=True):
        hits.append(remaining.pop(creditable_id(passage, document, remaining), -1))
    return RelevanceJudgments(tuple(hits), gold_count)


def creditable_id(passage_id: str, document_id: str, gold: Container[str]) -> str:
    """Return the one id that a passage can be credited with: its own if that is gold, otherwise its document's."""
    return passage_id if passage_id in gold else document_id


def check_installed() -> None:
    """Raise a MissingPackageError where the package that computes measures cannot be imported."""
    import_extra("ir_measures", "eval", "an evaluation")


def compute_measures(judgements: Sequence[RelevanceJudgments], ks: Sequence[int]) -> dict[str, DoubleArray]:
    """Return "recall@k", "all_gold@k" and "ndcg@k" for each k from 1 on, then "mrr", (n,) each; NaN without gold.

    "mrr" is 1 / rank of the first hit, 0 without one.
    """
    external = _compute_with_ir_measures(judgements, ks)
    values = external | {f"all_gold@{k}": all_gold(judgements, k) for k in ks}
    names = [f"{kind}@{k}" for k in ks for kind in ("recall", "all_gold", "ndcg")]
    return {name: values[name] for name in (*names, "mrr")}


def all_gold(judgements: Sequence[RelevanceJudgments], k: int) -> DoubleArray:
    """Return (n,) 1 if all gold ids are among the first `k`, else 0; NaN without gold."""
    return _measure(judgements, lambda judgement: float(judgement.hits_at(k) == judgement.gold_count))


def recall_ceiling(judgements: Sequence[RelevanceJudgments], k: int) -> DoubleArray:
    """Return the best possible recall@k (n,): min(k, gold ids) / gold ids, NaN without gold."""
    return _measure(judgements, lambda judgement: min(k, judgement.gold_count) / judgement.gold_count)


def _measure(judgements: Sequence[RelevanceJudgments], measure: Callable[[RelevanceJudgments], float]) -> DoubleArray:
    return np.array([measure(item) if item.gold_count else np.nan for item in judgements], dtype=np.float64)


def _compute_with_ir_measures(judgements: Sequence[RelevanceJudgments], ks: Sequence[int]) -> dict[str, DoubleArray]:
    from ir_measures import RR, R, nDCG  # 0.1 s to load
    from ir_measures.providers import registry

    # Beyond the last rank and the last gold id nothing changes, but trec_eval would loop up to the cut-off.
    longest = max([1, *(max(len(item.hits), item.gold_count) for item in judgements)])
    cut = {k: min(k, longest) for k in ks}
    by_name = {"mrr": RR} | {f"recall@{k}": R @ cut[k] for k in ks} | {f"ndcg@{k}": nDCG @ cut[k] for k in ks}
    names: dict[str, list[str]] = {}
    for name, measure in by_name.items():
        names.setdefault(str(measure), []).append(name)
    values = {name: np.full(len(judgements), np.nan) for name in by_name}
    qrels, run = {}, {}
    for number, item in enumerate(judgements):
        if item.gold_count:
            qrels[str(number)] = {f"gold {unit}": 1 for unit in range(item.gold_count)}
            run[str(number)] = _rank_scores(item.hits)
    for metric in registry["pytrec_eval"].iter_calc(list(dict.fromkeys(by_name.values())), qrels, run):
        for name in names[str(metric.measure)]:
            values[name][int(metric.query_id)] = metric.value
    return values


def _rank_scores(hits: Sequence[int]) -> dict[str, float]:
    """Return a distinct score per rank, since trec_eval would reorder ties by id."""
    names = [f"gold {hit}" if hit >= 0 else f"rank {rank}" for rank, hit in enumerate(hits)]
    return {name: float(len(hits) - rank) for rank, name in enumerate(names)}
