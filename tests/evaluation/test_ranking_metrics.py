"""The measures of a ranking, against loops over the ids written from their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from clew.evaluation.ranking_metrics import compute_measures, match_gold, recall_ceiling

KS = (1, 2, 5, 10)
Case = tuple[list[str], list[str], list[str]]  # passages, their documents, gold


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Rankings of passages d#n of few documents; gold mixes passages, documents and ids that nothing has."""
    ids = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), unique=True, max_size=15))
    passages = [f"d{document}#{number}" for document, number in ids]
    documents = [f"d{document}" for document, _ in ids]
    gold_documents = draw(st.lists(st.integers(0, 7), max_size=4))  # d6 and d7 are never retrieved
    gold_passages = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=3))
    gold = [f"d{document}" for document in gold_documents]
    gold += [f"d{document}#{number}" for document, number in gold_passages if document not in gold_documents]
    return passages, documents, gold


def hits_by_rank(case: Case) -> list[bool]:
    passages, documents, gold = case
    met: set[str] = set()
    hits = []
    for passage, document in zip(passages, documents, strict=True):
        new = ({passage, document} & set(gold)) - met
        hits.append(bool(new))
        met |= new
    return hits


def expected(case: Case, k: int) -> dict[str, float]:
    gold = set(case[2])
    if not gold:
        return dict.fromkeys([f"recall@{k}", f"all_gold@{k}", f"ndcg@{k}", "mrr"], math.nan)
    retrieved = gold & (set(case[0][:k]) | set(case[1][:k]))
    hits = hits_by_rank(case)
    gain = sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits[:k]) if hit)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(k, len(gold))))
    return {
        f"recall@{k}": len(retrieved) / len(gold),
        f"all_gold@{k}": float(retrieved == gold),
        f"ndcg@{k}": gain / ideal,
        "mrr": 1 / (hits.index(True) + 1) if True in hits else 0.0,
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(cases(), min_size=1, max_size=6))
def test_measures_equal_their_definitions(questions: list[Case]) -> None:
    values = compute_measures([match_gold(*case) for case in questions], KS)
    assert list(values) == [f"{name}@{k}" for k in KS for name in ("recall", "all_gold", "ndcg")] + ["mrr"]
    for number, case in enumerate(questions):
        for k in KS:
            for name, wanted in expected(case, k).items():
                assert values[name][number] == pytest.approx(wanted, abs=1e-6, nan_ok=True), (name, case)


def test_ndcg_agrees_with_sklearn() -> None:
    hits = [0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1]
    passages = [f"p{rank}" for rank in range(len(hits))]
    gold = [passage for passage, hit in zip(passages, hits, strict=True) if hit]
    values = compute_measures([match_gold(passages, passages, gold)], [3, 5, 10])
    for k in (3, 5, 10):
        trusted = ndcg_score([hits], [list(range(len(hits), 0, -1))], k=k)
        assert values[f"ndcg@{k}"][0] == pytest.approx(trusted)


def test_a_document_counts_once_and_its_passages_keep_their_places() -> None:
    judgement = match_gold(["a#0", "a#1", "a#2", "b#0"], ["a", "a", "a", "b"], ["a", "b"])
    assert judgement.hits == (0, -1, -1, 1)
    values = compute_measures([judgement], [2, 3, 4])
    assert [values[f"recall@{k}"][0] for k in (2, 3, 4)] == [0.5, 0.5, 1.0]
    assert [values[f"all_gold@{k}"][0] for k in (2, 3, 4)] == [0, 0, 1]


def test_the_order_is_kept_where_trec_eval_would_reorder_ties() -> None:
    passages = [f"p{rank:03}" for rank in range(300)]
    for rank in (0, 1, 9, 150, 299):
        assert compute_measures([match_gold(passages, passages, [passages[rank]])], [1])["mrr"][0] == pytest.approx(
            1 / (rank + 1)
        )


def test_ids_may_hold_any_characters() -> None:
    odd = ["a b\tc", "größe", "", "gold 0", "rank 1"]
    assert compute_measures([match_gold(odd, odd, odd)], [5])["recall@5"][0] == 1


def test_an_empty_ranking_scores_zero_and_missing_gold_is_nan() -> None:
    values = compute_measures([match_gold([], [], ["a"]), match_gold(["a"], ["a"], [])], [2])
    for value in values.values():
        assert value[0] == 0
        assert np.isnan(value[1])


def test_the_ceiling_is_the_recall_of_a_perfect_ranking() -> None:
    for size in (1, 2, 4, 7):
        gold = [f"g{number}" for number in range(size)]
        perfect = match_gold(gold, gold, gold)
        for k in KS:
            assert recall_ceiling([perfect], k)[0] == pytest.approx(compute_measures([perfect], [k])[f"recall@{k}"][0])


def test_gold_given_twice_counts_once() -> None:
    assert match_gold(["a", "b"], ["a", "b"], ["a", "a"]).gold_count == 1
