"""Names that hidden documents alone tie together: under a filter, none of it is shown or linked.

An index takes names for one entity where a document gives them to its subject, as title, alias or heading. Where the
filter hides that document, the entity keeps one of the names that allowed passages write, and those that allowed
documents tie to it. The others are separated: no question is linked by them, and no fact or mention that has them is
the entity's. Texts that have them are found by their words.

A name that stands in allowed passages only since a hidden document has it as its title is that of no entity.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import names_given, write_ends
from clew.text.normalization import key_hash, name_key


@final
@dataclass(frozen=True, slots=True, eq=False)
class HiddenTies:
    """Ties that hidden documents alone make among the names of the E entities and T triples of a snapshot."""

    unnamed: BoolArray  # (E,) entities that allowed passages mention only since a hidden document is called so
    separated: Mapping[int, AbstractSet[int]]  # by entity: hashes of the keys of names that are not its own here
    mentions: Mapping[int, AbstractSet[int]]  # by entity: allowed passages that write separated names of it alone
    triples: BoolArray  # (T,) triples that allowed passages state of a separated name, or of an unnamed entity, alone

    def count_mentions(self, counts: LongArray) -> LongArray:
        """Return the numbers of passages (E,) that mention each entity, without the mentions that are not its own."""
        own = np.where(self.unnamed, 0, counts)
        for entity, passages in self.mentions.items():
            own[entity] -= len(passages)
        return own

    def are_hidden(self, passages: IntArray, entities: IntArray) -> BoolArray:
        """Return which mentions (m,), of an entity by a passage, are not the entity's own."""
        hidden = np.array(self.unnamed[entities], dtype=np.bool_)
        for row in np.flatnonzero(np.isin(entities, list(self.mentions))).tolist():
            hidden[row] |= int(passages[row]) in self.mentions[int(entities[row])]
        return hidden


def find_hidden_ties(snapshot: Snapshot, allowed: BoolArray, in_graph: BoolArray) -> HiddenTies:
    """Return the ties that documents of other than the allowed passages (P,) make; `in_graph` (E,) are imported."""
    written = _count_names(snapshot, allowed)
    hidden_titles, titles = (
        _mark(np.asarray(snapshot.title_entities)[mask], len(snapshot.entities)) for mask in (~allowed, allowed)
    )
    entities, hashes = _entities_of(snapshot, written)
    unnamed = hidden_titles & ~titles & ~in_graph & ~_mark(entities, len(snapshot.entities))
    several = np.bincount(entities, minlength=len(snapshot.entities)) > 1
    separated: dict[int, AbstractSet[int]] = {}
    for entity, found in _group(entities, hashes, several & hidden_titles).items():
        if others := _separate(snapshot, entity, {name: written[name] for name in found}, allowed):
            separated[entity] = others
    wanted = _mark(np.array(sorted(separated), dtype=np.int64), len(snapshot.entities))
    all_names = _group(np.asarray(snapshot.name_entities), np.asarray(snapshot.name_hashes), wanted)
    mentions = {
        entity: _find_mentions(snapshot, entity, names, all_names[entity] - names, allowed)
        for entity, names in separated.items()
    }
    ends = np.asarray(snapshot.triples)[:, [0, 2]]
    triples = unnamed[ends].any(axis=1) & ~np.asarray(snapshot.imported)
    for triple in np.flatnonzero(wanted[ends].any(axis=1) & ~np.asarray(snapshot.imported) & ~triples).tolist():
        triples[triple] = _is_of_separated(snapshot, triple, separated, allowed)
    return HiddenTies(unnamed, separated, mentions, triples)


def _count_names(snapshot: Snapshot, allowed: BoolArray) -> dict[int, int]:
    """Return how often allowed passages write each name as a mention or an end of a fact, by the hash of its key."""
    parts = snapshot.columns.names_of(np.flatnonzero(allowed))
    written = [np.zeros(0, dtype=np.uint64), *(names.hashes_of_forms(names.forms_of(rows)) for names, rows in parts)]
    hashes, uses = np.unique(np.concatenate(written), return_counts=True)
    has_key = hashes != 0
    return dict(zip(hashes[has_key].tolist(), uses[has_key].tolist(), strict=True))


def _entities_of(snapshot: Snapshot, written: Mapping[int, int]) -> tuple[IntArray, np.ndarray]:
    """Return the pairs (n,) of an entity and of a written name of it, by its hash."""
    is_written = np.isin(snapshot.name_hashes, np.fromiter(written, dtype=np.uint64, count=len(written)))
    return np.asarray(snapshot.name_entities)[is_written], np.asarray(snapshot.name_hashes)[is_written]


def _separate(snapshot: Snapshot, entity: int, names: Mapping[int, int], allowed: BoolArray) -> AbstractSet[int]:
    """Return which of the names of an entity that allowed passages write, with their counts, are not its own here.

    Its own are those that allowed documents give it and those that no document does; else the label of the index, if
    it is written, else the most frequent one.
    """
    given = names_given(snapshot, entity, allowed)
    hidden = names_given(snapshot, entity, ~allowed) - given
    if not hidden & names.keys():
        return frozenset()
    own = names.keys() - hidden
    if not own:
        label = key_hash(name_key(snapshot.entities[entity]), snapshot.salt)
        own = {label if label in names else max(names, key=lambda name: (names[name], name))}
    return names.keys() - own


def _find_mentions(
    snapshot: Snapshot, entity: int, separated: AbstractSet[int], own: AbstractSet[int], allowed: BoolArray
) -> AbstractSet[int]:
    """Return the allowed passages that write separated names of an entity, and none of its own."""
    passages = snapshot.mentioned_in.row(entity)
    found = set()
    for passage in passages[allowed[passages] & (snapshot.title_entities[passages] != entity)].tolist():
        names, row = snapshot.columns.names_at(passage)
        if names is None:
            continue
        written = set(names.hashes_of_forms(names.forms_of(np.array([row]))).tolist())
        if written & separated and not written & own:
            found.add(passage)
    return found


def _group(entities: IntArray, hashes: np.ndarray, wanted: BoolArray) -> dict[int, set[int]]:
    """Return the hashes (n,) of names of each wanted entity (E,), from pairs with entities (n,); ascending."""
    rows = np.flatnonzero(wanted[entities])
    rows = rows[np.argsort(entities[rows], kind="stable")]
    found, starts = np.unique(entities[rows], return_index=True)
    groups = np.split(hashes[rows], starts[1:])
    # Of no pair `split` makes one empty group.
    return {int(entity): set(group.tolist()) for entity, group in zip(found, groups, strict=False)}


def _is_of_separated(
    snapshot: Snapshot, triple: int, separated: Mapping[int, AbstractSet[int]], allowed: BoolArray
) -> bool:
    """Return whether each allowed passage that states a triple writes a separated name of one of its ends."""
    head, _, tail = (int(i) for i in snapshot.triples[triple])
    for passage in snapshot.triple_passages.row(triple).tolist():
        if not allowed[passage]:
            continue
        ends = write_ends(snapshot, passage, triple, allowed)
        hashes = [key_hash(name_key(end), snapshot.salt) for end in ends]
        if not any(hash_ in separated.get(end, ()) for end, hash_ in zip((head, tail), hashes, strict=True)):
            return False
    return True


def _mark(entities: IntArray, count: int) -> BoolArray:
    marked = np.zeros(count, dtype=np.bool_)
    marked[entities[entities >= 0]] = True
    return marked
