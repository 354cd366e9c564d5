"""Differences between two snapshots by name: passages, entities, triples."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clew.arrays import LongArray
from clew.graph.snapshot.imported_graph import distinct_rows
from clew.graph.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class SnapshotDiff:
    """Differences between an old and a new snapshot."""

    added: dict[str, tuple[str, ...]]  # names that only the new snapshot has, by kind: passages, entities, triples
    removed: dict[str, tuple[str, ...]]  # names that only the old snapshot has, by kind
    changed: tuple[str, ...]  # ids of passages in both whose title, text, metadata or character span differs

    @property
    def is_empty(self) -> bool:
        """Whether the snapshots are equal."""
        return not self.changed and not any(self.added.values()) and not any(self.removed.values())


def diff_snapshots(old: Snapshot, new: Snapshot) -> SnapshotDiff:
    """Return the additions, removals and changes from one snapshot to another."""
    before, after = _passage_columns(old), _passage_columns(new)
    changed = sorted(id_ for id_ in before.keys() & after.keys() if before[id_] != after[id_])
    entities = set(old.entities), set(new.entities)
    removed, added = _diff_triples(old, new)
    return SnapshotDiff(
        added={
            "passages": tuple(sorted(after.keys() - before.keys())),
            "entities": tuple(sorted(entities[1] - entities[0])),
            "triples": added,
        },
        removed={
            "passages": tuple(sorted(before.keys() - after.keys())),
            "entities": tuple(sorted(entities[0] - entities[1])),
            "triples": removed,
        },
        changed=tuple(changed),
    )


def _passage_columns(s: Snapshot) -> dict[str, tuple[object, ...]]:
    columns = zip(s.passage_ids, s.titles, s.texts, s.metadata, s.starts, s.ends, strict=True)
    return {id_: tuple(rest) for id_, *rest in columns}


def _diff_triples(old: Snapshot, new: Snapshot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the triples that only the old and only the new snapshot has; of millions only these become text."""
    entities = sorted({*old.entities, *new.entities})
    relations = sorted({*old.relations, *new.relations})
    numbers = {name: i for i, name in enumerate(entities)}, {name: i for i, name in enumerate(relations)}
    distinct, which = distinct_rows(np.concatenate([_triple_numbers(s, *numbers) for s in (old, new)]))
    present = np.zeros((2, len(distinct)), dtype=bool)
    present[0, which[: len(old.triples)]] = True
    present[1, which[len(old.triples) :]] = True
    removed, added = (
        tuple(sorted(f"{entities[h]} | {relations[r]} | {entities[t]}" for h, r, t in distinct[own & ~other].tolist()))
        for own, other in (present, present[::-1])
    )
    return removed, added


def _triple_numbers(s: Snapshot, entities: Mapping[str, int], relations: Mapping[str, int]) -> LongArray:
    entity = np.array([entities[name] for name in s.entities], dtype=np.int64)
    relation = np.array([relations[name] for name in s.relations], dtype=np.int64)
    heads, relation_numbers, tails = s.triples.T
    return np.column_stack([entity[heads], relation[relation_numbers], entity[tails]])
