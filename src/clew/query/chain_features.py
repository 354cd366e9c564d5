"""Numbers that the chains of sentences of a question give to passages, for the networks that rank them.

Source: none; docs/decisions has what each kind of number gains.
"""

import numpy as np

from clew.arrays import DoubleArray, FloatArray, IntArray, LongArray
from clew.graph.sentence_index import SentenceIndex
from clew.query.chain_search import QuestionChains, sentences_of, shares_of_best

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
