"""The order by coverage against a search through all passages at each step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.retrievers.coverage import PassageWords, order_by_coverage
from clew.text.bm25 import BM25Index

VALUES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])


def plain_order(scores: list[float], words: list[set[int]], weights: list[float], k: int) -> list[int]:
    """Return the order of passages, each the best of all that are left."""
    order: list[int] = []
    covered: set[int] = set()
    while len(order) < min(k, len(scores)):
        gains = [scores[p] + 0.5 * sum(weights[t] for t in words[p] - covered) for p in range(len(scores))]
        best = max((p for p in range(len(scores)) if p not in order), key=lambda p: (gains[p], -p))
        order.append(best)
        covered |= words[best]
    return order


@given(st.lists(st.tuples(VALUES, st.sets(st.integers(0, 3))), max_size=8), st.lists(VALUES, min_size=4, max_size=4))
def test_each_passage_is_the_best_of_those_left(passages: list[tuple[float, set[int]]], weights: list[float]) -> None:
    scores = [score for score, _ in passages]
    present = np.array([[t in own for t in range(4)] for _, own in passages], dtype=np.bool_).reshape(-1, 4)
    for k in (1, 3, 9):
        order, values = order_by_coverage(np.array(scores), PassageWords(present, np.array(weights)), 0.5, k)
        assert order.tolist() == plain_order(scores, [own for _, own in passages], weights, k)
        assert values.tolist() == sorted(values.tolist(), reverse=True)


def test_without_words_scores_alone_decide() -> None:
    order, values = order_by_coverage(np.array([0.5, 0.75, 0.5]), PassageWords.none(3), 0.5, 3)
    assert (order.tolist(), values.tolist()) == ([1, 0, 2], [0.75, 0.5, 0.5])


def test_words_are_found_in_passages() -> None:
    index = BM25Index.build(["A boat and a school.", "The school.", "Nothing."])
    query = index.query("school of the boat")
    words = PassageWords.find(index, query, np.arange(3, dtype=np.int32))
    assert words.present.sum(axis=1).tolist() == [2, 1, 0]
    assert words.weights.sum() == pytest.approx(1)
    assert PassageWords.find(index, index.query("zzyzx"), np.arange(3, dtype=np.int32)).present.shape == (3, 0)
