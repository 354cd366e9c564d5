"""Chains of sentences: one that fits the question, a name or rare word in it, one of another passage that has it, too.

For question q with remainder r (the question without its names) and words of weights that sum to 1, with first(s1) the
score of a first sentence and B(s, t) the weight of word t where sentence s covers it, else 0, two steps score

    chain(s1, e, s2) = first(s1) + 0.4 cos(s2, r) + 0.1 cos(s2, q) + sum_t max(0, B(s2, t) - B(s1, t))
                       - 0.1 log(passages of e) + 0.05 [e is the title of s2's passage].

A third step begins at the best distinct s2, in the same way, with B the maximum of both, minus 0.2. A chain has no two
sentences of one passage side by side, nor the first and third of one. A passage's score is that of the best chain it
stands in. Nothing is read but the bridges of the first and second sentences, and where they lead.

Source: none; the formula was found by prototypes of this project (docs/decisions/index.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, DoubleArray, FloatArray, IntArray, LongArray, top_order
from clew.graph.paths.chain_steps import best_steps, cover_words, find_steps, first_of_best
from clew.graph.sentence_index import SentenceIndex

SentenceSimilarity = Callable[[IntArray], FloatArray]
"""Function from sentences (n,) to their cosines (n, 2) with the question and with its remainder."""


@dataclass(frozen=True, slots=True)
class ChainWeights:
    """Weights of the parts of a chain's score."""

    remainder: float = 0.4  # of the cosine of a later sentence with the remainder
    question: float = 0.1  # of its cosine with the question
    novelty: float = 1.0  # of the words that it covers and the earlier ones do not
    hub: float = 0.1  # price of a bridge, times the logarithm of the number of its passages
    title: float = 0.05  # bonus of a bridge that is the title of the passage it leads to
    third_step: float = 0.2  # price of a third step
    first_sentences: int = 20  # that chains begin with
    second_sentences: int = 12  # that a third step begins with
    sentences: int = 3  # of the longest chains, 2 or 3


@dataclass(frozen=True, slots=True, eq=False)
class ChainQuestion:
    """The parts of a question that chains are scored by."""

    words: IntArray  # (w,) terms of the vocabulary, ascending
    word_weights: DoubleArray  # (w,) that sum to 1
    similarity: SentenceSimilarity | None  # None without vectors: then all cosines are 0
    named_entities: IntArray  # (k,) that the question names: they are no bridges, and nor are its words
    name_words: Sequence[IntArray]  # k arrays: the words, by their positions, of the name of each
    allowed: BoolArray  # (P,) passages that a chain may pass through, (0,) for all

    def cover(self, sentences: IntArray, own_titles: IntArray, index: SentenceIndex) -> DoubleArray:
        """Return for each sentence (n,) the weights (n, w) of the words that it covers, 0 for the others.

        `own_titles` (n,) are the title entities of their passages, -1 for none.
        """
        rows = _read_only(index.terms.indptr), _read_only(index.terms.indices)
        name_rows = np.cumsum([0, *map(len, self.name_words)]).astype(np.int64)
        name_words = np.concatenate([np.zeros(0, dtype=np.int32), *self.name_words]).astype(np.int32)
        names = self.named_entities, name_rows, name_words
        covered: DoubleArray = cover_words(
            sentences, own_titles, *rows, _read_only(self.words), self.word_weights, *names
        )
        return covered


NO_BRIDGE = np.iinfo(np.int64).min
"""Stands after the last sentence of a chain."""


@dataclass(frozen=True, slots=True, eq=False)
class _Chains:
    """The c chains that a step begins with, all of one length."""

    length: int
    sentences: IntArray  # (c, 3)
    bridges: LongArray  # (c, 2)
    passages: IntArray  # (c,) of the last sentence
    passages_before: IntArray  # (c,) of the one before, -1 for none
    scores: DoubleArray  # (c,)
    covered: DoubleArray  # (c, w)


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """The best step to each of n places, and from each of c chains; see `find_steps` and `best_steps`."""

    before: _Chains
    bridges: LongArray
    places: IntArray  # (n,) sentences
    place_passages: IntArray  # (n,)
    place_covered: DoubleArray  # (n, w)
    best: tuple[DoubleArray, IntArray, IntArray, DoubleArray, IntArray, IntArray]

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.places) + len(self.before.scores) * (2 if self.before.length > 1 else 1)

    def candidates(self) -> tuple[IntArray, DoubleArray]:
        """Return passages and scores (size,): of the step to each place, then from each chain's last passage and first.

        A score is -inf where there is no step.
        """
        at_places, _, _, from_chains, _, _ = self.best
        ends = [self.before.passages, self.before.passages_before][: self.before.length]
        passages = np.concatenate([self.place_passages, *ends])
        return passages, np.concatenate([at_places, *([from_chains] * len(ends))])

    def rows(self, numbers: LongArray) -> tuple[IntArray, LongArray]:
        """Return the sentences (k, 3) and bridges (k, 2) of some candidates (k,)."""
        _, from_chain, by_bridge, _, to_place, through = self.best
        count, chains = len(self.places), len(to_place)
        at_place = numbers < count
        places, others = numbers[at_place], (numbers[~at_place] - count) % max(chains, 1)
        start, place, bridge = (np.empty(len(numbers), dtype=np.int64) for _ in range(3))
        start[at_place], place[at_place], bridge[at_place] = from_chain[places], places, by_bridge[places]
        start[~at_place], place[~at_place], bridge[~at_place] = others, to_place[others], through[others]
        return self.join(start, place, bridge)

    def join(self, starts: LongArray, places: LongArray, bridges: LongArray) -> tuple[IntArray, LongArray]:
        """Return the sentences and bridges of chains with one more step."""
        sentences, joined = self.before.sentences[starts], self.before.bridges[starts]
        sentences[:, self.before.length] = self.places[places]
        joined[:, self.before.length - 1] = self.bridges[bridges]
        return sentences, joined

    def best_chains(self, count: int, penalty: float) -> _Chains:
        """Return the `count` best chains to distinct sentences, equal ones by these; scores less a penalty."""
        scores, from_start, by_bridge, *_ = self.best
        best = np.flatnonzero(from_start >= 0)
        if len(best) > count:
            found = scores[best]
            best = best[found >= found[top_order(found, count)[-1]]]  # with all equals of the last
        at = best[np.lexsort((self.places[best], -scores[best]))[:count]]
        start = from_start[at].astype(np.int64)
        sentences, bridges = self.join(start, at, by_bridge[at].astype(np.int64))
        covered = np.maximum(self.before.covered[start], self.place_covered[at])
        passages = self.place_passages[at]
        before = self.before.passages[start]
        return _Chains(self.before.length + 1, sentences, bridges, passages, before, scores[at] - penalty, covered)


@final
@dataclass(frozen=True, slots=True, eq=False)
class SentenceChains:
    """The best chain of each of p passages that stand in one."""

    passages: IntArray  # (p,) ascending
    scores: DoubleArray  # (p,)
    _numbers: LongArray  # (p,) of the chains, counted through the first sentences, then the steps
    _first_sentences: IntArray
    _candidates: tuple[tuple[IntArray, DoubleArray], ...]  # by length, passages and scores of all chains
    _steps: tuple[_Steps, ...]

    def best_of_length(self, sentences: int) -> tuple[IntArray, DoubleArray]:
        """Return the passages (q,), ascending, in chains of that many sentences, and their best scores (q,)."""
        if sentences > len(self._candidates):
            return np.zeros(0, dtype=np.int32), np.zeros(0)
        passages, scores = self._candidates[sentences - 1]
        numbers = first_of_best(passages, scores)
        return passages[numbers], scores[numbers]

    def rows(self, positions: LongArray) -> tuple[IntArray, LongArray]:
        """Return the chains of the passages at some positions (n,): their sentences (n, 3) and bridges (n, 2).

        Sentences are in order, -1 after the last one; a first sentence alone is a chain, too. Bridges between them are
        entities, or -1 - a term; NO_BRIDGE after the last sentence.
        """
        numbers = self._numbers[positions]
        sentences = np.full((len(numbers), 3), -1, dtype=np.int32)
        bridges = np.full((len(numbers), 2), NO_BRIDGE, dtype=np.int64)
        begin = len(self._first_sentences)
        alone = numbers < begin
        sentences[alone, 0] = self._first_sentences[numbers[alone]]
        for step in self._steps:
            own = (numbers >= begin) & (numbers < begin + step.size)
            sentences[own], bridges[own] = step.rows(numbers[own] - begin)
            begin += step.size
        return sentences, bridges


def search_chains(
    index: SentenceIndex,
    title_entities: IntArray,
    first_sentences: IntArray,
    first_scores: DoubleArray,
    question: ChainQuestion,
    weights: ChainWeights,
) -> SentenceChains:
    """Return for each passage the best chain it stands in, of those from the best first sentences (m,), distinct.

    `title_entities` (P,) are those of the snapshot. Scores are equal where they are to the last bit, added up in this
    order: the chain so far less the price of its bridge, the two cosines, the title, the words as ascending terms. Of
    equal first sentences the search takes those at the lower positions, of equal second ones those with the lower
    numbers.

    Of a passage's chains with equal scores the shorter counts; then the one whose last sentence is of the passage, then
    whose second last. Of several that end there, the one to the place that comes first counts (see `find_steps`); of
    those that are then left, the one from the better start, by the first of its bridges (entities, then terms,
    ascending).
    """
    order = top_order(first_scores, weights.first_sentences) if len(first_scores) else np.zeros(0, dtype=np.int64)
    first = first_sentences[order].astype(np.int32)
    chains = _first_chains(index, title_entities, first, first_scores[order], question)
    steps: list[_Steps] = []
    for _ in range(weights.sentences - 1):
        if steps:
            chains = steps[-1].best_chains(weights.second_sentences, weights.third_step)
        steps.append(_take_step(index, title_entities, chains, question, weights))
    return _best_by_passage(index, first_sentences, first_scores, steps)


def _first_chains(
    index: SentenceIndex, titles: IntArray, sentences: IntArray, scores: DoubleArray, question: ChainQuestion
) -> _Chains:
    none = np.full(len(sentences), -1, dtype=np.int32)
    rows = np.stack([sentences, none, none], axis=1)
    bridges = np.full((len(sentences), 2), NO_BRIDGE, dtype=np.int64)
    passages = _passages_of(sentences, index.offsets)
    covered = question.cover(sentences, titles[passages], index)
    return _Chains(1, rows, bridges, passages, none, scores, covered)


def _passages_of(sentences: IntArray, offsets: LongArray) -> IntArray:
    return (offsets.searchsorted(sentences, side="right") - 1).astype(np.int32)


def _take_step(
    index: SentenceIndex, titles: IntArray, chains: _Chains, question: ChainQuestion, weights: ChainWeights
) -> _Steps:
    last = np.ascontiguousarray(chains.sentences[:, chains.length - 1])
    edge_rows, edges, bridges, sizes, member_rows, members, places, passages = find_steps(
        last, *(_read_only(array) for array in _step_arrays(index, question))
    )
    own_titles = titles[passages]
    covered = question.cover(places, own_titles, index)
    values = np.zeros(len(places))
    if question.similarity is not None:
        cosines = question.similarity(places).astype(np.float64)
        values = weights.remainder * cosines[:, 1] + weights.question * cosines[:, 0]
    best = best_steps(
        chains.scores, chains.covered, chains.passages, chains.passages_before, edge_rows, edges, bridges,
        weights.hub * np.log(sizes), member_rows, members, values, weights.novelty, covered, passages,
        own_titles, weights.title,
    )  # fmt: skip
    return _Steps(chains, bridges, places, passages, covered, best)


def _best_by_passage(
    index: SentenceIndex, first_sentences: IntArray, first_scores: DoubleArray, steps: list[_Steps]
) -> SentenceChains:
    candidates = (_passages_of(first_sentences, index.offsets), first_scores), *(step.candidates() for step in steps)
    passages, scores = (np.concatenate(column) for column in zip(*candidates, strict=True))
    numbers = first_of_best(passages, scores)
    return SentenceChains(passages[numbers], scores[numbers], numbers, first_sentences, candidates, tuple(steps))


def _step_arrays(index: SentenceIndex, question: ChainQuestion) -> tuple[NDArray[Any], ...]:
    return (
        index.offsets, question.allowed, index.entities.indptr, index.entities.indices, index.terms.indptr,
        index.terms.indices, index.entity_sentences.indptr, index.entity_sentences.indices,
        index.term_sentences.indptr, index.term_sentences.indices, question.named_entities, question.words,
    )  # fmt: skip


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view as of a mapped file: functions are compiled for such arrays once."""
    view = array.view()
    view.flags.writeable = False
    return view
