"""Checksums of the files of deleted rows, in the properties of the commit that made a version, beside its seal.

Lance ends the whole process on some of these files that are damaged, and reads others as naming other rows, so that
they are compared before it opens them. Files that were written before there were checksums have none.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import IndexFormatError
from clew.store.error_mapping import map_errors
from clew.store.integrity import CHECKSUM_BYTES
from clew.store.location import Location
from clew.store.row_seal import read_property

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata

_PROPERTY = "clew.deletions"


def deletion_path(table: Path, fragment: "FragmentMetadata") -> Path:
    """Return the file of the rows deleted from a fragment, which must have one, of a table on a disk."""
    deleted = fragment.deletion_file
    assert deleted is not None, fragment
    suffix = "arrow" if deleted.file_type == "array" else "bin"
    return table / "_deletions" / f"{fragment.id}-{deleted.read_version}-{deleted.id}.{suffix}"


def fragments_with_deletions(dataset: "LanceDataset") -> list["FragmentMetadata"]:
    """Return the fragments of a version that have a file of deleted rows."""
    return [one.metadata for one in dataset.get_fragments() if one.metadata.deletion_file is not None]


def compute_checksum(data: bytes) -> str:
    """Return the checksum of a file."""
    return blake2b(data, digest_size=CHECKSUM_BYTES).hexdigest()


def stored_checksums(dataset: "LanceDataset", name: str) -> dict[str, str]:
    """Return the checksums of a version's files of deleted rows by the names of the files, of those that have one.

    A record that cannot be read is an IndexFormatError.
    """
    record = read_property(dataset, _PROPERTY, name) or {}
    files = record.get("files", {})
    if not isinstance(files, dict):
        raise IndexFormatError(f"the checksums of a version of {name} are damaged: run `clew repair`")
    return files


def next_checksums(
    location: Location,
    dataset: "LanceDataset",
    changed: Sequence["FragmentMetadata"] = (),
    removed: Collection[int] = (),
) -> dict[str, str]:
    """Return the checksums of the version after another one; none in an object store.

    Args:
        location: Of the table.
        dataset: The version before.
        changed: Its fragments with more deleted rows, whose new files were read back.
        removed: Ids of the fragments that the new version has no longer.
    """
    if location.remote:
        return {}
    table = Path(location.table)
    left = {*removed, *(fragment.id for fragment in changed)}
    kept = [fragment for fragment in fragments_with_deletions(dataset) if fragment.id not in left]
    stored = stored_checksums(dataset, location.name) if kept else {}
    names = [deletion_path(table, fragment).name for fragment in kept]
    checksums = {name: stored[name] for name in names if name in stored}
    for fragment in changed:
        path = deletion_path(table, fragment)
        with map_errors(location.name, "reading back"):
            checksums[path.name] = compute_checksum(path.read_bytes())
    return checksums


def checksum_properties(checksums: Mapping[str, str], version: int) -> dict[str, str]:
    """Return the properties of the transaction that makes a version with files of these checksums."""
    record = {"version": version, "files": dict(sorted(checksums.items()))}
    return {_PROPERTY: json.dumps(record, separators=(",", ":"))} if checksums else {}
