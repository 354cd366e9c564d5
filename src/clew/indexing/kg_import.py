"""Import of graph files in shards, of which new or changed ones, by their hashes, are written and committed at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from clew.errors import InputError
from clew.indexing.kg_formats.tables import (
    DroppedTriple,
    EntityMention,
    EntityNames,
    MalformedStatement,
    RawTriple,
    Statement,
    nothing_stated,
)
from clew.store.kg_shards import (
    DECISION_GRAPH,
    MENTION_SHARD,
    NAME_SHARD,
    TRIPLE_SHARD,
    KGShard,
    shards_by_graph,
    shards_to_table,
)
from clew.store.passage_table import PassageTable
from clew.types import Progress

SHARD_TRIPLES = 16_384
SHARD_CHARACTERS = 1 << 22
FILE_TRIPLES = 250_000
FILE_CHARACTERS = 1 << 25
MAX_REPORTED_FAULTS = 20  # maximum number of faults of a file that are reported individually; all are counted


@dataclass(slots=True)
class GraphReport:
    """Result of a graph import."""

    name: str  # name of the graph
    triples: int = 0  # triples stored
    duplicates: int = 0  # triples that were already in the same shard
    dropped: int = 0  # triples left out for their relation
    names: int = 0  # labels and aliases of entities stored
    mentions: int = 0  # mentions of entities in documents or passages stored
    unmatched_mentions: int = 0  # those among the mentions of all graphs whose entity or place the index lacks
    unmatched_by_kind: dict[str, int] = field(default_factory=dict)  # these, by what it lacks: entities, places, both
    malformed: int = 0  # statements of the file that could not be used
    faults: list[MalformedStatement] = field(default_factory=list)  # the first of them
    added: int = 0  # new shards
    updated: int = 0  # changed shards
    unchanged: int = 0  # shards that were already stored
    removed: int = 0  # shards that the file no longer has
    seconds: float = 0.0  # duration of the import, including the building of the snapshot

    def add_unused(self, statement: DroppedTriple | MalformedStatement) -> None:
        """Count a statement that is left out or cannot be used."""
        if isinstance(statement, DroppedTriple):
            self.dropped += 1
            return
        self.malformed += 1
        if len(self.faults) < MAX_REPORTED_FAULTS:
            self.faults.append(statement)


def clean_graph_name(raw_name: str) -> str:
    """Return a graph's name without surrounding white space; one that is empty or not printable is an InputError."""
    name = raw_name.strip()
    if name == DECISION_GRAPH:
        raise InputError(f"the name {name!r} is that of the decisions on entities: give the graph another by --name")
    if not name or not name.isprintable():
        raise InputError(f"the name {name!r} cannot be a graph's: give another by --name, with printable characters")
    return name


@dataclass(slots=True)
class _ShardBuilder:
    """A shard being filled: distinct triples, in the order of the file."""

    kind: str
    triples: dict[RawTriple, None] = field(default_factory=dict)
    characters: int = 0
    is_full: bool = False

    def add(self, triple: RawTriple) -> bool:
        """Add a triple; return whether it was missing."""
        before = len(self.triples)
        self.triples[triple] = None
        if len(self.triples) == before:
            return False
        head, relation, tail = triple
        self.characters += len(head) + len(relation) + len(tail)
        self.is_full = before + 1 == SHARD_TRIPLES or self.characters >= SHARD_CHARACTERS
        return True


@dataclass(slots=True)
class GraphImporter:
    """Imports graphs into a table opened under the writer lock; progress is called with the number of triples read."""

    table: PassageTable
    progress: Progress
    _stored_hashes: Mapping[str, str] = field(default_factory=dict)
    _pending: list[tuple[KGShard, str]] = field(default_factory=list)
    _fragments: list[str] = field(default_factory=list)
    _written: list[str] = field(default_factory=list)
    _pending_characters: int = 0
    _shard_count: int = 0

    def import_graph(self, name: str, statements: Iterable[Statement]) -> GraphReport:
        """Replace the named graph by a file's statements in shards, in one commit at the end.

        No triple, or a document so named, is an InputError; whatever error ends it, nothing was changed.
        """
        stored = self.table.stored_documents()
        self._stored_hashes = stored.shards
        if name in stored or name in stored.shards or name in stored.parents:
            raise InputError(f"a document of this index has the id {name!r}: give the graph another --name")
        report = GraphReport(name)
        self._pending, self._pending_characters, self._shard_count = [], 0, 0
        self._fragments, self._written = [], []
        self._read_statements(statements, report)
        if not self._shard_count:
            first = next(iter(report.faults), None)
            place = f"the file of {name!r}"
            raise InputError(nothing_stated(place, "triple", report.malformed, first, report.dropped))
        self._write()
        shards = shards_by_graph(self._stored_hashes).get(name, ())
        stale = [id_ for id_ in shards if int(id_[len(name) + 1 :]) >= self._shard_count]
        replaced = [id_ for id_ in self._written if id_ in self._stored_hashes] + stale
        if self._fragments or replaced:
            self.table.commit_fragments(self._fragments, pa.array(replaced, type=pa.string()))
        report.removed = len(stale)
        return report

    def _read_statements(self, statements: Iterable[Statement], report: GraphReport) -> None:
        builders = {kind: _ShardBuilder(kind) for kind in (TRIPLE_SHARD, NAME_SHARD, MENTION_SHARD)}
        for statement in statements:
            if isinstance(statement, tuple):
                kind, new = TRIPLE_SHARD, builders[TRIPLE_SHARD].add(statement)
                report.triples += new
                report.duplicates += not new
            elif isinstance(statement, EntityNames):
                kind = NAME_SHARD
                report.names += sum(map(builders[NAME_SHARD].add, statement.to_triples()))
            elif isinstance(statement, EntityMention):
                kind = MENTION_SHARD
                report.mentions += builders[MENTION_SHARD].add((statement.entity, "", statement.place))
            else:
                report.add_unused(statement)
                continue
            if builders[kind].is_full:
                self._finish_shard(builders[kind], report)
                builders[kind] = _ShardBuilder(kind)
        for builder in builders.values():
            if builder.triples:
                self._finish_shard(builder, report)

    def _finish_shard(self, builder: _ShardBuilder, report: GraphReport) -> None:
        shard = KGShard(report.name, self._shard_count, builder.kind, tuple(builder.triples))
        self._shard_count += 1
        self.progress("importing", report.triples, 0)
        hash_ = shard.hash()
        stored_hash = self._stored_hashes.get(shard.id)
        if stored_hash == hash_:
            report.unchanged += 1
            return
        report.updated += stored_hash is not None
        report.added += stored_hash is None
        self._pending.append((shard, hash_))
        self._pending_characters += builder.characters
        pending_triples = sum(len(pending.triples) for pending, _ in self._pending)
        if pending_triples >= FILE_TRIPLES or self._pending_characters >= FILE_CHARACTERS:
            self._write()

    def _write(self) -> None:
        """Write the pending shards as data files that no version has yet."""
        if self._pending:
            shards, hashes = zip(*self._pending, strict=True)
            rows = shards_to_table(shards, hashes, self.table.dimension, sentences=self.table.has_sentence_vectors)
            ids = [shard.id for shard in shards]
            self._fragments += self.table.write_fragments(rows, ids).records
            self._written += ids
        self._pending, self._pending_characters = [], 0
