"""PageRank on chains that can be followed by hand: restart, values and paths."""

from pathlib import Path

import numpy as np
import pytest

from clew.graph.snapshot.snapshot import Snapshot
from clew.index import Index
from clew.query.graph_walk import NO_MATCH, GraphWalk, GraphWalkConfig
from clew.query.linking import link_question
from clew.query.scope import Scope
from clew.retrievers.pagerank import PageRankRetriever
from clew.text.bm25 import BM25Index
from clew.types import Document, Evidence, Triple
from tests.oracles.pagerank import dense_matrix, exact_pagerank
from tests.small_index import QUESTIONS, make_index, result_ids

# a -> b -> c -> d by title; e stands alone.
CHAIN = (
    Document("a", "Alpha Bay", "It was found by Beta Berg.", {"n": 1}),
    Document("b", "Beta Berg", "He was born in Gamma Town.", {"n": 2}),
    Document("c", "Gamma Town", "A town near Delta Hill.", {"n": 3}),
    Document("d", "Delta Hill", "A hill of chalk.", {"n": 4}),
    Document("e", "Epsilon Lake", "A lake of salt.", {"n": 5}),
)
STEPS = (
    Triple("Alpha Bay", "It was found by", "Beta Berg", ("a",)),
    Triple("Beta Berg", "He was born in", "Gamma Town", ("b",)),
    Triple("Gamma Town", "town near", "Delta Hill", ("c",)),
)
NAMED_ONLY = "What about Alpha Bay?"


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("chain") / "index", CHAIN, encoder="none")


def lexical(s: Snapshot) -> BM25Index:
    return BM25Index.build(f"{title}\n{text}" for title, text in zip(s.titles, s.texts, strict=True))


def search(index: Index, question: str, weights: GraphWalkConfig | None = None, where: str | None = None) -> Evidence:
    s = index.snapshot
    (evidence,) = PageRankRetriever(Scope(s), lexical(s), weights or GraphWalkConfig()).retrieve([question], 9, where)
    return evidence


def scores(evidence: Evidence) -> dict[str, float]:
    return {scored.item.id: scored.score for scored in evidence.passages}


def test_paths_follow_the_chain_from_the_name_in_the_question(chain: Index) -> None:
    evidence = search(chain, NAMED_ONLY)
    assert [path.item for path in evidence.paths] == [STEPS[:1], STEPS[:2], STEPS[:3]]
    assert [path.item for path in search(chain, "What about Delta Hill?").paths] == [
        STEPS[2:],
        (STEPS[2], STEPS[1]),
        STEPS[::-1],
    ]


def test_the_likelihood_of_a_path_is_that_of_its_steps(chain: Index) -> None:
    neutral = GraphWalkConfig(question=0, remainder=0, hub=0, lexical_restart=0)
    evidence = search(chain, NAMED_ONLY, neutral)
    # All restarts at a; its only neighbour is b; b has two neighbours, and so has c.
    assert [path.score for path in evidence.paths] == pytest.approx([0.7, 0.7**2 / 2, 0.7**3 / 4])


def oracle(index: Index, question: str, weights: GraphWalkConfig, where: str | None = None) -> dict[str, float]:
    """Return the scores of the module's description, with full matrices and without a push."""
    s = index.snapshot
    count, total = len(s.passage_ids), s.walk.row_count
    allowed = Scope(s).mask(where)
    linked = link_question(Scope(s).names(allowed), question)  # the filter hides names, too
    match, rest = (np.where(allowed, lexical(s).scores(text), 0.0) for text in (linked.text, linked.remainder))
    match, rest = (values / values.max() if values.max() > 0 else values for values in (match, rest))
    matrix = dense_matrix(s.walk, total)
    degrees = np.maximum((matrix > 0).sum(axis=1), 1)
    attraction = degrees**-weights.hub
    attraction[:count] *= 1 + weights.question * match + weights.remainder * rest
    named = np.zeros(total)
    for name in linked.linked_names:
        for entity in name.entities:
            node = s.entity_nodes[entity]
            named[node] += degrees[node] ** -weights.rarity / len(name.entities)
    words = np.zeros(total)
    words[:count] = match  # fewer passages than the lexical depth
    share = weights.lexical_restart if named.any() else 1.0
    restart = sum(
        part * size / part.sum()
        for part, size in ((named, 1 - share if words.any() else 1), (words, share))
        if part.any()
    )
    blocked = np.zeros(total, dtype=bool)
    blocked[:count] = ~allowed
    if not np.any(restart):
        return {}
    values = exact_pagerank(matrix, np.asarray(restart), attraction, blocked, weights.damping)[:count]
    values = values * (1 + weights.question_value * match + weights.remainder_value * rest)
    return {s.passage_ids[p]: value for p, value in enumerate(values.tolist()) if value > 0}


@pytest.mark.parametrize("where", [None, "n <> 2", "n <> 1"])
@pytest.mark.parametrize(
    "question",
    [
        NAMED_ONLY,
        "Which hill is near the town where the finder of Alpha Bay was born?",
        "Was Alpha Bay or Gamma Town found near a lake of salt?",
        "a lake of salt near a town",
        "chalk",
    ],
)
def test_scores_are_where_the_walk_ends_on_the_chain(chain: Index, question: str, where: str | None) -> None:
    weights = GraphWalkConfig(epsilon=1e-9)
    actual = scores(search(chain, question, weights, where))
    assert actual == pytest.approx(oracle(chain, question, weights, where), rel=1e-4, abs=1e-6)


def test_scores_are_where_the_walk_ends_on_the_small_corpus(small: Index) -> None:
    s = small.snapshot
    weights = GraphWalkConfig(epsilon=1e-9, lexical_depth=len(s.passage_ids))
    retriever = PageRankRetriever(Scope(s), lexical(s), weights)
    for question, evidence in zip(QUESTIONS, retriever.retrieve(QUESTIONS, 99), strict=True):
        expected = oracle(small, question, weights)
        assert scores(evidence) == pytest.approx(expected, rel=1e-3, abs=1e-6), question


def test_the_named_retriever_has_the_default_config(chain: Index) -> None:
    question = "Which hill is near the town where the finder of Alpha Bay was born?"
    assert scores(chain.search(question, 9, "pagerank")) == scores(search(chain, question))


def test_without_a_name_the_walk_starts_at_lexical_matches_alone(chain: Index) -> None:
    evidence = search(chain, "who was born somewhere")
    assert evidence.notes == ("no name in the question is in the index",)
    # The text that says "born" first, then its neighbours in the graph, which share no word with the question.
    assert result_ids(evidence)[0] == "b"
    assert set(result_ids(evidence)) == {"a", "b", "c", "d"}
    assert {path.item[0] for path in evidence.paths} == set(STEPS[:2])


def test_a_question_without_names_and_shared_words_finds_nothing(chain: Index) -> None:
    evidence = search(chain, "Did Zebulon meet Xylophia?")
    assert not evidence.passages
    assert not evidence.paths
    assert evidence.notes[-1] == NO_MATCH
    assert "not in the index: Zebulon, Xylophia" in evidence.notes


def starts(walker: GraphWalk, question: str, allowed: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> set[str]:
    """Return the names and passage ids of the nodes where a question's walk may start."""
    s = walker.scope.snapshot
    restart = walker.walk(question, allowed).restart
    if restart is None:
        return set()
    nodes = set(restart[0].tolist())
    passages = {s.passage_ids[node] for node in nodes if node < len(s.passage_ids)}
    return passages | {s.entities[e] for e in range(len(s.entities)) if int(s.entity_nodes[e]) in nodes}


@pytest.mark.parametrize("corpus", ["chain", "small", "polar"])
def test_a_path_leads_from_a_start_of_the_walk_to_a_passage_found(corpus: str, request: pytest.FixtureRequest) -> None:
    index: Index = request.getfixturevalue(corpus)
    s = index.snapshot
    walker = GraphWalk(Scope(s), lexical(s), GraphWalkConfig())
    titles = {id_: title for id_, title in zip(s.passage_ids, s.titles, strict=True) if title}
    allowed = np.ones(len(s.passage_ids), dtype=bool)
    questions = [*QUESTIONS, NAMED_ONLY, "Who led the expedition of the Nimrod, and where was he born?"]
    reports = 0
    for question in questions:
        evidence = index.search(question, 9, "pagerank")
        actual = {*result_ids(evidence), *(titles[id_] for id_ in result_ids(evidence) if id_ in titles)}
        first = starts(walker, question, allowed)
        for path in evidence.paths:
            reports += 1
            phrases = [{*t.entities, *t.passages} for t in (path.item[0], path.item[-1])]
            assert phrases[0] & first, (question, path)
            assert phrases[1] & actual, (question, path)
            assert 0 < path.score <= 1
    assert reports >= 3


def test_a_damping_of_zero_stays_at_the_start(chain: Index) -> None:
    evidence = search(chain, NAMED_ONLY, GraphWalkConfig(damping=0.0))
    assert result_ids(evidence) == ["a"]


def test_an_identifier_that_no_entity_has_names_its_passages(tmp_path: Path) -> None:
    index = make_index(
        tmp_path, [*CHAIN, Document("f", "", "lost part ax-4000-12 of the pump."), Document("g", "", "a part")]
    )
    walk = GraphWalk(index.context.scope, index.context.lexical, GraphWalkConfig())
    found = walk.walk("which pump has 4000-12", np.ones(len(index.snapshot.passage_ids), dtype=bool))
    assert [index.snapshot.passage(node).document_id for node in found.named_nodes] == ["f"]
    assert not walk.walk("which pump has a part", np.ones(len(index.snapshot.passage_ids), dtype=bool)).named_nodes
