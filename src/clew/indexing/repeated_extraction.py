"""Extraction once more of the passages at which it failed in earlier runs; other passages stay as they are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from clew.indexing.batches import find_stop_error, result_cells
from clew.indexing.report import IndexingReport
from clew.indexing.segments.names import set_columns
from clew.protocols import Extractor
from clew.store.passage_table import PassageTable
from clew.text.places import unpack_metadata
from clew.types import Extraction, Failure, Passage, Progress

_PASSAGE_COLUMNS = ["id", "document_id", "title", "text", "start", "end"]


def documents_with_failures(table: PassageTable) -> set[str]:
    """Return the ids of the documents with a passage whose extraction failed."""
    return set(table.read_failed(["document_id"])["document_id"].to_pylist())


def failed_passages(table: PassageTable) -> list[Passage]:
    """Return the passages whose extraction failed, sorted by document and position."""
    return _rows_to_passages(table.read_failed([*_PASSAGE_COLUMNS, "metadata"]))


def extract_again(
    table: PassageTable,
    extractor: Extractor,
    documents: Sequence[str],
    report: IndexingReport,
    progress: Progress,
    batch_passages: int,
) -> None:
    """Extract the failed passages of documents, and add what came of it to the report.

    A stop error of the report leaves all as they are. `batch_passages` failed passages, and the rest of their
    documents, are one commit.
    """
    report.remaining += len(documents)
    if not documents or report.stop_error is not None:
        return
    done, total = 0, sum(passage.document_id in set(documents) for passage in failed_passages(table))
    for rows in _document_batches(table, documents, batch_passages):
        failed = _rows_to_passages(rows.filter(pc.is_valid(rows["failure"])))
        results = dict(zip((p.id for p in failed), extractor.extract(failed), strict=True))
        report.stop_error = find_stop_error(list(results.values()))
        tried = {id_: result for id_, result in results.items() if find_stop_error([result]) is None}
        corrected = _with_results(rows, tried, extractor.fingerprint)
        if not corrected.equals(rows):
            table.replace(corrected, rows["document_id"].unique().to_pylist())
        report.retried += len(tried)
        report.failures += [result for result in tried.values() if isinstance(result, Failure)]
        untried = {passage.document_id for passage in failed if passage.id not in tried}
        report.remaining -= len(set(rows["document_id"].to_pylist()) - untried)
        done += len(tried)
        progress("extracting again", done, total)
        if report.stop_error is not None:
            return


def _document_batches(table: PassageTable, documents: Sequence[str], size: int) -> Iterator[pa.Table]:
    """Yield the passages of documents, sorted by document, in tables of whole documents with one batch of failures."""
    for start in range(0, len(documents), size):
        rows = table.read_documents(documents[start : start + size])
        ids, failures = rows["document_id"].to_pylist(), rows["failure"].to_pylist()
        first = count = 0
        for position, document in enumerate(ids):
            count += failures[position] is not None
            last = position + 1 == len(ids)
            if last or (count >= size and ids[position + 1] != document):
                yield rows.slice(first, position + 1 - first)
                first, count = position + 1, 0


def _rows_to_passages(rows: pa.Table) -> list[Passage]:
    stored = map(unpack_metadata, rows["metadata"].to_pylist())
    values = rows.select(_PASSAGE_COLUMNS).to_pylist()
    return [Passage(**row, **own) for row, own in zip(values, stored, strict=True)]


def _with_results(rows: pa.Table, results: Mapping[str, Extraction | Failure], extractor: str) -> pa.Table:
    names = ("mentions", "triples", "failure", "extractor")
    cells: dict[str, list[Any]] = {name: rows[name].to_pylist() for name in names}
    for position, id_ in enumerate(rows["id"].to_pylist()):
        if (result := results.get(id_)) is not None:
            for name, cell in zip(names, result_cells(result, extractor), strict=True):
                cells[name][position] = cell
    return set_columns(rows, cells)
