"""A graph's file into the table: cut into parts, and what is new or changed among them committed, several at a time.

A commit is atomic, so a run that is killed loses at most the parts in flight; the next run finds the committed ones
unchanged by their hashes and writes the rest. Parts that the file no longer has go at the end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clew.errors import InputError
from clew.indexing.kg_formats.statements import (
    EntityNames,
    MalformedStatement,
    RawTriple,
    Statement,
    no_triples_message,
)
from clew.store.kg_shards import NAME_SHARD, TRIPLE_SHARD, KGShard, is_shard, shards_by_graph, shards_to_table
from clew.store.passage_table import PassageTable
from clew.types import Progress

SHARD_TRIPLES = 16_384
SHARD_CHARACTERS = 1 << 22
COMMIT_TRIPLES = 250_000
COMMIT_CHARACTERS = 1 << 25
MAX_REPORTED_FAULTS = 20
"""Faults of a file that are told one by one; all are counted."""


@dataclass(slots=True)
class GraphReport:
    """What the import of a graph did.

    Attributes:
        name: Of the graph.
        triples: Stored.
        duplicates: Triples that the same part of the file had before.
        names: Labels and aliases of entities stored.
        malformed: Pieces of the file that could not be used.
        faults: The first of them.
        added: Parts that were new.
        updated: Parts that had changed.
        unchanged: Parts that cost nothing.
        removed: Parts that the file no longer has.
        seconds: Of the run, with the making of the snapshot.
    """

    name: str
    triples: int = 0
    duplicates: int = 0
    names: int = 0
    malformed: int = 0
    faults: list[MalformedStatement] = field(default_factory=list)
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    seconds: float = 0.0


def clean_graph_name(raw_name: str) -> str:
    """Return the name of a graph without spaces around it.

    Raises:
        InputError: No graph can have it.
    """
    name = raw_name.strip()
    if not name or not name.isprintable():
        raise InputError(f"the name {name!r} cannot be a graph's: give another by --name, of letters and signs")
    return name


@dataclass(slots=True)
class _ShardBuilder:
    """A part that is being filled: its triples, each once, in the order of the file, and whether there may be more."""

    kind: str
    triples: dict[RawTriple, None] = field(default_factory=dict)
    characters: int = 0
    is_full: bool = False

    def add(self, triple: RawTriple) -> bool:
        """Return whether the part lacked a triple, and put it in."""
        before = len(self.triples)
        self.triples[triple] = None
        if len(self.triples) == before:
            return False
        head, relation, tail = triple
        self.characters += len(head) + len(relation) + len(tail)
        self.is_full = before + 1 == SHARD_TRIPLES or self.characters >= SHARD_CHARACTERS
        return True


class GraphImporter:
    """Brings graphs into a table.

    Args:
        table: Opened under the writer's lock.
        progress: Told of the triples read.
    """

    def __init__(self, table: PassageTable, progress: Progress) -> None:
        self._table = table
        self._progress = progress
        self._stored_hashes: Mapping[str, str] = {}
        self._pending: list[tuple[KGShard, str]] = []
        self._pending_characters = 0
        self._shard_count = 0

    def import_graph(self, name: str, statements: Iterable[Statement]) -> GraphReport:
        """Store what a file states in the place of what the graph of that name held; commits as it goes.

        Args:
            name: Of the graph; no document's id.
            statements: Of the file, in its order.

        Raises:
            InputError: A document goes by the name, or nothing is stated; then nothing was changed.
        """
        self._stored_hashes = self._table.document_hashes()
        if name in self._stored_hashes or any(
            not is_shard(hash_) and id_.startswith(f"{name}#") and id_[len(name) + 1 :].isdigit()
            for id_, hash_ in self._stored_hashes.items()
        ):
            raise InputError(f"a document of this index goes by {name!r}: give the graph another --name")
        report = GraphReport(name)
        self._pending, self._pending_characters, self._shard_count = [], 0, 0
        self._read_statements(statements, report)
        if not self._shard_count:
            raise InputError(no_triples_message(name, report.malformed, next(iter(report.faults), None)))
        self._commit()
        stale = [
            id_
            for id_ in shards_by_graph(self._stored_hashes).get(name, ())
            if int(id_[len(name) + 1 :]) >= self._shard_count
        ]
        self._table.delete(stale)
        report.removed = len(stale)
        return report

    def _read_statements(self, statements: Iterable[Statement], report: GraphReport) -> None:
        triples, names = _ShardBuilder(TRIPLE_SHARD), _ShardBuilder(NAME_SHARD)
        for statement in statements:
            if isinstance(statement, tuple):
                new = triples.add(statement)
                report.triples += new
                report.duplicates += not new
                if triples.is_full:
                    self._finish_shard(triples, report)
                    triples = _ShardBuilder(TRIPLE_SHARD)
            elif isinstance(statement, EntityNames):
                for triple in statement.to_triples():
                    report.names += names.add(triple)
                if names.is_full:
                    self._finish_shard(names, report)
                    names = _ShardBuilder(NAME_SHARD)
            else:
                report.malformed += 1
                if len(report.faults) < MAX_REPORTED_FAULTS:
                    report.faults.append(statement)
        for filling in (triples, names):
            if filling.triples:
                self._finish_shard(filling, report)

    def _finish_shard(self, builder: _ShardBuilder, report: GraphReport) -> None:
        """Give a part its number; write it, with others in one commit, unless it is there already."""
        part = KGShard(report.name, self._shard_count, builder.kind, tuple(builder.triples))
        self._shard_count += 1
        self._progress("importing", report.triples, 0)
        hash_ = part.hash()
        known = self._stored_hashes.get(part.id)
        if known == hash_:
            report.unchanged += 1
            return
        report.updated += known is not None
        report.added += known is None
        self._pending.append((part, hash_))
        self._pending_characters += builder.characters
        if (
            sum(len(changed.triples) for changed, _ in self._pending) >= COMMIT_TRIPLES
            or self._pending_characters >= COMMIT_CHARACTERS
        ):
            self._commit()

    def _commit(self) -> None:
        if self._pending:
            parts, hashes = zip(*self._pending, strict=True)
            self._table.replace(shards_to_table(parts, hashes, self._table.dimension), [part.id for part in parts])
        self._pending, self._pending_characters = [], 0
