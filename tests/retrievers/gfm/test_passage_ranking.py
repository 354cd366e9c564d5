"""From scores of nodes to passages, against sums taken one by one."""

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.index import Index
from clew.retrievers.gfm.passage_graphs import QuestionGraph
from clew.retrievers.gfm.passage_ranking import EntityRanker, PassageRanker

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
        has_fallback_seeds=False,
        walk_passages=(np.array(order, dtype=np.int32), values),
        notes=(),
    )


def by_hand(small: Index, logits: "FloatArray", weighted: bool, top: int | None, rarity: bool) -> dict[int, float]:
    s = small.snapshot
    best = sorted(range(len(s.entities)), key=lambda e: (-float(logits[e]), e))[: top or len(s.entities)]
    scores: dict[int, float] = {}
    for entity in best:
        weight = 1.0 / (1.0 + math.exp(-float(logits[entity]))) if weighted else 1.0
        places = s.mentioned_in.row(entity).tolist()
        for passage in places:
            scores[passage] = scores.get(passage, 0.0) + weight / (len(places) if rarity else 1)
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
    found = ranker.rank(graph, logits, vector, 1000, np.ones(len(s.passage_ids), dtype=bool))
    wanted = by_hand(small, logits, weighted, top, rarity)
    assert dict(found.passages) == pytest.approx(wanted)
    scores = [score for _, score in found.passages]
    assert scores == sorted(scores, reverse=True)
    for (passage, _), node in zip(found.passages, found.nodes, strict=True):
        assert node in s.mentions.row(passage)


def test_equal_passages_stand_by_similarity_or_by_id(small: Index) -> None:
    s = small.snapshot
    entity = int(np.argmax(s.mentioned_in.degrees()))
    places = s.mentioned_in.row(entity).tolist()
    assert len(places) > 3
    vector = s.vectors[places[2]]
    everything = np.ones(len(s.passage_ids), dtype=bool)
    graph = graph_of([entity], [True])
    logits = np.zeros(1, dtype=np.float32)
    paper = EntityRanker(s, weighted=False).rank(graph, logits, vector, 100, everything)
    ours = EntityRanker(s, weighted=True).rank(graph, logits, vector, 100, everything)
    apart = EntityRanker(s, weighted=True, same_encoder=False).rank(graph, logits, vector, 100, everything)
    assert [p for p, _ in paper.passages] == [p for p, _ in apart.passages] == sorted(places)
    similar = s.vectors @ vector
    assert [p for p, _ in ours.passages] == sorted(places, key=lambda p: (-float(similar[p]), p))
    allowed = everything.copy()
    allowed[places[0]] = False
    assert places[0] not in dict(EntityRanker(s, weighted=True).rank(graph, logits, vector, 100, allowed).passages)


@given(
    st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=8),
    st.dictionaries(st.integers(0, 20), st.floats(0, 1, width=32), max_size=12),
    st.integers(1, 25),
)
def test_what_the_walk_found_follows_what_the_network_scored(
    values: list[float], walked: dict[int, float], k: int
) -> None:
    nodes = list(range(0, 2 * len(values), 2))
    graph = graph_of(nodes, [True] * len(nodes), walked)
    logits = np.array(values, dtype=np.float32)
    ranked = PassageRanker().rank(graph, logits, logits, k, np.ones(21, dtype=bool))
    whole = PassageRanker().rank(graph, logits, logits, 100, np.ones(21, dtype=bool))
    assert ranked.passages == whole.passages[:k]
    found = [p for p, _ in whole.passages]
    own = sorted(range(len(values)), key=lambda i: (-values[i], i))
    rest = sorted((p for p in walked if p not in nodes and walked[p] > 0), key=lambda p: (-walked[p], p))
    assert found == [nodes[i] for i in own] + rest
    scores = [score for _, score in whole.passages]
    assert scores == sorted(scores, reverse=True)
    assert list(whole.nodes) == own + [-1] * len(rest)
