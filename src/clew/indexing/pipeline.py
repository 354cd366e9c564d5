"""The indexing pipeline: new or changed documents are split, extracted, encoded and committed in batches.

Documents are a stream, of which a batch is held at a time. A batch is one atomic commit: a killed run loses at most the
batches in progress, and the next run skips the committed documents, which are unchanged. A run that a budget ends
commits the finished documents and leaves the others as they were. Passages whose extraction failed are stored without
triples and can be extracted again.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from clew.errors import InputError
from clew.indexing.batches import BatchWriter, WrittenBatch, guess_passages
from clew.indexing.chunking import Chunker
from clew.indexing.part_documents import DocumentRecorder
from clew.indexing.processes import ProcessRunner
from clew.indexing.repeated_extraction import documents_with_failures, extract_again
from clew.indexing.report import IndexingReport
from clew.indexing.selected_snapshot import ALL_DOCUMENTS, ChangedDocument, DocumentSelector, Part
from clew.protocols import Encoder, Extractor
from clew.store.passage_table import PassageTable
from clew.types import Document, Failure, Progress

BATCH_PASSAGES = 256
# A commit costs a few milliseconds and two files, and each of its segments a little at every merge and question: fast
# extraction fills larger batches, slow encoding commits often.
BATCH_SECONDS = 15.0
BATCH_LIMIT = 8192
BATCH_CHARACTERS = 1 << 25
PARALLEL_PASSAGES, PARALLEL_SHARE = 1024, 8
EXTRACTION_CALLS = "extraction_calls"


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The sizes of batches that are held in memory at a time."""

    passages: int = 0  # at most; 0 for `BATCH_LIMIT`
    characters: int = BATCH_CHARACTERS  # a batch ends with the document that reaches it


@dataclass(frozen=True, slots=True)
class IndexWriter:
    """Writes documents to a table."""

    table: PassageTable  # the table, opened under the writer lock
    chunker: Chunker  # splits documents into passages
    extractor: Extractor  # finds entities and triples
    encoder: Encoder  # encodes passages; dimension 0 stores no vectors
    progress: Progress  # called with the number of characters done
    slow_extraction: bool = False  # whether extraction is so slow that small batches are worth their commits
    limits: BatchLimits = BatchLimits()
    open_processes: Callable[[], ProcessRunner] | None = None  # several processes, where they may be used
    min_passages: int = 0  # from which on they are worth their start

    def update(self, documents: Iterable[Document | Failure], *, retry_failed: bool = False) -> IndexingReport:
        """Add new documents, replace changed ones and report failures; each batch is committed when it is done.

        With `retry_failed`, passages that failed in earlier runs are extracted again after that; other results stay.
        """
        started = time.perf_counter()
        failed_before = documents_with_failures(self.table) if retry_failed else set()

        def commit(batch: WrittenBatch) -> None:
            self.table.commit_fragments(batch.fragments, pa.array(batch.replaced, type=pa.string()))

        def commit_and_find(ids: Sequence[str]) -> set[str]:
            run.write_all()
            return self.table.numbered_passages(ids)

        def note(changed: ChangedDocument) -> None:
            failed_before.discard(changed.document.id)

        run = _Run(self, commit)
        run.index(documents, run.selector(ALL_DOCUMENTS, commit_and_find), note)
        if retry_failed:
            # Passages that failed in this run are not tried twice.
            extract_again(self.table, self.extractor, sorted(failed_before), run.report, self.progress, BATCH_PASSAGES)
        run.report.seconds = time.perf_counter() - started
        return run.report

    def write_part(self, documents: Iterable[Document | Failure], part: Part) -> tuple[WrittenBatch, DocumentRecorder]:
        """Write the new and changed documents of a part without a commit; return all that it was compared with, too."""
        started = time.perf_counter()
        fragments: list[str] = []
        segments: list[str] = []

        def write_and_find(ids: Sequence[str]) -> set[str]:
            run.write_all()
            rows = self.table.read_fragments(fragments, ["id", "document_id"])
            staged = rows.filter(pc.not_equal(rows["id"], rows["document_id"]))["id"]
            written = pc.is_in(pa.array(ids), value_set=staged.combine_chunks()).to_pylist()
            return self.table.numbered_passages(ids) | {id_ for id_, own in zip(ids, written, strict=True) if own}

        def keep(batch: WrittenBatch) -> None:
            fragments.extend(batch.fragments)
            segments.extend(batch.segments)

        run = _Run(self, keep)
        selector = run.selector(part, write_and_find)
        recorder = DocumentRecorder(selector.stored)
        selector.note_unchanged = recorder.add
        run.index(documents, selector, lambda changed: recorder.add(changed.document.id, changed.hash))
        run.report.seconds = time.perf_counter() - started
        return WrittenBatch(fragments, segments, report=run.report), recorder


class _Run:
    """One pass over a stream of documents.

    Args:
        writer: The settings of the pass.
        keep: Called with each batch that is written.
    """

    def __init__(self, writer: IndexWriter, keep: Callable[[WrittenBatch], None]) -> None:
        self.report = IndexingReport()
        self._writer = writer
        self._keep = keep
        self._local = BatchWriter(writer.table, writer.chunker, writer.extractor, writer.encoder)
        self._processes = None if writer.open_processes is None else writer.open_processes()
        self._passages = 0  # a guess, of all batches
        self._batch: list[ChangedDocument] = []  # that is being filled
        self._batch_passages = self._batch_characters = 0  # in it; passages are a guess
        slow = writer.slow_extraction or writer.encoder.dimension
        self._limit = min(BATCH_PASSAGES if slow else BATCH_LIMIT, self._most_passages())
        self._characters = 0

    def selector(self, part: Part, find_passages: Callable[[Sequence[str]], AbstractSet[str]]) -> DocumentSelector:
        """Return what selects the documents of a part, by those that are stored now."""
        writer = self._writer
        stored = writer.table.stored_documents()
        extractor = writer.extractor.fingerprint
        return DocumentSelector(stored, writer.chunker, extractor, self.report, find_passages, part)

    def index(
        self,
        documents: Iterable[Document | Failure],
        selector: DocumentSelector,
        note_changed: Callable[[ChangedDocument], None],
    ) -> None:
        """Write what is new or changed; `note_changed` is called with each such document."""
        limit = self._writer.limits.characters
        try:
            for changed in selector.select(documents):
                note_changed(changed)
                if self.report.stop_error is not None:
                    self.report.remaining += 1
                    continue
                self._batch.append(changed)
                self._batch_passages += guess_passages(changed, self._writer.chunker.max_tokens)
                self._batch_characters += len(changed.document.text)
                if self._batch_passages >= self._limit or self._batch_characters >= limit:
                    self._write_batch()
            self.write_all()
        finally:
            if self._processes is not None:
                self._processes.close()

    def write_all(self) -> None:
        """Write what was selected so far."""
        if self._batch:
            self._write_batch()
        if self._processes is not None:
            self._take(self._processes.finish())

    def _write_batch(self) -> None:
        """Write the first batches in this process, and all others by several once they are worth it."""
        self._passages += self._batch_passages
        batch, self._batch, self._batch_passages, self._batch_characters = self._batch, [], 0, 0
        if self._processes is None or self._passages < self._writer.min_passages:
            self._take([self._local.write(batch)])
        else:
            self._take(self._processes.run(batch))

    def _take(self, batches: list[WrittenBatch]) -> None:
        for batch in batches:
            if batch.fragments:
                self._keep(batch)
            self.report.add(batch.report)
            self._limit = self._next_limit(batch.report)
            self._characters += batch.characters
            self._writer.progress("indexing", self._characters, 0)

    def _most_passages(self) -> int:
        most = min(BATCH_LIMIT, self._writer.limits.passages or BATCH_LIMIT)
        if self._processes is None:
            return most
        # Batches that are small beside what was done: processes that end with a large one keep the others waiting.
        return min(most, max(PARALLEL_PASSAGES, self.report.passages // PARALLEL_SHARE))

    def _next_limit(self, report: IndexingReport) -> int:
        """Return the passages that are written in `BATCH_SECONDS`."""
        most = self._most_passages()
        if self._writer.slow_extraction or report.seconds <= 0.0:
            return min(BATCH_PASSAGES, most)
        return max(min(BATCH_PASSAGES, most), min(most, round(BATCH_SECONDS * report.passages / report.seconds)))


def choose_extractor(requested: str | None, index_extractor: str) -> str:
    """Return the requested extractor, else the index's; InputError: kind or model differ, and so would the triples."""
    if requested is None or requested == index_extractor:
        return index_extractor
    kind = requested.partition(":")[0]
    # Another model would extract everything again, and the next run without --extractor once more with the first one.
    if kind != index_extractor.partition(":")[0] or kind == "llm":
        message = f"the index was made with the extractor {index_extractor!r}, not {requested!r}"
        raise InputError(f"{message}; leave --extractor out, or make a new index")
    return requested
