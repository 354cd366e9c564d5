"""Parts of a corpus, written on any machine, and the one commit that makes a version of them.

In a staging folder a part is its record (`part_record`) and the documents that it was compared with (`part_documents`).
A part that was written twice is committed once; a part that is missing stops the commit, and so does one whose
documents have changed in the index since they were compared.
"""

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from clew.errors import IndexFormatError, InputError
from clew.indexing.part_documents import PartComparison, WrittenPart, compare_documents, hash_file, read_object
from clew.indexing.pipeline import IndexWriter
from clew.indexing.report import IndexingReport
from clew.indexing.selected_snapshot import Part
from clew.store.document_ids import StoredDocuments
from clew.store.passage_table import PassageTable
from clew.store.schema import canonical_json
from clew.store.segment_files import segments_folder
from clew.store.staging import StagingFolder
from clew.types import Document, Failure

_PART_NAME = re.compile(r"part-(\d{5})-of-(\d{5})\.json")
_COMMITTED = "committed.json"


def parse_part(text: str) -> Part:
    """Return the part of a text such as `3/8`; another form is an InputError."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= 99_999:
        raise InputError(f"--shard is {text!r}: give the number of a part and how many there are, such as 1/4")
    return Part(int(match[1]), int(match[2]))


def settings_hash(table: PassageTable) -> str:
    """Return a hash of the settings of an index."""
    return blake2b(canonical_json(table.settings, "the index settings").encode(), digest_size=16).hexdigest()


def stage_part(
    writer: IndexWriter, documents: Iterable[Document | Failure], part: Part, sources: str, staging: StagingFolder
) -> IndexingReport:
    """Write a part, and put it into a folder in the place of one that was there; a run that is stopped leaves none.

    Args:
        writer: The writer of the index.
        documents: All documents; those of other parts are left out.
        part: The part.
        sources: Hash of the files that the documents are read from.
        staging: The folder.

    Raises:
        BudgetError: A budget ended the run before the part was complete; other errors are as of the models.
    """
    table = writer.table
    settings, version, files_hash = settings_hash(table), table.version, table.files_hash
    batch, recorder = writer.write_part(documents, part)
    if batch.report.stop_error is not None:
        raise batch.report.stop_error
    location = table.location
    if location.remote:  # its derived files lie on this machine alone
        for name in batch.segments:
            staging.write(name, segments_folder(location.derived) / name)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "documents"
        hashed = recorder.write(file)
        staging.write(_documents_name(part), file)
    written = WrittenPart.of_batch(
        batch,
        part=(part.number, part.count),
        settings=settings,
        version=version,
        files=files_hash,
        sources=sources,
        documents=hashed,
    )
    staging.write_text(_part_name(part), written.model_dump_json(indent=1) + "\n")
    return batch.report


def commit_staged(table: PassageTable, staging: StagingFolder) -> IndexingReport:
    """Make one version of all parts in a folder, and return the sum of their reports.

    A part that an earlier commit has made a version of is left out, with what has changed in its documents since; it
    is committed again where the index has gone back to what the part was compared with. So are no documents replaced
    where the index has them all as the part has them: they are counted as unchanged.

    Raises:
        InputError: A part is missing, of another index, of other files than the rest, or its data files are gone; or a
            document of it has changed in the index since, or is gone from it. Nothing was changed.
        IndexLockedError: The table has changed since it was opened.
    """
    names = _all_parts(staging)
    texts = {name: staging.read_text(name) for name in names}
    all_parts = {name: WrittenPart.from_json(texts[name], name) for name in names}
    _check_settings(table, list(all_parts.values()))
    _check_sources(list(all_parts.values()), staging.name)
    committed = _read_committed(staging, table)
    hashes = {name: blake2b(text.encode(), digest_size=16).hexdigest() for name, text in texts.items()}
    report, stored, new = IndexingReport(), table.stored_documents(), list[WrittenPart]()
    for name, part in all_parts.items():
        comparison = _compare(part, staging, stored)
        if comparison.has_stored_change and committed.get(name) == hashes[name]:
            continue
        _refuse_conflict(table, part, comparison, staging.name)
        report.add(_count_unchanged(part.report) if comparison.is_stored else part.report)
        if not comparison.is_stored:
            new.append(part)
    _commit_new(table, new, staging.name)
    folder, staged = segments_folder(table.location.derived), set(staging.names())
    for name in (name for part in new for name in part.segments if name in staged):
        if not (folder / name).exists():
            staging.read(name, folder / name)
    record = {"version": table.version, "files": table.files_hash, "parts": hashes}
    staging.write_text(_COMMITTED, json.dumps(record, indent=1, sort_keys=True) + "\n")
    return report


def _commit_new(table: PassageTable, parts: Sequence[WrittenPart], staging: str) -> None:
    """Commit parts that the table does not have."""
    new, stored = [part for part in parts if part.fragments], table.data_files()
    if not new:
        return
    if half := [part for part in new if part.data_files() & stored]:
        raise InputError(
            f"{half[0].describe()} is in {table.location.name} but for documents that were removed since: "
            f"{half[0].describe_repetition(staging)}"
        )
    rows = pa.concat_tables([_read_ids(table, part, staging) for part in new])
    if len(rows["id"].unique()) < rows.num_rows:
        raise InputError("a passage stands in two parts: write the parts again, all with the same number of parts")
    replaced = rows["document_id"].combine_chunks().unique()
    if all((part.version, part.files) == (table.version, table.files_hash) for part in new):
        if not any(part.report.updated for part in new):
            replaced = replaced.slice(0, 0)
    elif conflicts := table.find_conflicts(rows["id"].combine_chunks(), replaced):
        raise InputError(
            f"passage id {conflicts[0]!r} was given to another document since the parts were written: write them again"
        )
    table.commit_fragments([fragment for part in new for fragment in part.fragment_records()], replaced)


def _compare(part: WrittenPart, staging: StagingFolder, stored: StoredDocuments) -> PartComparison:
    """Compare the documents of a part with those of the index."""
    name = _documents_name(Part(*part.part))
    if name not in staging.names():
        raise InputError(
            f"{staging.name} lacks {name}, the documents of {part.describe()}: {part.describe_repetition(staging.name)}"
        )
    with TemporaryDirectory() as folder:
        staging.read(name, file := Path(folder) / name)
        if hash_file(file) != part.documents:
            raise InputError(
                f"{name} in {staging.name} is not what was written with {part.describe()}: "
                f"{part.describe_repetition(staging.name)}"
            )
        return compare_documents(file, stored)


def _refuse_conflict(table: PassageTable, part: WrittenPart, comparison: PartComparison, staging: str) -> None:
    """Raise an InputError where a document of a part has changed since the part was compared with the index."""
    if comparison.conflicts:
        others = f" (and {comparison.conflicts - 1} more)" if comparison.conflicts > 1 else ""
        raise InputError(
            f"{comparison.conflict} {table.location.name} since {part.describe()} was compared with it{others}: "
            f"{part.describe_repetition(staging)}, then commit"
        )


def _count_unchanged(report: IndexingReport) -> IndexingReport:
    """Return a report of documents that the index had already."""
    return IndexingReport(
        unchanged=report.added + report.updated + report.unchanged, failures=report.failures, remaining=report.remaining
    )


def _check_settings(table: PassageTable, parts: Sequence[WrittenPart]) -> None:
    """Raise an InputError where a part was written with other settings than those of the index."""
    settings = settings_hash(table)
    for part in parts:
        if part.settings != settings:
            raise InputError(
                f"{part.describe()} was written with other settings than those of {table.location.name}: write it again"
            )


def _all_parts(staging: StagingFolder) -> list[str]:
    found = {name: match for name in staging.names() if (match := _PART_NAME.fullmatch(name))}
    if not found:
        raise InputError(
            f"{staging.name} holds no part: write one with clew index --shard 1/N --staging {staging.name}"
        )
    counts = sorted({int(match[2]) for match in found.values()})
    if len(counts) > 1:
        raise InputError(f"{staging.name} holds parts of {counts[0]} and of {counts[1]}: remove those of one run")
    count = counts[0]
    names = [_part_name(Part(number, count)) for number in range(1, count + 1)]
    if missing := [number for number, name in enumerate(names, 1) if name not in found]:
        listed = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        noun = "part" if len(missing) == 1 else "parts"
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"{noun} {listed} of {count} {verb} missing in {staging.name}: run clew index with the same files and "
            f"--shard {missing[0]}/{count} --staging {staging.name}, then commit again"
        )
    return names


def _check_sources(parts: Sequence[WrittenPart], staging: str) -> None:
    """Raise an InputError where a part was made of other files than the first one."""
    if others := [part for part in parts if part.sources != parts[0].sources]:
        raise InputError(
            f"{others[0].describe()} was made of other files than {parts[0].describe()} (names or sizes differ): "
            f"{others[0].describe_repetition(staging)}, with the same files for all parts"
        )


def _read_committed(staging: StagingFolder, table: PassageTable) -> dict[str, str]:
    """Return the hashes of the parts that a version of this table has."""
    if _COMMITTED not in staging.names():
        return {}
    name = f"{staging.name}/{_COMMITTED}"
    record = read_object(staging.read_text(_COMMITTED), name, "a list of committed parts", "remove it")
    version, files, parts = (record.get(field) for field in ("version", "files", "parts"))
    if not (isinstance(version, int) and isinstance(files, str) and isinstance(parts, dict)):
        raise InputError(f"{name} does not say which parts were committed: remove it")
    # Else they were committed to another index, or to one that was restored since.
    return parts if table.has_state(version, files) else {}


def _read_ids(table: PassageTable, part: WrittenPart, staging: str) -> pa.Table:
    try:
        return table.read_fragments(part.fragment_records(), ["id", "document_id"])
    except IndexFormatError as error:
        raise InputError(
            f"{part.describe()} names data files that {table.location.name} does not have (clew compact drops those "
            f"without a version; or it is a part of another index): {part.describe_repetition(staging)}"
        ) from error


def _part_name(part: Part) -> str:
    return f"part-{part.number:05d}-of-{part.count:05d}.json"


def _documents_name(part: Part) -> str:
    return _part_name(part).replace(".json", ".arrow")
