"""The entity graph: passages are linked by shared mentions, not by titles."""

import numpy as np
import pytest

from clew.index import Index
from clew.types import Document, Triple
from clew_lab.retrievers.entity_graph import build_mention_graph
from tests.oracles.pagerank import dense_matrix, exact_pagerank
from tests.small_index import make_index, result_ids

CORPUS = (
    Document("a", "Alpha Bay", "It was mapped by Nils Berg during a survey.", {"n": 1}),
    Document("b", "Survey Report", "Nils Berg sailed with Ada Lund.", {"n": 2}),
    Document("c", "Harbour List", "Ada Lund owned a sloop.", {"n": 3}),
    Document("d", "Chalk Hill", "A hill of chalk.", {"n": 4}),
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("entities") / "index", CORPUS, encoder="none")


def test_passages_are_linked_to_mentioned_entities_but_not_to_their_titles(corpus: Index) -> None:
    s = corpus.snapshot
    graph, entities = build_mention_graph(s), list(s.entities)
    linked = {(p, entities[int(e) - 4]) for p in range(4) for e in graph.row(p)}
    assert linked == {(0, "Nils Berg"), (1, "Nils Berg"), (1, "Ada Lund"), (2, "Ada Lund")}
    matrix = dense_matrix(graph, graph.row_count)
    assert (matrix == matrix.T).all()


def test_the_walk_follows_shared_mentions(corpus: Index) -> None:
    evidence = corpus.search("Who knew Nils Berg?", 9, "entity-graph")
    # Two mention him; the third shares Ada Lund with one of them; the fourth shares nothing.
    assert result_ids(evidence) == ["b", "a", "c"]
    assert evidence.paths[-1].item == (
        Triple("Survey Report", "mentions", "Nils Berg", ("b",)),
        Triple("Survey Report", "mentions", "Ada Lund", ("b",)),
        Triple("Harbour List", "mentions", "Ada Lund", ("c",)),
    )


def test_scores_are_where_the_walk_ends(corpus: Index) -> None:
    s = corpus.snapshot
    graph = build_mention_graph(s)
    restart = np.zeros(graph.row_count)
    restart[4 + list(s.entities).index("Nils Berg")] = 0.9
    for scored in corpus.search("Who knew Nils Berg?", 9, "bm25").passages:
        restart[list(s.passage_ids).index(scored.item.id)] = scored.score
    restart[:4] *= 0.1 / restart[:4].sum()
    matrix = dense_matrix(graph, graph.row_count)
    expected = exact_pagerank(matrix, restart, np.ones(graph.row_count), np.zeros(graph.row_count, dtype=bool), 0.5)
    evidence = corpus.search("Who knew Nils Berg?", 9, "entity-graph")
    actual = {scored.item.id: scored.score for scored in evidence.passages}
    assert actual == pytest.approx({id_: expected[p] for p, id_ in enumerate(s.passage_ids) if expected[p]}, abs=1e-4)


def test_a_passage_filtered_out_is_not_walked_through(corpus: Index) -> None:
    assert result_ids(corpus.search("Who knew Nils Berg?", 9, "entity-graph", "n <> 2")) == ["a"]
