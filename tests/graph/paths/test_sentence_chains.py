"""Chains of sentences against the formulas in plain Python, on small random indexes and by hand."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.graph.csr import Adjacency, build_adjacency
from clew.graph.paths.sentence_chains import NO_BRIDGE, ChainQuestion, ChainWeights, SentenceChains, search_chains
from clew.graph.sentence_index import SentenceIndex
from tests.oracles.chains import Bridge, ChainOracle, OracleQuestion


def make_rows(rows: list[set[int]]) -> Adjacency:
    pairs = [(number, value) for number, row in enumerate(rows) for value in row]
    one, two = ([pair[i] for pair in pairs] for i in (0, 1))
    return build_adjacency(one, two, np.ones(len(pairs)), len(rows))


def transpose(rows: list[set[int]], count: int, bridges: set[int]) -> Adjacency:
    return make_rows([{s for s, row in enumerate(rows) if value in row and value in bridges} for value in range(count)])


def make_index(sizes: list[int], entities: list[set[int]], terms: list[set[int]], bridges: set[int]) -> SentenceIndex:
    """Return sentences of passages of some sizes; of the ten entities and terms those below ten are bridges."""
    return SentenceIndex(
        offsets=np.cumsum([0, *sizes]).astype(np.int64),
        spans=np.zeros((sum(sizes), 2), dtype=np.int32),
        entities=make_rows(entities),
        terms=make_rows(terms),
        entity_sentences=transpose(entities, 10, bridges),
        term_sentences=transpose(terms, 10, bridges),
        vectors=None,
    )


def draw_set(rng: np.random.Generator) -> set[int]:
    return set(rng.integers(0, 10, rng.integers(0, 4)).tolist())


class Case:
    """A random index and question."""

    def __init__(self, seed: int, *, vectors: bool) -> None:
        rng = np.random.default_rng(seed)
        sizes = [int(n) for n in rng.integers(1, 4, rng.integers(2, 8))]
        count = sum(sizes)
        entities, terms = ([draw_set(rng) for _ in range(count)] for _ in range(2))
        self.index = make_index(sizes, entities, terms, set(rng.permutation(10)[:7].tolist()))
        self.titles = rng.integers(-1, 10, len(sizes)).astype(np.int32)
        cosines = rng.uniform(-1, 1, (count, 2)).astype(np.float32)
        words = np.unique(rng.integers(0, 10, 4)).astype(np.int32)
        weights = rng.uniform(0.1, 1.0, len(words))
        allowed = rng.random(len(sizes)) < 0.8
        named = np.unique(rng.integers(0, 10, 1)).astype(np.int32)
        name = np.flatnonzero(rng.random(len(words)) < 0.4).astype(np.int32)
        similarity = (lambda sentences: cosines[sentences]) if vectors else None
        open_ = np.zeros(0, dtype=np.bool_) if allowed.all() else allowed
        self.question = ChainQuestion(words, weights / weights.sum(), similarity, named, [name], open_)
        of_allowed = np.flatnonzero(np.repeat(allowed, sizes)).astype(np.int32)
        self.first = of_allowed[rng.random(len(of_allowed)) < 0.7]
        self.scores = rng.uniform(0, 1, len(self.first))
        self.oracle = ChainOracle(self.index, self.titles.tolist())
        self.oracle_question = OracleQuestion(
            dict(zip(words.tolist(), (weights / weights.sum()).tolist(), strict=True)),
            {s: (float(a), float(b)) for s, (a, b) in enumerate(cosines)} if vectors else {},
            {int(named[0]): frozenset(words[name].tolist())},
            frozenset(np.flatnonzero(allowed).tolist()),
        )

    def search(self, weights: ChainWeights) -> SentenceChains:
        return search_chains(self.index, self.titles, self.first, self.scores, self.question, weights)


def name_bridge(bridge: int) -> Bridge:
    return ("entity", bridge) if bridge >= 0 else ("term", -1 - bridge)


def read_rows(found: SentenceChains) -> list[tuple[tuple[int, ...], tuple[Bridge, ...]]]:
    sentences, bridges = found.rows(np.arange(len(found.passages)))
    return [
        (tuple(s for s in one if s >= 0), tuple(name_bridge(b) for b in joined if b != NO_BRIDGE))
        for one, joined in zip(sentences.tolist(), bridges.tolist(), strict=True)
    ]


@example(seed=209, vectors=False, steps=3, limits=(4, 3))  # equal scores at the cut, here and below
@example(seed=839, vectors=False, steps=3, limits=(4, 3))
@example(seed=1406, vectors=False, steps=3, limits=(2, 2))
@example(seed=2204, vectors=False, steps=3, limits=(2, 2))
@settings(max_examples=150)
@given(st.integers(0, 1 << 30), st.booleans(), st.sampled_from([2, 3]), st.sampled_from([(2, 2), (4, 3), (99, 99)]))
def test_chains_equal_those_of_the_formulas(seed: int, vectors: bool, steps: int, limits: tuple[int, int]) -> None:
    case = Case(seed, vectors=vectors)
    weights = ChainWeights(sentences=steps, first_sentences=limits[0], second_sentences=limits[1])
    found = case.search(weights)
    first = dict(zip(case.first.tolist(), case.scores.tolist(), strict=True))
    wanted = case.oracle.search(first, case.oracle_question, weights)
    assert found.passages.tolist() == sorted(wanted)
    for passage, score, (sentences, bridges) in zip(
        found.passages.tolist(), found.scores, read_rows(found), strict=True
    ):
        best = wanted[passage][0]
        assert (score, sentences, bridges) == (best.score, best.sentences, best.bridges)


def search_by_hand(weights: ChainWeights) -> SentenceChains:
    """Search the passages 0 - 1 - 2, which entity 0 and term 1 join; word 5 stands in 0, 6 in 1, 7 in 2."""
    index = make_index([1, 1, 1], [{0}, {0}, set()], [{5}, {1, 6}, {1, 7}], {0, 1})
    words, shares = np.array([5, 6, 7], dtype=np.int32), np.array([0.5, 0.3, 0.2])
    mask = np.zeros(0, dtype=np.bool_)
    question = ChainQuestion(words, shares, None, np.zeros(0, dtype=np.int32), [], mask)
    titles = np.array([-1, 0, -1], dtype=np.int32)
    return search_chains(index, titles, np.zeros(1, dtype=np.int32), np.array([0.4]), question, weights)


def test_a_chain_of_three_sentences_by_hand() -> None:
    weights = ChainWeights(novelty=1.0, hub=0.1, title=0.05, third_step=0.2)
    found = search_by_hand(weights)
    pair = 0.4 + 0.3 - 0.1 * math.log(2) + 0.05
    third = pair - 0.2 + 0.2 - 0.1 * math.log(2)
    # The third step costs more than it gains, so the first two passages have the shorter chain as their best.
    assert found.scores.tolist() == pytest.approx([pair, pair, third])
    assert read_rows(found) == [
        ((0, 1), (("entity", 0),)),
        ((0, 1), (("entity", 0),)),
        ((0, 1, 2), (("entity", 0), ("term", 1))),
    ]
    assert search_by_hand(ChainWeights(sentences=2)).passages.tolist() == [0, 1]


def test_without_a_first_sentence_there_is_no_chain() -> None:
    case = Case(1, vectors=True)
    none = np.zeros(0, dtype=np.int32)
    found = search_chains(case.index, case.titles, none, np.zeros(0), case.question, ChainWeights())
    assert not len(found.passages)
    assert read_rows(found) == []
