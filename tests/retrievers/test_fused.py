"""Reciprocal rank fusion against a plain loop."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.retrievers.fused import FusedRetriever, weighted_rank_fusion
from clew.types import Evidence, Filter, Passage, Path, Scored, Triple, Usage


def passage(id_: str) -> Passage:
    return Passage(id_, id_, "", "", 0, 0)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=4), st.integers(0, 2))
def test_fusion_equals_a_plain_loop(rankings: list[list[str]], least: int) -> None:
    expected: dict[str, Fraction] = {}
    for id_ in {id_ for ranking in rankings for id_ in ranking}:
        expected[id_] = Fraction(least, 61 + min(ranking.index(id_) for ranking in rankings if id_ in ranking))
    for ranking in rankings:
        for position in range(len(ranking)):
            expected[ranking[position]] = expected.get(ranking[position], Fraction(0)) + Fraction(1, 61 + position)
    found = [[passage(id_) for id_ in ranking] for ranking in rankings]
    actual = weighted_rank_fusion(found, [1.0] * len(rankings), least=least)
    assert {scored.item.id: scored.score for scored in actual} == pytest.approx(
        {k: float(v) for k, v in expected.items()}
    )
    # Sums of the same ranks in another order may differ in the last bit; only clear differences have an order.
    for one, other in pairwise(actual):
        assert expected[one.item.id] >= expected[other.item.id] or one.score == pytest.approx(other.score, rel=1e-12)


def test_ties_break_by_id() -> None:
    actual = weighted_rank_fusion([[passage("b")], [passage("a")], [passage("c")]], [1.0] * 3)
    assert [scored.item.id for scored in actual] == ["a", "b", "c"]


@dataclass(frozen=True)
class Ranking:
    """Returns the first passages of one ranking for any question."""

    order: str
    seconds: float = 0.0

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        actual = tuple(Scored(passage(id_), 1.0) for id_ in self.order[:k])
        chain: Path = (Triple(self.order, "is", self.order),)
        path = Scored(chain, float(len(self.order)))
        return [Evidence(actual, (path,), (f"{where}", "both"), Usage(self.seconds)) for _ in questions]


def test_fused_evidence_has_the_paths_and_notes_of_all() -> None:
    fused = FusedRetriever((Ranking("abc", 2.0), Ranking("cdab", 3.0)), depth=2)
    evidence, again = fused.retrieve(["x", "y"], 2, "year = 1")
    # Read to depth 2: a and c are first once, b and d second once.
    assert [scored.item.id for scored in evidence.passages] == ["a", "c"]
    assert [scored.item.id for scored in fused.retrieve(["x"], 4)[0].passages] == ["a", "c", "b", "d"]
    # Only a great weight of the least rank, of which that of a is 1, puts a before c, which both rankings have.
    rankings = Ranking("acb"), Ranking("bdc")
    for least, expected in ((0.0, "bcad"), (99.0, "bacd")):
        found = FusedRetriever(rankings, least=least).retrieve(["x"], 4)[0].passages
        assert "".join(scored.item.id for scored in found) == expected
    assert evidence.notes == ("year = 1", "both")
    assert [path.score for path in evidence.paths] == [4.0, 3.0]
    assert evidence.passages == again.passages
    # A question costs what its rankings cost, not what the batch does.
    assert 5.0 <= again.usage.seconds < 6.0
