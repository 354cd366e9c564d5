"""Conversion of the stored triples and names of imported graphs to the arrays of an `ImportedGraph`.

An entity of a graph is identified by its exact id. Its key, by which passages that mention it find it, is that of its
label; where several entities have one key (`Face` and `face`), each gets a key of its own, and the name leads to all of
them. Columns are processed as arrays, and in Python only once for each distinct name; the result does not depend on the
order of the shards.
"""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.graph.snapshot.imported_graph import ImportedGraph, distinct_rows
from clew.graph.string_array import StringArray
from clew.indexing.kg_formats.statements import ALIAS, NODE, is_iri, last_segment
from clew.text.normalization import key_hash, name_key

_KEY_SEPARATOR = "\0"  # between a shared key and the id that makes it unique; no name of a graph contains it
_HEAD, _RELATION, _TAIL = range(3)


def build_imported_graph(triples: Sequence[pa.StructArray], names: Sequence[pa.StructArray]) -> ImportedGraph:
    """Return the arrays of all imported graphs; names of unknown entities (entity, kind of name, name) are left out."""
    heads, tails = _select_column(triples, _HEAD), _select_column(triples, _TAIL)
    ids, codes = _number_texts([*heads, *tails, *_listed_node_ids(names)])
    count = sum(map(len, triples))
    relations, relation_codes = _number_texts(_select_column(triples, _RELATION))
    labels, other_names = _choose_labels(ids, _read_entity_names(ids, names))
    folded = [name_key(label) for label in labels]
    keys = _unique_keys(ids, folded)
    order = np.asarray(pc.sort_indices(pa.array(keys, pa.large_string())), dtype=np.int64)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    rows = np.column_stack([rank[codes[:count]], relation_codes, rank[codes[count : 2 * count]]]).astype(np.int32)
    hashes, entities = _hash_names(ids.to_pylist(), labels, folded, other_names)
    return ImportedGraph(
        keys=StringArray.pack(keys[i] for i in order.tolist()),
        labels=StringArray.pack(labels[i] for i in order.tolist()),
        name_hashes=hashes,
        name_entities=rank[entities].astype(np.int32),
        relations=StringArray.pack(relations.to_pylist()),
        triples=distinct_rows(rows)[0].astype(np.int32),
    )


def _select_column(arrays: Iterable[pa.StructArray], index: int) -> list[pa.Array]:
    # `flatten` respects the offset of a slice, `field` does not; large, since together they may exceed 2 GiB.
    return [array.flatten()[index].cast(pa.large_string()) for array in arrays]


def _number_texts(columns: Sequence[pa.Array]) -> tuple[pa.Array, IntArray]:
    """Return the distinct texts of some columns, sorted, and the position of each of the columns' texts among them."""
    encoded = pa.chunked_array(columns, pa.large_string()).dictionary_encode()
    if not encoded.num_chunks:
        return pa.array([], pa.large_string()), np.zeros(0, dtype=np.int32)
    texts = encoded.chunk(encoded.num_chunks - 1).dictionary  # it grows with each chunk: the last one is complete
    order = np.asarray(pc.sort_indices(texts), dtype=np.int64)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    codes = np.concatenate([np.asarray(chunk.indices) for chunk in encoded.chunks])
    return texts.take(pa.array(order)), rank[codes]


def _listed_node_ids(names: Sequence[pa.StructArray]) -> list[pa.Array]:
    listed = [array.filter(pc.equal(array.flatten()[_RELATION], NODE)) for array in names]
    return _select_column(listed, _HEAD)


def _read_entity_names(ids: pa.Array, names: Sequence[pa.StructArray]) -> list[tuple[int, str, str]]:
    """Return the position of each name's entity in the sorted ids, its kind, and the name."""
    columns = [pa.chunked_array(_select_column(names, index), pa.large_string()) for index in range(3)]
    positions = pc.index_in(columns[_HEAD], value_set=ids)
    is_usable = pc.and_(pc.is_valid(positions), pc.not_equal(columns[_TAIL], ""))
    columns[_HEAD] = positions
    return list(zip(*(column.filter(is_usable).to_pylist() for column in columns), strict=True))


def _choose_labels(ids: pa.Array, names: list[tuple[int, str, str]]) -> tuple[list[str], list[tuple[int, str]]]:
    """Return entities' labels (no language or English first, then by alphabet), and distinct (entity, other name)."""
    labels = [default_label(id_) for id_ in ids.to_pylist()]
    best: dict[int, tuple[int, str]] = {}
    for entity, kind, text in names:
        if kind != ALIAS:
            candidate = _language_rank(kind.partition("@")[2]), text
            best[entity] = min(best.get(entity, candidate), candidate)
    for entity, (_, text) in best.items():
        labels[entity] = text
    return labels, sorted({(entity, text) for entity, _, text in names if labels[entity] != text})


def _language_rank(language: str) -> int:
    return 0 if language in ("", "en") else 1 if language.startswith("en-") else 2


def default_label(id_: str) -> str:
    """Return the label of an entity without one: its id, or the last segment of an IRI in words."""
    if not is_iri(id_):
        return id_
    segment = unquote(last_segment(id_[1:-1])).replace("_", " ").strip()
    return segment or id_


def _unique_keys(ids: pa.Array, folded: Sequence[str]) -> list[str]:
    keys = list(folded)
    if not keys:
        return keys
    codes = np.asarray(pa.array(keys, pa.large_string()).dictionary_encode().indices)
    is_shared = (np.bincount(codes) > 1)[codes]
    empty_code = int(codes[keys.index("")]) if "" in keys else -1
    for position in np.flatnonzero(is_shared | (codes == empty_code)).tolist():
        keys[position] = f"{keys[position]}{_KEY_SEPARATOR}{ids[position].as_py()}"
    return keys


def _hash_names(
    ids: Sequence[str], labels: Sequence[str], folded: Sequence[str], other_names: Sequence[tuple[int, str]]
) -> tuple[NDArray[np.uint64], LongArray]:
    # A bare number as an id (a row of a table) would match every question that names a year.
    id_names = [(e, id_) for e, id_ in enumerate(ids) if id_ != labels[e] and not re.fullmatch(r"[0-9]+", id_)]
    other_keys = [(entity, name_key(name)) for entity, name in (*other_names, *id_names)]
    pairs = [(entity, key) for entity, key in (*enumerate(folded), *other_keys) if key]
    hashes = np.fromiter((key_hash(key) for _, key in pairs), dtype=np.uint64, count=len(pairs))
    return hashes, np.fromiter((entity for entity, _ in pairs), dtype=np.int64, count=len(pairs))
