"""The chains of sentences that fit a question, begun with sentences of passages found by a walk, BM25 and vectors.

The walk restarts at the names of the question and at the passages whose vectors are nearest to it; without vectors, at
the best ones by BM25. First sentences are those of the best passages by the walk, by BM25 and by vector.

Source: none; docs/decisions has the forms of the walk that were compared.

First sentences of chains: the sentences of the passages that a walk, BM25 or vectors find, scored by the question.

    first(s) = cos(s, q) + 0.5 sum_t idf(t) B(s, t) + 0.1 [s names an entity of the question]
               + 0.03 log(PageRank of its passage / the best)

for question q with words t, of which sentence s covers B(s, t).

Only the sentences of a few dozen passages are scored, since the rest would cost time linear in the index.
Source: none; the formula was found by prototypes of this project (docs/decisions/index.md).

Numbers that the chains of sentences of a question give to passages, for the networks that rank them.

Source: none; docs/decisions has what each kind of number gains.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import final

import numpy as np

from clew.arrays import BoolArray, DoubleArray, FloatArray, IntArray, LongArray, expand_ranges, top_order
from clew.graph.paths.sentence_chains import ChainQuestion, ChainWeights, SentenceChains, search_chains
from clew.graph.sentence_index import SentenceIndex
from clew.query.graph_walk import GraphWalk, GraphWalkConfig, QuestionWalk, WalkStart
from clew.query.linking import LinkedQuestion
from clew.query.question_vectors import PendingVector, SimilarPassages, link_and_encode
from clew.query.scope import Scope
from clew.text.bm25 import BM25Index


@dataclass(frozen=True, slots=True)
class FirstWeights:
    """Weights of a first sentence's score."""

    words: float = 0.5  # of the words that it covers
    named: float = 0.1  # bonus for an entity that the question names
    rank: float = 0.03  # of the logarithm of its passage's share of the best PageRank


def sentences_of(passages: IntArray | LongArray, offsets: LongArray) -> tuple[IntArray, LongArray]:
    """Return the sentences (n,) of passages (p,), and the position of the passage (n,) of each."""
    sentences, owners = expand_ranges(offsets[passages], offsets[passages + 1] - offsets[passages])
    return sentences.astype(np.int32), owners


def score_first(
    index: SentenceIndex,
    sentences: IntArray,
    own_titles: IntArray,
    shares: DoubleArray,
    question: ChainQuestion,
    weights: FirstWeights,
) -> DoubleArray:
    """Return the scores (n,) of first sentences (n,).

    Their passages have title entities (n,), -1 for none, and shares (n,), above 0, of the best PageRank.
    """
    scores: DoubleArray = weights.words * question.cover(sentences, own_titles, index).sum(axis=1)
    scores += weights.rank * np.log(shares)
    scores += weights.named * names_any(index, sentences, question.named_entities)
    if question.similarity is not None:
        scores += question.similarity(sentences)[:, 0]
    return scores


def names_any(index: SentenceIndex, sentences: IntArray, entities: IntArray) -> DoubleArray:
    """Return 1.0 for each sentence (n,) that names any of some entities (e,), else 0.0, (n,)."""
    first, last = index.entities.indptr[sentences], index.entities.indptr[sentences + 1]
    entries, owners = expand_ranges(first, last - first)
    found = np.zeros(len(sentences))
    found[owners[np.isin(index.entities.indices[entries], entities)]] = 1.0
    return found


NO_SENTENCE_VECTORS = "the index has no vectors of sentences: chains are followed by words alone"

_LEAST_RESTART = 1e-9  # weight of the last passage that the walk restarts at


@dataclass(frozen=True, slots=True)
class ChainSearchConfig:
    """Parameters of the search; chosen on hotpotqa/dev and musique-dev (docs/decisions/index.md)."""

    walk_passages: int = 30  # best passages by the walk whose sentences begin chains
    lexical_passages: int = 10  # the same by BM25, of which the walk finds 20 at most
    similar_passages: int = 10  # the same by vector
    restart: float = 0.15  # share of the walk's restart on the passages that are most similar to the question
    restart_passages: int = 20  # number of those passages
    restart_zero: int = 100  # rank of the passage whose similarity counts as none
    least_share: float = 1e-6  # of the best PageRank, for a passage that the walk does not reach
    first: FirstWeights = field(default_factory=FirstWeights)
    chains: ChainWeights = field(default_factory=ChainWeights)


@dataclass(frozen=True, slots=True, eq=False)
class QuestionVectors:
    """Encodes questions, and finds the passages nearest to one."""

    begin_encoding: Callable[[str], PendingVector]
    passages: SimilarPassages


@dataclass(frozen=True, slots=True, eq=False)
class QuestionChains:
    """Result of a question's search: m passages near it."""

    walk: QuestionWalk
    question: ChainQuestion
    chains: SentenceChains
    passages: IntArray  # (m,) ascending: those that the walk reached, those of first sentences, those of chains
    walk_shares: DoubleArray  # (m,) share of the best PageRank, at least `least_share`
    chain_shares: DoubleArray  # (m,) chain's score as a share of the best one's, from -1 to 1; 0 where there is none
    notes: tuple[str, ...]


@final
class ChainSearch:
    """Searches the chains of one index.

    Args:
        scope: Of the index.
        lexical: BM25 of its passages.
        sentences: Their sentences.
        vectors: None for an index without vectors.
        config: Parameters.
    """

    def __init__(
        self,
        scope: Scope,
        lexical: BM25Index,
        sentences: SentenceIndex,
        vectors: QuestionVectors | None,
        config: ChainSearchConfig,
    ) -> None:
        self.scope = scope
        self.config = config
        self.sentences = sentences
        self._lexical = lexical
        self._vectors = vectors
        walk = GraphWalkConfig() if vectors is None else GraphWalkConfig(lexical_restart=config.restart)
        self._graph_walk = GraphWalk(scope, lexical, walk)

    @property
    def damping(self) -> float:
        """The probability of another step of the walk."""
        return self._graph_walk.config.damping

    def search(self, question: str, allowed: BoolArray) -> QuestionChains:
        """Search from a question that is not empty, through the allowed passages (P,) only."""
        if self._vectors is None:
            linked = self.scope.linker_among(allowed).link(question)
            start = self._graph_walk.start(linked, allowed)
            walk = self._graph_walk.follow(start)
            return self._search_chains(
                walk, np.zeros(0, dtype=np.int32), self._chain_question(linked, start, None), walk.notes
            )
        linked, vector = link_and_encode(
            question, self.scope.linker_among(allowed).link, texts_to_encode, self._vectors.begin_encoding
        )
        return self.search_vectors(linked, vector, allowed)

    def search_vectors(
        self, linked: LinkedQuestion, vector: Callable[[int], FloatArray], allowed: BoolArray
    ) -> QuestionChains:
        """Search from a question whose names are linked; the index has vectors.

        `vector` returns that (d,) of a text of `texts_to_encode`; the last one is asked for after the walk.
        """
        assert self._vectors is not None
        start = self._graph_walk.start(linked, allowed)
        question = self._chain_question(linked, start, vector)
        depth = max(self.config.restart_zero, self.config.similar_passages)
        similar, notes = self._vectors.passages.rank(vector(0), depth, allowed)
        walk = self._graph_walk.follow(start, self._restart(similar))
        nearest = np.array([p for p, _ in similar[: self.config.similar_passages]], dtype=np.int32)
        return self._search_chains(walk, nearest, question, (*walk.notes, *notes))

    def _restart(self, similar: Sequence[tuple[int, float]]) -> dict[int, float]:
        """Return the passages to restart at, with weights: their cosines above that of the one that counts as none."""
        zero = similar[: self.config.restart_zero][-1][1] if similar else 0.0
        return {p: max(cosine - zero, _LEAST_RESTART) for p, cosine in similar[: self.config.restart_passages]}

    def _search_chains(
        self,
        walk: QuestionWalk,
        nearest: IntArray,
        question: ChainQuestion,
        notes: tuple[str, ...],
    ) -> QuestionChains:
        pool = self._pool(walk, nearest)
        first, owners = sentences_of(pool, self.sentences.offsets)
        shares = self._walk_shares(walk, pool)
        titles = self.scope.snapshot.title_entities
        scores = score_first(self.sentences, first, titles[pool][owners], shares[owners], question, self.config.first)
        chains = search_chains(self.sentences, titles, first, scores, question, self.config.chains)
        passages = np.union1d(np.union1d(walk.nodes, pool), chains.passages).astype(np.int32)
        chain_shares = shares_of_best(passages, chains.passages, chains.scores)
        if self.sentences.vectors is None:
            notes = (*notes, NO_SENTENCE_VECTORS)
        return QuestionChains(walk, question, chains, passages, self._walk_shares(walk, passages), chain_shares, notes)

    def _chain_question(
        self, linked: LinkedQuestion, start: WalkStart, vector: Callable[[int], FloatArray] | None
    ) -> ChainQuestion:
        terms, vectors = start.matches.full_query, self.sentences.vectors
        total, last = float(terms.weights.sum()), len(texts_to_encode(linked)) - 1
        similarity = None
        if vector is not None and vectors is not None:
            queries = cache(lambda: np.stack([vector(0), vector(last)]))

            def similarity(rows: IntArray) -> FloatArray:
                return vectors.similarities(rows, queries())

        return ChainQuestion(
            terms.terms,
            terms.weights / total if total else terms.weights,
            similarity,
            *self._names(linked, terms.terms),
            np.zeros(0, dtype=np.bool_) if start.allowed is None else start.allowed,
        )

    def _names(self, linked: LinkedQuestion, words: IntArray) -> tuple[IntArray, list[IntArray]]:
        """Return the entities that a question names, ascending, and the positions among its words of their names'."""
        found: dict[int, set[int]] = {}
        for name in linked.linked_names:
            own = np.flatnonzero(np.isin(words, self._lexical.query(linked.text_of(name)).terms)).tolist()
            for entity in name.entities:
                found.setdefault(entity, set()).update(own)
        entities = sorted(found)
        return np.array(entities, dtype=np.int32), [np.array(sorted(found[e]), dtype=np.int32) for e in entities]

    def _pool(self, walk: QuestionWalk, nearest: IntArray) -> IntArray:
        """Return the passages whose sentences begin chains, ascending."""
        config = self.config
        best = walk.nodes[top_order(walk.scores, config.walk_passages)] if len(walk.nodes) else walk.nodes
        return np.unique(np.concatenate([best, walk.matches.top_positions[: config.lexical_passages], nearest]))

    def _walk_shares(self, walk: QuestionWalk, passages: IntArray) -> DoubleArray:
        """Return the share (n,) of the best PageRank of passages (n,)."""
        shares = np.zeros(len(passages))
        if len(walk.nodes):
            places = np.minimum(walk.nodes.searchsorted(passages), len(walk.nodes) - 1)
            reached = walk.nodes[places] == passages
            shares[reached] = walk.scores[places[reached]] / max(float(walk.scores.max()), np.finfo(np.float32).tiny)
        return np.maximum(shares, self.config.least_share)


def texts_to_encode(linked: LinkedQuestion) -> list[str]:
    """Return the texts whose vectors a search reads: the question, and its remainder if that says anything."""
    return [linked.text, linked.remainder] if linked.remainder.strip() else [linked.text]


def shares_of_best(passages: IntArray, scored: IntArray, scores: DoubleArray) -> DoubleArray:
    """Return the scores of passages (n,), ascending, as shares of the best one, from -1 to 1; 0 for those without.

    The passages `scored` (p,), all among them, have scores (p,).
    """
    shares = np.zeros(len(passages))
    if len(scores) and scores.max() > 0.0:
        shares[passages.searchsorted(scored)] = scores / scores.max()
    return np.clip(shares, -1.0, 1.0)


CHAIN_FEATURES = (
    "sentence", "sentence share", "sentence of remainder", "words", "other words", "one sentence", "two sentences",
    "three sentences", "chain", "chain rank",
)  # fmt: skip
"""Features of a passage, in order; all between -1 and 1."""

_SPREAD = 8.0  # passages that matter have shares close to each other
_EDGE_POWER = 4


def describe_passages(
    index: SentenceIndex, title_entities: IntArray, found: QuestionChains, passages: IntArray
) -> FloatArray:
    """Return the features (n, len(`CHAIN_FEATURES`)) of passages (n,), ascending.

    The best cosine of a sentence with the question, plain and scaled from the lowest to the highest one, and with the
    remainder; the most of the question's words that a sentence covers, and of the remainder's; the best chain of one,
    two and three sentences that the passage stands in, and of any, as shares of the best one, the upper quarter of
    these spread from -1 to 1; one over its rank by these. `title_entities` (P,) are those of the snapshot.
    """
    features = np.zeros((len(passages), len(CHAIN_FEATURES)), dtype=np.float32)
    if not len(passages):
        return features
    sentences, owners = sentences_of(passages, index.offsets)
    covered = found.question.cover(sentences, title_entities[passages][owners], index)
    other_words = np.isin(found.question.words, found.walk.matches.remainder_query.terms)
    other_weight = max(float(found.question.word_weights[other_words].sum()), 1e-9)
    columns = [covered.sum(axis=1), covered[:, other_words].sum(axis=1) / other_weight]
    if found.question.similarity is not None:
        cosines = found.question.similarity(sentences)
        columns += [cosines[:, 0], cosines[:, 1]]
    best = [_best_of_passage(column, owners, len(passages)) for column in columns]
    features[:, 3:5] = np.stack(best[:2], axis=1)
    if len(best) > 2:
        low, high = best[2].min(), best[2].max()
        features[:, 0], features[:, 2] = best[2:]
        features[:, 1] = (best[2] - low) / max(high - low, 1e-9)
    for column, length in enumerate((1, 2, 3), 5):
        scored, best_scores = found.chains.best_of_length(length)
        features[:, column] = _values_at(passages, scored, shares_of_best(scored, scored, best_scores))
    features[:, 8] = chain_shares(found, passages)
    features[:, 5:9] = np.maximum(1.0 + _SPREAD * (features[:, 5:9] - 1.0), -1.0)
    own, scores = found.chains.passages, found.chains.scores
    ranks = np.empty(len(scores))
    ranks[np.lexsort((own, -scores))] = np.arange(1, len(scores) + 1)
    features[:, 9] = _values_at(passages, own, 1.0 / ranks)
    return features


def chain_shares(found: QuestionChains, passages: IntArray) -> DoubleArray:
    """Return for passages (n,) the best chain they stand in as a share of the best of all, from -1 to 1; 0 for none."""
    return _values_at(passages, found.passages, found.chain_shares)


def chain_edges(index: SentenceIndex, found: QuestionChains, passages: IntArray) -> FloatArray:
    """Return for pairs of passages (n,), ascending, the best chain that goes from the first to the second, (n, n).

    Of the best chains that each passage stands in, those with sentences of both, one after the other; as shares of the
    best chain's score, to the fourth power, since passages that matter have shares close to each other. 0 elsewhere.
    """
    edges = np.zeros((len(passages), len(passages)), dtype=np.float32)
    chains = found.chains
    if not len(chains.passages) or not len(passages):
        return edges
    values = np.maximum(shares_of_best(chains.passages, chains.passages, chains.scores), 0.0) ** _EDGE_POWER
    sentences, _ = chains.rows(np.arange(len(chains.passages), dtype=np.int64))
    owners = index.offsets.searchsorted(sentences, side="right") - 1
    places = np.minimum(passages.searchsorted(owners), len(passages) - 1)
    is_present = (sentences >= 0) & (passages[places] == owners)
    for step in range(sentences.shape[1] - 1):
        joined = is_present[:, step] & is_present[:, step + 1]
        np.maximum.at(edges, (places[joined, step], places[joined, step + 1]), values[joined])
    return edges


def best_by_chains(found: QuestionChains, chains: int, sentences: int) -> IntArray:
    """Return the passages (n,) in the best `chains` chains, and of the best `sentences` sentences, ascending."""
    parts = [(found.chains.passages, found.chains.scores, chains), (*found.chains.best_of_length(1), sentences)]
    best = [passages[np.lexsort((passages, -scores))[:count]] for passages, scores, count in parts]
    return np.unique(np.concatenate(best)).astype(np.int32)


def _best_of_passage(values: DoubleArray | FloatArray, owners: LongArray, count: int) -> DoubleArray:
    """Return the highest of the values (m,) above 0 of the sentences of each passage (count,)."""
    best = np.zeros(count)
    np.maximum.at(best, owners, values)
    return best


def _values_at(passages: IntArray, known: IntArray, values: DoubleArray) -> DoubleArray:
    """Return the values of passages (n,), of those of `known` passages (p,), ascending; 0 for the others."""
    found = np.zeros(len(passages))
    if len(known):
        places = np.minimum(known.searchsorted(passages), len(known) - 1)
        is_known = known[places] == passages
        found[is_known] = values[places[is_known]]
    return found
