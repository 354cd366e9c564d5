"""Document graphs from an index, against sets and plain loops over its passages."""

import math
from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.csr import Adjacency, build_adjacency
from clew.graph.segments.passage_columns import PassageVectors
from clew.graph.snapshot.snapshot import Snapshot
from clew.index import Index
from clew.query.chain_search import describe_passages, texts_to_encode
from clew.query.linking import link_question
from clew.rerankers.g_rag.document_graph import (
    CHAIN_EDGE_FEATURES,
    CHAIN_NODE_FEATURES,
    EDGE_FEATURES,
    NODE_FEATURES,
    DocumentGraph,
    IndexDocumentGraphBuilder,
    gather_neighbours,
)
from clew.types import Document, Passage, Scored
from tests.small_index import QUESTIONS, make_index

Pool = list[Scored[Passage]]
POLAR = (
    "In which town was the designer of the ship Fram born?",
    "Who founded the school where the boat James Caird is kept today?",
    "What did the leader of the expedition on the Gauss study?",
    "who led it, and when?",
    "",
)
SYMMETRIC = ("common nodes", "common edges", "rare common nodes", "rare common nodes not named")


def make_builder(
    index: Index, *, vectors: bool = False, snapshot: Snapshot | None = None, chains: bool = False
) -> IndexDocumentGraphBuilder:
    context = index.context
    return IndexDocumentGraphBuilder(
        snapshot or context.scope.snapshot,
        context.lexical,
        context.encode_questions,
        context.text_vectors.relation_vectors,
        vectors=vectors,
        chains=context.chain_search() if chains else None,
    )


def make_ranking(index: Index, positions: list[int]) -> Pool:
    """Return scored passages with falling scores, some of them equal."""
    snapshot = index.context.scope.snapshot
    return [Scored(snapshot.passage(p), 9.0 - rank // 2) for rank, p in enumerate(positions)]


def make_graph(index: Index, question: str, positions: list[int], **options: Any) -> DocumentGraph:
    return make_builder(index, **options).build([question], [make_ranking(index, positions)])[0]


class PlainLoops:
    """The same features for an index and a question, computed passage by passage."""

    def __init__(self, index: Index, question: str) -> None:
        self.s, self.context = index.context.scope.snapshot, index.context
        self.linked = link_question(self.s, question)
        self.vector = self.context.encode_questions([question])[0]
        self.relations = self.context.text_vectors.relation_vectors()
        named: dict[int, float] = {}
        for name in self.linked.linked_names:
            for entity in name.entities:
                node = int(self.s.entity_nodes[entity])
                named[node] = named.get(node, 0.0) + self.rarity(node) / len(name.entities)
        self.named = {node: weight / sum(named.values()) for node, weight in named.items()}

    def title_node(self, place: int) -> int:
        """The node of a passage's title entity, else of the passage."""
        title = int(self.s.title_entities[place])
        return int(self.s.entity_nodes[title]) if title >= 0 else place

    def nodes(self, place: int) -> set[int]:
        return {int(self.s.entity_nodes[e]) for e in self.s.mentions.row(place)} | {self.title_node(place)}

    def rarity(self, node: int) -> float:
        """1 for a node of at most one neighbour, less with more neighbours, above 0."""
        neighbours = set(self.s.walk.row(node).tolist())
        return 1.0 - math.log(max(len(neighbours), 1)) / math.log(self.s.walk.row_count + 1)

    def cosine(self, triple: int) -> float:
        return float(self.relations[self.s.triples[triple, 1]] @ self.vector)

    def about(self, one: int, other: int) -> list[int]:
        """The triples that a passage states about the other's title node, if that is not its own."""
        if self.title_node(one) == self.title_node(other):
            return []
        ends = {int(t): {int(self.s.entity_nodes[e]) for e in self.s.triples[t, [0, 2]]} for t in self.stated(one)}
        return [triple for triple, nodes in ends.items() if self.title_node(other) in nodes]

    def stated(self, place: int) -> list[int]:
        return [int(triple) for triple in self.s.passage_triples.row(place)]

    def edge(self, one: int, other: int) -> dict[str, float]:
        shared = self.nodes(one) & self.nodes(other)
        there, back = self.about(one, other), self.about(other, one)
        differ = self.title_node(one) != self.title_node(other)
        return {
            "common nodes": len(shared),
            "common edges": len(there) + len(back),
            "rare common nodes": sum(self.rarity(node) for node in shared),
            "rare common nodes not named": sum(self.rarity(node) for node in shared if node not in self.named),
            "link to": differ and self.title_node(other) in self.nodes(one),
            "link from": differ and self.title_node(one) in self.nodes(other),
            "asked link to": max(0.0, *map(self.cosine, there), 0.0),
            "asked link from": max(0.0, *map(self.cosine, back), 0.0),
        }

    def node_features(self, pool: Pool) -> dict[str, list[float]]:
        places = [self.s.position(scored.item.id) for scored in pool]
        scores = [scored.score for scored in pool]
        similarities = [float(row @ self.vector) for row in self.s.vectors.rows(np.array(places))]
        words, others = (
            [float(self.context.lexical.scores(text)[place]) for place in places]
            for text in (self.linked.text, self.linked.remainder)
        )
        mentioned = {node for place in places for node in self.nodes(place)} & set(self.named)
        return {
            "score": min_max_scale(scores),
            "reciprocal rank": [1 / (rank + 1) for rank in range(len(pool))],
            "rank": [1 / math.log2(rank + 2) for rank in range(len(pool))],
            "words": [word / max(words) if max(words) else 0.0 for word in words],
            "other words": [word / max(others) if max(others) else 0.0 for word in others],
            "likeness": similarities,
            "likeness in the pool": min_max_scale([float(np.float32(value)) for value in similarities]),
            "named": [self.named.get(self.title_node(place), 0.0) for place in places],
            "mentions what is named": [sum(self.named.get(n, 0.0) for n in self.nodes(place)) for place in places],
            "share of what is named": [len(self.nodes(p) & mentioned) / max(len(mentioned), 1) for p in places],
            "nearest relation": [max(0.0, *map(self.cosine, self.stated(place)), 0.0) for place in places],
        }


def min_max_scale(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


def check(index: Index, question: str, positions: list[int]) -> DocumentGraph:
    """Compare a graph with the plain loops, and return it."""
    loops, graph, pool = (
        PlainLoops(index, question),
        make_graph(index, question, positions),
        make_ranking(index, positions),
    )
    wanted = loops.node_features(pool)
    assert tuple(wanted) == NODE_FEATURES
    for column, (name, values) in enumerate(wanted.items()):
        np.testing.assert_allclose(graph.node_features[:, column], values, atol=2e-5, err_msg=f"{question!r}: {name}")
    for i, one in enumerate(positions):
        for j, other in enumerate(positions):
            edge = loops.edge(one, other) if i != j else dict.fromkeys(EDGE_FEATURES, 0.0)
            assert tuple(edge) == EDGE_FEATURES
            np.testing.assert_allclose(
                graph.edge_features[i, j], list(edge.values()), atol=2e-5, err_msg=f"{one} to {other}"
            )
    return graph


@cache
def passage_count(index: Index) -> int:
    return len(index.context.scope.snapshot.passage_ids)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_small_index_equals_plain_loops(small: Index, question: str) -> None:
    check(small, question, list(range(passage_count(small))))


@pytest.mark.parametrize("question", POLAR)
def test_a_corpus_of_chains_equals_plain_loops(plain_polar: Index, question: str) -> None:
    graph = check(plain_polar, question, list(range(0, passage_count(plain_polar), 3)))
    assert all(graph.edge_features[..., channel].any() for channel in range(6))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_ranking_equals_plain_loops(plain_polar: Index, data: st.DataObject) -> None:
    places = st.integers(0, passage_count(plain_polar) - 1)
    positions = data.draw(st.lists(places, min_size=1, max_size=9, unique=True))
    graph = check(plain_polar, data.draw(st.sampled_from(POLAR)), positions)
    for name in SYMMETRIC:
        channel = graph.edge_features[..., EDGE_FEATURES.index(name)]
        assert np.array_equal(channel, channel.T)
    for to, back in (("link to", "link from"), ("asked link to", "asked link from")):
        assert np.array_equal(
            graph.edge_features[..., EDGE_FEATURES.index(to)], graph.edge_features[..., EDGE_FEATURES.index(back)].T
        )
    assert graph.edge_features.min() >= 0
    assert not graph.edge_features[np.arange(len(positions)), np.arange(len(positions))].any()
    assert np.abs(graph.node_features).max() <= 1 + 1e-5


def test_a_relation_that_is_asked_for_marks_its_link(plain_polar: Index) -> None:
    """Some pair is linked by a triple whose relation shares words with the question."""
    s, column = plain_polar.context.scope.snapshot, EDGE_FEATURES.index("asked link to")
    loops = PlainLoops(plain_polar, "")
    pairs = [
        (one, other, triple)
        for one in range(0, passage_count(plain_polar), 3)
        for other in range(passage_count(plain_polar))
        if one != other
        for triple in loops.about(one, other)[:1]
    ]
    assert pairs
    for one, other, triple in pairs[:20]:
        relation = s.relations[int(s.triples[triple, 1])]
        near, far = (
            make_graph(plain_polar, text, [one, other]).edge_features[0, 1, column] for text in (relation, "zzz qqq")
        )
        assert near == pytest.approx(1.0, abs=1e-5)
        assert far < 0.5


def test_a_name_of_several_shares_its_weight_among_them(small: Index) -> None:
    question = "Did Louis Palander command the Vega?"
    loops = PlainLoops(small, question)
    assert sorted(len(name.entities) for name in loops.linked.linked_names) == [1, 2]
    check(small, question, list(range(passage_count(small))))


def test_passages_of_one_document_share_its_name_and_are_not_linked_by_it(tmp_path: Path) -> None:
    text = "\n\n".join(
        f"Oslo was founded by Karen Holm in {1000 + n}. " + f"Ferry {n} leaves for Drammen. " * 60 for n in range(3)
    )
    index = make_index(
        tmp_path / "index", [Document("oslo", "Oslo", text), Document("d", "Drammen", "Drammen is a town.")]
    )
    s = index.context.scope.snapshot
    places = [p for p in range(len(s.passage_ids)) if s.document_ids[p] == "oslo"]
    other = next(p for p in range(len(s.passage_ids)) if s.document_ids[p] == "d")
    assert len(places) > 1
    assert all(len(s.passage_triples.row(p)) for p in places[:2])
    graph = check(index, "Where do ferries from Oslo go?", [*places, other])
    within = graph.edge_features[: len(places), : len(places)]
    away = ~np.eye(len(places), dtype=bool)
    assert (within[away][:, EDGE_FEATURES.index("common nodes")] >= 1).all()
    assert not within[..., [EDGE_FEATURES.index(name) for name in ("common edges", *EDGE_FEATURES[4:])]].any()
    assert graph.edge_features[: len(places), -1, EDGE_FEATURES.index("link to")].all()


def test_the_order_of_the_pool_changes_the_order_alone(plain_polar: Index) -> None:
    positions = [5, 40, 12, 77, 3, 60]
    order = [4, 2, 0, 5, 1, 3]
    before = make_graph(plain_polar, POLAR[0], positions, vectors=True)
    after = make_graph(plain_polar, POLAR[0], [positions[place] for place in order], vectors=True)
    assert np.array_equal(after.edge_features, before.edge_features[order][:, order])
    assert np.array_equal(after.vectors, before.vectors[order])
    first = NODE_FEATURES.index("rank") + 1  # the features before are of the rank
    np.testing.assert_allclose(after.node_features[:, first:], before.node_features[order][:, first:], atol=1e-6)


def test_a_batch_equals_its_questions_one_by_one(plain_polar: Index) -> None:
    graphs = make_builder(plain_polar, vectors=True)
    pools = [make_ranking(plain_polar, list(range(n, n + 7))) for n in range(len(POLAR))]
    for one, question, pool in zip(graphs.build(POLAR, pools), POLAR, pools, strict=True):
        (single,) = graphs.build([question], [pool])
        for name in ("vectors", "node_features", "edge_features", "question"):
            assert np.array_equal(getattr(one, name), getattr(single, name)), name
    assert graphs.build([], []) == []


def test_vectors_are_optional(small: Index) -> None:
    with_, without = (make_graph(small, QUESTIONS[0], [2, 0], vectors=read) for read in (True, False))
    assert np.array_equal(with_.vectors, small.context.scope.snapshot.vectors.rows(np.array([2, 0])))
    assert np.array_equal(with_.question, small.context.encode_questions([QUESTIONS[0]])[0])
    assert (without.vectors.shape, without.question.shape) == ((2, 0), (0,))
    assert with_.node_features.dtype == with_.edge_features.dtype == np.float32


def keep_rows(whole: Adjacency, places: list[int]) -> Adjacency:
    """Return an adjacency with all other rows emptied."""
    pairs = [(p, int(other)) for p in places for other in whole.row(p)]
    return build_adjacency(
        [one for one, _ in pairs], [other for _, other in pairs], np.ones(len(pairs)), whole.row_count
    )


@pytest.mark.parametrize("question", POLAR)
def test_other_passages_do_not_matter(plain_polar: Index, question: str) -> None:
    """Neither mentions nor triples nor vectors of other passages matter: a filter may hide them."""
    s, positions = plain_polar.context.scope.snapshot, list(range(1, passage_count(plain_polar), 4))
    vectors = np.full(s.vectors.shape, np.nan, dtype=np.float32)
    vectors[positions] = s.vectors.rows(np.array(positions))
    columns = copy(s.columns)
    columns.vectors = PassageVectors.from_matrix(vectors)
    hidden = replace(
        s,
        columns=columns,
        mentions=keep_rows(s.mentions, positions),
        passage_triples=keep_rows(s.passage_triples, positions),
        triple_passages=keep_rows(s.triple_passages, []),
        mentioned_in=s.mentioned_in if question else keep_rows(s.mentioned_in, []),
    )
    before, after = (make_graph(plain_polar, question, positions, snapshot=snapshot) for snapshot in (s, hidden))
    assert np.array_equal(before.edge_features, after.edge_features)
    assert np.array_equal(before.node_features, after.node_features)


def test_a_fact_that_only_a_hidden_passage_states_joins_nobody(tmp_path: Path) -> None:
    documents = [
        Document("a", "Aker Yard", "It stands by the fjord."),
        Document("b", "Karen Holm", "She was an engineer."),
        Document("secret", "Ledger", "Aker Yard was founded by Karen Holm."),
    ]
    index = make_index(tmp_path / "index", documents)
    assert len(index.context.scope.snapshot.triples)
    graph = check(index, "Who founded Aker Yard?", [0, 1])
    assert not graph.edge_features.any()
    linked = check(index, "Who founded Aker Yard?", [0, 1, 2])
    assert linked.edge_features[2, :2, EDGE_FEATURES.index("link to")].all()
    assert not linked.edge_features[:2, :2].any()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=6), st.data())
def test_gathered_rows_equal_single_rows(lists: list[list[int]], data: st.DataObject) -> None:
    pairs = [(row, other) for row, others in enumerate(lists) for other in others]
    whole = build_adjacency([one for one, _ in pairs], [other for _, other in pairs], np.ones(len(pairs)), len(lists))
    positions = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    owners, others = gather_neighbours(whole, np.array(positions, dtype=np.int64))
    wanted = [(place, other) for place, row in enumerate(positions) for other in sorted(set(lists[row]))]
    assert list(zip(owners.tolist(), others.tolist(), strict=True)) == wanted
    assert owners.dtype == others.dtype == np.int64


@pytest.mark.parametrize("question", [QUESTIONS[0], QUESTIONS[1], ""])
def test_chains_add_features_of_a_question_s_passages_alone(small: Index, question: str) -> None:
    positions = [7, 2, 9, 4, 0, 11]
    plain, joined = (make_graph(small, question, positions, chains=chains) for chains in (False, True))
    nodes, edges = len(NODE_FEATURES), len(EDGE_FEATURES)
    np.testing.assert_array_equal(joined.node_features[:, :nodes], plain.node_features)
    np.testing.assert_array_equal(joined.edge_features[..., :edges], plain.edge_features)
    assert joined.node_features.shape[1] == nodes + len(CHAIN_NODE_FEATURES)
    onward, back = joined.edge_features[..., edges], joined.edge_features[..., edges + 1]
    assert joined.edge_features.shape[2] == edges + len(CHAIN_EDGE_FEATURES)
    np.testing.assert_array_equal(onward, back.T)
    assert not onward.diagonal().any()
    assert onward.min() >= 0
    search, order = small.context.chain_search(), sorted(positions)
    if question:
        allowed = np.isin(np.arange(len(small.snapshot.passage_ids)), positions)
        linked = small.context.scope.linker.link(question)  # a pool is no filter: all names are known
        vectors = small.context.encode_questions(list(texts_to_encode(linked)))
        found = search.search_vectors(linked, vectors.__getitem__, allowed)
        assert set(found.chains.passages.tolist()) <= set(positions)
        titles = small.snapshot.title_entities
        described = describe_passages(search.sentences, titles, found, np.array(order, dtype=np.int32))
        for place, position in enumerate(positions):
            row = described[order.index(position)]
            np.testing.assert_allclose(joined.node_features[place, nodes:], row, atol=1e-6)
    assert bool(joined.node_features[:, nodes:].any()) == bool(question)
