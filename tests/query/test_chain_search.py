"""The search of a question's chains: with a pool of all passages it equals the formulas over all sentences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from clew.arrays import FloatArray, IntArray
from clew.graph.paths.sentence_chains import ChainWeights
from clew.graph.sentence_index import SentenceVectors
from clew.index import Index
from clew.query.chain_search import (
    ChainSearch,
    ChainSearchConfig,
    FirstWeights,
    QuestionChains,
    QuestionVectors,
    sentences_of,
)
from clew.query.linking import LinkedQuestion
from clew.text.bm25 import BM25Index
from tests.oracles.chains import ChainOracle, OracleQuestion
from tests.small_index import QUESTIONS

EVERYTHING = ChainSearchConfig(
    similar_passages=1000, chains=ChainWeights(first_sentences=10_000, second_sentences=10_000)
)


class DrawnVectors:
    """Vectors of sentences, drawn at random."""

    def __init__(self, count: int) -> None:
        rows = np.random.default_rng(3).normal(size=(count, 64)).astype(np.float32)
        self._rows: FloatArray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def rows(self, sentences: NDArray[np.integer]) -> FloatArray:
        chosen: FloatArray = self._rows[sentences]
        return chosen

    def similarities(self, sentences: IntArray, vectors: FloatArray) -> FloatArray:
        similarities: FloatArray = self._rows[sentences] @ vectors[:, :64].T
        return similarities


def open_search(index: Index, config: ChainSearchConfig, vectors: SentenceVectors | None) -> ChainSearch:
    context = index.context
    questions = QuestionVectors(context.begin_encoding, context.similar_passages())
    sentences = replace(context.scope.snapshot.sentences, vectors=vectors)
    return ChainSearch(context.scope, context.lexical, sentences, questions, config)


def name_words(lexical: BM25Index, linked: LinkedQuestion, words: IntArray) -> dict[int, frozenset[int]]:
    """Return the words of the name of each entity that a question names."""
    found: dict[int, frozenset[int]] = {}
    for name in linked.linked_names:
        own = frozenset(lexical.query(linked.text[name.start : name.end]).terms.tolist()) & frozenset(words.tolist())
        found |= {entity: found.get(entity, frozenset()) | own for entity in name.entities}
    return found


def first_scores(
    search: ChainSearch, found: QuestionChains, vectors: SentenceVectors | None, query: FloatArray
) -> dict[int, float]:
    """Return the score of each sentence of the passages found, by its formula."""
    index, weights, linked = search.sentences, FirstWeights(), found.walk.linked_question
    named = {entity for name in linked.linked_names for entity in name.entities}
    terms = found.walk.matches.full_query
    idf = dict(zip(terms.terms.tolist(), (terms.weights / terms.weights.sum()).tolist(), strict=True))
    titles, names = search.scope.snapshot.title_entities, name_words(search._lexical, linked, terms.terms)
    scores = {}
    for passage, share in zip(found.passages.tolist(), found.walk_shares.tolist(), strict=True):
        for sentence in range(index.offsets[passage], index.offsets[passage + 1]):
            own = set(index.terms.row(sentence).tolist()) | names.get(int(titles[passage]), frozenset())
            score = weights.words * sum(idf.get(term, 0.0) for term in own)
            score += weights.named * bool(named & set(index.entities.row(sentence).tolist()))
            score += weights.rank * math.log(share)
            if vectors is not None:
                score += float(vectors.similarities(np.array([sentence], dtype=np.int32), query[None])[0, 0])
            scores[sentence] = score
    return scores


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("where", [None, "lang = 'en'"])
def test_with_all_passages_in_the_pool_it_equals_the_formulas(
    small: Index, with_vectors: bool, where: str | None
) -> None:
    context = small.context
    sentences, snapshot = context.scope.snapshot.sentences, context.scope.snapshot
    vectors = DrawnVectors(len(sentences)) if with_vectors else None
    search, allowed = open_search(small, EVERYTHING, vectors), context.scope.mask(where)
    oracle = ChainOracle(sentences, snapshot.title_entities.tolist())
    for question in QUESTIONS:
        found = search.search(question, allowed)
        linked = found.walk.linked_question
        q, r = context.encode_questions([question, linked.remainder if linked.remainder.strip() else question])
        assert found.passages.tolist() == np.flatnonzero(allowed).tolist()
        terms = found.walk.matches.full_query
        cosines = {}
        if vectors is not None:
            both = vectors.similarities(np.arange(len(sentences), dtype=np.int32), np.stack([q, r]))
            cosines = {s: (float(row[0]), float(row[1])) for s, row in enumerate(both)}
        asked = OracleQuestion(
            dict(zip(terms.terms.tolist(), (terms.weights / terms.weights.sum()).tolist(), strict=True)),
            cosines,
            name_words(context.lexical, linked, terms.terms),
            frozenset(np.flatnonzero(allowed).tolist()),
        )
        wanted = oracle.search(first_scores(search, found, vectors, q), asked, EVERYTHING.chains)
        assert found.chains.passages.tolist() == sorted(wanted)
        best = [wanted[passage][0].score for passage in found.chains.passages.tolist()]
        np.testing.assert_allclose(found.chains.scores, best, atol=1e-5)
        top = max(best)
        shares = [min(max(score / top, -1.0), 1.0) if top > 0 else 0.0 for score in best]
        np.testing.assert_allclose(found.chain_shares, shares, atol=1e-4)


def test_nothing_is_read_beyond_the_pool(small: Index) -> None:
    """A small pool begins chains with its own sentences alone."""
    config = ChainSearchConfig(walk_passages=2, lexical_passages=1, similar_passages=1)
    search = open_search(small, config, None)
    found = search.search(QUESTIONS[0], small.context.scope.mask(None))
    sentences, _ = found.chains.rows(np.arange(len(found.chains.passages)))
    owners = np.searchsorted(search.sentences.offsets, np.unique(sentences[:, 0]), "right") - 1
    assert len(set(owners.tolist())) <= 4


def test_sentences_of_passages() -> None:
    offsets = np.array([0, 2, 2, 5], dtype=np.int64)
    sentences, owners = sentences_of(np.array([2, 1, 0]), offsets)
    assert sentences.tolist() == [2, 3, 4, 0, 1]
    assert owners.tolist() == [0, 0, 0, 2, 2]
    assert [part.tolist() for part in sentences_of(np.zeros(0, dtype=np.int64), offsets)] == [[], []]


def test_the_walk_restarts_at_the_nearest_passages_more_the_nearer(small: Index) -> None:
    search = open_search(small, replace(ChainSearchConfig(), restart_passages=2, restart_zero=3), None)
    assert search._restart([(4, 0.9), (2, 0.7), (7, 0.5), (1, 0.1)]) == pytest.approx({4: 0.4, 2: 0.2})
    assert search._restart([]) == {}
