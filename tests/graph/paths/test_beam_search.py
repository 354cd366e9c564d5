"""Diverse beam search against its pseudocode, on random graphs with hubs and dead ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.paths import beam_search as module
from clew.graph.paths.beam_search import BeamSettings, TripleGraph, discount, diverse_beam_search
from tests.oracles import beam as oracle

NODES = 8


def chain_score(chain: tuple[int, ...]) -> float:
    """Return a float32 score from 0 to 1 that differs for each chain."""
    return float(np.float32(abs(np.sin(sum((i + 2.5) * (t + 1.3) for i, t in enumerate(chain))))))


def score_chains(chain: tuple[int, ...], extensions: np.ndarray) -> np.ndarray:
    return np.array([chain_score((*chain, int(t))) for t in extensions], dtype=np.float32)


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[int, int]]:
    node = st.integers(0, NODES - 1)
    triples = draw(st.lists(st.tuples(node, node), min_size=1, max_size=20))
    hub = draw(st.booleans())
    return [(0, b) for _, b in triples] if hub else triples


@settings(deadline=None, max_examples=200)
@given(
    graphs(),
    st.lists(st.integers(0, 19), max_size=6),
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from([0.0, 1.0, 2.0, 5.0]),
)
def test_beams_equal_those_of_the_pseudocode(
    ends: list[tuple[int, int]], starts: list[int], width: int, length: int, gamma: float
) -> None:
    starts = [t for t in starts if t < len(ends)]
    graph = TripleGraph(np.array(ends), NODES)
    found = diverse_beam_search(graph, starts, score_chains, BeamSettings(width, length, gamma))
    wanted = oracle.beams(ends, starts, chain_score, width, length, gamma)
    assert [beam.triples for beam in found] == [chain for chain, _ in wanted]
    assert [beam.score for beam in found] == pytest.approx([score for _, score in wanted])


def test_discounts_decrease_to_a_minimum() -> None:
    assert [round(discount(n, 2.0), 3) for n in range(5)] == [1.0, 0.607, 0.368, 0.368, 0.368]
    assert {discount(n, 0.0) for n in range(5)} == {discount(n, float("inf")) for n in range(5)} == {1.0}


def test_a_hub_is_scored_in_batches_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = TripleGraph(np.array([(0, 1), *((0, 2 + i) for i in range(500))]), 502)
    whole = diverse_beam_search(graph, [0], score_chains, BeamSettings(7, 3, hub=1000))
    monkeypatch.setattr(module, "_SCORING_BATCH", 16)
    batch_sizes: list[int] = []

    def count_and_score(chain: tuple[int, ...], extensions: np.ndarray) -> np.ndarray:
        batch_sizes.append(len(extensions))
        return score_chains(chain, extensions)

    assert diverse_beam_search(graph, [0], count_and_score, BeamSettings(7, 3, hub=1000)) == whole
    assert max(batch_sizes) <= 16


def test_disallowed_triples_are_on_no_path() -> None:
    graph = TripleGraph(np.array([(0, 1), (1, 2), (2, 3), (1, 3)]), 4)
    allowed = np.array([True, False, True, True])
    found = diverse_beam_search(graph, [0, 1], score_chains, BeamSettings(5, 3), allowed)
    assert {t for beam in found for t in beam.triples} == {0, 2, 3}
    assert diverse_beam_search(graph, [1], score_chains, BeamSettings(5, 3), allowed) == []


def test_no_path_goes_through_a_hub() -> None:
    graph = TripleGraph(np.array([(0, 1), *((0, 2 + i) for i in range(5)), (1, 9)]), 10)
    assert graph.neighbours(0, 6).tolist() == [*range(6), 6]
    assert graph.neighbours(0, 5).tolist() == [0, 6]
    assert graph.neighbours(1, 5).tolist() == [1]
    found = diverse_beam_search(graph, [0], score_chains, BeamSettings(10, 3, hub=5))
    assert [beam.triples for beam in found] == [(0, 6)]
