"""Imported graphs in the passages table: a part of a graph is one document of one row that has triples and no text.

So a graph is written, replaced, checked, repaired and removed as documents are. A part holds triples of the graph, or
names of its entities, which are kept as triples too: (entity, what the name is, name).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from clew.errors import InputError
from clew.store.schema import TRIPLES_TYPE, canonical_json, passages_schema

SHARD_EXTRACTOR = "graph:1"
"""Stands in the column of extractors, and tells the rows that are parts of graphs from passages."""

TRIPLE_SHARD, NAME_SHARD = "triples", "names"
_HASH_PREFIX = "graph:"


@dataclass(frozen=True, slots=True)
class KGShard:
    """Some of the triples of a graph, or of the names of its entities.

    Attributes:
        graph: The graph's name.
        number: Of the part, from 0.
        kind: `HOLDS_TRIPLES` or `HOLDS_NAMES`.
        triples: None of whose texts holds a NUL.
    """

    graph: str
    number: int
    kind: str
    triples: Sequence[tuple[str, str, str]]

    @property
    def id(self) -> str:
        """Of its row, and of the document that the row is."""
        return f"{self.graph}#{self.number:06d}"

    def hash(self) -> str:
        """Return a hash of all it holds, told from those of documents by how it begins."""
        text = "\0".join(chain((SHARD_EXTRACTOR, self.id, self.kind), *self.triples))
        return _HASH_PREFIX + blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """A graph as the table holds it.

    Attributes:
        triples: How many, each counted in every part that holds it.
        names: How many labels and aliases of entities.
        parts: How many rows.
    """

    name: str
    triples: int
    names: int
    parts: int


def shards_to_table(shards: Sequence[KGShard], hashes: Sequence[str], dimension: int) -> pa.Table:
    """Return parts as columns of `passages_schema(dimension)`, in the order given.

    Raises:
        InputError: A text is not valid Unicode.
    """
    count = len(shards)
    ids = [part.id for part in shards]
    about = [canonical_json({"graph": p.graph, "holds": p.kind, "count": len(p.triples)}, p.id) for p in shards]
    columns: dict[str, Any] = {
        "id": ids,
        "document_id": ids,
        "metadata": about,
        "document_hash": list(hashes),
        "extractor": [SHARD_EXTRACTOR] * count,
        "triples": _triple_array(shards),
    }
    empty: dict[str, Any] = {"string": "", "int32": 0, "int64": 0}
    schema = passages_schema(dimension)
    arrays = []
    for column in schema:
        nothing: Any = None if column.name in ("failure", "vector") else empty.get(str(column.type), [])
        values = columns.get(column.name, [nothing] * count)
        arrays.append(values if isinstance(values, pa.Array) else pa.array(values, type=column.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def shard_triples(rows: pa.Table) -> Iterator[tuple[str, pa.StructArray]]:
    """Yield of each of the rows what it holds, and its triples as an array of head, relation and tail.

    Args:
        rows: With the columns `metadata` and `triples`.
    """
    for batch in rows.select(["metadata", "triples"]).to_batches():
        bounds = batch["triples"].offsets.to_pylist()
        for place, metadata in enumerate(batch["metadata"].to_pylist()):
            triples = batch["triples"].values.slice(bounds[place], bounds[place + 1] - bounds[place])
            yield json.loads(metadata)["holds"], triples


def stored_graphs(shards: Iterable[pa.Table]) -> list[StoredGraph]:
    """Return the graphs of some parts by their names, in order.

    Args:
        shards: With the column `metadata`.
    """
    counts: dict[str, dict[str, int]] = {}
    for rows in shards:
        for about in map(json.loads, rows["metadata"].to_pylist()):
            count = counts.setdefault(about["graph"], {TRIPLE_SHARD: 0, NAME_SHARD: 0, "parts": 0})
            count[about["holds"]] += about["count"]
            count["parts"] += 1
    return [StoredGraph(name, c[TRIPLE_SHARD], c[NAME_SHARD], c["parts"]) for name, c in sorted(counts.items())]


def is_shard(document_hash: str) -> bool:
    """Tell from a document's hash whether the document is a part of a graph."""
    return document_hash.startswith(_HASH_PREFIX)


def shards_by_graph(documents: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the ids of the parts of each graph, in order.

    Args:
        documents: Hashes of documents and parts, by id (see `PassageTable.documents`).
    """
    found: dict[str, list[str]] = {}
    for id_, hash_ in sorted(documents.items()):
        if is_shard(hash_):
            found.setdefault(id_.rpartition("#")[0], []).append(id_)
    return found


def _triple_array(shards: Sequence[KGShard]) -> pa.Array:
    """Return the triples of parts as one array of lists, without an object a triple."""
    offsets = [0, *accumulate(len(part.triples) for part in shards)]
    texts: list[list[str]] = [[triple[place] for part in shards for triple in part.triples] for place in range(3)]
    names = [field.name for field in TRIPLES_TYPE.value_type]
    try:
        columns = [pa.array(column, type=pa.string()) for column in texts]
    except UnicodeEncodeError as error:
        message = f"a name of the graph {shards[0].graph!r} holds a character that UTF-8 cannot write ({error})"
        raise InputError(f"{message}: decode the source with the right encoding") from error
    return pa.ListArray.from_arrays(
        pa.array(offsets, type=pa.int32()), pa.StructArray.from_arrays(columns, names), type=TRIPLES_TYPE
    )
