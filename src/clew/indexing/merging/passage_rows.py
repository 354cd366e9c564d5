"""Rows of passages in segments brought into the order of the snapshot.

The order of passages in a snapshot, ascending by id, and where each lies in the segments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency
from clew.graph.segments.segment import Segment
from clew.graph.string_array import StringArray
from clew.graph.string_kernels import take_strings
from clew.indexing.merging.passage_facts import PassageFacts

_INSERTION_LIMIT = 32


def order_mentions(
    facts: Sequence[PassageFacts], positions: Sequence[IntArray], entity_of_key: IntArray, count: int
) -> Adjacency:
    """Return the entities that each of `count` passages mentions, ascending, with their weights.

    `positions` are for each segment those (p,) of its passages in the snapshot; `entity_of_key` (k,) is the entity of
    each of the joined keys.
    """
    indptr = _row_pointers([f.mention_indptr for f in facts], positions, count)
    indices = np.empty(int(indptr[-1]), dtype=np.int32)
    weights: FloatArray = np.empty(int(indptr[-1]), dtype=np.float32)
    for own, position in zip(facts, positions, strict=True):
        _write_mentions(
            own.mention_indptr, own.mentioned, own.weights, position, entity_of_key, indptr, indices, weights
        )
    return Adjacency(indptr, indices, weights)


def order_triples(
    facts: Sequence[PassageFacts],
    positions: Sequence[IntArray],
    entity_of_key: IntArray,
    relation_numbers: IntArray,
    imported: int,
    count: int,
) -> tuple[IntArray, IntArray]:
    """Return triples (t, 3) of entities and relations, and the passages (t,) that state them, ascending.

    After them is room for `imported` triples of imported graphs, with the passage -1. Positions (p,) and entities (k,)
    are as in `order_mentions`; `relation_numbers` (r,) are those of the relations of all segments in the snapshot.
    """
    indptr = _row_pointers([f.triple_indptr for f in facts], positions, count)
    stated = int(indptr[-1])
    triples = np.empty((stated + imported, 3), dtype=np.int32)
    passages = np.full(len(triples), -1, dtype=np.int32)
    for own, position in zip(facts, positions, strict=True):
        _write_triples(
            own.triple_indptr, own.triples, position, entity_of_key, relation_numbers, indptr, triples, passages
        )
    return triples, passages


def _row_pointers(parts: Sequence[LongArray], positions: Sequence[IntArray], count: int) -> LongArray:
    sizes = np.zeros(count + 1, dtype=np.int64)
    for indptr, position in zip(parts, positions, strict=True):
        sizes[position + 1] = np.diff(indptr)
    return np.cumsum(sizes)


@njit
def _write_mentions(  # type: ignore[no-untyped-def]
    own_indptr, keys, own_weights, positions, entity_of_key, indptr, indices, weights
):
    for row in range(len(positions)):
        begin = indptr[positions[row]]
        source = own_indptr[row]
        size = own_indptr[row + 1] - source
        if size > _INSERTION_LIMIT:
            entities = entity_of_key[keys[source : source + size]]
            order = np.argsort(entities)  # they are distinct
            for i in range(size):
                indices[begin + i] = entities[order[i]]
                weights[begin + i] = own_weights[source + order[i]]
            continue
        for i in range(size):
            entity, weight = entity_of_key[keys[source + i]], own_weights[source + i]
            j = begin + i
            while j > begin and indices[j - 1] > entity:
                indices[j], weights[j] = indices[j - 1], weights[j - 1]
                j -= 1
            indices[j], weights[j] = entity, weight


@njit
def _write_triples(  # type: ignore[no-untyped-def]
    own_indptr, own_triples, positions, entity_of_key, relation_numbers, indptr, triples, passages
):
    for row in range(len(positions)):
        to = indptr[positions[row]]
        for i in range(own_indptr[row], own_indptr[row + 1]):
            triples[to, 0] = entity_of_key[own_triples[i, 0]]
            triples[to, 1] = relation_numbers[own_triples[i, 1]]
            triples[to, 2] = entity_of_key[own_triples[i, 2]]
            passages[to] = positions[row]
            to += 1


@final
@dataclass(frozen=True, slots=True, eq=False)
class PassageOrder:
    """The P passages of all segments."""

    ids: StringArray  # P, ascending
    places: LongArray  # (P,) number of the segment << 32 | row in it
    positions: Sequence[IntArray]  # for each segment the position of each of its rows among the P


def order_passages(segments: Sequence[Segment]) -> PassageOrder:
    """Return the order of the passages of segments."""
    sizes = [len(segment) for segment in segments]
    bounds = np.cumsum([0, *sizes])
    places = np.concatenate(
        [np.zeros(0, dtype=np.int64), *(number << 32 | np.arange(size) for number, size in enumerate(sizes))]
    )
    if len(segments) == 1:
        return PassageOrder(segments[0].passages.ids, places, [np.arange(sizes[0], dtype=np.int32)])
    joined = _concatenate([segment.passages.ids for segment in segments])
    offsets, data = (pa.py_buffer(np.ascontiguousarray(array)) for array in (joined.offsets, joined.data))
    ids = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(joined), [None, offsets, data])
    order = np.asarray(pc.sort_indices(ids)).astype(np.int64)
    positions = np.empty(len(order), dtype=np.int32)
    positions[order] = np.arange(len(order), dtype=np.int32)
    return PassageOrder(take_strings(joined, order), places[order], np.split(positions, bounds[1:])[:-1])


def _concatenate(parts: Sequence[StringArray]) -> StringArray:
    if not parts:
        return StringArray.pack(())
    bytes_before = np.cumsum([0, *(part.offsets[-1] for part in parts)])
    offsets = [part.offsets[:-1] + before for part, before in zip(parts, bytes_before[:-1], strict=True)]
    return StringArray(np.concatenate([part.data for part in parts]), np.concatenate([*offsets, bytes_before[-1:]]))
