"""The vectors of relations: those that most edges have get their own, and the others borrow one.

Most relations that rules read are stated once, and are a frequent one with some words before or after it: so is "had
also been directed by". So an index has a bounded number of vectors of relations, whatever its size. A relation without
its own vector has that of the longest run of its words that is a relation with one, the last of equally long runs; one
without such a run has the mean of all.

Source: none; measured in docs/decisions. Differs from the source: nothing.
"""

from collections.abc import Callable, Sequence

import numpy as np

from clew.arrays import FloatArray, IntArray, LongArray
from clew.graph.snapshot.relational_edges import RelationalEdges

MAX_VECTORS = 4096
_MAX_RUN = 16  # words of a run that is looked up: texts of imported graphs may be long


def frequent_relations(edges: RelationalEdges, texts: Sequence[str]) -> LongArray:
    """Return the at most `MAX_VECTORS` of R relations that most edges have, most first, equal ones by their text."""
    counts = np.bincount(edges.relations % edges.relation_count, minlength=edges.relation_count)
    least = np.partition(counts, -MAX_VECTORS)[-MAX_VECTORS] if len(counts) > MAX_VECTORS else 0
    candidates = np.flatnonzero(counts >= max(least, 1)).tolist()
    candidates.sort(key=lambda relation: (-counts[relation], texts[relation]))
    return np.array(candidates[:MAX_VECTORS], dtype=np.int64)


def vector_rows(texts: Sequence[str], frequent: LongArray) -> IntArray:
    """Return for each of R relations the row of the vector that it has among those of n frequent ones; n is the mean's.

    Relations are compared without regard to capitals.
    """
    rows = np.full(len(texts), len(frequent), dtype=np.int32)
    by_text: dict[str, int] = {}
    for row, relation in enumerate(frequent.tolist()):
        by_text.setdefault(texts[relation].lower(), row)
        rows[relation] = row
    longest = min(max((len(text.split()) for text in by_text), default=0), _MAX_RUN)
    for relation in np.flatnonzero(rows == len(frequent)).tolist():
        words = texts[relation].lower().split()
        runs = (
            " ".join(words[first : first + length])
            for length in range(min(len(words), longest), 0, -1)
            for first in range(len(words) - length, -1, -1)
        )
        rows[relation] = next((by_text[run] for run in runs if run in by_text), len(frequent))
    return rows


def shared_vectors(
    texts: Sequence[str], frequent: LongArray, encode: Callable[[Sequence[str]], FloatArray]
) -> FloatArray:
    """Return the unit vectors (n + 1, t) of n frequent relations, and of their mean."""
    vectors = encode([texts[relation] for relation in frequent.tolist()])
    mean = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1], dtype=np.float32)
    mean /= max(float(np.linalg.norm(mean)), 1e-9)
    return np.concatenate([vectors, mean[None, :].astype(np.float32)])


def passage_relation_vectors(
    edges: RelationalEdges, texts: Sequence[str], encode: Callable[[Sequence[str]], FloatArray]
) -> FloatArray:
    """Return the vector (R, t) that each of R relations of a graph of passages has."""
    frequent = frequent_relations(edges, texts)
    return shared_vectors(texts, frequent, encode)[vector_rows(texts, frequent)]
