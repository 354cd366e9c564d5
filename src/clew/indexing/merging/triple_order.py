"""Sorting of triples by counting: millions in seconds, with one number for each beside the triples themselves."""

from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import BoolArray, IntArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency

_INSERTION_LIMIT = 32  # up to this size, sorting by insertion is the fastest


@final
@dataclass(frozen=True, slots=True, eq=False)
class DistinctTriples:
    """The T distinct triples of stated and imported ones."""

    triples: IntArray  # (T, 3) head, relation, tail; sorted
    passages: Adjacency  # T rows, the passages that state a triple
    imported: BoolArray  # (T,) whether an imported graph has it


def distinct_triples(triples: IntArray, passages: IntArray, head_count: int) -> DistinctTriples:
    """Return the distinct ones of triples (n, 3), whose heads are below `head_count`.

    `passages` (n,) state them, ascending, -1 for one of an imported graph; those stand at the end.
    """
    order = sort_triples(triples, head_count)
    out, indptr, indices, imported = _distinct(triples, passages, order)
    return DistinctTriples(out, Adjacency(indptr, indices, np.ones(len(indices), dtype=np.float32)), imported)


def sort_triples(triples: IntArray, head_count: int) -> IntArray:
    """Return the stable order (n,) that sorts triples (n, 3) by head, below `head_count`, relation and tail."""
    order: IntArray = _sort_triples(triples, head_count)
    return order


@njit
def _sort_triples(triples, head_count):  # type: ignore[no-untyped-def]
    count = len(triples)
    starts = np.zeros(head_count + 1, dtype=np.int64)
    for i in range(count):
        starts[triples[i, 0] + 1] += 1
    for head in range(head_count):
        starts[head + 1] += starts[head]
    order = np.empty(count, dtype=np.int32)
    cursor = starts[:-1].copy()
    for i in range(count):
        head = triples[i, 0]
        order[cursor[head]] = i
        cursor[head] += 1
    keys = np.empty(_INSERTION_LIMIT, dtype=np.int64)
    for head in range(head_count):
        begin, size = starts[head], starts[head + 1] - starts[head]
        if size < 2:
            continue
        if size > _INSERTION_LIMIT:
            many = np.empty(size, dtype=np.int64)
            for i in range(size):
                entry = order[begin + i]
                many[i] = np.int64(triples[entry, 1]) << 32 | np.int64(triples[entry, 2])
            permutation = np.argsort(many, kind="mergesort")  # stable
            run = order[begin : begin + size].copy()
            for i in range(size):
                order[begin + i] = run[permutation[i]]
            continue
        for i in range(size):
            entry = order[begin + i]
            key = np.int64(triples[entry, 1]) << 32 | np.int64(triples[entry, 2])
            j = i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                order[begin + j] = order[begin + j - 1]
                j -= 1
            keys[j] = key
            order[begin + j] = entry
    return order


@njit
def _differ(triples, one, other):  # type: ignore[no-untyped-def]
    return (
        triples[one, 0] != triples[other, 0]
        or triples[one, 1] != triples[other, 1]
        or triples[one, 2] != triples[other, 2]
    )


@njit
def _distinct(triples, passages, order):  # type: ignore[no-untyped-def]
    size = len(order)
    distinct = stated = 0
    for i in range(size):
        entry = order[i]
        before = order[i - 1]
        is_new = i == 0 or _differ(triples, entry, before)
        distinct += is_new
        stated += passages[entry] >= 0 and (is_new or passages[before] != passages[entry])
    out = np.empty((distinct, 3), dtype=np.int32)
    indptr = np.zeros(distinct + 1, dtype=np.int64)
    indices = np.empty(stated, dtype=np.int32)
    imported = np.zeros(distinct, dtype=np.bool_)
    row, count = -1, 0
    for i in range(size):
        entry = order[i]
        before = order[i - 1]
        is_new = i == 0 or _differ(triples, entry, before)
        if is_new:
            row += 1
            out[row, 0], out[row, 1], out[row, 2] = triples[entry, 0], triples[entry, 1], triples[entry, 2]
        if passages[entry] < 0:
            imported[row] = True
        elif is_new or passages[before] != passages[entry]:
            indices[count] = passages[entry]
            count += 1
        indptr[row + 1] = count
    return out, indptr, indices, imported
