"""Features of passages from chains, beside the same numbers found sentence by sentence and chain by chain."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from clew.index import Index
from clew.query.chain_search import (
    CHAIN_FEATURES,
    ChainSearch,
    ChainSearchConfig,
    QuestionChains,
    QuestionVectors,
    best_by_chains,
    chain_edges,
    describe_passages,
)
from tests.query.test_chain_search import DrawnVectors
from tests.small_index import QUESTIONS


def open_search(index: Index, *, with_vectors: bool) -> ChainSearch:
    context = index.context
    sentences = context.scope.snapshot.sentences
    sentences = replace(sentences, vectors=DrawnVectors(len(sentences)) if with_vectors else None)
    questions = QuestionVectors(context.begin_encoding, context.similar_passages())
    return ChainSearch(context.scope, context.lexical, sentences, questions, ChainSearchConfig())


def longest_of(found: QuestionChains, length: int) -> dict[int, float]:
    """Return the best score of each passage's chains of a length, from all candidates of that step."""
    passages, scores = found.chains._candidates[length - 1]
    best: dict[int, float] = {}
    for passage, score in zip(passages.tolist(), scores.tolist(), strict=True):
        if score > -np.inf:
            best[passage] = max(best.get(passage, -np.inf), score)
    return best


def shares(best: dict[int, float]) -> dict[int, float]:
    top = max(best.values(), default=0.0)
    return {p: min(max(score / top, -1.0), 1.0) if top > 0 else 0.0 for p, score in best.items()}


def spread(share: float) -> float:
    return max(-1.0, 1.0 + 8.0 * (share - 1.0))


def describe_one(search: ChainSearch, found: QuestionChains, passage: int) -> dict[str, float]:
    """Return the numbers of one passage that do not depend on the others described."""
    index, question = search.sentences, found.question
    remainder = set(found.walk.matches.remainder_query.terms.tolist())
    idf = dict(zip(question.words.tolist(), question.word_weights.tolist(), strict=True))
    other = sum(weight for word, weight in idf.items() if word in remainder)
    title = int(search.scope.snapshot.title_entities[passage])
    names = {
        int(question.words[place])
        for entity, places in zip(question.named_entities.tolist(), question.name_words, strict=True)
        if entity == title
        for place in places.tolist()
    }
    numbers = dict.fromkeys(CHAIN_FEATURES, 0.0)
    for sentence in range(index.offsets[passage], index.offsets[passage + 1]):
        own = set(index.terms.row(sentence).tolist()) | names
        numbers["words"] = max(numbers["words"], sum(idf.get(term, 0.0) for term in own))
        covered = sum(idf[term] for term in own if term in idf and term in remainder)
        numbers["other words"] = max(numbers["other words"], covered / other if other else 0.0)
        if question.similarity is not None:
            whole, rest = question.similarity(np.array([sentence], dtype=np.int32))[0].tolist()
            numbers["sentence"] = max(numbers["sentence"], whole)
            numbers["sentence of remainder"] = max(numbers["sentence of remainder"], rest)
    for name, length in (("one sentence", 1), ("two sentences", 2), ("three sentences", 3)):
        numbers[name] = spread(shares(longest_of(found, length)).get(passage, 0.0))
    chains = dict(zip(found.chains.passages.tolist(), found.chains.scores.tolist(), strict=True))
    numbers["chain"] = spread(shares(chains).get(passage, 0.0))
    ranked = sorted(chains, key=lambda p: (-chains[p], p))
    numbers["chain rank"] = 1.0 / (ranked.index(passage) + 1) if passage in chains else 0.0
    return numbers


@pytest.mark.parametrize("with_vectors", [False, True])
def test_features_equal_those_of_each_passage_alone(small: Index, with_vectors: bool) -> None:
    search, allowed = open_search(small, with_vectors=with_vectors), small.context.scope.mask(None)
    titles = search.scope.snapshot.title_entities
    passages = np.arange(0, len(allowed), 2, dtype=np.int32)
    for question in QUESTIONS:
        found = search.search(question, allowed)
        features = describe_passages(search.sentences, titles, found, passages)
        wanted = [describe_one(search, found, passage) for passage in passages.tolist()]
        likeness = [row["sentence"] for row in wanted]
        for row in wanted:
            spread = max(likeness) - min(likeness)
            row["sentence share"] = (row["sentence"] - min(likeness)) / spread if spread else 0.0
        np.testing.assert_allclose(features, [[row[name] for name in CHAIN_FEATURES] for row in wanted], atol=1e-5)
        assert np.abs(features).max() <= 1.0 + 1e-6


def test_edges_follow_the_sentences_of_the_best_chain_of_each_passage(small: Index) -> None:
    search = open_search(small, with_vectors=True)
    offsets = search.sentences.offsets.tolist()
    passages = np.arange(0, len(offsets) - 1, dtype=np.int32)[::-1][::2][::-1].copy()  # some, ascending
    joined = 0
    for question in QUESTIONS:
        found = search.search(question, small.context.scope.mask(None))
        top = max(found.chains.scores.tolist())
        wanted: dict[tuple[int, int], float] = {}
        for place, score in enumerate(found.chains.scores.tolist()):
            sentences = [s for s in found.chains.rows(np.array([place]))[0][0].tolist() if s >= 0]
            owners = [max(p for p, start in enumerate(offsets[:-1]) if start <= s) for s in sentences]
            share = max(score / top, 0.0) ** 4
            for pair in pairwise(owners):
                wanted[pair] = max(wanted.get(pair, 0.0), share)
        edges = chain_edges(search.sentences, found, passages)
        for i, a in enumerate(passages.tolist()):
            for j, b in enumerate(passages.tolist()):
                assert edges[i, j] == pytest.approx(wanted.get((a, b), 0.0), abs=1e-5)
                joined += edges[i, j] > 0
        assert not chain_edges(search.sentences, found, passages[:0]).size
    assert joined


def test_no_passage_has_no_features(small: Index) -> None:
    search = open_search(small, with_vectors=True)
    found = search.search(QUESTIONS[0], small.context.scope.mask(None))
    none = np.zeros(0, dtype=np.int32)
    assert describe_passages(search.sentences, search.scope.snapshot.title_entities, found, none).shape == (0, 10)


def test_best_passages_are_those_of_the_best_chains_and_sentences(small: Index) -> None:
    search = open_search(small, with_vectors=True)
    for question in QUESTIONS:
        found = search.search(question, small.context.scope.mask(None))
        alone = longest_of(found, 1)
        chains = dict(zip(found.chains.passages.tolist(), found.chains.scores.tolist(), strict=True))
        wanted = {*sorted(chains, key=lambda p: (-chains[p], p))[:3], *sorted(alone, key=lambda p: (-alone[p], p))[:2]}
        assert best_by_chains(found, 3, 2).tolist() == sorted(wanted)


def test_no_chain_has_more_sentences_than_were_searched(small: Index) -> None:
    context = small.context
    config = replace(ChainSearchConfig(), chains=replace(ChainSearchConfig().chains, sentences=2))
    found = context.chain_search(config).search(QUESTIONS[0], context.scope.mask(None))
    assert not len(found.chains.best_of_length(3)[0])
