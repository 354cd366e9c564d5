"""Writing of batches of documents: they are split, extracted and encoded, and written as data files without a commit.

This is what runs side by side: on threads of one process, in several processes, on several machines. Only one
coordinator commits (`PassageTable.commit_fragments`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from clew.arrays import FloatArray
from clew.graph.segments.segment import CollisionError
from clew.indexing.chunking import Chunker
from clew.indexing.extraction.span_extractor import LearnedExtractor
from clew.indexing.report import IndexingReport
from clew.indexing.segments.store import write_segment
from clew.indexing.selected_snapshot import ChangedDocument
from clew.indexing.sentence_vectors import EncodedPassages, encode_with_sentences, join_title
from clew.protocols import Encoder, Extractor
from clew.store.passage_table import PassageTable, WrittenFragments
from clew.store.schema import PassageRow, alias_triples, mention_cells, rows_to_table, triple_cells
from clew.text.page_text import blank_unread
from clew.text.places import pack_metadata, title_with_headings
from clew.text.sentences import passage_sentence_spans
from clew.types import Document, Extraction, Failure, Passage

_CHARACTERS_PER_TOKEN = 3  # in passages of a usual text, which are rarely full: more would guess too few passages


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """Data files of documents that no version has yet."""

    fragments: list[str] = field(default_factory=list)  # metadata as JSON
    segments: list[str] = field(default_factory=list)  # names of the files of their segments on this machine
    replaced: list[str] = field(default_factory=list)  # ids of the documents among them that are stored already
    report: IndexingReport = field(default_factory=IndexingReport)
    characters: int = 0  # of all documents of the batch


@dataclass(frozen=True, slots=True)
class BatchWriter:
    """Writes batches of documents; several may write to one table at once."""

    table: PassageTable
    chunker: Chunker
    extractor: Extractor
    encoder: Encoder  # dimension 0 stores no vectors

    def write(self, batch: Sequence[ChangedDocument]) -> WrittenBatch:
        """Write documents; one whose extraction a spent budget stops is left out, and counted as remaining."""
        started = time.perf_counter()
        report = IndexingReport()
        characters = sum(len(changed.document.text) for changed in batch)
        splits = [self.chunker.split(changed.document) for changed in batch]
        together = [replace(passage, text=blank_unread(passage.text)) for passages in splits for passage in passages]
        extracted, encoded = self._extract(together)
        extractions = iter(extracted)
        rows: list[PassageRow] = []
        taken: list[Passage] = []
        done: list[ChangedDocument] = []
        for changed, passages in zip(batch, splits, strict=True):
            results = [next(extractions) for _ in passages]
            if (error := find_stop_error(results)) is not None:
                report.stop_error = report.stop_error or error
                continue
            done.append(changed)
            taken += passages
            rows += [
                _make_row(passage, ordinal, changed, result, self.extractor.fingerprint)
                for ordinal, (passage, result) in enumerate(zip(passages, results, strict=True))
            ]
            report.failures += [result for result in results if isinstance(result, Failure)]
        report.remaining = len(batch) - len(done)
        if not done:
            return WrittenBatch(report=report, characters=characters)
        rows = self._encode(rows, [title_with_headings(p.title, p.text, p.places) for p in taken], encoded)
        table = rows_to_table(rows, self.encoder.dimension, sentences=self.table.has_sentence_vectors)
        files = self.table.write_fragments(table, [changed.document.id for changed in done])
        segments = write_segments(self.table.location.derived, files)
        report.passages = len(rows)
        report.sentences = sum(_count_sentences(row) for row in rows)
        report.added = sum(changed.is_new for changed in done)
        report.updated = len(done) - report.added
        report.seconds = time.perf_counter() - started
        replaced = [changed.document.id for changed in done if not changed.is_new]
        return WrittenBatch(files.records, segments, replaced, report, characters)

    def _extract(self, passages: Sequence[Passage]) -> tuple[list[Extraction | Failure], EncodedPassages | None]:
        """Return the results of the extractor, and the vectors where it reads the passages by the index's encoder."""
        extractor = self.extractor
        if isinstance(extractor, LearnedExtractor) and extractor.encoder_fingerprint == self.encoder.fingerprint:
            return extractor.extract_and_encode(passages)
        return extractor.extract(passages), None

    def _encode(
        self, rows: Sequence[PassageRow], titles: Sequence[str], encoded: EncodedPassages | None
    ) -> list[PassageRow]:
        """Return the rows, read under titles, with the vectors that the table has, those of all rows if given."""
        passages = [(title, row.text) for title, row in zip(titles, rows, strict=True)]
        if self.table.has_sentence_vectors:
            encoded = encoded or encode_with_sentences(self.encoder, passages)
            parts = zip(rows, encoded.vectors, encoded.sentences, strict=True)
            return [replace(row, vector=vector, sentences=sentences) for row, vector, sentences in parts]
        if self.encoder.dimension:
            vectors = encode_passages(self.encoder, passages) if encoded is None else encoded.vectors
            return [replace(row, vector=vector) for row, vector in zip(rows, vectors, strict=True)]
        return list(rows)


def write_segments(derived: Path, written: WrittenFragments) -> list[str]:
    """Write the segments of data files; return their names. What is not written here is made before it is needed."""
    from lance.fragment import FragmentMetadata

    if len(written.records) != 1:
        return []
    try:
        return [write_segment(derived, FragmentMetadata.from_json(written.records[0]), written.rows).name]
    except CollisionError:
        return []  # the whole index is hashed in another way when its version is made


def guess_passages(changed: ChangedDocument, max_tokens: int) -> int:
    """Return about how many passages a document has, at least 1, without splitting it."""
    return 1 + len(changed.document.text) // (_CHARACTERS_PER_TOKEN * max_tokens)


def encode_passages(encoder: Encoder, texts: Sequence[tuple[str, str]]) -> FloatArray:
    """Return unit vectors (len(texts), dimension) of passages, given their titles and texts."""
    return np.asarray(encoder.encode([join_title(title, blank_unread(text)) for title, text in texts]))


def find_stop_error(results: Sequence[Extraction | Failure]) -> Exception | None:
    """Return the error that ended the run before some passage was tried, if one did."""
    return next((r.run_error for r in results if isinstance(r, Failure) and r.run_error is not None), None)


def result_cells(result: Extraction | Failure, extractor: str) -> tuple[Any, ...]:
    """Return the columns mentions, triples, failure and extractor of one passage in stored form."""
    if isinstance(result, Failure):
        return [], [], result.reason, extractor
    return mention_cells(result.mentions), triple_cells(alias_triples(result)), None, extractor


def _count_sentences(row: PassageRow) -> int:
    return len(passage_sentence_spans(row.text) if row.sentences is None else row.sentences.spans)


def _make_row(
    passage: Passage, ordinal: int, changed: ChangedDocument, result: Extraction | Failure, extractor: str
) -> PassageRow:
    document: Document = changed.document
    extraction = result if isinstance(result, Extraction) else Extraction()
    return PassageRow(
        id=passage.id,
        document_id=document.id,
        ordinal=ordinal,
        title=passage.title,
        text=passage.text,
        start=passage.start,
        end=passage.end,
        metadata=pack_metadata(passage),
        aliases=document.aliases,
        links=document.links,
        document_hash=changed.hash,
        mentions=extraction.mentions,
        triples=alias_triples(extraction),
        failure=result.reason if isinstance(result, Failure) else None,
        extractor=extractor,
    )
