"""Parts of a corpus, written on any machine, and the one commit that makes a version of them.

A part is a JSON file in a staging folder: its data files, which no version has yet, and the counts of its documents. A
part that was written twice is committed once; a part that is missing stops the commit.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa

from clew.errors import IndexFormatError, InputError
from clew.indexing.pipeline import IndexWriter
from clew.indexing.report import IndexingReport
from clew.indexing.selection import Part
from clew.store.passage_table import PassageTable
from clew.store.schema import canonical_json
from clew.store.segment_files import segments_folder
from clew.store.staging import StagingFolder
from clew.types import Document, Failure

PART_FORMAT = 2
_PART_NAME = re.compile(r"part-(\d{5})-of-(\d{5})\.json")
_COMMITTED = "committed.json"
_COUNTS = ("added", "updated", "unchanged", "passages", "sentences", "remaining")


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """The data files of a part, and its report."""

    part: Part
    settings: str  # hash of the settings of the index
    version: int  # of the table that its documents were compared with
    files_hash: str  # of that version
    sources: str  # hash of the files that its documents were read from; "" where all parts come from one run
    fragments: list[str]  # metadata as JSON
    segments: list[str]  # names of the files of their segments
    report: IndexingReport

    def to_json(self) -> str:
        """Return the part as text."""
        record = {
            "format": PART_FORMAT,
            "part": [self.part.number, self.part.count],
            "settings": self.settings,
            "version": self.version,
            "files": self.files_hash,
            "sources": self.sources,
            "fragments": [json.loads(fragment) for fragment in self.fragments],
            "segments": self.segments,
            "counts": {name: getattr(self.report, name) for name in _COUNTS},
            "failures": [[failure.item, failure.reason] for failure in self.report.failures],
        }
        return json.dumps(record, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str) -> "WrittenPart":
        """Return the part of a text; InputError: it is not one, or that of another version of Clew."""
        try:
            record: dict[str, Any] = json.loads(text)
            if record["format"] != PART_FORMAT:
                raise InputError(
                    f"{name} has format {record['format']}, this version of Clew reads {PART_FORMAT}: write it again"
                )
            failures = [Failure(item, reason) for item, reason in record["failures"]]
            return cls(
                Part(*record["part"]),
                record["settings"],
                record["version"],
                record["files"],
                record["sources"],
                [json.dumps(fragment) for fragment in record["fragments"]],
                [Path(name).name for name in record["segments"]],
                IndexingReport(**record["counts"], failures=failures),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{name} cannot be read as a part ({error!r}): write the part again") from error


def parse_part(text: str) -> Part:
    """Return the part of a text such as `3/8`; another form is an InputError."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= 99_999:
        raise InputError(f"--shard is {text!r}: give the number of a part and how many there are, such as 1/4")
    return Part(int(match[1]), int(match[2]))


def settings_hash(table: PassageTable) -> str:
    """Return a hash of the settings of an index."""
    return blake2b(canonical_json(table.settings, "the index settings").encode(), digest_size=16).hexdigest()


def write_part(
    writer: IndexWriter, documents: Iterable[Document | Failure], part: Part, sources: str = ""
) -> WrittenPart:
    """Write the new and changed documents of a part without a commit; `sources` is as of `WrittenPart`."""
    table = writer.table
    settings, version, files_hash = settings_hash(table), table.version, table.files_hash
    written = writer.write_part(documents, part)
    return WrittenPart(
        part, settings, version, files_hash, sources, written.fragments, written.segments, written.report
    )


def stage_part(
    writer: IndexWriter, documents: Iterable[Document | Failure], part: Part, sources: str, staging: StagingFolder
) -> IndexingReport:
    """Write a part, and put it into a folder in the place of one that was there; a run that is stopped leaves none.

    Raises:
        BudgetError: A budget ended the run before the part was complete; other errors are as of the models.
    """
    written = write_part(writer, documents, part, sources)
    if written.report.stop_error is not None:
        raise written.report.stop_error
    location = writer.table.location
    if location.remote:  # its derived files lie on this machine alone
        for name in written.segments:
            staging.write(name, segments_folder(location.derived) / name)
    staging.write_text(_part_name(part), written.to_json())
    return written.report


def commit_staged(table: PassageTable, staging: StagingFolder) -> IndexingReport:
    """Make one version of all parts in a folder, and return the sum of their reports.

    Raises:
        InputError: A part is missing, of another index, of other files than the rest, or its data files are gone;
            nothing was changed.
        IndexLockedError: The table has changed since it was opened.
    """
    names = _all_parts(staging)
    texts = {name: staging.read_text(name) for name in names}
    committed = _read_committed(staging, table)
    hashes = {name: blake2b(text.encode(), digest_size=16).hexdigest() for name, text in texts.items()}
    all_parts = {name: WrittenPart.from_json(texts[name], name) for name in names}
    _check_sources(list(all_parts.values()), staging.name)
    parts = [part for name, part in all_parts.items() if committed.get(name) != hashes[name]]
    for part in parts:
        if not table.has_state(part.version, part.files_hash):
            raise InputError(
                f"{_describe(part)} was compared with a state that {table.location.name} does not have (another index, "
                f"or one restored since): {_advise(part, staging.name)}"
            )
    report = commit_parts(table, parts, staging.name)
    folder, staged = segments_folder(table.location.derived), set(staging.names())
    for name in (name for part in parts for name in part.segments if name in staged):
        if not (folder / name).exists():
            staging.read(name, folder / name)
    record = {"version": table.version, "files": table.files_hash, "parts": hashes}
    staging.write_text(_COMMITTED, json.dumps(record, indent=1, sort_keys=True) + "\n")
    return report


def commit_parts(table: PassageTable, parts: Sequence[WrittenPart], staging: str = "") -> IndexingReport:
    """Make one version of parts, without those that the table has already; errors are as of `commit_staged`."""
    report = IndexingReport()
    for part in parts:
        report.add(part.report)
        if part.settings != settings_hash(table):
            raise InputError(
                f"{_describe(part)} was written with other settings than those of {table.location.name}: write it again"
            )
    stored = table.data_files()
    new = [part for part in parts if part.fragments and not _data_files(part) <= stored]
    if not new:
        return report
    columns = [_read_ids(table, part, staging) for part in new]
    rows = pa.concat_tables(columns)
    if len(rows["id"].unique()) < rows.num_rows:
        raise InputError("a passage stands in two parts: write the parts again, all with the same number of parts")
    replaced = rows["document_id"].combine_chunks().unique()
    if all(part.version == table.version for part in new):
        if not report.updated:
            replaced = replaced.slice(0, 0)
    elif conflicts := table.find_conflicts(rows["id"].combine_chunks(), replaced):
        raise InputError(
            f"passage id {conflicts[0]!r} was given to another document since the parts were written: write them again"
        )
    table.commit_fragments([fragment for part in new for fragment in part.fragments], replaced)
    return report


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
            f"{_describe(others[0])} was made of other files than {_describe(parts[0])} (names or sizes differ): "
            f"{_advise(others[0], staging)}, with the same files for all parts"
        )


def _read_committed(staging: StagingFolder, table: PassageTable) -> dict[str, str]:
    """Return the hashes of the parts that a version of this table has."""
    if _COMMITTED not in staging.names():
        return {}
    try:
        record = json.loads(staging.read_text(_COMMITTED))
        if not table.has_state(int(record["version"]), str(record["files"])):
            return {}  # they were committed to another index, or to one that was restored since
        return dict(record["parts"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{staging.name}/{_COMMITTED} cannot be read ({error!r}): remove it") from error


def _advise(part: WrittenPart, staging: str) -> str:
    """Return how a part is written again."""
    where = f" --staging {staging}" if staging else ""
    return f"run clew index --shard {part.part.number}/{part.part.count}{where} again"


def _read_ids(table: PassageTable, part: WrittenPart, staging: str) -> pa.Table:
    try:
        return table.read_fragments(part.fragments, ["id", "document_id"])
    except IndexFormatError as error:
        raise InputError(
            f"{_describe(part)} names data files that {table.location.name} does not have (clew compact drops those "
            f"without a version; or it is a part of another index): {_advise(part, staging)}"
        ) from error


def _data_files(part: WrittenPart) -> set[str]:
    return {file["path"] for fragment in part.fragments for file in json.loads(fragment)["files"]}


def _part_name(part: Part) -> str:
    return f"part-{part.number:05d}-of-{part.count:05d}.json"


def _describe(part: WrittenPart) -> str:
    return f"part {part.part.number} of {part.part.count}"
