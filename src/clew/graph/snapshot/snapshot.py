"""One immutable version of an index: memory-mapped arrays that are shared and never changed.

Everything is in an order of its own, so equal contents have equal bytes; but for the files in `LOCAL_FILES`, which tell
where the passages lie in the segments.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray, LongArray
from clew.arrays.mapped_files import map_array
from clew.errors import IndexFormatError
from clew.graph.csr import Adjacency, build_adjacency, unweighted_rows
from clew.graph.segments.passage_columns import (
    PassageColumns,
    PassageVectors,
    PlacedValues,
    StoredPassages,
)
from clew.graph.sentence_index import SentenceIndex, SentenceRows, index_sentences
from clew.graph.snapshot.spellings import prefer_displayed, write_triple
from clew.graph.snapshot.walk_graph import entity_nodes, walk_graph
from clew.graph.string_array import StringArray
from clew.text.normalization import key_hash, name_key
from clew.text.places import unpack_metadata
from clew.types import Passage, Triple


@final
class GivenNames:
    """The names that decisions on entities gave, which `read` returns; they are read at first use."""

    def __init__(self, read: Callable[[], Iterable[str]] = tuple) -> None:
        self._read = read

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(map(name_key, self._read()))

    def has(self, name: str) -> bool:
        """Return whether a decision gave a name."""
        return bool(self._keys) and name_key(name) in self._keys

    def hashes(self, salt: int) -> frozenset[int]:
        """Return the hashes of the keys of the names."""
        return frozenset(key_hash(key, salt) for key in self._keys)


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Passages, entities and triples of an index: P passages, E entities, T triples, embedding width d.

    The names of the fields are names of files on disk, but of `columns`, which stay in the segments, and `given`.
    """

    passage_ids: StringArray  # P, sorted
    columns: PassageColumns  # P
    title_entities: IntArray  # (P,) the entity named by the passage's title, -1 for none
    entities: StringArray  # E names in their most frequent form, ordered by the hash of their key
    name_hashes: NDArray[np.uint64]  # (N,) sorted hashes of all name keys (see `clew.text.normalization.key_hash`)
    name_entities: IntArray  # (N,) the entity of each hash; an ambiguous name has several entries
    relations: StringArray  # relation texts, ordered by their hash
    triples: IntArray  # (T, 3) head entity, relation, tail entity; sorted
    imported: BoolArray  # (T,) whether a triple is in an imported graph; passages may state it too
    triple_passages: Adjacency  # T rows, the passages that state a triple; none for one that is only imported
    passage_triples: Adjacency  # P rows, the triples a passage states
    mentions: Adjacency  # P rows, the entities in a passage or its title; weight below 1 where a name is ambiguous
    mentioned_in: Adjacency  # E rows, the passages of an entity
    entity_nodes: IntArray  # (E,) the node of each entity in `walk`; nodes below P are passages
    walk: Adjacency  # the graph of the random walk (see `clew.graph.snapshot.walk_graph`)
    sentence_rows: SentenceRows  # of the P passages
    salt: int = 0  # of all hashes
    given: GivenNames = field(default_factory=GivenNames)  # names of entities by decisions, of the table's version

    @property
    def document_ids(self) -> PlacedValues[str]:
        """The document of each passage."""
        return self.columns.document_ids

    @property
    def titles(self) -> PlacedValues[str]:
        """The title of each passage."""
        return self.columns.titles

    @property
    def texts(self) -> PlacedValues[str]:
        """The text of each passage."""
        return self.columns.texts

    @property
    def metadata(self) -> PlacedValues[str]:
        """The metadata of each passage as they are stored, with its places (see `clew.text.places`)."""
        return self.columns.metadata

    @property
    def starts(self) -> PlacedValues[int]:
        """The start of each passage in its document, in characters."""
        return self.columns.starts

    @property
    def ends(self) -> PlacedValues[int]:
        """The end of each passage in its document, in characters."""
        return self.columns.ends

    @property
    def vectors(self) -> PassageVectors:
        """The vectors of the passages."""
        return self.columns.vectors

    @property
    def sentences(self) -> SentenceIndex:
        """The sentences of the passages."""
        return index_sentences(self.sentence_rows, self.columns)

    def passage(self, position: int) -> Passage:
        """Return the passage at a position (0 to P - 1)."""
        stored, row = self.columns.stored_at(position)
        return Passage(
            id=self.passage_ids[position],
            document_id=stored.document_ids[row],
            title=stored.titles[row],
            text=stored.texts[row],
            start=int(stored.starts[row]),
            end=int(stored.ends[row]),
            **unpack_metadata(stored.metadata[row]),
        )

    def position(self, passage_id: str) -> int:
        """Return the position of a passage in the index by its id."""
        return bisect_left(self.passage_ids, passage_id)

    def passage_triple_positions(self, passage_ids: Iterable[str]) -> LongArray:
        """Return the positions (n,) of the triples stated by some passages, ascending and distinct."""
        rows = [self.passage_triples.row(self.position(id_)) for id_ in passage_ids]
        return np.unique(np.concatenate(rows)).astype(np.int64) if rows else np.zeros(0, dtype=np.int64)

    def stated_triple_mask(self, allowed: BoolArray) -> BoolArray:
        """Return which triples (T,) are in an imported graph or stated by an allowed passage (P,)."""
        if allowed.all():
            return np.ones(len(self.triples), dtype=bool)
        mask = np.array(self.imported)
        passages = self.triple_passages
        nonempty = np.flatnonzero(passages.degrees())  # `reduceat` gives an empty row the value of the next one
        if len(nonempty):
            mask[nonempty] |= np.logical_or.reduceat(allowed[passages.indices], passages.indptr[nonempty])
        return mask

    def triple(self, position: int, allowed: BoolArray | None = None) -> Triple:
        """Return the triple at a position (0 to T - 1) as an `allowed` passage (P,) that states it writes it."""
        return write_triple(self, position, allowed)

    def passages_of(self, entity: int) -> IntArray:
        """Return the passages (n,) that mention an entity, ascending."""
        return self.mentioned_in.row(entity)

    def entities_with_key(self, key_hash: int) -> IntArray:
        """Return the entities (n,) with a name whose key has this hash, ascending."""
        wanted = np.uint64(key_hash)
        first, last = (int(self.name_hashes.searchsorted(wanted, side=side)) for side in ("left", "right"))
        return self.name_entities[first:last]

    def is_separated(self, key_hash: int) -> bool:
        """Return False: without a filter every name is linked to its entities."""
        del key_hash
        return False

    def has_keys(self, key_hashes: NDArray[np.uint64]) -> BoolArray:
        """Return for each hash (n,) whether any name's key has it, (n,)."""
        if not len(self.name_hashes):
            return np.zeros(len(key_hashes), dtype=np.bool_)
        places = np.minimum(self.name_hashes.searchsorted(key_hashes), len(self.name_hashes) - 1)
        known: BoolArray = self.name_hashes[places] == key_hashes
        return known

    def entities_with_name(self, name: str) -> IntArray:
        """Return the entities (n,) with a name, ascending; only those displayed exactly so if there are any."""
        return prefer_displayed(self.entities_with_key(key_hash(name_key(name), self.salt)), self.entities, name)

    def title_mask(self, entities: IntArray) -> BoolArray:
        """Return for each entity (n,) whether it is the title of a document, (n,)."""
        passages = self.mentioned_in
        return np.array([(self.title_entities[passages.row(int(e))] == e).any() for e in entities], dtype=bool)


PLACES_FILE, SEGMENT_NAMES_FILE = "places.npy", "segments.json"
LOCAL_FILES = frozenset({PLACES_FILE, SEGMENT_NAMES_FILE})


def save_places(snapshot: Snapshot, folder: Path) -> None:
    """Write where the passages lie, and the names of the segments."""
    np.save(folder / PLACES_FILE, snapshot.columns.places, allow_pickle=False)
    (folder / SEGMENT_NAMES_FILE).write_text(json.dumps(snapshot.columns.segments), encoding="utf-8")


def load_snapshot(
    folder: Path, open_passages: Callable[[str], StoredPassages], given: GivenNames | None = None
) -> Snapshot:
    """Map a saved snapshot into memory, with the passages of its segments, which are opened by name.

    `given` are the names that decisions on entities gave; None for none.

    Raises IndexFormatError where a file is missing or damaged, OSError where it may not be read.
    """

    def load(name: str) -> NDArray[np.generic]:
        try:
            array: NDArray[np.generic] = map_array(folder / f"{name}.npy")
        except (FileNotFoundError, ValueError, EOFError) as error:
            raise _damage_error(f"{name}.npy", error) from error
        return array

    try:
        names = [str(name) for name in json.loads((folder / SEGMENT_NAMES_FILE).read_text(encoding="utf-8"))]
    except (FileNotFoundError, ValueError, TypeError) as error:
        raise _damage_error(SEGMENT_NAMES_FILE, error) from error
    places = load("places").astype(np.int64, copy=False)
    values: dict[str, object] = {
        "columns": PassageColumns([open_passages(name) for name in names], places, names),
        "given": GivenNames() if given is None else given,
    }
    for each in fields(Snapshot):
        name, parts = each.name, _PARTS.get(each.type)
        if each.type is SentenceRows:
            values[name] = _load_sentence_rows(name, load)
        elif parts:
            values[name] = each.type(*(load(f"{name}.{part}") for part in parts))  # type: ignore[operator]
        elif name not in _NO_FILES:
            values[name] = int(load(name).item()) if each.type is int else load(name)
    return Snapshot(**values)  # type: ignore[arg-type]


def _load_sentence_rows(name: str, load: Callable[[str], NDArray[Any]]) -> SentenceRows:
    rows = {part: (load(f"{name}.{part}.indptr"), load(f"{name}.{part}.indices")) for part in _SENTENCE_PARTS}
    return SentenceRows(load(f"{name}.offsets"), **{part: unweighted_rows(*arrays) for part, arrays in rows.items()})


_PARTS: dict[object, tuple[str, ...]] = {StringArray: ("data", "offsets"), Adjacency: ("indptr", "indices", "weights")}
_NO_FILES = frozenset({"columns", "given"})
_SENTENCE_PARTS = ("entities", "terms", "entity_sentences", "term_sentences")


def _damage_error(file: str, error: Exception) -> IndexFormatError:
    return IndexFormatError(f"the derived file {file} is missing or damaged ({error}): run `clew repair`")


def named_arrays(snapshot: Snapshot) -> Iterator[tuple[str, NDArray[np.generic]]]:
    """Yield every array of a snapshot, in its shape, with the name of its file, without suffix; () for a number."""
    for each in fields(Snapshot):
        value = getattr(snapshot, each.name)
        if isinstance(value, SentenceRows):
            yield f"{each.name}.offsets", value.offsets
            for part in _SENTENCE_PARTS:  # all weights are 1
                rows: Adjacency = getattr(value, part)
                yield from (
                    (f"{each.name}.{part}.indptr", rows.indptr),
                    (f"{each.name}.{part}.indices", rows.indices),
                )
        elif parts := _PARTS.get(each.type):
            yield from ((f"{each.name}.{part}", getattr(value, part)) for part in parts)
        elif each.type is int:
            yield each.name, np.array(value, dtype=np.uint64)
        elif each.name not in _NO_FILES:
            yield each.name, value


def with_mentions(snapshot: Snapshot, passages: IntArray, entities: IntArray) -> Snapshot:
    """Return a snapshot in which `passages` (m,) mention `entities` (m,), with weight 1, beside its own mentions."""
    old, count = snapshot.mentions, len(snapshot.entities)
    rows = np.concatenate([np.asarray(passages, dtype=np.int64), old.row_indices()])
    columns = np.concatenate([np.asarray(entities, dtype=np.int64), old.indices])
    weights = np.concatenate([np.ones(len(passages), dtype=np.float32), old.weights])
    # Of equal pairs the first stays, which is the stated one.
    _, first = np.unique(rows * count + columns, return_index=True)
    mentions = build_adjacency(rows[first], columns[first], weights[first], old.row_count)
    mentioned_in = mentions.transpose(count)
    nodes = entity_nodes(snapshot.title_entities, mentioned_in)
    return replace(
        snapshot,
        mentions=mentions,
        mentioned_in=mentioned_in,
        entity_nodes=nodes,
        walk=walk_graph(nodes, mentions),
    )
