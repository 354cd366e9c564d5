"""Embeddings of triples and of paths of triples, composed on demand from those of names and relations.

A triple's embedding is the normalized sum of the embeddings of its head, relation and tail; a path's is the normalized
sum of its triples' embeddings. For an encoder that averages over words this is close to encoding the words themselves,
and nothing has to be encoded or stored per triple (figures: docs/benchmarks.md).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray, expand_ranges
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency
from clew.graph.paths.beam_search import PathScorer
from clew.graph.segments.passage_columns import PassageVectors

_BELOW_ANY_COSINE = np.float32(-2.0)
_MAX_CELLS = 1 << 24  # similarities of names, or of relations, with texts in memory at once: 64 MiB


@final
@dataclass(frozen=True, eq=False)
class TripleEmbeddings:
    """Embeddings of an index's triples: T triples, E names, R relations, P passages, width d."""

    triples: IntArray  # (T, 3) head, relation, tail
    names: FloatArray  # (E, d) unit rows
    relations: FloatArray  # (R, d) unit rows
    triple_passages: Adjacency  # T rows, the passages that state each triple
    passages: PassageVectors  # P unit rows

    def nearest_triples(self, vectors: FloatArray, allowed: BoolArray) -> IntArray:
        """Return for each unit vector (n, d) the allowed triple (T,) of highest cosine, the first of a tie, or -1."""
        nearest = np.full(len(vectors), -1, dtype=np.int32)
        batch_size = max(1, _MAX_CELLS // max(len(self.names), len(self.relations), 1))
        for start in range(0, len(vectors), batch_size):
            batch = vectors[start : start + batch_size]
            similarities = (batch @ self.names.T, batch @ self.relations.T)
            nearest[start : start + batch_size] = _nearest_triples(self.triples, *similarities, self._norms, allowed)
        return nearest

    @cached_property
    def _norms(self) -> FloatArray:
        norms: FloatArray = _triple_norms(self.triples, self.names, self.relations)
        return norms

    def path_scorer(self, question: FloatArray, context_weight: float, allowed: BoolArray | None = None) -> PathScorer:
        """Return the function that scores extensions of triple paths for a question, a unit vector (d,).

        The score is (1 + (1 - c) a + c b) / 2, where a is the cosine of the question with the path, b the highest
        cosine with an allowed passage (P,) that states the last triple, and c the context weight, 0 to 1; 0 scores the
        triples alone, as GeAR does. c is 0 for a triple that no passage states because it comes from an imported graph.
        """

        def score_paths(path: tuple[int, ...], extensions: LongArray) -> FloatArray:
            scores: FloatArray = _score_extensions(
                np.asarray(path, dtype=np.int64),
                extensions,
                question,
                context_weight,
                *self._stating_passages(extensions if context_weight > 0.0 else extensions[:0], question, allowed),
                self.triples,
                self.names,
                self.relations,
            )
            return scores

        return score_paths

    def _stating_passages(
        self, triples: LongArray, question: FloatArray, allowed: BoolArray | None
    ) -> tuple[LongArray, FloatArray]:
        """Return the cosines of the passages that state each of n triples, as pointers (n + 1,) and values (m,).

        The cosine of a passage that is not allowed is -1.
        """
        stated_in = self.triple_passages
        starts = stated_in.indptr[triples]
        counts = stated_in.indptr[triples + 1] - starts
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        entries, _ = expand_ranges(starts, counts)
        passages, which = np.unique(stated_in.indices[entries], return_inverse=True)
        cosines = np.full(len(passages), -1.0, dtype=np.float32)
        usable = np.ones(len(passages), dtype=bool) if allowed is None else allowed[passages]
        cosines[usable] = self.passages.rows(passages[usable]) @ question
        return indptr, cosines[which]


@njit
def _nearest_triples(triples, names, relations, norms, allowed):  # type: ignore[no-untyped-def]
    nearest = np.full(len(names), -1, dtype=np.int32)
    for i in range(len(names)):
        best = _BELOW_ANY_COSINE
        for t in range(len(triples)):
            head, relation, tail = triples[t]
            cosine = (names[i, head] + relations[i, relation] + names[i, tail]) / norms[t]
            if allowed[t] and cosine > best:
                best = cosine
                nearest[i] = t
    return nearest


@njit
def _triple_norms(triples, names, relations):  # type: ignore[no-untyped-def]
    norms = np.empty(len(triples), dtype=np.float32)
    for t in range(len(triples)):
        head, relation, tail = triples[t]
        total = 0.0
        for i in range(names.shape[1]):
            x = names[head, i] + relations[relation, i] + names[tail, i]
            total += x * x
        norms[t] = max(np.sqrt(total), 1e-9)
    return norms


@njit(fastmath=True)
def _score_extensions(  # type: ignore[no-untyped-def]
    path, extensions, question, context_weight, indptr, cosines, triples, names, relations
):
    width = len(question)
    path_sum = np.zeros(width, dtype=np.float32)
    unit = np.zeros(width, dtype=np.float32)
    for triple in path:
        path_sum += _unit_triple_vector(triple, triples, names, relations, unit)
    scores = np.empty(len(extensions), dtype=np.float32)
    for position in range(len(extensions)):
        triple = extensions[position]
        _unit_triple_vector(triple, triples, names, relations, unit)
        projection, length = 0.0, 0.0
        for i in range(width):
            x = path_sum[i] + unit[i]
            projection += x * question[i]
            length += x * x
        score = projection / max(np.sqrt(length), 1e-9)
        if context_weight > 0.0 and indptr[position] < indptr[position + 1]:
            best = np.float32(-1.0)
            for entry in range(indptr[position], indptr[position + 1]):
                best = max(best, cosines[entry])
            score = (1.0 - context_weight) * score + context_weight * best
        scores[position] = max((1.0 + score) / 2.0, 0.0)
    return scores


@njit(fastmath=True)
def _unit_triple_vector(triple, triples, names, relations, unit):  # type: ignore[no-untyped-def]
    head, relation, tail = triples[triple]
    total = 0.0
    for i in range(len(unit)):
        x = names[head, i] + relations[relation, i] + names[tail, i]
        unit[i] = x
        total += x * x
    length = max(np.sqrt(total), 1e-9)
    for i in range(len(unit)):
        unit[i] /= length
    return unit
