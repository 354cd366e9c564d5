"""The files of deleted rows, and their checksums in the properties of the commit that made a version, beside its seal.

Lance ends the whole process on some of these files that are damaged, and reads others as naming other rows, so that
they are compared before it opens them. Files that were written before there were checksums have none, and are parsed.
Nor does it report an error of writing one: a full disk leaves a short file, so that new ones are read back.
"""

import json
import struct
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from clew.errors import IndexFormatError, ProviderError
from clew.store.atomic import flush_files
from clew.store.error_mapping import map_errors
from clew.store.integrity import CHECKSUM_BYTES
from clew.store.location import Location
from clew.store.row_seal import read_property

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata

_PROPERTY = "clew.deletions"
_UNPARSABLE = (OSError, ValueError, struct.error, pa.ArrowException, OverflowError)
_RUN_COOKIE, _PLAIN_COOKIE = 12347, 12346
_ARRAY_LIMIT = 4096  # a container of more values is a bitmap
_BITMAP_BYTES = 8192
_NO_OFFSETS_BELOW = 4  # containers of a bitmap with runs


def deletion_path(table: Path, fragment: "FragmentMetadata") -> Path:
    """Return the file of the rows deleted from a fragment, which must have one, of a table on a disk."""
    deleted = fragment.deletion_file
    assert deleted is not None, fragment
    suffix = "arrow" if deleted.file_type == "array" else "bin"
    return table / "_deletions" / f"{fragment.id}-{deleted.read_version}-{deleted.id}.{suffix}"


def fragments_with_deletions(dataset: "LanceDataset") -> list["FragmentMetadata"]:
    """Return the fragments of a version that have a file of deleted rows."""
    return [one.metadata for one in dataset.get_fragments() if one.metadata.deletion_file is not None]


def stored_checksums(dataset: "LanceDataset", name: str) -> dict[str, str]:
    """Return the checksums of a version's files of deleted rows by the names of the files, of those that have one.

    A record that cannot be read is an IndexFormatError.
    """
    record = read_property(dataset, _PROPERTY, name) or {}
    files = record.get("files", {})
    if not isinstance(files, dict):
        raise IndexFormatError(f"the checksums of a version of {name} are damaged: run `clew repair`")
    return files


def retained_checksums(location: Location, dataset: "LanceDataset", left: Collection[int] = ()) -> dict[str, str]:
    """Return the checksums of a version's files of deleted rows, without those of fragments that are `left` out.

    In an object store there are none.
    """
    if location.remote:
        return {}
    kept = [fragment for fragment in fragments_with_deletions(dataset) if fragment.id not in left]
    stored = stored_checksums(dataset, location.name) if kept else {}
    names = [deletion_path(Path(location.table), fragment).name for fragment in kept]
    return {name: stored[name] for name in names if name in stored}


def checksum_properties(checksums: Mapping[str, str], version: int) -> dict[str, str]:
    """Return the properties of the transaction that makes a version with files of these checksums."""
    record = {"version": version, "files": dict(sorted(checksums.items()))}
    return {_PROPERTY: json.dumps(record, separators=(",", ":"))} if checksums else {}


def check_new_deletions(location: Location, fragments: Sequence["FragmentMetadata"]) -> dict[str, str]:
    """Read back and flush the files of the rows deleted from fragments; return their checksums by their names.

    In an object store nothing is done: there an object is written whole or not at all. A file that does not read back
    is a ProviderError.
    """
    if location.remote:
        return {}
    checksums: dict[str, str] = {}
    paths = [deletion_path(Path(location.table), fragment) for fragment in fragments]
    for path, fragment in zip(paths, fragments, strict=True):
        try:
            data = path.read_bytes()
        except OSError as error:
            raise unwritten_error(path.name, str(error)[:200], location) from error
        if fault := _find_fault(path, data, fragment):
            raise unwritten_error(path.name, fault, location)
        checksums[path.name] = _checksum(data)
    flush_files(paths, location.name)
    return checksums


def check_stored_deletions(location: Location, dataset: "LanceDataset") -> None:
    """Check the files of deleted rows of a version, since Lance aborts the process on some that are damaged.

    In an object store nothing is done, as of `check_new_deletions`. Raises an IndexFormatError as
    `check_stored_deletion`.
    """
    if location.remote:
        return
    deleted = fragments_with_deletions(dataset)
    checksums = stored_checksums(dataset, location.name) if deleted else {}
    for fragment in deleted:
        check_stored_deletion(location, fragment, checksums)


def check_stored_deletion(location: Location, fragment: "FragmentMetadata", checksums: Mapping[str, str]) -> None:
    """Compare the file of the rows deleted from a fragment, which must have one, with its checksum.

    One that has none among `checksums` is parsed. The table is on a disk.

    Raises:
        IndexFormatError: It is missing or damaged, or has another number of rows than its version says.
        ProviderError: It may not be read now.
    """
    path = deletion_path(Path(location.table), fragment)
    with map_errors(location.name, "reading"):
        data = path.read_bytes()
    if path.name in checksums:
        fault = "" if _checksum(data) == checksums[path.name] else "its checksum differs"
    else:
        fault = _find_fault(path, data, fragment)
    if fault:
        raise IndexFormatError(
            f"{location.name} is damaged: the file of deleted rows {path.name} is not what was written "
            f"({' '.join(fault.split())}): run `clew repair`"
        )


def unwritten_error(name: str, detail: str, location: Location) -> ProviderError:
    """Return the error for a file, just written, that does not read back."""
    return ProviderError(
        f"{name}, just written to {location.name}, does not read back ({detail}), and was not committed: "
        "check the disk (space, quota, limits on file sizes) and run the same command again"
    )


def _checksum(data: bytes) -> str:
    return blake2b(data, digest_size=CHECKSUM_BYTES).hexdigest()


def _find_fault(path: Path, data: bytes, fragment: "FragmentMetadata") -> str:
    """Return what is wrong with a file of deleted rows, by parsing it; "" for nothing."""
    deleted = fragment.deletion_file
    assert deleted is not None, fragment
    try:
        count = _count_deleted(path.suffix, data, fragment.physical_rows)
    except _UNPARSABLE as error:
        return str(error)[:200] or type(error).__name__
    if count != deleted.num_deleted_rows:
        return f"it names {count} rows of the file, and {deleted.num_deleted_rows} were removed"
    return ""


def _count_deleted(suffix: str, data: bytes, rows: int) -> int:
    """Return the number of rows that a file of deleted rows names, -1 where one is beyond those of the data file."""
    if suffix != ".arrow":
        return count_bitmap(data)
    table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    table.validate(full=True)
    if table.schema.types != [pa.uint32()] or table.column(0).null_count:
        raise ValueError(f"its columns are {table.schema.types}")
    offsets = table.column(0).to_numpy()
    return len(np.unique(offsets)) if not len(offsets) or offsets.max() < rows else -1


def count_bitmap(data: bytes) -> int:
    """Return the number of values in a Roaring bitmap in its portable format; ValueError: it is not whole.

    Source: the format specification of the Roaring project.
    """
    (cookie,) = struct.unpack_from("<I", data, 0)
    if cookie & 0xFFFF == _RUN_COOKIE:
        size, start = (cookie >> 16) + 1, 4
        runs = np.unpackbits(np.frombuffer(data, np.uint8, (size + 7) // 8, start), bitorder="little")[:size]
        start += (size + 7) // 8
    elif cookie == _PLAIN_COOKIE:
        (size,) = struct.unpack_from("<I", data, 4)
        runs, start = np.zeros(size, dtype=np.uint8), 8
    else:
        raise ValueError(f"it begins with {cookie}")
    counts = np.frombuffer(data, "<u2", 2 * size, start)[1::2].astype(np.int64) + 1
    start += 4 * size
    if cookie == _PLAIN_COOKIE or size >= _NO_OFFSETS_BELOW:
        start += 4 * size
    total = 0
    for count, is_run in zip(counts.tolist(), runs.tolist(), strict=True):
        if is_run:
            (pairs,) = struct.unpack_from("<H", data, start)
            found = int(np.frombuffer(data, "<u2", 2 * pairs, start + 2)[1::2].astype(np.int64).sum()) + pairs
            start += 2 + 4 * pairs
        elif count > _ARRAY_LIMIT:
            found = int(np.unpackbits(np.frombuffer(data, np.uint8, _BITMAP_BYTES, start)).sum())
            start += _BITMAP_BYTES
        else:
            found = len(np.unique(np.frombuffer(data, "<u2", count, start)))
            start += 2 * count
        if found != count:
            raise ValueError(f"a container has {found} values of {count}")
        total += count
    if start != len(data):
        raise ValueError(f"it has {len(data)} bytes, not {start}")
    return total
