"""Signals on indexes small enough to count by hand; none depends on the scale of scores."""

import numpy as np
import pytest

from clew.index import Index
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew_lab.retrievers.routed.weights import SIGNALS, compute_signals
from tests.small_index import QUESTIONS

HOSTILE = ("", "?!... ---", "zzz", "a" * 9000, "\ud800 \udfff", "Vega\0\x01 built", "((((“" * 500, "🚢😀 where 💥?")


def signals_of(index: Index, question: str, where: str | None = None) -> dict[str, float]:
    parts = index.context
    walker = GraphWalk(parts.scope, parts.lexical, GraphWalkConfig())
    actual = compute_signals(index.snapshot, walker.walk(question, parts.scope.mask(where)))
    assert actual.shape == (len(SIGNALS),)
    return dict(zip(SIGNALS, actual.tolist(), strict=True))


def test_words_and_names_are_counted(small: Index) -> None:
    values = signals_of(
        small, "Which was the older of both, whose name was Vega, seen by Louis Palander or Zebulon Quux?"
    )
    counts = {name: round(float(np.expm1(values[name]))) for name in ("words", "known", "unknown", "joints", "options")}
    # of, whose, by, but not the first word; older, both, or
    assert counts == {"words": 17, "known": 2, "unknown": 1, "joints": 3, "options": 3}
    # Vega may be the ship or the star, Louis Palander is one; all three are titles.
    assert values["meanings"] == pytest.approx(np.log(1.5))
    assert values["titles"] == 1.0


def test_links_of_the_names_are_those_of_the_walk(small: Index) -> None:
    s = small.snapshot
    values = signals_of(small, "Where is Louis Palander?")
    position = list(s.passage_ids).index("palander")
    assert values["degree"] == values["rarest"] == pytest.approx(np.log1p(len(s.walk.row(position))))


def test_values_are_shares_of_the_best(small: Index) -> None:
    parts = small.context
    walk = GraphWalk(parts.scope, parts.lexical, GraphWalkConfig()).walk(QUESTIONS[1], parts.scope.mask(None))
    values = sorted((float(v) for v in walk.scores), reverse=True)
    signals = signals_of(small, QUESTIONS[1])
    for name, rank in (("second", 1), ("third", 2), ("fifth", 4), ("sixth", 5), ("tenth", 9)):
        assert signals[name] == pytest.approx(values[rank] / values[0] if rank < len(values) else 0.0)
    best = walk.nodes[np.argsort(-walk.scores, kind="stable")[:5]]
    assert signals["matching"] == pytest.approx(walk.shares(best)[:, 0].mean())
    assert signals["answering"] == pytest.approx(walk.shares(best)[:, 1].max())
    part = np.array(values[:20]) / sum(values[:20])
    assert signals["entropy"] == pytest.approx(-(part * np.log(part)).sum() / np.log(20), abs=1e-6)
    assert round(float(np.expm1(signals["reach"]))) == len(values)


def test_walk_and_words_agree_where_nothing_is_named(small: Index) -> None:
    values = signals_of(small, "oil burns lamp")
    assert values["known"] == 0
    assert values["standing"] == values["titles"] == values["degree"] == values["meanings"] == 0
    assert 0 < values["agreeing"] <= values["near"] == 1.0
    assert values["answering"] == 1.0  # the whole question is its remainder, and its best passage is found


def test_a_named_passage_is_first_and_its_links_are_counted(small: Index) -> None:
    values = signals_of(small, "Where was Louis Palander born?")
    assert values["standing"] == 1.0
    assert 0 < values["linked"] <= 1


@pytest.mark.parametrize("question", [*HOSTILE, *QUESTIONS])
def test_every_signal_is_a_finite_number_and_small(small: Index, question: str) -> None:
    for where in (None, "lang = 'en'", "lang = 'xx'"):
        values = signals_of(small, question, where)
        assert all(np.isfinite(value) and -1e-6 <= value < 15 for value in values.values())


def test_a_filter_hides_passages_from_signals(small: Index) -> None:
    none = signals_of(small, QUESTIONS[1], "lang = 'xx'")
    assert none["reach"] == none["second"] == none["matching"] == none["entropy"] == 0
    assert none["words"] == signals_of(small, QUESTIONS[1])["words"]
