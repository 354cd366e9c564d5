"""The indexing pipeline: new or changed documents are split, extracted, encoded and committed in batches.

A batch is one atomic commit: a killed run loses at most the batch in progress, and the next run skips the committed
documents, which are unchanged. A run that a budget ends commits the finished documents and leaves the others as they
were. Passages whose extraction failed are stored without triples and can be extracted again.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.indexing.chunking import Chunker
from clew.protocols import Encoder, Extractor
from clew.store.kg_shards import is_shard, shards_by_graph
from clew.store.passage_table import PassageTable
from clew.store.schema import PassageRow, mention_cells, rows_to_table, triple_cells
from clew.types import Document, Extraction, Failure, Passage, Progress

BATCH_PASSAGES = 256
# A commit costs a few milliseconds and a file: fast extraction fills larger batches, slow encoding commits more often.
BATCH_SECONDS = 5.0
BATCH_LIMIT = 8192
_PASSAGE_COLUMNS = ["id", "document_id", "title", "text", "start", "end"]


@dataclass(slots=True)
class IndexingReport:
    """Result of an indexing run."""

    added: int = 0  # new documents
    updated: int = 0  # changed documents
    unchanged: int = 0  # documents that were skipped
    removed: int = 0  # documents removed
    removed_graphs: int = 0  # imported graphs removed
    passages: int = 0  # passages written
    retried: int = 0  # passages that failed in an earlier run and were extracted again, with or without success
    failures: list[Failure] = field(default_factory=list)  # documents not read, passages not extracted
    stop_error: Exception | None = None  # what ended the run early, such as an exhausted budget
    remaining: int = 0  # documents that were not processed
    seconds: float = 0.0  # duration of the run


@dataclass(frozen=True, slots=True)
class IndexWriter:
    """Writes documents to a table."""

    table: PassageTable  # the table, opened under the writer lock
    chunker: Chunker  # splits documents into passages
    extractor: Extractor  # finds entities and triples
    encoder: Encoder  # encodes passages; dimension 0 stores no vectors
    progress: Progress  # called with the number of characters done
    slow_extraction: bool = False  # whether extraction is so slow that small batches are worth their commits

    def update(self, documents: Iterable[Document | Failure], *, retry_failed: bool = False) -> IndexingReport:
        """Add new documents, replace changed ones and report failures; each batch is committed when it is done.

        With `retry_failed`, passages that failed in earlier runs are extracted again after that; other results stay.
        """
        started = time.perf_counter()
        report = IndexingReport()
        stored_hashes = self.table.document_hashes()
        changed = select_changed(documents, stored_hashes, self.chunker, self.extractor, report)
        total = sum(len(document.text) for document, _ in changed)
        done = 0
        report.remaining = len(changed)
        for batch in self._batches(changed, stored_hashes, report):
            done += sum(len(document.text) for document, _, _ in batch)
            self._write(batch, stored_hashes, report)
            self.progress("indexing", done, total)
            if report.stop_error is not None:
                break
        if retry_failed:
            # Passages that failed in this run are not tried twice.
            failed = failed_passages(self.table, {document.id for document, _ in changed})
            self._retry(sorted({passage.document_id for passage in failed}), report)
        report.seconds = time.perf_counter() - started
        return report

    def _batches(
        self, changed: Sequence[tuple[Document, str]], stored_hashes: Mapping[str, str], report: IndexingReport
    ) -> Iterator[list[tuple[Document, str, list[Passage]]]]:
        ids = stored_hashes.keys() | {document.id for document, _ in changed}
        graphs = shards_by_graph(stored_hashes)
        has_numbered_id = any(document.id.rpartition("#")[0] in stored_hashes for document, _ in changed)
        numbered = self._numbered_passage_ids() if has_numbered_id else frozenset()
        batch: list[tuple[Document, str, list[Passage]]] = []
        count, since = 0, time.perf_counter()
        for document, hash_ in changed:
            passages = self.chunker.split(document)
            conflict = next((p.id for p in passages if p.id in (numbered if p.id == document.id else ids)), None)
            if document.id in graphs or is_shard(stored_hashes.get(document.id, "")):
                reason = "an imported graph has this id; rename the document, or import the graph by another --name"
            elif conflict:
                reason = f"its passage would have the id {conflict!r}, which another document has; rename one of them"
            elif not passages:
                reason = "it holds nothing but white space; give it a text"
            else:
                batch.append((document, hash_, passages))
                count += len(passages)
                slow = self.slow_extraction or self.encoder.dimension or time.perf_counter() - since > BATCH_SECONDS
                if count >= (BATCH_PASSAGES if slow else BATCH_LIMIT):
                    yield batch
                    batch, count, since = [], 0, time.perf_counter()
                continue
            report.failures.append(Failure(document.id, reason))
            report.remaining -= 1
        if batch:
            yield batch

    def _numbered_passage_ids(self) -> frozenset[str]:
        """Return the stored ids of passages that are parts of documents; no document may have such an id."""
        rows = self.table.read(["id", "document_id"])
        pairs = zip(rows["id"].to_pylist(), rows["document_id"].to_pylist(), strict=True)
        return frozenset(id_ for id_, document_id in pairs if id_ != document_id)

    def _write(
        self,
        batch: Sequence[tuple[Document, str, list[Passage]]],
        stored_hashes: Mapping[str, str],
        report: IndexingReport,
    ) -> None:
        extractions = iter(self.extractor.extract([p for _, _, document_passages in batch for p in document_passages]))
        rows: list[PassageRow] = []
        passages: list[Passage] = []
        done: list[str] = []
        for document, hash_, document_passages in batch:
            results = [next(extractions) for _ in document_passages]
            if (error := _find_stop_error(results)) is not None:
                report.stop_error = report.stop_error or error
                continue
            done.append(document.id)
            passages += document_passages
            rows += [
                _make_row(passage, ordinal, document, hash_, result, self.extractor.fingerprint)
                for ordinal, (passage, result) in enumerate(zip(document_passages, results, strict=True))
            ]
            report.failures += [result for result in results if isinstance(result, Failure)]
        if not done:
            return
        if (vectors := self._encode_passages(passages)) is not None:
            rows = [replace(row, vector=vector) for row, vector in zip(rows, vectors, strict=True)]
        self.table.replace(rows_to_table(rows, self.encoder.dimension), done)
        report.passages += len(rows)
        updated = sum(id_ in stored_hashes for id_ in done)
        report.updated += updated
        report.added += len(done) - updated
        report.remaining -= len(done)

    def _retry(self, documents: Sequence[str], report: IndexingReport) -> None:
        if not documents:
            return
        report.remaining += len(documents)
        if report.stop_error is not None:
            return
        stored = self.table.read()
        stored = stored.filter(pc.is_in(stored["document_id"], value_set=pa.array(documents)))
        total, done = stored.num_rows - stored["failure"].null_count, 0
        for batch in _document_batches(stored):
            failed = _rows_to_passages(batch.filter(pc.is_valid(batch["failure"])))
            results = dict(zip((p.id for p in failed), self.extractor.extract(failed), strict=True))
            report.stop_error = _find_stop_error(list(results.values()))
            tried = {id_: result for id_, result in results.items() if _find_stop_error([result]) is None}
            rows = _with_results(batch, tried, self.extractor.fingerprint)
            if not rows.equals(batch):
                self.table.replace(rows, batch["document_id"].unique().to_pylist())
            report.retried += len(tried)
            report.failures += [result for result in tried.values() if isinstance(result, Failure)]
            untried = {passage.document_id for passage in failed if passage.id not in tried}
            report.remaining -= len(set(batch["document_id"].to_pylist()) - untried)
            done += len(tried)
            self.progress("extracting again", done, total)
            if report.stop_error is not None:
                return

    def _encode_passages(self, passages: Sequence[Passage]) -> FloatArray | None:
        if not self.encoder.dimension:
            return None
        return np.asarray(self.encoder.encode([f"{p.title}\n{p.text}" if p.title else p.text for p in passages]))


def _find_stop_error(results: Sequence[Extraction | Failure]) -> Exception | None:
    return next((r.run_error for r in results if isinstance(r, Failure) and r.run_error is not None), None)


def _document_batches(rows: pa.Table) -> Iterator[pa.Table]:
    """Yield rows, sorted by document, in tables of whole documents with one batch of failures each."""
    documents, failures = rows["document_id"].to_pylist(), rows["failure"].to_pylist()
    start = count = 0
    for position, document in enumerate(documents):
        count += failures[position] is not None
        last = position + 1 == len(documents)
        if last or (count >= BATCH_PASSAGES and documents[position + 1] != document):
            yield rows.slice(start, position + 1 - start)
            start, count = position + 1, 0


def _rows_to_passages(rows: pa.Table) -> list[Passage]:
    metadata = map(json.loads, rows["metadata"].to_pylist())
    values = rows.select(_PASSAGE_COLUMNS).to_pylist()
    return [Passage(**row, metadata=row_metadata) for row, row_metadata in zip(values, metadata, strict=True)]


def _with_results(rows: pa.Table, results: Mapping[str, Extraction | Failure], extractor: str) -> pa.Table:
    names = ("mentions", "triples", "failure", "extractor")
    cells: dict[str, list[Any]] = {name: rows[name].to_pylist() for name in names}
    for position, id_ in enumerate(rows["id"].to_pylist()):
        if (result := results.get(id_)) is not None:
            for name, cell in zip(names, _result_cells(result, extractor), strict=True):
                cells[name][position] = cell
    for name in names:
        index = rows.schema.get_field_index(name)
        column = rows.schema.field(index)
        rows = rows.set_column(index, column, pa.array(cells[name], type=column.type))
    return rows


def _result_cells(result: Extraction | Failure, extractor: str) -> tuple[Any, ...]:
    if isinstance(result, Failure):
        return [], [], result.reason, extractor
    return mention_cells(result.mentions), triple_cells(result.triples), None, extractor


def select_changed(
    documents: Iterable[Document | Failure],
    stored_hashes: Mapping[str, str],
    chunker: Chunker,
    extractor: Extractor,
    report: IndexingReport,
) -> list[tuple[Document, str]]:
    """Return the new and changed documents with hashes, in order; failures and repeated ids go to the report."""
    fingerprints = f"{chunker.fingerprint}\0{extractor.fingerprint}"  # computed once: it reads a package's files
    changed: list[tuple[Document, str]] = []
    seen: set[str] = set()
    for document in documents:
        if isinstance(document, Failure):
            report.failures.append(document)
            continue
        if document.id in seen:
            report.failures.append(Failure(document.id, "another document of this id was given before it"))
            continue
        seen.add(document.id)
        hash_ = _document_hash(document, fingerprints)
        if stored_hashes.get(document.id) == hash_:
            report.unchanged += 1
        else:
            changed.append((document, hash_))
    return changed


def failed_passages(table: PassageTable, exclude: AbstractSet[str] = frozenset()) -> list[Passage]:
    """Return the passages whose extraction failed, sorted by document and position, without excluded documents."""
    rows = table.read([*_PASSAGE_COLUMNS, "metadata", "failure"])
    return [p for p in _rows_to_passages(rows.filter(pc.is_valid(rows["failure"]))) if p.document_id not in exclude]


def _document_hash(document: Document, fingerprints: str) -> str:
    values = [document.id, document.title, document.text, dict(document.metadata), document.aliases, document.links]
    text = json.dumps([*values, fingerprints], sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _make_row(
    passage: Passage, ordinal: int, document: Document, hash_: str, result: Extraction | Failure, extractor: str
) -> PassageRow:
    extraction = result if isinstance(result, Extraction) else Extraction()
    return PassageRow(
        id=passage.id,
        document_id=document.id,
        ordinal=ordinal,
        title=passage.title,
        text=passage.text,
        start=passage.start,
        end=passage.end,
        metadata=dict(passage.metadata),
        aliases=document.aliases,
        links=document.links,
        document_hash=hash_,
        mentions=extraction.mentions,
        triples=extraction.triples,
        failure=result.reason if isinstance(result, Failure) else None,
        extractor=extractor,
    )


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


EXTRACTION_CALLS = "extraction_calls"
