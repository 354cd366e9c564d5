"""The versions of a passages table that can be gone back to."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import IndexFormatError, InputError
from clew.store.commits import commit_restore
from clew.store.dataset import open_dataset
from clew.store.error_mapping import map_errors
from clew.store.inspection import inspect
from clew.store.location import Location
from clew.store.row_seal import deletion_path
from clew.text.counts import format_count

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.dataset import Version

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
