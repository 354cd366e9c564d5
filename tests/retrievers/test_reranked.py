"""A reranked retriever over given rankings, against a plain loop."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.retrievers.reranked import RerankedRetriever, strictly_decreasing
from clew.types import AgentStep, Evidence, Filter, Passage, Path, Scored, Triple, Usage
from clew_lab.evaluation.multi_positive_metrics import compute_multi_positive_measures, rank_positives
from tests.small_index import result_ids

SINGLE = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, 80.0, 100.0])
SPENT = Usage(1.0, 2, 30, 4, 0.5)


@dataclass
class FixedRetriever:
    """Returns the same passages for any question but an empty one."""

    order: str
    fingerprint: str = "written"
    asked: list[tuple[int, Filter | None]] = field(default_factory=list)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        self.asked.append((k, where))
        actual = tuple(Scored(Passage(id_, id_, "", "", 0, 0), 1.0 / n) for n, id_ in enumerate(self.order[:k], 1))
        chain: Path = (Triple("a", "is", "b", ("a",)),)
        whole = Evidence(actual, (Scored(chain, 0.5),), ("found",), SPENT, (AgentStep("a query"),), ("a",))
        return [whole if question else Evidence(notes=("empty",)) for question in questions]


@dataclass
class FixedReranker:
    """Scores each passage by its id; ties keep their order."""

    marks: dict[str, float]
    fingerprint: str = "marked"
    shown: list[list[str]] = field(default_factory=list)

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        self.shown += [result_ids(actual) for actual in evidence]
        return [self._ordered(actual) for actual in evidence]

    def _ordered(self, evidence: Evidence) -> Evidence:
        order = sorted(evidence.passages, key=lambda scored: -self.marks[scored.item.id])
        marked = tuple(Scored(scored.item, self.marks[scored.item.id]) for scored in order)
        usage = evidence.usage + Usage(7.0, 1, 10, 1, 0.25)
        return replace(evidence, passages=marked, usage=usage, notes=(*evidence.notes, "one had no mark"))


SCORES = {"a": 10.0, "b": 80.0, "c": 80.0, "d": 20.0, "e": 99.0, "f": 99.0}


def rerank(order: str, k: int, pool: int = 4, marks: dict[str, float] = SCORES) -> Evidence:
    (evidence,) = RerankedRetriever(FixedRetriever(order), FixedReranker(marks), pool, "marks").retrieve(
        ["a question"], k
    )
    return evidence


def test_passages_beyond_the_rerank_depth_keep_their_order() -> None:
    evidence = rerank("cdbafe", 6)
    assert result_ids(evidence) == ["c", "b", "d", "a", "f", "e"]
    scores = [scored.score for scored in evidence.passages]
    assert scores[2:] == [20.0, 10.0, 9.0, 8.0]
    assert scores[1] == 80.0
    assert scores[0] == math.nextafter(80.0, math.inf)


def test_the_base_returns_at_least_the_rerank_depth_and_the_reranker_gets_exactly_it() -> None:
    base, reranker = FixedRetriever("cdbafe"), FixedReranker(SCORES)
    retriever = RerankedRetriever(base, reranker, 4)
    for k in (1, 5, 6, 100):
        assert len(result_ids(retriever.retrieve(["a question"], k, "year > 1")[0])) == min(k, 6)
    assert base.asked == [(4, "year > 1"), (5, "year > 1"), (6, "year > 1"), (100, "year > 1")]
    assert reranker.shown == [["c", "d", "b", "a"]] * 4


def test_paths_and_steps_are_the_bases_and_usages_add_up() -> None:
    evidence = rerank("cdbafe", 6)
    (base,) = FixedRetriever("cdbafe").retrieve(["a question"], 6)
    assert (evidence.paths, evidence.steps, evidence.topics) == (base.paths, base.steps, base.topics)
    assert evidence.notes == ("found", "one had no mark", "marks reranked the first 4 passages")
    usage = evidence.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.cost) == (3, 40, 5, 0.75)
    assert 1.0 < usage.seconds < 7.0  # time passes once: what the reranker says of its own is inside it


def test_paths_are_those_of_returned_passages_or_of_no_passage() -> None:
    @dataclass
    class Explaining(FixedRetriever):
        def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
            actual = super().retrieve(questions, k, where)
            chains: list[Path] = [(Triple("x", "is", "y", passages),) for passages in (("a",), ("c", "e"), ("b",), ())]
            return [replace(one, paths=tuple(Scored(chain, 0.5) for chain in chains)) for one in actual]

    def stating(evidence: Evidence) -> list[tuple[str, ...]]:
        return [path.item[0].passages for path in evidence.paths]

    (two,) = RerankedRetriever(Explaining("cdbafe"), FixedReranker(SCORES), 4).retrieve(["a question"], 2)
    assert result_ids(two) == ["c", "b"]
    assert stating(two) == [("c", "e"), ("b",), ()]
    base, explainer = FixedRetriever("cdbafe"), Explaining("cdbafe")
    (two,) = RerankedRetriever(base, FixedReranker(SCORES), 4, explainer=explainer).retrieve(["a question"], 2)
    (bare,) = FixedRetriever("cdbafe").retrieve(["a question"], 2)
    assert two.usage.seconds >= 2 * bare.usage.seconds > 0  # it was asked for the pool, and for paths
    assert stating(two) == [("c", "e"), ("b",), ()]
    assert (base.asked, explainer.asked) == ([(4, None)], [(2, None)])


def test_a_question_without_passages_stays_so() -> None:
    retriever = RerankedRetriever(FixedRetriever("cdbafe"), FixedReranker(SCORES), 4)
    empty, full = retriever.retrieve(["", "a question"], 3)
    assert not empty.passages
    assert empty.notes == ("empty", "one had no mark")
    assert result_ids(full) == ["c", "b", "d"]
    assert retriever.retrieve([], 3) == []


def test_the_fingerprint_is_that_of_both() -> None:
    def fingerprint(base: str, reranker: str) -> str:
        return RerankedRetriever(FixedRetriever("a", base), FixedReranker({}, reranker)).fingerprint

    assert len({fingerprint("1", "1"), fingerprint("1", "2"), fingerprint("2", "1")}) == 3


@given(st.permutations("abcdef"), st.lists(SINGLE, min_size=6, max_size=6), st.integers(1, 8))
def test_order_is_the_rerankers_and_its_scores_can_be_read(order: list[str], scores: list[float], pool: int) -> None:
    marks = dict(zip("abcdef", scores, strict=True))
    evidence = rerank("".join(order), 6, pool, marks)
    head = sorted(order[:pool], key=lambda id_: -marks[id_])
    assert result_ids(evidence) == head + order[pool:]
    assert all(one.score > other.score for one, other in pairwise(evidence.passages))
    assert [np.float32(scored.score) for scored in evidence.passages[:pool]] == [marks[id_] for id_ in head]
    for k in range(1, 6):
        assert rerank("".join(order), k, pool, marks).passages == evidence.passages[:k]


def test_metrics_that_count_ties_see_them() -> None:
    evidence = rerank("cdbafe", 6)
    actual = [scored.item.id for scored in evidence.passages]
    scores = [scored.score for scored in evidence.passages]
    assert actual[:2] == ["c", "b"]
    for gold in ("c", "b"):
        assert compute_multi_positive_measures([rank_positives(actual, actual, scores, (gold,))], [1])[
            "tied_rr"
        ].tolist() == [1 / 1.5]


@given(st.lists(SINGLE, max_size=8))
def test_ties_are_broken_by_the_least_possible_amount(scores: list[float]) -> None:
    falling = sorted(scores, reverse=True)
    actual = strictly_decreasing(falling)
    assert all(one > other for one, other in pairwise(actual))
    assert [np.float32(score) for score in actual] == falling
    for one, below, score in zip(actual[:-1], actual[1:], falling[:-1], strict=True):
        assert one in (score, math.nextafter(below, math.inf))
    assert actual[-1:] == falling[-1:]
