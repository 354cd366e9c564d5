"""Commits of the passages table: what they name is on the disk and whole before, and what they made is read after.

The versions of a passages table that can be gone back to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clew.errors import ClewError, IndexFormatError, InputError, ProviderError
from clew.store.dataset import forget_newest, open_dataset, open_existing
from clew.store.error_mapping import map_errors
from clew.store.inspection import inspect
from clew.store.location import Location
from clew.store.read_back import (
    check_data_files,
    check_deletion_files,
    check_stored_deletions,
    flush,
    flush_paths,
    manifest_path,
)
from clew.store.row_seal import (
    RowSeal,
    check_rows_sealed,
    checksum_properties,
    compute_seal,
    deletion_path,
    next_checksums,
    stored_seal,
)
from clew.text.counts import format_count

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.dataset import Version
    from lance.fragment import FragmentMetadata


DAMAGED_FOLDER = "damaged"


@dataclass(frozen=True, slots=True)
class TableChange:
    """The difference between a version and the next one."""

    new: Sequence["FragmentMetadata"] = ()  # fragments that no version has yet, checked by `check_data_files`
    changed: Sequence["FragmentMetadata"] = ()  # fragments of the version, with more rows deleted
    removed: Sequence[int] = field(default_factory=list)  # ids of fragments that hold nothing any longer


def create_table(location: Location, schema: pa.Schema) -> "LanceDataset":
    """Commit version 1, without rows."""
    import lance

    return _commit(location, location.table, lance.LanceOperation.Overwrite(schema, []), 0, RowSeal())


def commit_change(dataset: "LanceDataset", change: TableChange, seal: RowSeal, location: Location) -> "LanceDataset":
    """Commit a change of a version, whose rows then have a seal, and return the new version.

    Raises:
        ProviderError: A file that the change names does not read back, or the disk or object store fails; nothing was
            changed, unless the message says so.
    """
    import lance

    operation = lance.LanceOperation.Update(list(change.removed), list(change.changed), list(change.new))
    check_deletion_files(location, change.changed)
    deletions = next_checksums(location, dataset, change.changed, change.removed)
    return _commit(location, dataset, operation, dataset.version, seal, deletions)


def commit_rewrite(
    dataset: "LanceDataset",
    groups: Sequence[tuple[Sequence["FragmentMetadata"], Sequence["FragmentMetadata"]]],
    location: Location,
) -> "LanceDataset":
    """Commit fragments in the place of others that have the same rows, in pairs (old, new)."""
    import lance

    operations = lance.LanceOperation
    operation = operations.Rewrite([operations.RewriteGroup(list(old), list(new)) for old, new in groups], [])
    check_data_files(location, [fragment for _, new in groups for fragment in new])
    deletions = next_checksums(location, dataset, removed=[fragment.id for old, _ in groups for fragment in old])
    return _commit(location, dataset, operation, dataset.version, known_seal(dataset, location), deletions)


def commit_all(
    dataset: "LanceDataset", schema: pa.Schema, new: Sequence["FragmentMetadata"], seal: RowSeal, location: Location
) -> "LanceDataset":
    """Commit a version that has other columns or settings, and new fragments only."""
    import lance

    check_data_files(location, new)
    return _commit(location, dataset, lance.LanceOperation.Overwrite(schema, list(new)), dataset.version, seal)


def commit_restore(location: Location, version: int) -> "LanceDataset":
    """Make an older version the newest; one that is gone or damaged is an IndexFormatError."""
    import lance

    newest, older = open_existing(location), open_dataset(location, version)
    assert older is not None, version
    check_stored_deletions(location, older)
    seal = known_seal(older, location)
    check_rows_sealed(seal, compute_seal(older, location.name), location.name)
    operation = lance.LanceOperation.Restore(version)
    return _commit(location, newest, operation, newest.version, seal, next_checksums(location, older))


def known_seal(dataset: "LanceDataset", location: Location) -> RowSeal:
    """Return the seal of a version, computed where it has none."""
    seal = stored_seal(dataset, location.name)
    if seal is not None:
        return seal
    check_stored_deletions(location, dataset)
    return compute_seal(dataset, location.name)


def _commit(
    location: Location,
    base: "LanceDataset | str",
    operation: Any,
    read_version: int,
    seal: RowSeal,
    deletions: Mapping[str, str] | None = None,
) -> "LanceDataset":
    import lance
    from lance.dataset import Transaction

    properties = seal.properties(read_version + 1) | checksum_properties(deletions or {}, read_version + 1)
    transaction = Transaction(read_version, operation, transaction_properties=properties)
    options = dict(location.storage_options) or None
    with map_errors(location.name, "writing"):
        committed = lance.LanceDataset.commit(base, transaction, storage_options=options)
    if not location.remote:
        _check_committed(location, int(committed.version))
    return committed


def _check_committed(location: Location, version: int) -> None:
    """Read a new version's own file back and flush it; one that cannot be read is set aside: the one before counts."""
    manifest = manifest_path(location, version)
    try:
        open_dataset(location, version)
    except IndexFormatError as error:
        set_aside(manifest, location)
        raise ProviderError(
            f"version {version}, just written to {location.name}, does not read back ({error}), and was taken back: "
            "check the disk and run the same command again"
        ) from error
    try:
        flush([manifest], location)
        if version == 1:  # its folders are new, too
            flush_paths([Path(location.table), Path(location.table).parent], location)
    except ClewError as error:
        raise ProviderError(
            f"version {version} of {location.name} was written, but may not outlast a power cut ({error})"
        ) from error


def set_aside(manifest: Path, location: Location) -> Path:
    """Move the file of a version to `damaged/`, so that the one before is the newest; return the folder."""
    folder = Path(location.table).parent / DAMAGED_FOLDER
    with map_errors(location.name, "setting a damaged version aside of"):
        folder.mkdir(exist_ok=True)
        manifest.rename(folder / manifest.name)
        forget_newest(location)
    return folder


_NAMED_VERSIONS = 6  # in a message


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version of a passages table."""

    version: int
    time: datetime  # of its commit, in the time zone of this machine
    rows: int  # passages and shards of graphs


def list_versions(dataset: "LanceDataset", location: Location) -> list[StoredVersion]:
    """Return the versions of a table, the newest first; one that cannot be read is an IndexFormatError."""
    with map_errors(location.name, "reading the versions of"):
        found = [_read_version(record) for record in dataset.versions()]
    return sorted(found, key=lambda one: -one.version)


def _read_version(record: "Version") -> StoredVersion:
    time = record["timestamp"]
    assert isinstance(time, datetime), record
    return StoredVersion(record["version"], time.astimezone(), int(record["metadata"]["total_rows"]))


def remove_unnamed_files(dataset: "LanceDataset", location: Location) -> list[str]:
    """Remove the data and deletion files that no version of a table on a disk names; return their sorted names."""
    table = Path(location.table)
    named: set[Path] = set()
    with map_errors(location.name, "reading the versions of"):
        for record in dataset.versions():
            for fragment in dataset.checkout_version(record["version"]).get_fragments():
                named.update(table / "data" / file.path for file in fragment.data_files())
                if fragment.metadata.deletion_file is not None:
                    named.add(deletion_path(table, fragment.metadata))
    with map_errors(location.name, "removing files that no version names of"):
        present = {path for folder in ("data", "_deletions") for path in (table / folder).glob("*")}
        unnamed = sorted(present - named)
        for path in unnamed:
            path.unlink()
    return [path.name for path in unnamed]


def restore_to(location: Location, dataset: "LanceDataset", version: int) -> "LanceDataset":
    """Make an older version the newest in one commit, under the writer lock; all of its rows are read before.

    Raises:
        InputError: There is no such version, or it is the newest.
        IndexFormatError: It is damaged; nothing was changed.
    """
    there = [one.version for one in list_versions(dataset, location)]
    if version not in there or version == there[0]:
        fault = "is the newest one already" if version in there else "is not there"
        raise InputError(f"version {version} of {location.name} {fault}: {_describe_versions(there)} (see --list)")
    older_dataset = open_dataset(location, version)
    assert older_dataset is not None, version
    if problems := inspect(older_dataset, location):
        raise IndexFormatError(
            f"version {version} of {location.name} is damaged ({problems[0].text}): choose another one"
        )
    return commit_restore(location, version)


def _describe_versions(there: Sequence[int]) -> str:
    """Return the versions that there are, the newest first, in words."""
    if len(there) == 1:
        return f"there is no other than {there[0]}"
    named, rest = ", ".join(map(str, there[:_NAMED_VERSIONS])), len(there[_NAMED_VERSIONS:])
    older = f" and {format_count(rest, 'older one')}" if rest else ""
    return f"there are {format_count(len(there), 'version')}, {named}{older}"
