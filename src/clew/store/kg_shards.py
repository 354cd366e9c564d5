"""Imported graphs in the passages table: a shard of a graph is a document of one row, with triples and an empty text.

Shards are thus written, replaced, verified, repaired and removed as documents are. A shard holds triples of the graph,
or names of its entities, which are stored as triples too: (entity, kind of name, name), or places that mention them:
(entity, "", document or passage). The decisions of people on entities are shards of a graph of their own
(`clew.store.entity_decisions`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from clew.errors import InputError
from clew.store.schema import SENTENCE_COLUMNS, TRIPLES_TYPE, canonical_json, passages_schema

SHARD_EXTRACTOR = "graph:1"  # value of the `extractor` column that distinguishes shards from passages
TRIPLE_SHARD, NAME_SHARD, MENTION_SHARD, DECISION_SHARD = "triples", "names", "mentions", "decisions"
DECISION_GRAPH = "clew:entity-decisions"
"""Name of the graph whose shards are decisions on entities; no imported graph has it."""
_HASH_PREFIX = "graph:"
_WITHOUT_DEFAULT = ("failure", "vector", *SENTENCE_COLUMNS)


@dataclass(frozen=True, slots=True)
class KGShard:
    """Some of the triples of a graph, or of the names of its entities."""

    graph: str  # the graph's name
    number: int  # number of the shard in its graph, from 0
    kind: str  # `TRIPLE_SHARD`, `NAME_SHARD`, `MENTION_SHARD` or `DECISION_SHARD`
    triples: Sequence[tuple[str, str, str]]  # triples whose texts contain no NUL
    notes: Mapping[str, str] = field(default_factory=dict)  # further metadata, which are no content: not in the hash

    @property
    def id(self) -> str:
        """Id of the shard's row and of its document."""
        return f"{self.graph}#{self.number:06d}"

    def hash(self) -> str:
        """Return a hash of the content; its prefix distinguishes it from hashes of documents."""
        text = "\0".join(chain((SHARD_EXTRACTOR, self.id, self.kind), *self.triples))
        return _HASH_PREFIX + blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """Statistics of an imported graph."""

    name: str
    triples: int  # number of triples; one that is in several shards counts once for each
    names: int  # number of labels and aliases of entities
    parts: int  # number of shards
    mentions: int = 0  # number of mentions of its entities in documents or passages

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as JSON has them; a graph without mentions has no such entry."""
        fields = asdict(self)
        return fields if self.mentions else {name: value for name, value in fields.items() if name != "mentions"}


def shards_to_table(
    shards: Sequence[KGShard], hashes: Sequence[str], dimension: int, *, sentences: bool = False
) -> pa.Table:
    """Return shards as columns of `passages_schema`, in order; a text of invalid Unicode: InputError."""
    count = len(shards)
    ids = [shard.id for shard in shards]
    metadata = [
        canonical_json({**s.notes, "graph": s.graph, "holds": s.kind, "count": len(s.triples)}, s.id) for s in shards
    ]
    columns: dict[str, Any] = {
        "id": ids,
        "document_id": ids,
        "metadata": metadata,
        "document_hash": list(hashes),
        "extractor": [SHARD_EXTRACTOR] * count,
        "triples": _triple_array(shards),
    }
    defaults: dict[str, Any] = {"string": "", "int32": 0, "int64": 0}
    schema = passages_schema(dimension, sentences=sentences)
    arrays = []
    for column in schema:
        default: Any = None if column.name in _WITHOUT_DEFAULT else defaults.get(str(column.type), [])
        values = columns.get(column.name, [default] * count)
        arrays.append(values if isinstance(values, pa.Array) else pa.array(values, type=column.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def shard_triples(rows: pa.Table) -> Iterator[tuple[str, pa.StructArray]]:
    """Yield each row's kind and triples (head, relation, tail), from the columns `metadata` and `triples`."""
    for batch in rows.select(["metadata", "triples"]).to_batches():
        bounds = batch["triples"].offsets.to_pylist()
        for row, metadata in enumerate(batch["metadata"].to_pylist()):
            triples = batch["triples"].values.slice(bounds[row], bounds[row + 1] - bounds[row])
            yield json.loads(metadata)["holds"], triples


def stored_graphs(shards: Iterable[pa.Table]) -> list[StoredGraph]:
    """Return the statistics of imported graphs, sorted by name, from tables with the column `metadata`."""
    counts: dict[str, dict[str, int]] = {}
    for rows in shards:
        for metadata in map(json.loads, rows["metadata"].to_pylist()):
            if metadata["holds"] == DECISION_SHARD:
                continue
            count = counts.setdefault(
                metadata["graph"], dict.fromkeys((TRIPLE_SHARD, NAME_SHARD, MENTION_SHARD, "parts"), 0)
            )
            count[metadata["holds"]] += metadata["count"]
            count["parts"] += 1
    return [
        StoredGraph(name, c[TRIPLE_SHARD], c[NAME_SHARD], c["parts"], c[MENTION_SHARD])
        for name, c in sorted(counts.items())
    ]


def is_shard(document_hash: str) -> bool:
    """Return whether a document's hash is that of a shard."""
    return document_hash.startswith(_HASH_PREFIX)


def shards_by_graph(documents: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the sorted shard ids of each imported graph, from the hashes of shards or of all documents by id."""
    shard_ids: dict[str, list[str]] = {}
    for id_, hash_ in sorted(documents.items()):
        name = id_.rpartition("#")[0]
        if is_shard(hash_) and name != DECISION_GRAPH:
            shard_ids.setdefault(name, []).append(id_)
    return shard_ids


def _triple_array(shards: Sequence[KGShard]) -> pa.Array:
    """Return the triples of shards as one array of lists, without creating an object for each triple."""
    offsets = [0, *accumulate(len(shard.triples) for shard in shards)]
    texts: list[list[str]] = [[triple[i] for shard in shards for triple in shard.triples] for i in range(3)]
    names = [field.name for field in TRIPLES_TYPE.value_type]
    try:
        columns = [pa.array(column, type=pa.string()) for column in texts]
    except UnicodeEncodeError as error:
        message = f"a name of the graph {shards[0].graph!r} holds a character that UTF-8 cannot encode ({error})"
        raise InputError(f"{message}: decode the source with the right encoding") from error
    return pa.ListArray.from_arrays(
        pa.array(offsets, type=pa.int32()), pa.StructArray.from_arrays(columns, names), type=TRIPLES_TYPE
    )
