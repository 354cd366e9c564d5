"""Documents of a folder that it has no longer: removed where that is wanted, else named in the report of the run."""

from collections.abc import Collection

from clew.indexing.report import IndexingReport
from clew.indexing.sources.discovery import printable_path
from clew.indexing.sources.register import SourceRegister
from clew.indexing.sources.source_folder import SourceFolder
from clew.store.location import source_register_path
from clew.store.passage_table import PassageTable
from clew.text.counts import format_count

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
