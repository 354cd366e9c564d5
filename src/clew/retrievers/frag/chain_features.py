"""Features of relation paths for a question: a few numbers with the same meaning on any graph.

They state how well the question asks for each relation of a path, in the order in which its words are read, and how
much of the question the path explains. No feature identifies a relation, so weights learned on one graph apply to
another.

Source: none. Differs from the source: nothing.
"""

from collections.abc import Sequence

import numpy as np

from clew.arrays import FloatArray
from clew.arrays.kernels import njit
from clew.query.relation_matching import RelationMatch, RelationPath

FEATURES = ("explained", "in_order", "explained_by_ends", "mean_likeness", "back_and_forth", "against", "kind_of_end")
"""The columns: share of the words explained by names of relations; relations matched in the order of reading; share of
the words explained by relations with the names at their ends; similarity of the masked question to the mean of the
relations' vectors; steps that undo the one before; share of steps from tail to head; similarity of the question to the
names at the end."""


def relation_path_features(match: RelationMatch, paths: Sequence[RelationPath]) -> FloatArray:
    """Return the features (n, len(`FEATURES`)) of relation paths whose codes are among the matched ones."""
    if not paths:
        return np.zeros((0, len(FEATURES)), dtype=np.float32)
    padded = np.full((len(paths), max(map(len, paths))), -1, dtype=np.int32)
    for row, path in enumerate(paths):
        padded[row, : len(path)] = np.searchsorted(match.codes, path)
    features = _path_features(
        match.codes,
        match.name_similarity,
        match.step_similarity,
        match.name_weights,
        match.step_weights,
        match.reverse_order,
        match.end_similarity,
        match.question_similarity,
        match.relation_similarity,
        padded,
    )
    return np.asarray(features, dtype=np.float32)


@njit
def _path_features(codes, names, steps, name_weights, step_weights, reverse_order, ends, question, relations, paths):  # type: ignore[no-untyped-def]
    features = np.zeros((len(paths), 7), dtype=np.float32)
    columns = np.empty(paths.shape[1], dtype=np.int64)
    reading_order = np.arange(steps.shape[0], dtype=np.int32)
    for row in range(len(paths)):
        length, count, against, back = 0, 0, 0, 0
        for step in range(paths.shape[1]):
            column = paths[row, step]
            if column < 0:
                break
            length += 1
            against += codes[column] & 1
            # A relation and its way back count once: the films of the same director.
            if step and codes[column] ^ 1 == codes[paths[row, step - 1]]:
                back += 1
            else:
                columns[count] = column
                count += 1
        if length == 0:
            continue
        used = columns[:count]
        features[row, 0] = _explained_share(names, name_weights, used)
        features[row, 1] = max(_ordered_match(steps, reading_order, used), _ordered_match(steps, reverse_order, used))
        features[row, 2] = _explained_share(steps, step_weights, used)
        features[row, 3] = _mean_similarity(question, relations, paths[row, :length])
        features[row, 4] = back
        features[row, 5] = against / length
        features[row, 6] = ends[paths[row, length - 1]]
    return features


# The cosine to a sum of unit vectors: no path is encoded as a text, since a graph of 300 relations has millions.
@njit
def _mean_similarity(question, relations, columns):  # type: ignore[no-untyped-def]
    total, square = 0.0, 0.0
    for one in columns:
        total += question[one]
        for other in columns:
            square += relations[one, other]
    return total / np.sqrt(square) if square > 0.0 else 0.0


@njit
def _explained_share(similarity, weights, columns):  # type: ignore[no-untyped-def]
    total, explained = 0.0, 0.0
    for word in range(len(weights)):
        best = -1.0
        for column in columns:
            best = max(best, similarity[word, column])
        total += weights[word]
        explained += weights[word] * best
    return explained / total if total > 0.0 else 0.0


# The best sum over words in ascending order, one word for each relation; a question with too few words loses 0.2.
@njit
def _ordered_match(similarity, order, columns):  # type: ignore[no-untyped-def]
    words, count = similarity.shape[0], len(columns)
    if words == 0:
        return 0.0
    if words < count:
        total = 0.0
        for column in columns:
            total += similarity[:, column].max()
        return total / count - 0.2
    best = np.full(count + 1, -9.0)
    best[0] = 0.0
    for position in range(words):
        word = order[position]
        for step in range(count, 0, -1):
            best[step] = max(best[step], best[step - 1] + similarity[word, columns[step - 1]])
    return best[count] / count
