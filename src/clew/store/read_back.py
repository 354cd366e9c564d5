"""New files of the passages table, read back and flushed to disk before a commit is believed.

Lance 14 reports neither an error of the last write of a data file nor one of a file of deleted rows: a full disk or a
limit on file sizes leaves a short file, and the commit would make a version that nobody can read.
"""

import os
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from clew.errors import IndexFormatError, ProviderError
from clew.store.error_mapping import map_errors
from clew.store.location import Location
from clew.store.row_seal import (
    compute_checksum,
    deletion_path,
    fragments_with_deletions,
    stored_checksums,
)

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata

_UNPARSABLE = (OSError, ValueError, struct.error, pa.ArrowException, OverflowError)
_RUN_COOKIE, _PLAIN_COOKIE = 12347, 12346
_ARRAY_LIMIT = 4096  # a container of more values is a bitmap
_BITMAP_BYTES = 8192
_NO_OFFSETS_BELOW = 4  # containers of a bitmap with runs
_MAX_MANIFEST_NAME = (1 << 64) - 1  # Lance names the manifest of version v so that the newest sorts first


def check_data_files(location: Location, fragments: Sequence["FragmentMetadata"]) -> None:
    """Read back the length and the footer of the data files of new fragments, and flush them to disk.

    Raises:
        ProviderError: A file is missing, short, or has another number of rows than was written.
    """
    for fragment in fragments:
        for file in fragment.files:
            path = f"{location.table}/data/{file.path}"
            _check_data_file(path, file.file_size_bytes, fragment.physical_rows, location)
    if not location.remote:
        flush((Path(location.table) / "data" / file.path for f in fragments for file in f.files), location)


def check_deletion_files(location: Location, fragments: Sequence["FragmentMetadata"]) -> None:
    """Read back the files of the rows deleted from fragments, and flush them; in an object store nothing is done.

    There an object is written whole or not at all. Raises a ProviderError as `check_data_files`.
    """
    if location.remote:
        return
    for fragment in fragments:
        _check_deletion_file(deletion_path(Path(location.table), fragment), fragment, location)
    flush((deletion_path(Path(location.table), fragment) for fragment in fragments), location)


def check_stored_deletions(location: Location, dataset: "LanceDataset") -> None:
    """Check the files of deleted rows of a version, since Lance aborts the process on some that are damaged.

    In an object store nothing is done, as of `check_deletion_files`. Raises an IndexFormatError as
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
    deleted = fragment.deletion_file
    assert deleted is not None, fragment
    path = deletion_path(Path(location.table), fragment)
    with map_errors(location.name, "reading"):
        data = path.read_bytes()
    if path.name in checksums:
        if compute_checksum(data) != checksums[path.name]:
            raise _damage_error(path, "its checksum differs", location)
        return
    try:
        count = _count_deleted(path.suffix, data, fragment.physical_rows)
    except _UNPARSABLE as error:
        raise _damage_error(path, str(error)[:200], location) from error
    if count != deleted.num_deleted_rows:
        raise _damage_error(
            path, f"it names {count} rows of the file, and {deleted.num_deleted_rows} were removed", location
        )


def flush(files: Iterable[Path], location: Location) -> None:
    """Flush files to disk, with the folders that hold them and those above, or raise a ProviderError."""
    paths = list(files)
    folders = {folder for path in paths for folder in (path.parent, path.parent.parent)}
    flush_paths([*paths, *sorted(folders)], location)


def flush_paths(paths: Iterable[Path], location: Location) -> None:
    """Flush files and folders to disk, or raise a ProviderError."""
    for path in paths:
        if sys.platform == "win32" and path.is_dir():
            continue  # Windows has no handle of a folder to flush
        with map_errors(location.name, "flushing what was written to"):
            descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def manifest_path(location: Location, version: int) -> Path:
    """Return the file of a version of a table on a disk."""
    return Path(location.table) / "_versions" / f"{_MAX_MANIFEST_NAME - version:020d}.manifest"


def manifest_version(manifest: Path) -> int:
    """Return the version whose file this is."""
    return _MAX_MANIFEST_NAME - int(manifest.stem)


def newest_version(location: Location) -> int:
    """Return the newest version whose file is there; 0 where there is none, or the table is in an object store."""
    if location.remote:
        return 0
    with map_errors(location.name, "opening"):
        names = [file.stem for file in (Path(location.table) / "_versions").glob("*.manifest")]
    return max((_MAX_MANIFEST_NAME - int(name) for name in names if name.isdecimal() and len(name) == 20), default=0)


def _check_data_file(path: str, size: int | None, rows: int, location: Location) -> None:
    from lance.file import LanceFileReader

    if not location.remote and size and (found := _size(path)) != size:
        raise _unwritten(path, f"{found} bytes of {size}", location)
    try:
        stored = LanceFileReader(path, dict(location.storage_options) or None).metadata().num_rows
    except (OSError, ValueError, RuntimeError) as error:
        raise _unwritten(path, str(error).split(", /")[0][:200], location) from error
    if stored != rows:
        raise _unwritten(path, f"{stored} rows of {rows}", location)


def _check_deletion_file(path: Path, fragment: "FragmentMetadata", location: Location) -> None:
    deleted = fragment.deletion_file
    assert deleted is not None
    try:
        count = _count_deleted(path.suffix, path.read_bytes(), fragment.physical_rows)
    except _UNPARSABLE as error:
        raise _unwritten(str(path), str(error)[:200], location) from error
    if count != deleted.num_deleted_rows:
        raise _unwritten(str(path), f"{count} deleted rows of {deleted.num_deleted_rows}", location)


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


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return 0


def _damage_error(path: Path, detail: str, location: Location) -> IndexFormatError:
    return IndexFormatError(
        f"{location.name} is damaged: the file of deleted rows {path.name} is not what was written "
        f"({' '.join(detail.split())}): run `clew repair`"
    )


def _unwritten(path: str, detail: str, location: Location) -> ProviderError:
    name = path.rsplit("/", 1)[-1]
    return ProviderError(
        f"{name}, just written to {location.name}, does not read back ({detail}), and was not committed: "
        "check the disk (space, quota, limits on file sizes) and run the same command again"
    )
