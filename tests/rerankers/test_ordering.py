"""Sorting of passages by score."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.protocols import check_lengths
from clew.rerankers.text_scorer import sort_by_score
from clew.types import Evidence, Passage, Scored, Usage
from tests.small_index import result_ids

PASSAGES = tuple(Scored(Passage(id_, id_, "", "", 0, 0), 0.5) for id_ in "dacb")
EVIDENCE = Evidence(PASSAGES, (), ("a note",), Usage(1.0))


def test_descending_scores_with_stable_ties() -> None:
    result = sort_by_score(EVIDENCE, [1.0, 2.0, 1.0, 3.0])
    assert result_ids(result) == ["b", "a", "d", "c"]
    assert [scored.score for scored in result.passages] == [3.0, 2.0, 1.0, 1.0]
    assert (result.notes, result.usage) == (EVIDENCE.notes, EVIDENCE.usage)
    assert sort_by_score(Evidence(), []) == Evidence()


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_it_is_a_stable_sort(scores: list[int]) -> None:
    wanted = [place for value in (3, 2, 1, 0) for place in range(4) if scores[place] == value]
    assert sort_by_score(EVIDENCE, scores).passages == tuple(
        Scored(PASSAGES[place].item, float(scores[place])) for place in wanted
    )


def test_lengths_must_match() -> None:
    check_lengths([], [])
    with pytest.raises(InputError, match="questions: 1, pieces of evidence: 2"):
        check_lengths(["who"], [EVIDENCE, EVIDENCE])
