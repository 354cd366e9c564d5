"""Vocabularies of segments joined by their sorted hashes; two texts with one hash are found."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import HashArray, IntArray
from clew.arrays.kernels import njit
from clew.graph.segments.segment import CollisionError, Vocabulary
from clew.graph.string_array import StringArray, StringSlots, copy_strings, unequal_row
from clew.indexing.segments.store import read_parts
from clew.models.threads import map_in_threads

_MERGE_RATIO = 16  # from this share on, walking both lists costs less than a binary search for each hash


@final
@dataclass(frozen=True, slots=True, eq=False)
class JoinedVocabulary:
    """The v distinct texts of several vocabularies, ascending by hash."""

    hashes: HashArray  # (v,)
    texts: StringArray  # v
    numbers: Sequence[IntArray]  # for each vocabulary the position of each of its texts among the v

    def __len__(self) -> int:
        return len(self.hashes)


def join_vocabularies(
    vocabularies: Sequence[Vocabulary], agreeing: AbstractSet[int] = frozenset(), threads: int | None = None
) -> JoinedVocabulary:
    """Return the union of vocabularies; CollisionError where two texts have one hash.

    `agreeing` are the numbers of those that were joined before, so that no two texts among them have one hash: they are
    not compared again. At most `threads` are used; each vocabulary is read from the sequence whenever it is needed.
    """
    hashes = union_of_hashes(read_parts(vocabularies, lambda vocabulary: vocabulary.hashes))
    numbers = map_in_threads(lambda i: positions_of_hashes(hashes, vocabularies[i].hashes), len(vocabularies), threads)
    is_written = np.zeros(len(hashes), dtype=bool)
    slots = StringSlots(len(hashes))
    unchecked: list[int] = []
    writers: dict[int, IntArray] = {}  # for each vocabulary its texts that no earlier one has
    # Those that agree come first: any other one is then compared with the texts that are theirs.
    for number in sorted(range(len(vocabularies)), key=lambda number: number not in agreeing):
        positions = numbers[number]
        new = np.flatnonzero(~is_written[positions]).astype(np.int32)
        is_written[positions[new]] = True
        slots.set_lengths(vocabularies[number].texts, new, positions[new])
        writers[number] = new
        if len(new) < len(positions) and number not in agreeing:
            unchecked.append(number)
    del is_written
    texts = slots.allocate()
    for number, new in writers.items():
        copy_strings(vocabularies[number].texts, new, numbers[number][new], texts)
    map_in_threads(
        lambda i: check_texts(vocabularies[unchecked[i]].texts, texts, numbers[unchecked[i]]), len(unchecked), threads
    )
    return JoinedVocabulary(hashes, texts, numbers)


def check_texts(texts: StringArray, joined: StringArray, positions: IntArray) -> None:
    """Raise a CollisionError where one of n texts differs from that at its position (n,) among the joined ones."""
    if (row := unequal_row(texts, joined, positions)) >= 0:
        raise CollisionError(f"{texts[row]!r} and {joined[int(positions[row])]!r} have the same hash")


def union_of_hashes(parts: Sequence[HashArray]) -> HashArray:
    """Return the distinct hashes (v,) of several lists (n,), ascending; a single list ascends without repetitions."""
    if len(parts) == 1:
        return np.array(parts[0])  # a vocabulary's hashes are distinct and ascend
    hashes = np.empty(sum(map(len, parts)), dtype=np.uint64)
    end = 0
    for part in parts:
        hashes[end : end + len(part)] = part
        end += len(part)
    hashes.sort()
    is_new = np.ones(len(hashes), dtype=bool)
    np.not_equal(hashes[1:], hashes[:-1], out=is_new[1:])
    return hashes[is_new]


def positions_of_hashes(hashes: HashArray, wanted: HashArray) -> IntArray:
    """Return the positions (n,) of `wanted` hashes (n,), ascending, in `hashes` (v,), ascending, which has them all."""
    if len(wanted) * _MERGE_RATIO < len(hashes):
        return hashes.searchsorted(wanted).astype(np.int32)
    positions: IntArray = _walk_both(hashes, wanted)
    return positions


def find_hashes(hashes: HashArray, wanted: HashArray) -> IntArray:
    """Return the positions (n,) of `wanted` hashes (n,), in any order, in `hashes` (v,), ascending; -1 for none."""
    if not len(hashes):
        return np.full(len(wanted), -1, dtype=np.int32)
    positions = np.minimum(hashes.searchsorted(wanted), len(hashes) - 1)
    return np.where(hashes[positions] == wanted, positions, -1).astype(np.int32)


@njit
def _walk_both(hashes, wanted):  # type: ignore[no-untyped-def]
    positions = np.empty(len(wanted), dtype=np.int32)
    position = 0
    for i in range(len(wanted)):
        while hashes[position] < wanted[i]:
            position += 1
        positions[i] = position
    return positions
