"""Documents into the table: what is new or changed is cut, extracted, encoded and committed, batch by batch.

A batch is one atomic commit, so a run that is killed loses at most the batch in flight, and the next run finds the
committed documents unchanged and goes on after them.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from clew.indexing.chunking import Chunker
from clew.protocols import Encoder, Extractor
from clew.snapshots import Progress
from clew.store.schema import Row, rows_to_table
from clew.store.table import PassageTable
from clew.types import Document, Extraction, Failure, Passage

if TYPE_CHECKING:
    from clew.types import FloatArray

BATCH_PASSAGES = 256
# A commit costs a few milliseconds and a file: fast extraction fills larger batches, slow encoding commits more often.
BATCH_SECONDS = 5.0
BATCH_LIMIT = 8192


@dataclass(slots=True)
class Report:
    """What a run did.

    Attributes:
        added: Documents that were new.
        updated: Documents that had changed.
        unchanged: Documents that cost nothing.
        removed: Documents that were taken out.
        passages: Passages written.
        failures: What could not be read or extracted, and why.
        seconds: Time of the run.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    passages: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Updater:
    """Brings documents into a table.

    Attributes:
        table: The table, opened under the writer's lock.
        chunker: Cuts documents.
        extractor: Finds entities and triples.
        encoder: Makes vectors; dimension 0 makes none.
        progress: Told of the characters done.
    """

    table: PassageTable
    chunker: Chunker
    extractor: Extractor
    encoder: Encoder
    progress: Progress

    def update(self, documents: Iterable[Document | Failure]) -> Report:
        """Add what is new, replace what has changed, and report what failed; commits as it goes."""
        started = time.perf_counter()
        report = Report()
        known = self.table.documents()
        recipe = f"{self.chunker.fingerprint}\0{self.extractor.fingerprint}"  # asked once: it reads a package's files
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
            hash_ = _document_hash(document, recipe)
            if known.get(document.id) == hash_:
                report.unchanged += 1
            else:
                changed.append((document, hash_))
        total = sum(len(document.text) for document, _ in changed)
        done = 0
        for batch in self._batches(changed, known, report):
            done += sum(len(document.text) for document, _, _ in batch)
            self._write(batch, known, report)
            self.progress("indexing", done, total)
        report.seconds = time.perf_counter() - started
        return report

    def _batches(
        self, changed: Sequence[tuple[Document, str]], known: Mapping[str, str], report: Report
    ) -> Iterator[list[tuple[Document, str, list[Passage]]]]:
        """Yield documents with their passages, as many as make a batch worth a commit."""
        ids = known.keys() | {document.id for document, _ in changed}
        taken = self._numbered() if any(d.id.rpartition("#")[0] in known for d, _ in changed) else frozenset()
        batch: list[tuple[Document, str, list[Passage]]] = []
        count, since = 0, time.perf_counter()
        for document, hash_ in changed:
            passages = self.chunker.split(document)
            if clash := next((p.id for p in passages if p.id in (taken if p.id == document.id else ids)), None):
                reason = f"its passage would have the id {clash!r}, which another document has; rename one of them"
                report.failures.append(Failure(document.id, reason))
                continue
            if not passages:
                report.failures.append(Failure(document.id, "it holds nothing but white space; give it a text"))
                continue
            batch.append((document, hash_, passages))
            count += len(passages)
            slow = time.perf_counter() - since > BATCH_SECONDS or self.encoder.dimension
            if count >= (BATCH_PASSAGES if slow else BATCH_LIMIT):
                yield batch
                batch, count, since = [], 0, time.perf_counter()
        if batch:
            yield batch

    def _numbered(self) -> frozenset[str]:
        """Return the ids in the table of passages that are parts of documents: no document can have one of them."""
        rows = self.table.read(["id", "document_id"])
        pairs = zip(rows["id"].to_pylist(), rows["document_id"].to_pylist(), strict=True)
        return frozenset(id_ for id_, document_id in pairs if id_ != document_id)

    def _write(
        self, batch: Sequence[tuple[Document, str, list[Passage]]], known: Mapping[str, str], report: Report
    ) -> None:
        passages = [passage for _, _, found in batch for passage in found]
        results = self.extractor.extract(passages)
        vectors = self._vectors(passages)
        rows: list[Row] = []
        for document, hash_, found in batch:
            for ordinal, passage in enumerate(found):
                result = results[len(rows)]
                row = _row(passage, ordinal, document, hash_, result, self.extractor.fingerprint)
                rows.append(row if vectors is None else replace(row, vector=vectors[len(rows)]))
                if isinstance(result, Failure):
                    report.failures.append(result)
        self.table.replace(rows_to_table(rows, self.encoder.dimension), [document.id for document, _, _ in batch])
        report.passages += len(rows)
        updated = sum(document.id in known for document, _, _ in batch)
        report.updated += updated
        report.added += len(batch) - updated

    def _vectors(self, passages: Sequence[Passage]) -> "FloatArray | None":
        if not self.encoder.dimension:
            return None
        return np.asarray(self.encoder.encode([f"{p.title}\n{p.text}" if p.title else p.text for p in passages]))


def _document_hash(document: Document, recipe: str) -> str:
    about = [document.id, document.title, document.text, dict(document.metadata), document.aliases, document.links]
    packed = json.dumps([*about, recipe], sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(packed.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _row(
    passage: Passage, ordinal: int, document: Document, hash_: str, result: Extraction | Failure, extractor: str
) -> Row:
    found = result if isinstance(result, Extraction) else Extraction()
    return Row(
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
        mentions=found.mentions,
        triples=found.triples,
        failure=result.reason if isinstance(result, Failure) else None,
        extractor=extractor,
    )
