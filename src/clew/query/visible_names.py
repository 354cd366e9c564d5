"""The names of an index under a filter: those that allowed passages write, and those of imported graphs.

Names are read when they are asked for, so that a filter costs one pass over the mentions, and after that what a
question needs.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import final, overload

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import find_label, is_name_in, is_tied, prefer_displayed
from clew.query.hidden_ties import find_hidden_ties
from clew.text.normalization import key_hash, name_key

_KEPT_NAMES = 1 << 16  # labels and links of one filter that are kept


@final
class VisibleNames:
    """The names of a snapshot that `allowed` passages (P,) write; `in_graph` are the entities (E,) of imported graphs.

    Attributes:
        visible: Which entities (E,) are known: an allowed passage mentions or states them, or an imported graph has
            them.
        ties: What hidden documents alone say of names.
        unnamed: Entities of imported graphs that have no name but one that a decision gave; they are not visible.
    """

    def __init__(self, snapshot: Snapshot, allowed: BoolArray, in_graph: BoolArray) -> None:
        self._snapshot = snapshot
        self._allowed = allowed
        self._in_graph = in_graph
        self.ties = find_hidden_ties(snapshot, allowed, in_graph)
        self.visible = (visible_entities(snapshot, allowed) & ~self.ties.unnamed) | in_graph
        self.salt = snapshot.salt
        self._given_hashes = snapshot.given.hashes(self.salt)
        self.entities: Sequence[str] = _Labels(lru_cache(_KEPT_NAMES)(self._read_label), len(snapshot.entities))
        self._is_name = lru_cache(_KEPT_NAMES)(self._read_name)
        self.unnamed = self._find_unnamed()
        self.visible[self.unnamed] = False

    def passages_of(self, entity: int) -> IntArray:
        """Return the allowed passages (n,) that mention an entity, ascending."""
        passages = self._snapshot.mentioned_in.row(entity)
        passages = passages[self._allowed[passages]]
        others = self.ties.mentions.get(entity)
        return passages if not others else passages[~np.isin(passages, list(others))]

    def entities_with_key(self, key_hash: int) -> IntArray:
        """Return the entities (n,), ascending, that an allowed passage or imported graph gives a name of this hash."""
        found = self._snapshot.entities_with_key(key_hash)
        return np.array([e for e in found.tolist() if self._is_name(e, int(key_hash))], dtype=np.int32)

    def is_separated(self, key_hash: int) -> bool:
        """Return whether allowed passages have a name of this hash that hidden documents alone tie to another."""
        found = self._snapshot.entities_with_key(key_hash).tolist()
        return bool(found) and not any(self._is_name(e, key_hash) for e in found) and self._is_written(found, key_hash)

    def has_keys(self, key_hashes: NDArray[np.uint64]) -> BoolArray:
        """Return for each hash (n,) whether any name's key has it, (n,)."""
        known = self._snapshot.has_keys(key_hashes)
        for row in np.flatnonzero(known).tolist():
            known[row] = len(self.entities_with_key(int(key_hashes[row]))) > 0
        return known

    def entities_with_name(self, name: str) -> IntArray:
        """Return the entities (n,) with a name, ascending; only those displayed exactly so if there are any."""
        return prefer_displayed(self.entities_with_key(key_hash(name_key(name), self.salt)), self.entities, name)

    def title_mask(self, entities: IntArray) -> BoolArray:
        """Return for each entity (n,) whether it is the title of a document with an allowed passage, (n,)."""
        titles = self._snapshot.title_entities
        return np.array([(titles[self.passages_of(int(e))] == e).any() for e in entities], dtype=bool)

    def _find_unnamed(self) -> list[int]:
        given = self._snapshot.given
        found = {e for hash_ in self._given_hashes for e in self._snapshot.entities_with_key(hash_).tolist()}
        named = [e for e in sorted(found) if self._in_graph[e] and given.has(self._snapshot.entities[e])]
        return [entity for entity in named if not self.entities[entity]]

    def _read_label(self, entity: int) -> str:
        if not self.visible[entity]:
            return ""
        label = self._snapshot.entities[entity]
        if self._in_graph[entity] and not self._snapshot.given.has(label):
            return label  # a graph's label goes before all others
        separated = self.ties.separated.get(entity, frozenset())
        return find_label(self._snapshot, self._passages_with(entity), entity, self._allowed, separated)

    def _read_name(self, entity: int, name_hash: int) -> bool:
        if not self.visible[entity]:
            return False
        label = key_hash(name_key(self.entities[entity]), self.salt)
        if not is_tied(self._snapshot, entity, label, name_hash, self._allowed):
            return False
        if is_name_in(self._snapshot, self._passages_with(entity), entity, name_hash):
            return True
        # The other names in a graph are not told from those that documents give: one that a hidden document gives, too,
        # counts as hidden.
        if not self._in_graph[entity] or name_hash in self._given_hashes:
            return False
        return not self._is_hidden_name(entity, name_hash)

    def _is_written(self, entities: Sequence[int], name_hash: int) -> bool:
        """Return whether an allowed passage has a name of some entities, also where it is separated from them."""
        named = [entity for entity in entities if not self.ties.unnamed[entity]]
        rows = [self._snapshot.mentioned_in.row(entity) for entity in named]
        return any(
            is_name_in(self._snapshot, passages[self._allowed[passages]], entity, name_hash)
            for entity, passages in zip(named, rows, strict=True)
        )

    def _is_hidden_name(self, entity: int, name_hash: int) -> bool:
        if name_hash == key_hash(name_key(self._snapshot.entities[entity]), self.salt):
            return False
        passages = self._snapshot.mentioned_in.row(entity)
        return is_name_in(self._snapshot, passages[~self._allowed[passages]], entity, name_hash)

    def _passages_with(self, entity: int) -> IntArray:
        """Return the allowed passages that mention an entity, and for one that none mentions, those that state it."""
        passages = self.passages_of(entity)
        if len(passages) or len(self._snapshot.mentioned_in.row(entity)):
            return passages
        ends = (self._snapshot.triples[:, [0, 2]] == entity).any(axis=1)
        rows = [self._snapshot.triple_passages.row(int(triple)) for triple in np.flatnonzero(ends)]
        stating = np.unique(np.concatenate(rows)) if rows else passages
        return stating[self._allowed[stating]].astype(np.int32)


@final
class _Labels(Sequence[str]):
    """Labels that are read when they are asked for."""

    def __init__(self, read: Callable[[int], str], count: int) -> None:
        self._read = read
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._read(i) for i in range(*index.indices(self._count))]
        return self._read(int(index))

    def __iter__(self) -> Iterator[str]:
        return map(self._read, range(self._count))


NameTable = Snapshot | VisibleNames
"""The names of E entities: of a snapshot all of them, else those that a filter leaves."""


def visible_entities(snapshot: Snapshot, allowed: BoolArray) -> BoolArray:
    """Return which entities (E,) allowed passages (P,) mention or state."""
    visible = np.zeros(len(snapshot.entities), dtype=np.bool_)
    visible[snapshot.mentions.indices[np.repeat(allowed, snapshot.mentions.degrees())]] = True
    stated = snapshot.passage_triples.indices[np.repeat(allowed, snapshot.passage_triples.degrees())]
    visible[snapshot.triples[stated][:, [0, 2]].ravel()] = True
    return visible


def graph_entities(snapshot: Snapshot) -> BoolArray:
    """Return which entities (E,) imported graphs have."""
    found: BoolArray = snapshot.mentioned_in.degrees() == 0
    found[snapshot.triples[~snapshot.imported][:, [0, 2]].ravel()] = False
    found[snapshot.triples[snapshot.imported][:, [0, 2]].ravel()] = True
    return found
