"""What two snapshots differ in, by name: passages, entities, triples."""

from dataclasses import dataclass

from clew.graph.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Difference:
    """Counted and named differences between an old and a new snapshot.

    Attributes:
        added: What only the new one has, for each kind.
        removed: What only the old one has.
        changed: Ids of passages that both have, with another title, text, metadata or place.
    """

    added: dict[str, tuple[str, ...]]
    removed: dict[str, tuple[str, ...]]
    changed: tuple[str, ...]

    @property
    def empty(self) -> bool:
        """True when nothing differs."""
        return not self.changed and not any(self.added.values()) and not any(self.removed.values())


def difference(old: Snapshot, new: Snapshot) -> Difference:
    """Return what was added, removed and changed from one snapshot to another."""
    before, after = _contents(old), _contents(new)
    added = {kind: tuple(sorted(after[kind].keys() - before[kind].keys())) for kind in before}
    removed = {kind: tuple(sorted(before[kind].keys() - after[kind].keys())) for kind in before}
    common = before["passages"].keys() & after["passages"].keys()
    changed = sorted(id_ for id_ in common if before["passages"][id_] != after["passages"][id_])
    return Difference(added, removed, tuple(changed))


def _contents(s: Snapshot) -> dict[str, dict[str, object]]:
    columns = zip(s.passage_ids, s.titles, s.texts, s.metadata, s.starts.tolist(), s.ends.tolist(), strict=True)
    entities, relations = list(s.entities), list(s.relations)
    return {
        "passages": {id_: rest for id_, *rest in columns},
        "entities": dict.fromkeys(entities),
        "triples": dict.fromkeys(f"{entities[h]} | {relations[r]} | {entities[t]}" for h, r, t in s.triples.tolist()),
    }
