"""The result of an indexing run."""

from dataclasses import dataclass, field

from clew.indexing.sources.reading_report import ReadingReport
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
