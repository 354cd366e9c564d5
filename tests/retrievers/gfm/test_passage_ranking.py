"""Ranking of passages by scores of nodes, against plain sums."""

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.index import Index
from clew.retrievers.gfm.passage_graphs import QuestionGraph
from clew.retrievers.gfm.passage_ranking import PassageRanker
from clew_lab.gfm.entity_graphs import EntityRanker

if TYPE_CHECKING:
    from clew.types import FloatArray


def graph_of(nodes: list[int], targets: list[bool], walked: dict[int, float] | None = None) -> QuestionGraph:
    count = len(nodes)
    none, zeros = np.zeros(0, dtype=np.int32), np.zeros(count, dtype=np.float32)
    order = sorted(walked or {})
    values = np.array([(walked or {})[p] for p in order], dtype=np.float32)
    return QuestionGraph(
        np.array(nodes, dtype=np.int32),
        none,
        none,
        none.astype(np.int64),
        zeros,
        np.zeros((count, 0), dtype=np.float32),
        zeros,
        np.array(targets, dtype=bool),
        walk_passages=(np.array(order, dtype=np.int32), values),
        notes=(),
    )


def plain_scores(small: Index, logits: "FloatArray", weighted: bool, top: int | None, rarity: bool) -> dict[int, float]:
    s = small.snapshot
    best = sorted(range(len(s.entities)), key=lambda e: (-float(logits[e]), e))[: top or len(s.entities)]
    scores: dict[int, float] = {}
    for entity in best:
        weight = 1.0 / (1.0 + math.exp(-float(logits[entity]))) if weighted else 1.0
        positions = s.mentioned_in.row(entity).tolist()
        for passage in positions:
            scores[passage] = scores.get(passage, 0.0) + weight / (len(positions) if rarity else 1)
    return scores


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("top", "rarity"), [(20, True), (3, True), (None, True), (20, False)])
def test_passages_have_the_sum_over_the_best_entities(
    small: Index, weighted: bool, top: int | None, rarity: bool
) -> None:
    s = small.snapshot
    random = np.random.default_rng(1)
    logits = random.normal(size=len(s.entities)).astype(np.float32)
    graph = graph_of(list(range(len(s.entities))), [True] * len(s.entities))
    ranker = EntityRanker(s, weighted=weighted, entities=top, rarity=rarity)
    vector = random.normal(size=(1, s.vectors.shape[1])).astype(np.float32)[0]
    actual = ranker.rank(graph, logits, vector, 1000, np.ones(len(s.passage_ids), dtype=bool))
    expected = plain_scores(small, logits, weighted, top, rarity)
    assert dict(actual.passages) == pytest.approx(expected)
    scores = [score for _, score in actual.passages]
    assert scores == sorted(scores, reverse=True)
    for (passage, _), node in zip(actual.passages, actual.nodes, strict=True):
        assert node in s.mentions.row(passage)


def test_ties_are_broken_by_similarity_or_by_id(small: Index) -> None:
    s = small.snapshot
    entity = int(np.argmax(s.mentioned_in.degrees()))
    positions = s.mentioned_in.row(entity).tolist()
    assert len(positions) > 3
    vector = s.vectors.rows(np.array(positions[2:3]))[0]
    everything = np.ones(len(s.passage_ids), dtype=bool)
    graph = graph_of([entity], [True])
    logits = np.zeros(1, dtype=np.float32)
    paper = EntityRanker(s, weighted=False).rank(graph, logits, vector, 100, everything)
    ours = EntityRanker(s, weighted=True).rank(graph, logits, vector, 100, everything)
    apart = EntityRanker(s, weighted=True, same_encoder=False).rank(graph, logits, vector, 100, everything)
    assert [p for p, _ in paper.passages] == [p for p, _ in apart.passages] == sorted(positions)
    similar = s.vectors.similarities(vector)
    assert [p for p, _ in ours.passages] == sorted(positions, key=lambda p: (-float(similar[p]), p))
    allowed = everything.copy()
    allowed[positions[0]] = False
    assert positions[0] not in dict(EntityRanker(s, weighted=True).rank(graph, logits, vector, 100, allowed).passages)


@given(
    st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=8),
    st.dictionaries(st.integers(0, 20), st.floats(0, 1, width=32), max_size=12),
    st.integers(1, 25),
)
def test_passages_of_the_walk_follow_those_of_the_network(values: list[float], walk: dict[int, float], k: int) -> None:
    nodes = list(range(0, 2 * len(values), 2))
    graph = graph_of(nodes, [True] * len(nodes), walk)
    logits = np.array(values, dtype=np.float32)
    ranked = PassageRanker().rank(graph, logits, logits, k, np.ones(21, dtype=bool))
    whole = PassageRanker().rank(graph, logits, logits, 100, np.ones(21, dtype=bool))
    assert ranked.passages == whole.passages[:k]
    actual = [p for p, _ in whole.passages]
    own = sorted(range(len(values)), key=lambda i: (-values[i], i))
    rest = sorted((p for p in walk if p not in nodes and walk[p] > 0), key=lambda p: (-walk[p], p))
    assert actual == [nodes[i] for i in own] + rest
    scores = [score for _, score in whole.passages]
    assert scores == sorted(scores, reverse=True)
    assert list(whole.nodes) == own + [-1] * len(rest)
