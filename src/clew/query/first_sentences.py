"""First sentences of chains: the sentences of the passages that a walk, BM25 or vectors find, scored by the question.

    first(s) = cos(s, q) + 0.5 sum_t idf(t) B(s, t) + 0.1 [s names an entity of the question]
               + 0.03 log(PageRank of its passage / the best)

for question q with words t, of which sentence s covers B(s, t).

Only the sentences of a few dozen passages are scored, since the rest would cost time linear in the index.
Source: none; the formula was found by prototypes of this project (docs/decisions/index.md).
"""

from dataclasses import dataclass

import numpy as np

from clew.arrays import DoubleArray, IntArray, LongArray, expand_ranges
from clew.graph.paths.sentence_chains import ChainQuestion
from clew.graph.sentences.sentence_index import SentenceIndex


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
