"""Conversion of the stored triples and names of imported graphs to the arrays of an `ImportedGraph`.

An entity of a graph is identified by its exact id. Its key, by which passages that mention it find it, is that of its
label; where several entities have one key (`Face` and `face`), each gets a key of its own, and the name leads to all of
them. Texts are numbered as they come and held once; in Python each distinct name is folded once, some at a time. The
result does not depend on the order of the shards.

Numbers for the distinct texts of Arrow columns: a compiled hash table that holds each text once, as bytes.
"""

import re
from collections.abc import Iterator
from typing import final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clew.arrays import BoolArray, HashArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import run_starts
from clew.graph.segments.segment import CollisionError, Vocabulary
from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.graph.string_array import StringArray, StringWriter, take_strings, unequal_row
from clew.indexing.kg_formats.tables import ALIAS, NODE, is_iri, last_segment
from clew.indexing.segments.vocabularies import rank_strings
from clew.text.normalization import key_hash, name_key

_NO_BYTES = np.zeros(0, dtype=np.uint8)


@final
class TextNumbers:
    """Numbers texts in the order in which they come; equal texts have one number."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all texts."""
        self._slots: IntArray = np.full(1 << 10, -1, dtype=np.int32)
        self._data: NDArray[np.uint8] = np.empty(1 << 14, dtype=np.uint8)
        self._offsets: LongArray = np.zeros(1 << 9, dtype=np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, column: pa.StringArray) -> IntArray:
        """Return the numbers (n,) of the texts of a column without nulls."""
        data, offsets = _buffers(column)
        self._reserve(len(column), int(offsets[-1] - offsets[0]))
        numbers, self._count = _number(data, offsets, self._slots, self._data, self._offsets, self._count)
        return numbers  # type: ignore[no-any-return]

    def texts(self) -> StringArray:
        """Return the texts by number."""
        offsets = self._offsets[: self._count + 1]
        return StringArray(self._data[: offsets[-1]], offsets)

    def _reserve(self, texts: int, size: int) -> None:
        """Make room for some more texts and bytes."""
        used = int(self._offsets[self._count])
        if used + size > len(self._data):
            self._data = _widen(self._data, max(2 * len(self._data), used + size))
        if self._count + texts + 1 > len(self._offsets):
            self._offsets = _widen(self._offsets, max(2 * len(self._offsets), self._count + texts + 1))
        slots = len(self._slots)
        while 2 * (self._count + texts) > slots:
            slots *= 2
        if slots > len(self._slots):
            self._slots = np.full(slots, -1, dtype=np.int32)
            _fill_slots(self._slots, self._data, self._offsets, self._count)


def _widen(array: np.ndarray, size: int) -> np.ndarray:
    wider = np.zeros(size, dtype=array.dtype)
    wider[: len(array)] = array
    return wider


def _buffers(column: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the bytes of a column, and where each text begins in them."""
    _, offsets, data = column.buffers()
    if not len(column):
        return _NO_BYTES, np.zeros(1, dtype=np.int32)
    starts = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return (np.frombuffer(data, dtype=np.uint8) if data else _NO_BYTES), starts


@njit
def _hash_bytes(data, begin, end):  # type: ignore[no-untyped-def]
    state = np.uint64(0xCBF29CE484222325)
    for i in range(begin, end):
        state = (state ^ np.uint64(data[i])) * np.uint64(0x100000001B3)  # FNV-1a
    return state ^ (state >> np.uint64(32))


@njit
def _fill_slots(slots, data, offsets, count):  # type: ignore[no-untyped-def]
    mask = len(slots) - 1
    for text in range(count):
        slot = np.int64(_hash_bytes(data, offsets[text], offsets[text + 1]) & np.uint64(mask))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = text


@njit
def _number(column, column_offsets, slots, data, offsets, count):  # type: ignore[no-untyped-def]
    mask = len(slots) - 1
    numbers = np.empty(len(column_offsets) - 1, dtype=np.int32)
    for row in range(len(numbers)):
        begin, end = column_offsets[row], column_offsets[row + 1]
        size = end - begin
        slot = np.int64(_hash_bytes(column, begin, end) & np.uint64(mask))
        found = -1
        while slots[slot] >= 0 and found < 0:
            text = slots[slot]
            start = offsets[text]
            if offsets[text + 1] - start == size:
                i = 0
                while i < size and data[start + i] == column[begin + i]:
                    i += 1
                if i == size:
                    found = text
            slot = (slot + 1) & mask
        if found < 0:
            found = count
            slots[slot] = count
            start = offsets[count]
            for i in range(size):
                data[start + i] = column[begin + i]
            offsets[count + 1] = start + size
            count += 1
        numbers[row] = found
    return numbers, count


_KEY_SEPARATOR = "\0"  # between a shared key and the id that makes it unique; no name of a graph contains it
_NUMBER = re.compile("[0-9]+")
_CHUNK = 1 << 16  # names that are Python objects at once


@final
class GraphTexts:
    """The triples and names of graphs, as numbers of texts; shards are added one at a time."""

    def __init__(self) -> None:
        self.ids, self.relations, self.kinds, self.names = TextNumbers(), TextNumbers(), TextNumbers(), TextNumbers()
        self._triples: list[IntArray] = []
        self._names: list[IntArray] = []

    def add_triples(self, triples: pa.StructArray) -> None:
        """Add triples (head, relation, tail) of entities' ids."""
        head, relation, tail = triples.flatten()  # it respects the offset of a slice
        columns = self.ids.number(head), self.relations.number(relation), self.ids.number(tail)
        self._triples.append(np.column_stack(columns))

    def add_names(self, names: pa.StructArray) -> None:
        """Add names of entities (id, kind of name, name)."""
        entity, kind, name = names.flatten()
        self._names.append(np.column_stack([self.kinds.number(kind), self.names.number(name), self.ids.number(entity)]))

    def triples(self) -> IntArray:
        """Return all triples (t, 3): head, relation, tail; they are then forgotten here."""
        return _join_rows(self._triples)

    def entity_names(self) -> IntArray:
        """Return all names (n, 3): kind, name, entity; they are then forgotten here."""
        return _join_rows(self._names)


def _join_rows(parts: list[IntArray]) -> IntArray:
    rows = np.empty((sum(map(len, parts)), 3), dtype=np.int32)
    end = len(rows)
    while parts:
        part = parts.pop()
        rows[end - len(part) : end] = part
        end -= len(part)
    return rows


def build_imported_graph(graphs: GraphTexts, salt: int = 0) -> ImportedGraph:
    """Return the arrays of all imported graphs; names of unknown entities are left out.

    Two texts with one hash under this salt are a CollisionError.
    """
    triples, names = graphs.triples(), graphs.entity_names()
    is_entity = _mark_entities(graphs, triples, names)
    entity_of_id = np.cumsum(is_entity, dtype=np.int32) - 1
    ids = take_strings(graphs.ids.texts(), np.flatnonzero(is_entity))
    graphs.ids.clear()
    names = names[is_entity[names[:, 2]]]
    names[:, 2] = entity_of_id[names[:, 2]]
    labels, is_named = _choose_labels(ids, graphs, names)
    keys, rank, name_hashes = _make_keys(ids, labels, salt)
    relations, relation_rank = _sort_vocabulary(graphs.relations.texts(), None, salt)
    key_of_id = rank[entity_of_id]
    for column, numbers in ((0, key_of_id), (1, relation_rank), (2, key_of_id)):
        triples[:, column] = numbers[triples[:, column]]
    del key_of_id, entity_of_id
    other_hashes, others = _hash_other_names(ids, is_named, graphs.names.texts(), names, salt)
    own = np.flatnonzero(name_hashes)
    graphs.names.clear()
    del ids, is_named, names
    return ImportedGraph(
        keys=keys,
        labels=take_strings(labels, np.argsort(rank)),
        name_hashes=np.concatenate([name_hashes[own], other_hashes]),
        name_entities=rank[np.concatenate([own, others])],
        relations=relations,
        triples=triples,
    )


def _mark_entities(graphs: GraphTexts, triples: IntArray, names: IntArray) -> BoolArray:
    """Return which ids are entities: the ends of triples, and those that a file lists."""
    is_entity = np.zeros(len(graphs.ids), dtype=bool)
    is_entity[triples[:, 0]] = True
    is_entity[triples[:, 2]] = True
    is_listed = np.array([kind == NODE for kind in graphs.kinds.texts()], dtype=bool)
    if len(names):
        is_entity[names[is_listed[names[:, 0]], 2]] = True
    return is_entity


def _choose_labels(ids: StringArray, graphs: GraphTexts, names: IntArray) -> tuple[StringArray, BoolArray]:
    """Return entities' labels (no language or English first, then by alphabet), and which are not their ids."""
    texts = graphs.names.texts()
    writer = StringWriter(len(ids))
    writer.add(ids, np.arange(len(ids)), np.arange(len(ids)))
    first = np.zeros(len(ids), dtype=np.uint8)
    filled = np.flatnonzero(np.diff(ids.offsets))
    first[filled] = ids.data[ids.offsets[filled]]
    addresses = np.flatnonzero(first == ord("<"))
    for rows in _chunks(addresses):
        writer.add(StringArray.pack(default_label(ids[row]) for row in rows.tolist()), np.arange(len(rows)), rows)
    kinds = list(graphs.kinds.texts())
    is_label = np.array([kind != ALIAS for kind in kinds], dtype=bool)
    language = np.array([_language_rank(kind.partition("@")[2]) for kind in kinds], dtype=np.int64)
    labels = names[np.diff(texts.offsets)[names[:, 1]] > 0] if len(names) else names
    labels = labels[is_label[labels[:, 0]]] if len(labels) else labels
    is_named = np.zeros(len(ids), dtype=bool)
    is_named[addresses] = True
    if len(labels):
        labels = labels[np.lexsort((rank_strings(texts)[labels[:, 1]], language[labels[:, 0]], labels[:, 2]))]
        labels = labels[run_starts(labels[:, 2])]
        writer.add(texts, labels[:, 1], labels[:, 2])
        is_named[labels[:, 2]] = True
    return writer.finish(), is_named


def _language_rank(language: str) -> int:
    return 0 if language in ("", "en") else 1 if language.startswith("en-") else 2


def _make_keys(ids: StringArray, labels: StringArray, salt: int) -> tuple[Vocabulary, IntArray, HashArray]:
    """Return the keys of entities, each its own, the key of each, and hashes of the names' keys, 0 for one without."""
    folded, name_hashes = _fold_names(labels, np.arange(len(labels)), salt)
    order = np.argsort(name_hashes, kind="stable")
    is_same = name_hashes[order[1:]] == name_hashes[order[:-1]]
    repeated = order[1:][is_same]
    _check_equal(take_strings(folded, order[:-1][is_same]), take_strings(folded, repeated))
    is_shared = name_hashes == 0
    is_shared[repeated] = True
    is_shared[order[:-1][is_same]] = True
    if not is_shared.any():
        return *_sort_vocabulary(folded, name_hashes, salt), name_hashes
    hashes = name_hashes.copy()
    writer = StringWriter(len(ids))
    writer.add(folded, np.arange(len(ids)), np.arange(len(ids)))
    for rows in _chunks(np.flatnonzero(is_shared)):
        keys = [f"{folded[row]}{_KEY_SEPARATOR}{ids[row]}" for row in rows.tolist()]
        hashes[rows] = [key_hash(key, salt) for key in keys]
        writer.add(StringArray.pack(keys), np.arange(len(rows)), rows)
    return *_sort_vocabulary(writer.finish(), hashes, salt), name_hashes


def _fold_names(names: StringArray, rows: IntArray | LongArray, salt: int) -> tuple[StringArray, HashArray]:
    """Return the keys of some names and their hashes, 0 for a name without a key."""
    writer = StringWriter(len(rows))
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for positions in _chunks(np.arange(len(rows))):
        keys = [name_key(name) for name in take_strings(names, rows[positions])]
        hashes[positions] = [key_hash(key, salt) if key else 0 for key in keys]
        writer.add(StringArray.pack(keys), np.arange(len(keys)), positions)
    return writer.finish(), hashes


def _check_equal(one: StringArray, other: StringArray) -> None:
    if (row := unequal_row(one, other, np.arange(len(one)))) >= 0:
        raise CollisionError(f"{one[row]!r} and {other[row]!r} have the same hash")


def _sort_vocabulary(texts: StringArray, hashes: HashArray | None, salt: int) -> tuple[Vocabulary, IntArray]:
    """Return distinct texts as a vocabulary, and the position of each; without hashes they are computed."""
    if hashes is None:
        hashes = np.fromiter((key_hash(text, salt) for text in texts), dtype=np.uint64, count=len(texts))
    order = np.argsort(hashes)
    hashes = hashes[order]
    if (hashes[1:] == hashes[:-1]).any():
        raise CollisionError(f"two of {len(hashes)} texts of a graph have one hash under the salt {salt}")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return Vocabulary(hashes, take_strings(texts, order)), rank


def _hash_other_names(
    ids: StringArray, is_named: BoolArray, texts: StringArray, names: IntArray, salt: int
) -> tuple[HashArray, LongArray]:
    """Return hashes of entities' names beside their labels, and their entities: other names, and ids of words."""
    used, name = np.unique(names[:, 1], return_inverse=True)
    hashes = _fold_names(texts, used, salt)[1][name]
    named = np.flatnonzero(is_named)
    # A bare number as an id (a row of a table) would match every question that names a year.
    is_word = np.array([not _NUMBER.fullmatch(ids[row]) for row in named.tolist()], dtype=bool)
    id_rows = named[is_word] if len(named) else named
    id_hashes = _fold_names(ids, id_rows, salt)[1]
    all_hashes, entities = np.concatenate([hashes, id_hashes]), np.concatenate([names[:, 2], id_rows])
    return all_hashes[all_hashes != 0], entities[all_hashes != 0].astype(np.int64)


def _chunks(rows: LongArray) -> Iterator[LongArray]:
    return (rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK))


def default_label(id_: str) -> str:
    """Return the label of an entity without one: its id, or the last segment of an IRI in words."""
    if not is_iri(id_):
        return id_
    segment = unquote(last_segment(id_[1:-1])).replace("_", " ").strip()
    return segment or id_
