"""Differences between two snapshots by name: passages, entities, triples.

Names are compared by 64-bit hashes: of ten million, two different ones are taken for one in one comparison in a
hundred thousand. Only what differs becomes text in memory.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.arrays import LongArray
from clew.graph.snapshot.snapshot import Snapshot
from clew.text.normalization import key_hash


@dataclass(frozen=True, slots=True)
class SnapshotDiff:
    """Differences between an old and a new snapshot."""

    added: dict[str, tuple[str, ...]]  # names that only the new snapshot has, by kind: passages, entities, triples
    removed: dict[str, tuple[str, ...]]  # names that only the old snapshot has, by kind
    changed: tuple[str, ...]  # ids of passages in both that differ in anything but the time of a file

    @property
    def is_empty(self) -> bool:
        """Whether the snapshots are equal."""
        return not self.changed and not any(self.added.values()) and not any(self.removed.values())


def diff_snapshots(old: Snapshot, new: Snapshot) -> SnapshotDiff:
    """Return the additions, removals and changes from one snapshot to another."""
    entities = _JoinedNames(old.entities, new.entities)
    relations = _JoinedNames(old.relations, new.relations)
    triples = _diff_triples(old, new, entities, relations)
    passages: tuple[list[str], list[str], list[str]] = [], [], []
    for id_, before, after in _join_sorted(old.passage_ids, new.passage_ids):
        if before is None or after is None:
            passages[after is not None].append(id_)
        elif not _is_same_passage(old, before, new, after):
            passages[2].append(id_)
    removed, added = (
        {"passages": tuple(passages[side]), "entities": entities.only_in(side), "triples": triples[side]}
        for side in (0, 1)
    )
    return SnapshotDiff(added, removed, tuple(passages[2]))


def _join_sorted(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield each id of two ascending lists with its positions there, None where it is not."""
    sides = enumerate(old), enumerate(new)
    before, after = (next(side, None) for side in sides)
    while before is not None or after is not None:
        id_ = min(item[1] for item in (before, after) if item is not None)
        in_old, in_new = (item is not None and item[1] == id_ for item in (before, after))
        yield id_, before[0] if before and in_old else None, after[0] if after and in_new else None
        before = next(sides[0], None) if in_old else before
        after = next(sides[1], None) if in_new else after


def _is_same_passage(old: Snapshot, before: int, new: Snapshot, after: int) -> bool:
    columns = ("titles", "texts", "starts", "ends")
    if any(getattr(old, column)[before] != getattr(new, column)[after] for column in columns):
        return False
    one, other = old.metadata[before], new.metadata[after]
    return one == other or compared_metadata(one) == compared_metadata(other)


def compared_metadata(stored: str) -> dict[str, Any]:
    """Return the stored metadata of a passage but the time of its file, which differs between copies of a folder."""
    metadata: dict[str, Any] = json.loads(stored)
    if "path" in metadata:
        metadata.pop("modified", None)
    return metadata


class _JoinedNames:
    """The distinct names of two snapshots, numbered together in the order of their hashes."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._lists = old, new
        hashes = np.array([key_hash(name) for names in self._lists for name in names], dtype=np.uint64)
        _, self._first, numbers = np.unique(hashes, return_index=True, return_inverse=True)
        self.numbers: tuple[LongArray, LongArray] = numbers[: len(old)], numbers[len(old) :]

    def text(self, number: int) -> str:
        """Return the name of a number."""
        position = int(self._first[number])
        old, new = self._lists
        return old[position] if position < len(old) else new[position - len(old)]

    def only_in(self, side: int) -> tuple[str, ...]:
        """Return the names that only the old snapshot (0) or only the new one (1) has, sorted."""
        numbers = np.setdiff1d(self.numbers[side], self.numbers[1 - side])
        return tuple(sorted(self.text(number) for number in numbers.tolist()))


def _diff_triples(
    old: Snapshot, new: Snapshot, entities: _JoinedNames, relations: _JoinedNames
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the triples that only the old and only the new snapshot has."""
    numbered: list[NDArray[np.integer]] = []
    for snapshot, entity, relation in zip((old, new), entities.numbers, relations.numbers, strict=True):
        heads, codes, tails = snapshot.triples.T
        numbered.append(np.column_stack([entity[heads], relation[codes], entity[tails]]))
    distinct, which = np.unique(np.concatenate(numbered), axis=0, return_inverse=True)
    which = which.ravel()
    present = np.zeros((2, len(distinct)), dtype=bool)
    present[0, which[: len(old.triples)]] = True
    present[1, which[len(old.triples) :]] = True
    removed, added = (
        tuple(
            sorted(
                f"{entities.text(head)} | {relations.text(relation)} | {entities.text(tail)}"
                for head, relation, tail in distinct[own & ~other].tolist()
            )
        )
        for own, other in (present, present[::-1])
    )
    return removed, added
