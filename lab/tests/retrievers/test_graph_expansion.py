"""Expansion along triples: start triples, passages found, filters and facts that are not in the index."""

from itertools import pairwise

import numpy as np
import pytest

from clew.errors import InputError
from clew.index import Index
from clew.retrievers.agents.settings import build_expansion
from clew.retrievers.graph_expansion import linked_triples
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.types import Fact
from clew_lab.retrievers.graph_expansion import NaiveGE
from tests.small_index import result_ids

QUESTION = "Who founded the school where the boat James Caird is kept today?"


def test_passages_come_in_the_order_of_the_beams(polar: Index) -> None:
    expansion = build_expansion(polar.context, NaiveGE())
    everything = np.ones(len(polar.snapshot.passage_ids), dtype=bool)
    (vector,) = expansion.encode_questions([QUESTION])
    start = polar.snapshot.passage_triples.row(polar.snapshot.position("james-caird.md"))
    actual = expansion.expand(vector, start, everything)
    assert len(actual.beams) == len(actual.paths) == 10
    scores = [beam.score for beam in actual.beams]
    assert scores == sorted(scores, reverse=True)
    order = [p for beam in actual.beams for t in beam.triples for p in polar.snapshot.triple_passages.row(t)]
    assert list(actual.passages) == list(dict.fromkeys(order))
    for beam in actual.beams:
        ends = [set(polar.snapshot.entity_nodes[polar.snapshot.triples[t, [0, 2]]].tolist()) for t in beam.triples]
        assert all(one & other for one, other in pairwise(ends))
    assert expansion.expand(vector, [], everything).passages == ()


def test_facts_are_linked_to_the_nearest_triples(polar: Index) -> None:
    expansion, s = build_expansion(polar.context, NaiveGE()), polar.snapshot
    everything = np.ones(len(s.passage_ids), dtype=bool)
    for triple in range(0, len(s.triples), 97):
        stated = s.triple(triple)
        ((linked,), none) = expansion.link_facts([[Fact(stated.head, stated.relation, stated.tail)], []], everything)
        assert none == ()
        (vector,) = polar.context.encode_questions([linked.text])
        scores = polar.context.triple_vectors.path_scorer(vector, 0.0)((), np.arange(len(s.triples)))
        assert scores[linked.triple] == pytest.approx(scores.max(), abs=1e-6)
        assert expansion.link_facts([[Fact("x", "y", "z", triple)]], everything) == [(Fact("x", "y", "z", triple),)]
    allowed = everything.copy()
    allowed[s.position("james-caird.md")] = False
    ((linked,),) = expansion.link_facts([[Fact("James Caird (boat)", "is kept at", "Dulwich College")]], allowed)
    assert allowed[s.triple_passages.row(linked.triple)].any()
    ((unlinked,),) = expansion.link_facts([[Fact("a", "b", "c")]], np.zeros_like(allowed))
    assert unlinked.triple == -1
    assert linked_triples([linked, unlinked, linked]) == [linked.triple]


def test_the_base_weight_moves_the_ranking_towards_the_base(polar: Index) -> None:
    base = result_ids(polar.search(QUESTION, 5, "bm25"))
    heavy = result_ids(polar.search(QUESTION, 5, parse_retriever("naive-ge:weight=1000000")))
    light = result_ids(polar.search(QUESTION, 5, parse_retriever("naive-ge:weight=0.000001")))
    assert heavy == base
    assert light != base
    default = polar.search(QUESTION, 5, parse_retriever("naive-ge:base=pagerank"))
    assert default.passages == polar.search(QUESTION, 5, parse_retriever("naive-ge:base=pagerank,weight=2")).passages
    assert default.passages != polar.search(QUESTION, 5, parse_retriever("naive-ge:base=pagerank,weight=1")).passages


@pytest.mark.parametrize("name", ["naive-ge", "sync-ge"])
def test_expansion_finds_passages_that_words_alone_do_not(polar: Index, name: str) -> None:
    base = result_ids(polar.search(QUESTION, 10, "bm25"))
    expanded = polar.search(QUESTION, 10, parse_retriever(f"{name}:length=2"))
    assert expanded.paths
    assert set(result_ids(expanded)) - set(base)
    assert all(len(path.item) <= 2 for path in expanded.paths)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("base=gear", "base is 'gear'; wanted one of bm25"),
        ("base=nothing", "wanted one of bm25"),
        ("reader=nobody", "wanted local, or a language model"),
        ("reader=nobody:4", "wanted PROVIDER:NAME"),
    ],
)
def test_invalid_settings_are_refused(polar: Index, settings: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_retriever(parse_retriever(f"sync-ge:{settings}"), polar.context)


@pytest.mark.parametrize("name", ["naive-ge", "sync-ge", "gear", "ircot"])
@pytest.mark.parametrize("base", ["bm25", "dense", "pagerank"])
def test_any_base_retriever_works(polar: Index, name: str, base: str) -> None:
    evidence = polar.search(QUESTION, 5, parse_retriever(f"{name}:base={base}"))
    assert len(evidence.passages) == 5
