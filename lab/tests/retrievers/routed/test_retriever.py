"""Choices against a brute-force oracle, and evidence against the chosen retrievers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.index import Index
from clew.protocols import Retriever
from clew.query.graph_walk import NO_MATCH, GraphWalkConfig, QuestionWalk
from clew.retrievers.pagerank import PageRankRetriever
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.types import Evidence, Filter
from clew_lab.retrievers.routed.retriever import FIRST_RETRIEVER, Preference, Routed, RoutedRetriever, Router
from clew_lab.retrievers.routed.weights import SIGNALS, Choice, Duration, RoutedWeights
from tests.faults.commands import run_clew
from tests.small_index import QUESTIONS, without_timing

if TYPE_CHECKING:
    from clew.types import BoolArray

NAMES = ("bm25", "pagerank", "dense")
ASKS = QUESTIONS[0]
NAMELESS = QUESTIONS[2]


def weights(
    recalls: Sequence[float] = (0.5, 0.7, 0.8),
    seconds: Sequence[float] = (0.001, 0.002, 0.020),
    known: Sequence[float] = (0.0, 0.0, 0.0),
    look: float = 0.004,
) -> RoutedWeights:
    """Return choices whose recall changes by `known` for each known name (standardised) of a question."""
    position = list(SIGNALS).index("known")
    choices = tuple(
        Choice(name, name, r, tuple(w if s == position else 0.0 for s in range(len(SIGNALS))), Duration(t))
        for name, r, t, w in zip(NAMES, recalls, seconds, known, strict=True)
    )
    zeros = (0.0,) * len(SIGNALS)
    return RoutedWeights(tuple(SIGNALS), zeros, (1.0,) * len(SIGNALS), choices, Duration(look), 5, NAMES, 100.0)


@dataclass
class RetrieverFactory:
    """Makes retrievers over an index that record their questions."""

    index: Index
    absent: tuple[str, ...] = ()
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def __call__(self, choice: Choice) -> Retriever:
        if choice.name in self.absent:
            raise InputError(f"no {choice.name} here")
        return RecordingRetriever(
            choice.name, open_retriever(parse_retriever(choice.retriever), self.index.context), self.asked
        )


@dataclass(frozen=True)
class RecordingRetriever:
    name: str
    retriever: Retriever
    asked: list[tuple[str, tuple[str, ...]]]

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        self.asked.append((self.name, tuple(questions)))
        return self.retriever.retrieve(questions, k, where)


class SingleWalkRetriever(PageRankRetriever):
    """Fails on a second walk of a question."""

    walks: tuple[str, ...] = ()

    def walk(self, question: str, allowed: "BoolArray") -> QuestionWalk:
        assert question not in self.walks
        self.walks = (*self.walks, question)
        return super().walk(question, allowed)


def make_routed(
    made: RetrieverFactory, chosen: RoutedWeights, text: str = "", kind: type[PageRankRetriever] = PageRankRetriever
) -> RoutedRetriever:
    parts = made.index.context
    first = kind(parts.scope, parts.lexical, GraphWalkConfig())
    settings = parse_retriever(f"routed:{text}" if text else "routed")
    assert isinstance(settings, Routed)
    router = Router(chosen, Preference.from_settings(settings, chosen), len(parts.scope))
    return RoutedRetriever(parts.scope, first, router, made)


@given(
    recalls=st.tuples(*[st.floats(0, 1)] * 3),
    seconds=st.tuples(*[st.floats(0, 0.1)] * 3),
    slopes=st.tuples(*[st.floats(-1, 1)] * 3),
    names=st.floats(-9, 9),
    look=st.floats(0, 0.01),
    price=st.floats(0, 1000),
    budget=st.none() | st.floats(0, 0.2),
)
@settings(max_examples=200, deadline=None)
def test_the_choice_has_the_greatest_recall_less_the_price_of_its_seconds(
    recalls: tuple[float, ...],
    seconds: tuple[float, ...],
    slopes: tuple[float, ...],
    names: float,
    look: float,
    price: float,
    budget: float | None,
) -> None:
    learned = weights(recalls, seconds, slopes, look)
    router = Router(learned, Preference(NAMES, price, budget), 10_000)
    values = np.array([names if name == "known" else 0.0 for name in SIGNALS], dtype=np.float32)
    far = min(max(float(np.float32(names)), -4.0), 4.0)
    promised = [r + w * far for r, w in zip(recalls, slopes, strict=True)]
    spent = [s + look for s in seconds]
    decision = router.choose(values)
    assert decision.recalls == pytest.approx(promised, abs=1e-9)
    assert decision.seconds == pytest.approx(spent)
    fit = [c for c in range(3) if budget is None or spent[c] <= budget]
    chosen = decision.order[0]
    if fit:
        net = [p - price / 100 * s for p, s in zip(promised, spent, strict=True)]
        assert chosen in fit
        assert net[chosen] == pytest.approx(max(net[c] for c in fit), abs=1e-9)
    else:
        assert spent[chosen] == min(spent)
    assert sorted(decision.order) == [0, 1, 2]


def test_each_choice_returns_its_own_evidence_with_a_first_note(small: Index) -> None:
    for name in NAMES:
        best = weights([0.9 if name == one else 0.1 for one in NAMES])
        for where in (None, "lang = 'en'"):
            for evidence, question in zip(
                make_routed(RetrieverFactory(small), best).retrieve(QUESTIONS, 3, where), QUESTIONS, strict=True
            ):
                (own,) = small.retriever(parse_retriever(name)).retrieve([question], 3, where)
                assert without_timing(evidence)[:2] == without_timing(own)[:2]
                assert evidence.notes[1:] == own.notes
                assert evidence.notes[0].startswith(f"routed: {name} (recall@5 0.90 in ")


def test_questions_of_one_choice_are_batched_and_the_walk_runs_once(small: Index) -> None:
    retriever = RetrieverFactory(small)
    names_cost = weights((0.5, 0.8, 0.7), known=(0.0, 0.0, 0.4))
    questions = [NAMELESS, ASKS, "", QUESTIONS[1], "zzz"]
    evidence = make_routed(retriever, names_cost, "worth=0", SingleWalkRetriever).retrieve(questions, 5)
    # Only those with names go to dense; pagerank answers from the walk and is never made.
    assert retriever.asked == [("dense", (ASKS, QUESTIONS[1]))]
    assert [e.notes[0].split()[1] for e in evidence] == ["pagerank", "dense", "question", "dense", "pagerank"]
    assert evidence[4].notes[-1] == NO_MATCH
    assert all(e.usage.seconds > 0 for e, question in zip(evidence, questions, strict=True) if question)


def test_the_reasons_are_the_signals_with_the_greatest_contribution(small: Index) -> None:
    learned = weights((0.5, 0.8, 0.7), known=(0.0, -0.1, 0.4))
    (evidence,) = make_routed(RetrieverFactory(small), learned, "worth=0").retrieve([ASKS], 5)
    assert "over pagerank (recall@5 0.7" in evidence.notes[0]
    assert evidence.notes[0].endswith("names that the index knows: more than usual")


def test_a_choice_that_the_index_cannot_serve_is_skipped_with_a_note(small: Index) -> None:
    learned = weights((0.5, 0.8, 0.7), known=(0.0, 0.0, 0.4))
    named, nameless = make_routed(RetrieverFactory(small, ("dense",)), learned, "worth=0").retrieve([ASKS, NAMELESS], 5)
    assert named.notes[0].startswith("routed: pagerank")
    assert "dense is left out: no dense here" in named.notes[0]
    assert "left out" not in nameless.notes[0]
    with pytest.raises(InputError, match="can serve none of the choices: dense is left out"):
        make_routed(RetrieverFactory(small, ("dense",)), learned, "choices=dense").retrieve([ASKS], 5)


@pytest.mark.parametrize(
    ("budget", "chosen", "message"),
    [
        ("1", "dense", "over pagerank"),
        ("0.023", "dense", "without a look"),  # looking would leave dense no time
        ("0.019", "pagerank", "over bm25"),
        ("0.003", "bm25", "without a look"),
        ("0.0005", "bm25", "nothing takes less than the budget of 0.5 ms"),
        ("0", "bm25", "nothing takes less than the budget of 0 ms"),
    ],
)
def test_a_budget_limits_the_choices(small: Index, budget: str, chosen: str, message: str) -> None:
    (evidence,) = make_routed(RetrieverFactory(small), weights(), f"budget={budget}").retrieve([ASKS], 5)
    assert evidence.notes[0].startswith(f"routed: {chosen} ")
    assert message in evidence.notes[0]


def test_price_scale_and_choices_change_the_decision(small: Index) -> None:
    def chosen(text: str) -> str:
        (evidence,) = make_routed(RetrieverFactory(small), weights(), text).retrieve([ASKS], 5)
        return evidence.notes[0].split()[1]

    # dense gives 10 points more than pagerank for 18 ms: 556 points a second.
    assert [chosen(text) for text in ("worth=500", "worth=600", "")] == ["dense", "pagerank", "dense"]
    assert chosen("worth=500,scale=2") == "pagerank"
    assert chosen("worth=0,choices=bm25+pagerank") == "pagerank"
    assert chosen("choices=bm25") == "bm25"


def test_a_budget_alone_maximises_recall_within_it(small: Index) -> None:
    dear = replace(weights(), seconds_price=600.0)
    chosen = [
        make_routed(RetrieverFactory(small), dear, text).retrieve([ASKS], 5)[0].notes[0].split()[1]
        for text in ("", "budget=1", "budget=1,worth=600", "budget=0.03,worth=500")
    ]
    assert chosen == ["pagerank", "dense", "pagerank", "dense"]


def test_the_scale_multiplies_all_seconds_with_the_overhead() -> None:
    one, twice = (Router(weights(), Preference(NAMES, 0.0, time_scale=scale), 10_000) for scale in (1.0, 2.0))
    values = np.zeros(len(SIGNALS), dtype=np.float32)
    assert one.choose(values).seconds == pytest.approx([0.005, 0.006, 0.024])
    assert twice.choose(values).seconds == pytest.approx([0.010, 0.012, 0.048])
    assert twice.choose(None).seconds == pytest.approx([0.002, 0.012, 0.040])


def test_larger_indexes_take_longer_as_measured_in_training(small: Index) -> None:
    slow = tuple(replace(choice, duration=Duration(0.02, 0.5)) for choice in weights().choices)
    grown = replace(weights(look=0.0), choices=slow)
    seconds = [Router(grown, Preference(NAMES, 0.0), size).choose(None).seconds[0] for size in (0, 10_000, 40_000)]
    assert seconds == pytest.approx([0.0002, 0.02, 0.04])


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ("budget=-1", "budget is '-1'; wanted a number of at least 0"),
        ("budget=soon", "budget is 'soon'"),
        ("worth=-3", "worth is '-3'"),
        ("worth=nan", "worth is 'nan'"),
        ("scale=0", "scale is '0'; wanted a number above 0"),
        ("choices=bm25+magic", "choices has 'magic'; these weights choose among"),
        ("choices=bm25+", "choices has ''"),
        ("choice=bm25", "no setting 'choice'; did you mean choices?"),
        ("weights=nowhere", "which holds no config.json; give a folder that clew train made"),
    ],
)
def test_invalid_settings_give_one_line_and_exit_code_2(small_folder: str, settings_: str, message: str) -> None:
    outcome = run_clew("search", "Who?", "--index", small_folder, "--retriever", f"routed:{settings_}")
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_the_shipped_weights_choose_by_their_training(small: Index) -> None:
    # The small index has other vectors than gfm reads, so pagerank and bm25 are what is left.
    evidence = small.retriever("routed").retrieve(QUESTIONS, 3)
    assert {e.notes[0].split()[1] for e in evidence} <= {"bm25", FIRST_RETRIEVER}
    assert small.retriever("routed").fingerprint  # type: ignore[attr-defined]
