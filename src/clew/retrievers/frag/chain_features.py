"""What a chain of relations has to do with a question, in a few numbers that mean the same on any graph.

Each relation has a vector of its name, and one for each direction that also knows what stands at its end (the commonest
names there). A question's asking words are compared with them one by one: how well each relation of a chain is asked
for, in the order in which the words are read, and how much of what is asked the chain explains. Nothing here knows a
relation by its name, so what is learned of these numbers on one graph can be used on another.

Source: none. Differs from the source: nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.query.relation_matching import RelationMatch, RelationPath

if TYPE_CHECKING:
    from clew.types import FloatArray

FEATURES = ("explained", "in_order", "explained_by_ends", "mean_likeness", "back_and_forth", "against", "kind_of_end")
"""The columns: words explained by names of relations; relations asked for in the order of reading; words explained by
relations and what stands at their ends; likeness of the masked question to the mean of the relations' vectors; steps
that undo the one before; steps from tail to head; likeness of the question to what stands at the end."""


def relation_path_features(question: RelationMatch, chains: Sequence[RelationPath]) -> "FloatArray":
    """Return the numbers (n, len(`FEATURES`)) of some chains whose codes are among the compared ones."""
    if not chains:
        return np.zeros((0, len(FEATURES)), dtype=np.float32)
    longest = max(map(len, chains))
    padded = np.full((len(chains), longest), -1, dtype=np.int32)
    for row, chain in enumerate(chains):
        padded[row, : len(chain)] = np.searchsorted(question.codes, chain)
    found = _path_features(
        question.codes,
        question.name_similarity,
        question.step_similarity,
        question.name_weights,
        question.step_weights,
        question.reverse_order,
        question.end_similarity,
        question.question_similarity,
        question.relation_similarity,
        padded,
    )
    return np.asarray(found, dtype=np.float32)


@njit(cache=True, nogil=True)
def _path_features(codes, names, ends, weights, end_weights, other_way, kinds, asked_for, alike, chains):  # type: ignore[no-untyped-def]
    out = np.zeros((len(chains), 7), dtype=np.float32)
    columns = np.empty(chains.shape[1], dtype=np.int64)
    straight = np.arange(ends.shape[0], dtype=np.int32)
    for row in range(len(chains)):
        length, asked, against, back = 0, 0, 0, 0
        for step in range(chains.shape[1]):
            column = chains[row, step]
            if column < 0:
                break
            length += 1
            against += codes[column] & 1
            # `A, and A back` is asked for once: the films of the same director.
            if step and codes[column] ^ 1 == codes[chains[row, step - 1]]:
                back += 1
            else:
                columns[asked] = column
                asked += 1
        if length == 0:
            continue
        used = columns[:asked]
        out[row, 0] = _explained_share(names, weights, used)
        out[row, 1] = max(_ordered_match(ends, straight, used), _ordered_match(ends, other_way, used))
        out[row, 2] = _explained_share(ends, end_weights, used)
        out[row, 3] = _mean_similarity(asked_for, alike, chains[row, :length])
        out[row, 4] = back
        out[row, 5] = against / length
        out[row, 6] = kinds[chains[row, length - 1]]
    return out


# The cosine to a sum of unit vectors: no text of a chain is read, of which a graph of 300 relations has millions.
@njit(cache=True, nogil=True)
def _mean_similarity(asked_for, alike, columns):  # type: ignore[no-untyped-def]
    total, square = 0.0, 0.0
    for one in columns:
        total += asked_for[one]
        for other in columns:
            square += alike[one, other]
    return total / np.sqrt(square) if square > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _explained_share(alike, weights, columns):  # type: ignore[no-untyped-def]
    total, found = 0.0, 0.0
    for word in range(len(weights)):
        best = -1.0
        for column in columns:
            best = max(best, alike[word, column])
        total += weights[word]
        found += weights[word] * best
    return found / total if total > 0.0 else 0.0


# The best sum over words in ascending order of reading, one for each relation; too few words cost a little.
@njit(cache=True, nogil=True)
def _ordered_match(alike, order, columns):  # type: ignore[no-untyped-def]
    words, asked = alike.shape[0], len(columns)
    if words == 0:
        return 0.0
    if words < asked:
        total = 0.0
        for column in columns:
            total += alike[:, column].max()
        return total / asked - 0.2
    best = np.full(asked + 1, -9.0)
    best[0] = 0.0
    for place in range(words):
        word = order[place]
        for step in range(asked, 0, -1):
            best[step] = max(best[step], best[step - 1] + alike[word, columns[step - 1]])
    return best[asked] / asked
