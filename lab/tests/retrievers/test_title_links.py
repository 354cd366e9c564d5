"""Title links on corpora small enough to follow by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.index import Index
from clew.query.scope import Scope
from clew.types import Document, Evidence, Filter, Scored, Triple
from clew_lab.retrievers.title_links import TitleLinksRetriever
from tests.small_index import make_index, result_ids

# a -> b -> c -> d by title; e stands alone.
CHAIN = (
    Document("a", "Alpha Bay", "It was found by Beta Berg.", {"n": 1}),
    Document("b", "Beta Berg", "He was born in Gamma Town.", {"n": 2}),
    Document("c", "Gamma Town", "A town near Delta Hill.", {"n": 3}),
    Document("d", "Delta Hill", "A hill of chalk.", {"n": 4}),
    Document("e", "Epsilon Lake", "A lake of salt.", {"n": 5}),
)


@dataclass(frozen=True)
class Base:
    """Returns passages with the given scores for any question."""

    scope: Scope
    scores: dict[str, float]

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        allowed, positions = self.scope.mask(where), list(self.scope.snapshot.passage_ids)
        order = sorted(self.scores, key=lambda id_: (-self.scores[id_], id_))[:k]
        actual = [
            Scored(self.scope.snapshot.passage(positions.index(id_)), self.scores[id_])
            for id_ in order
            if allowed[positions.index(id_)]
        ]
        return [Evidence(tuple(actual), notes=("base",)) for _ in questions]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("chain") / "index", CHAIN, encoder="none")


def expand(index: Index, scores: dict[str, float], hops: int = 2, k: int = 9, where: Filter | None = None) -> Evidence:
    scope = Scope(index.snapshot)
    (evidence,) = TitleLinksRetriever(scope, Base(scope, scores), hops).retrieve(["?"], k, where)
    return evidence


def passage_scores(evidence: Evidence) -> dict[str, float]:
    return {s.item.id: s.score for s in evidence.passages}


def test_two_links_are_followed_and_half_a_score_inherited_at_each(chain: Index) -> None:
    evidence = expand(chain, {"a": 8.0, "e": 4.0})
    # The base's scores are spread over 0 to 1: a 1, e 0; then b 1/2 of a, c 1/2 of b.
    # A link is followed back too: a adds half of what b has.
    assert passage_scores(evidence) == pytest.approx({"a": 1.25, "b": 0.5, "c": 0.25, "e": 0.0})
    assert result_ids(evidence) == ["a", "b", "c", "e"]
    assert evidence.notes == ("base",)


def test_a_linked_passage_adds_its_own_score_and_takes_its_best_parent(chain: Index) -> None:
    # a: own 1; b: own 3/4 and half of a; then back to a, and on to c, half of what b has by then.
    evidence = expand(chain, {"a": 5.0, "b": 4.0, "e": 1.0}, hops=1)
    assert passage_scores(evidence) == pytest.approx({"a": 1.625, "b": 1.25, "c": 0.625, "e": 0.0})
    assert result_ids(evidence) == ["a", "b", "c", "e"]


def test_paths_follow_the_links(chain: Index) -> None:
    evidence = expand(chain, {"a": 8.0, "e": 4.0})
    _, first, second = evidence.paths
    assert first.item == (Triple("Alpha Bay", "It was found by", "Beta Berg", ("a",)),)
    assert second.item == (*first.item, Triple("Beta Berg", "He was born in", "Gamma Town", ("b",)))
    assert (first.score, second.score) == pytest.approx((0.5, 0.25))


def test_a_link_through_a_passage_filtered_out_is_not_followed(chain: Index) -> None:
    evidence = expand(chain, {"a": 8.0, "e": 4.0}, where="n <> 2")
    assert result_ids(evidence) == ["a", "e"]
    assert not evidence.paths


def test_only_the_first_five_are_expanded(tmp_path: Path) -> None:
    starts = [Document(f"s{n}", f"Start Number {n}", f"Leads to Target Number {n}.") for n in range(6)]
    targets = [Document(f"t{n}", f"Target Number {n}", "Nothing more.") for n in range(6)]
    index = make_index(tmp_path / "index", [*starts, *targets], encoder="none")
    evidence = expand(index, {f"s{n}": 10.0 - n for n in range(6)}, k=99)
    assert set(result_ids(evidence)) == {*(f"s{n}" for n in range(6)), *(f"t{n}" for n in range(5))}


def test_an_empty_base_ranking_stays_empty(chain: Index) -> None:
    evidence = expand(chain, {})
    assert not evidence.passages
    assert not evidence.paths
