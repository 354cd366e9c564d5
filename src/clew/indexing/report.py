"""The result of an indexing run, and counts of what an index version holds, with the settings it was made with."""

from dataclasses import dataclass, field
from typing import Any

from clew.graph.snapshot.snapshot import Snapshot, named_arrays
from clew.indexing.sources.reading_report import ReadingReport
from clew.store.kg_shards import StoredGraph, stored_graphs
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import read_manifest, snapshot_folder
from clew.types import Failure


@dataclass(slots=True)
class IndexingReport:
    """Result of an indexing run."""

    added: int = 0  # new documents
    updated: int = 0  # changed documents
    unchanged: int = 0  # documents that were skipped
    removed: int = 0  # documents removed
    removed_graphs: int = 0  # imported graphs removed
    passages: int = 0  # passages written
    sentences: int = 0  # sentences of these
    retried: int = 0  # passages that failed in an earlier run and were extracted again, with or without success
    failures: list[Failure] = field(default_factory=list)  # documents not read, passages not extracted
    notes: list[str] = field(default_factory=list)  # on files under other ids, and documents that are gone
    stop_error: Exception | None = None  # what ended the run early, such as an exhausted budget
    remaining: int = 0  # documents that were not processed
    seconds: float = 0.0  # duration of the run
    reading: ReadingReport = field(default_factory=ReadingReport)  # how the files were read

    def add(self, other: "IndexingReport") -> None:
        """Add the counts and failures of a part of the same run."""
        self.added += other.added
        self.updated += other.updated
        self.unchanged += other.unchanged
        self.passages += other.passages
        self.sentences += other.sentences
        self.failures += other.failures
        self.remaining += other.remaining
        self.stop_error = self.stop_error or other.stop_error


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Counts of one index version."""

    version: int  # of the table of passages
    documents: int
    passages: int
    entities: int
    relations: int
    triples: int
    imported_triples: int
    graphs: tuple[StoredGraph, ...]  # imported graphs
    mentions: int
    titled_passages: int  # passages whose title is an entity
    walk_edges: int  # undirected edges of the graph that walks follow
    sentences: int
    sentence_bytes: int  # bytes of all that is stored of sentences
    sentence_vector_bytes: int  # bytes of their vectors alone
    manifest: dict[str, Any]  # what the snapshot was made from, and the checksums of its files


def collect_stats(table: PassageTable, snapshot: Snapshot) -> IndexStats:
    """Return the counts of a table's version and its snapshot."""
    return IndexStats(
        version=table.version,
        documents=len(table.stored_documents()),
        passages=len(snapshot.passage_ids),
        entities=len(snapshot.entities),
        relations=len(snapshot.relations),
        triples=len(snapshot.triples),
        imported_triples=int(snapshot.imported.sum()),
        graphs=tuple(stored_graphs(table.iter_shards(["metadata"]))),
        mentions=len(snapshot.mentions.indices),
        titled_passages=int((snapshot.title_entities >= 0).sum()),
        walk_edges=len(snapshot.walk.indices) // 2,
        sentences=len(snapshot.sentences),
        sentence_bytes=_sentence_bytes(snapshot),
        sentence_vector_bytes=sum(part.vectors.nbytes for part in snapshot.columns.sentences),
        manifest=read_manifest(snapshot_folder(table)),
    )


def _sentence_bytes(snapshot: Snapshot) -> int:
    """Return the bytes of sentences in a snapshot and in its segments that a search reads."""
    own = sum(array.nbytes for name, array in named_arrays(snapshot) if name.startswith("sentence_rows."))
    parts = snapshot.columns.sentences
    return own + sum(part.indptr.nbytes + part.spans.nbytes + part.vectors.nbytes for part in parts)
