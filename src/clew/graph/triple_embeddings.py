"""Vectors of triples and chains of them, composed when they are needed from those of names and relations.

A triple's vector is the sum of its head's, its relation's and its tail's, made a unit; a chain's is the sum of its
triples', made a unit. For an encoder that takes the mean over words that is close to encoding the words themselves, and
nothing has to be encoded or kept for each triple (figures: docs/benchmarks.md).
"""

from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from numba import njit

from clew.graph.csr import Adjacency

if TYPE_CHECKING:
    from clew.graph.paths.beam_search import PathScorer
    from clew.types import BoolArray, FloatArray, IntArray, LongArray


_BELOW_ANY_COSINE = np.float32(-2.0)  # below every cosine
_MAX_CELLS = 1 << 24  # cosines of names with texts that are held at once: 64 MiB


@final
class TripleEmbeddings:
    """The vectors of an index's triples; T triples, E names, R relations, P passages, width d.

    Args:
        triples: (T, 3) head, relation, tail.
        names: (E, d) unit rows.
        relations: (R, d) unit rows.
        triple_passages: T rows, the passages that state a triple.
        passages: (P, d) unit rows.
    """

    def __init__(
        self,
        triples: "IntArray",
        names: "FloatArray",
        relations: "FloatArray",
        triple_passages: Adjacency,
        passages: "FloatArray",
    ) -> None:
        self._triples = triples
        self._names = names
        self._relations = relations
        self._stated = triple_passages
        self._passages = passages

    def nearest_triples(self, vectors: "FloatArray", allowed: "BoolArray") -> "IntArray":
        """Return for each of some unit vectors (n, d) the allowed triple (T,) of the greatest cosine, -1 for none.

        Of several that are as near, the first.
        """
        found = np.full(len(vectors), -1, dtype=np.int32)
        together = max(1, _MAX_CELLS // max(len(self._names), 1))
        for start in range(0, len(vectors), together):
            some = vectors[start : start + together]
            near = (some @ self._names.T, some @ self._relations.T)
            found[start : start + together] = _nearest_triples(self._triples, *near, self._norms, allowed)
        return found

    @cached_property
    def _norms(self) -> "FloatArray":
        """The lengths (T,) of the sums that triples are."""
        norms: FloatArray = _triple_norms(self._triples, self._names, self._relations)
        return norms

    def path_scorer(
        self, question: "FloatArray", context_weight: float, allowed: "BoolArray | None" = None
    ) -> "PathScorer":
        """Return the function that scores chains for a question.

        A chain is worth (1 + (1 - c) a + c b) / 2, where a is the cosine of the question with the chain, b that with
        the best passage that states its last triple, and c the context; where no passage states it, since it comes from
        an imported graph, c is 0.

        Args:
            question: (d,) unit vector.
            context_weight: 0 to 1; 0 looks at the triples alone, as GeAR does.
            allowed: (P,) passages that may state a triple.
        """
        open_ = np.ones(len(self._passages), dtype=bool) if allowed is None else allowed

        def scores(chain: tuple[int, ...], onward: "LongArray") -> "FloatArray":
            return _score_extensions(  # type: ignore[no-any-return]
                np.asarray(chain, dtype=np.int64),
                onward,
                question,
                context_weight,
                self._triples,
                self._names,
                self._relations,
                self._stated.indptr,
                self._stated.indices,
                self._passages,
                open_,
            )

        return scores


@njit(cache=True, nogil=True)
def _nearest_triples(triples, names, relations, norms, allowed):  # type: ignore[no-untyped-def]
    found = np.full(len(names), -1, dtype=np.int32)
    for i in range(len(names)):
        best = _BELOW_ANY_COSINE
        for t in range(len(triples)):
            head, relation, tail = triples[t]
            near = (names[i, head] + relations[i, relation] + names[i, tail]) / norms[t]
            if allowed[t] and near > best:
                best = near
                found[i] = t
    return found


@njit(cache=True, nogil=True)
def _triple_norms(triples, names, relations):  # type: ignore[no-untyped-def]
    found = np.empty(len(triples), dtype=np.float32)
    for t in range(len(triples)):
        head, relation, tail = triples[t]
        total = 0.0
        for i in range(names.shape[1]):
            x = names[head, i] + relations[relation, i] + names[tail, i]
            total += x * x
        found[t] = max(np.sqrt(total), 1e-9)
    return found


@njit(cache=True, nogil=True, fastmath=True)
def _score_extensions(chain, onward, question, context, triples, names, relations, indptr, indices, passages, allowed):  # type: ignore[no-untyped-def]
    width = len(question)
    before = np.zeros(width, dtype=np.float32)
    own = np.zeros(width, dtype=np.float32)
    for triple in chain:
        before += _unit_triple_vector(triple, triples, names, relations, own)
    found = np.empty(len(onward), dtype=np.float32)
    near = np.full(len(passages) if context > 0.0 else 0, _BELOW_ANY_COSINE, dtype=np.float32)
    for place in range(len(onward)):
        triple = onward[place]
        _unit_triple_vector(triple, triples, names, relations, own)
        along, length = 0.0, 0.0
        for i in range(width):
            x = before[i] + own[i]
            along += x * question[i]
            length += x * x
        worth = along / max(np.sqrt(length), 1e-9)
        if context > 0.0 and indptr[triple] < indptr[triple + 1]:
            best = np.float32(-1.0)
            for at in range(indptr[triple], indptr[triple + 1]):
                passage = indices[at]
                if not allowed[passage]:
                    continue
                if near[passage] == _BELOW_ANY_COSINE:
                    near[passage] = _dot_product(passages[passage], question)
                best = max(best, near[passage])
            worth = (1.0 - context) * worth + context * best
        found[place] = max((1.0 + worth) / 2.0, 0.0)
    return found


@njit(cache=True, nogil=True, fastmath=True)
def _unit_triple_vector(triple, triples, names, relations, own):  # type: ignore[no-untyped-def]
    head, relation, tail = triples[triple]
    total = 0.0
    for i in range(len(own)):
        x = names[head, i] + relations[relation, i] + names[tail, i]
        own[i] = x
        total += x * x
    length = max(np.sqrt(total), 1e-9)
    for i in range(len(own)):
        own[i] /= length
    return own


@njit(cache=True, nogil=True, fastmath=True)
def _dot_product(one, other):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total
