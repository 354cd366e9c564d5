"""Conversion of the stored triples and names of imported graphs to the arrays of an `ImportedGraph`.

An entity of a graph is identified by its exact id. Its key, by which passages that mention it find it, is that of its
label; where several entities have one key (`Face` and `face`), each gets a key of its own, and the name leads to all of
them. In Python each distinct name is folded once. The result does not depend on the order of the shards.
"""

import re
from collections.abc import Iterator, Sequence
from typing import final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from clew.arrays import BoolArray, HashArray, IntArray, LongArray
from clew.graph.csr import run_starts
from clew.graph.segments.segment import CollisionError, Vocabulary
from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.graph.string_array import StringArray, StringWriter, take_strings
from clew.indexing.kg_formats.tables import ALIAS, NODE, is_iri, last_segment
from clew.indexing.merging.vocabularies import check_texts
from clew.indexing.segments.vocabularies import from_arrow, make_vocabulary, rank_strings
from clew.text.normalization import key_hash, name_key

_KEY_SEPARATOR = "\0"  # between a shared key and the id that makes it unique; no name of a graph contains it
_NUMBER = re.compile("[0-9]+")
_CHUNK = 1 << 16  # names that are Python objects at once
Column = list[pa.DictionaryArray]
"""A column of texts, one array for each shard."""


@final
class GraphTexts:
    """The triples and names of graphs, each text of a shard once; shards are added one at a time."""

    def __init__(self) -> None:
        self.triples: tuple[Column, Column, Column] = [], [], []  # head, relation, tail: entities by their ids
        self.names: tuple[Column, Column, Column] = [], [], []  # entity, kind of name, name

    def add_triples(self, triples: pa.StructArray) -> None:
        """Add triples (head, relation, tail) of entities' ids."""
        _add_columns(self.triples, triples)

    def add_names(self, names: pa.StructArray) -> None:
        """Add names of entities (id, kind of name, name)."""
        _add_columns(self.names, names)


def _add_columns(columns: tuple[Column, ...], rows: pa.StructArray) -> None:
    for column, values in zip(columns, rows.flatten(), strict=True):  # it respects the offset of a slice
        column.append(values.cast(pa.large_string()).dictionary_encode())


def _number_texts(*columns: Column) -> tuple[StringArray, list[IntArray]]:
    """Return the distinct texts of some columns, and the numbers (n,) of each column; the columns are then empty."""
    sizes = [sum(map(len, column)) for column in columns]
    parts = [part for column in columns for part in column]
    for column in columns:
        column.clear()
    if not parts:
        return StringArray.pack(()), [np.zeros(0, dtype=np.int32) for _ in columns]
    joined = pa.chunked_array(parts).unify_dictionaries()
    numbers = np.concatenate([chunk.indices.to_numpy() for chunk in joined.chunks])
    return from_arrow(joined.chunk(0).dictionary), np.split(numbers, np.cumsum(sizes)[:-1])


def build_imported_graph(graphs: GraphTexts, salt: int = 0) -> ImportedGraph:
    """Return the arrays of all imported graphs; names of unknown entities are left out.

    Two texts with one hash under this salt are a CollisionError.
    """
    (heads, stated, tails), (named, of_kind, name_column) = graphs.triples, graphs.names
    id_texts, (head, tail, entity) = _number_texts(heads, tails, named)
    relation_texts, (relation,) = _number_texts(stated)
    kinds, (kind,) = _number_texts(of_kind)
    texts, (name,) = _number_texts(name_column)
    triples, names = np.column_stack([head, relation, tail]), np.column_stack([kind, name, entity])
    del head, relation, tail, kind, name, entity
    is_entity = _mark_entities(len(id_texts), list(kinds), triples, names)
    entity_of_id = np.cumsum(is_entity, dtype=np.int32) - 1
    ids = take_strings(id_texts, np.flatnonzero(is_entity))
    del id_texts
    names = names[is_entity[names[:, 2]]]
    names[:, 2] = entity_of_id[names[:, 2]]
    labels, is_named = _choose_labels(ids, list(kinds), texts, names)
    keys, rank, name_hashes = _make_keys(ids, labels, salt)
    relations, relation_rank = make_vocabulary(list(relation_texts), salt)
    key_of_id = rank[entity_of_id]
    for column, numbers in ((0, key_of_id), (1, relation_rank), (2, key_of_id)):
        triples[:, column] = numbers[triples[:, column]]
    del key_of_id, entity_of_id
    other_hashes, others = _hash_other_names(ids, is_named, texts, names, salt)
    own = np.flatnonzero(name_hashes)
    del texts, ids, is_named, names
    return ImportedGraph(
        keys=keys,
        labels=take_strings(labels, np.argsort(rank)),
        name_hashes=np.concatenate([name_hashes[own], other_hashes]),
        name_entities=rank[np.concatenate([own, others])],
        relations=relations,
        triples=triples,
    )


def _mark_entities(count: int, kinds: Sequence[str], triples: IntArray, names: IntArray) -> BoolArray:
    """Return which of `count` ids are entities: the ends of triples, and those that a file lists."""
    is_entity = np.zeros(count, dtype=bool)
    is_entity[triples[:, 0]] = True
    is_entity[triples[:, 2]] = True
    is_listed = np.array([kind == NODE for kind in kinds], dtype=bool)
    if len(names):
        is_entity[names[is_listed[names[:, 0]], 2]] = True
    return is_entity


def _choose_labels(
    ids: StringArray, kinds: Sequence[str], texts: StringArray, names: IntArray
) -> tuple[StringArray, BoolArray]:
    """Return entities' labels (no language or English first, then by alphabet), and which are not their ids."""
    writer = StringWriter(len(ids))
    writer.add(ids, np.arange(len(ids)), np.arange(len(ids)))
    first = np.zeros(len(ids), dtype=np.uint8)
    filled = np.flatnonzero(np.diff(ids.offsets))
    first[filled] = ids.data[ids.offsets[filled]]
    addresses = np.flatnonzero(first == ord("<"))
    for rows in _chunks(addresses):
        writer.add(StringArray.pack(default_label(ids[row]) for row in rows.tolist()), np.arange(len(rows)), rows)
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
    check_texts(take_strings(folded, repeated), folded, order[:-1][is_same])
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


def _sort_vocabulary(texts: StringArray, hashes: HashArray, salt: int) -> tuple[Vocabulary, IntArray]:
    """Return distinct texts with their hashes as a vocabulary, and the position of each."""
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
