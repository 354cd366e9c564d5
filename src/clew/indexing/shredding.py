"""Removal of what an index has beside its newest version: vectors out of use, and every trace of text that is shredded.

To shred, everything goes that may hold text of a removed document: older versions of the table, derived data that were
not made from the newest version, replies of language models, and what was sent to a server for the index. Each step
may be repeated, so that a run that was killed is finished by the next one.

Documents of a folder that it has no longer: removed where that is wanted, else named in the report of the run.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from clew.errors import IndexLockedError, ProviderError
from clew.graph.snapshot.snapshot import Snapshot
from clew.indexing.report import IndexingReport
from clew.indexing.sentence_vectors import discard_lists
from clew.indexing.snapshot_builder import ensure_snapshot
from clew.indexing.sources.discovery import printable_path
from clew.indexing.sources.folder_state import forget_watched
from clew.indexing.sources.register import SourceRegister
from clew.indexing.sources.source_folder import SourceFolder
from clew.models.llm.reply_cache import ReplyCache
from clew.protocols import Encoder
from clew.store.atomic import discard, remove_leftovers
from clew.store.commits import DAMAGED_FOLDER
from clew.store.location import reply_cache_path, source_register_path
from clew.store.passage_table import PassageTable
from clew.store.segment_files import discard_segments, read_segment_names, segments_folder
from clew.store.snapshot_files import snapshot_folder
from clew.store.vector_cache import VectorCache, text_keys
from clew.store.writer_lock import PINS_FOLDER, pinned_versions
from clew.text.display import format_count
from clew.types import Progress

VECTORS = "vectors.lance"
_BLOCK_TEXTS = 1 << 16
_STAYING = frozenset({PINS_FOLDER, VECTORS, "centroids", "segments", "snapshots"})
_OVER = ("done", "failed", "cancelled")  # states of a server's job that nothing more happens to


def drop_unused_vectors(derived: Path, snapshot: Snapshot, fingerprint: str) -> int:
    """Drop the stored vectors of texts that a version has not: names, relations and triples; return their number."""
    keys = (text_keys(block, fingerprint) for block in _blocks(_encoded_texts(snapshot)))
    return VectorCache(derived / VECTORS).retain(keys)


def shred(table: PassageTable, snapshot: Snapshot, encoder: Encoder, progress: Progress) -> None:
    """Remove all that may hold text which the newest version of a compacted table has not, under the writer lock.

    Raises:
        IndexLockedError: Another process is reading an older version; all else is removed.
        ProviderError: A file cannot be removed.
    """
    location = table.location
    folder = snapshot_folder(table)
    table.remove_unnamed_files()
    _remove_leftovers(location.derived)
    pinned = pinned_versions(location.derived) - {table.version}
    _shred_derived(location.derived, folder, pinned)
    ensure_snapshot(table, encoder, progress)  # makes lists of vectors again
    drop_unused_vectors(location.derived, snapshot, encoder.fingerprint)
    _forget_sources(table)
    ReplyCache(reply_cache_path(location)).clear()
    _discard(location.derived.parent / DAMAGED_FOLDER)
    for job in sorted((location.derived.parent / "uploads").glob("*/job.json")):
        if _is_over(job):
            _discard(job.parent)
    if pinned:
        versions = ", ".join(map(str, sorted(pinned)))
        raise IndexLockedError(
            f"another process is reading version {versions} of {location.name}, whose text stays until it ends: the "
            "newest version is without it; end that process, then run `clew compact --shred`"
        )


def _forget_sources(table: PassageTable) -> None:
    """Drop the ids of documents that are not stored from the notes on files and folders."""
    stored = table.stored_documents()

    def is_gone(document: str) -> bool:
        return document not in stored

    SourceRegister(source_register_path(table.location)).forget(is_gone)
    for state in sorted((table.location.derived.parent / "watched").glob("*.jsonl")):
        forget_watched(state, is_gone)


def _shred_derived(derived: Path, snapshot: Path, pinned: set[int]) -> None:
    """Discard derived data but those of a snapshot, and snapshots of versions that are read."""
    if not derived.is_dir():
        return
    for path in sorted(derived.iterdir()):
        if path.name not in _STAYING and not path.name.startswith("."):
            _discard(path)
    for other in sorted((derived / "snapshots").glob("[0-9]*")):
        number = other.name.partition("-")[0]
        if other != snapshot and not (number.isdecimal() and int(number) in pinned):
            _discard(other)
    discard_lists(derived)
    discard_segments(segments_folder(derived), read_segment_names(snapshot) if snapshot.is_dir() else [])


def _remove_leftovers(derived: Path) -> None:
    """Remove the temporary files of ended writers in the folders of an index that they write to."""
    root = derived.parent
    weights = [path for path in (root / "weights").rglob("*") if path.is_dir()]
    written = [root / name for name in ("watched", "uploads", "weights")]
    derived_folders = [derived / name for name in ("segments", "snapshots", "centroids", VECTORS)]
    for folder in (root, *written, *weights, derived, *derived_folders):
        remove_leftovers(folder)


def _discard(path: Path) -> None:
    if not path.exists():
        return
    try:
        discard(path)
    except ProviderError as error:
        raise ProviderError(
            f"{path} cannot be removed ({error.__cause__}): remove it by hand, then run `clew compact --shred`"
        ) from error


def _is_over(job: Path) -> bool:
    with suppress(OSError, ValueError, AttributeError):
        return json.loads(job.read_bytes()).get("status") in _OVER
    return False


def _encoded_texts(snapshot: Snapshot) -> Iterator[str]:
    yield from snapshot.entities
    yield from snapshot.relations
    entities, relations = list(snapshot.entities), list(snapshot.relations)
    for head, relation, tail in snapshot.triples.tolist():
        yield f"{entities[head]} {relations[relation]} {entities[tail]}"


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while block := list(islice(rest, _BLOCK_TEXTS)):
        yield block


_MAX_NOTES = 5


def settle_sources(register: SourceRegister, table: PassageTable, report: IndexingReport, *, prune: bool) -> None:
    """Remove the documents that the folders of a run have no longer, or note them, after all was read.

    A folder that has no file to be read may be one that is not mounted: nothing of it is removed, which is noted.
    """
    note_renamed(register, report)
    if report.stop_error is not None:
        return
    found = [(folder, list(dict.fromkeys(register.find_missing(folder)))) for folder in register.folders_read]
    if not any(documents for _, documents in found):
        return
    stored = table.stored_documents()
    pruned: list[str] = []
    for folder, documents in found:
        present = [id_ for id_ in documents if id_ in stored]
        if present and prune and folder.has_files:
            pruned += present
        elif present:
            report.notes.append(_describe(folder, len(present), prune=prune))
    if pruned:
        gone = dict.fromkeys(pruned)
        table.delete(list(gone))
        report.removed += len(gone)
        register.forget(gone.__contains__)


def free_ids(table: PassageTable, documents: Collection[str]) -> None:
    """Let other files have the ids of documents that were removed, where the files that had them are gone."""
    SourceRegister(source_register_path(table.location)).forget_absent(documents)


def note_renamed(register: SourceRegister, report: IndexingReport) -> None:
    """Note the files whose id is not their path."""
    report.notes += register.renamed[:_MAX_NOTES]
    if (more := len(register.renamed) - _MAX_NOTES) > 0:
        have = format_count(more, "more file has an id", "more files have ids")
        report.notes.append(f"{have} with the names of their folders")


def _describe(folder: SourceFolder, count: int, *, prune: bool) -> str:
    name = printable_path(folder.path)
    documents = format_count(count, "document")
    if prune:
        stay = "stays" if count == 1 else "stay"
        return f"{documents} of {name} {stay}: it has no file that can be read; clew remove removes them by their ids"
    verb = "is" if count == 1 else "are"
    return f"{documents} of {name} {verb} no longer there: --prune removes what is gone"
