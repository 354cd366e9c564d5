"""Commits of the passages table: what they name is on the disk and whole before, and what they made is read after."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import LongArray
from clew.errors import ClewError, IndexFormatError, ProviderError
from clew.store.atomic import flush_files
from clew.store.dataset import forget_newest, manifest_path, open_dataset, open_existing
from clew.store.deletion_files import (
    check_new_deletions,
    check_stored_deletions,
    checksum_properties,
    retained_checksums,
    unwritten_error,
)
from clew.store.error_mapping import map_errors, read_batches
from clew.store.integrity import INTEGRITY_COLUMNS
from clew.store.location import Location
from clew.store.row_seal import RowSeal, check_rows_sealed, compute_seal, stored_seal

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata, LanceFragment

DAMAGED_FOLDER = "damaged"
_BATCH_ROWS = 1 << 16


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
    new = check_new_deletions(location, change.changed)
    left = {*change.removed, *(fragment.id for fragment in change.changed)}
    deletions = retained_checksums(location, dataset, left) | new
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
    deletions = retained_checksums(location, dataset, [fragment.id for old, _ in groups for fragment in old])
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
    return _commit(location, newest, operation, newest.version, seal, retained_checksums(location, older))


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
        new_folder = [Path(location.table).parent] if version == 1 else []
        flush_files([manifest], location.name, *new_folder)
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


@dataclass(frozen=True, slots=True)
class Removal:
    """A version without some rows."""

    change: TableChange
    removed: RowSeal  # of the rows that are removed
    rest: RowSeal  # of all others


def remove_documents(
    dataset: "LanceDataset",
    documents: pa.Array,
    location: Location,
    fragments: Sequence["LanceFragment"] | None = None,
) -> Removal:
    """Return a version without documents, or also without all fragments but some; nothing is committed.

    Args:
        dataset: The version.
        documents: (n,) ids of documents, strings.
        location: Of the table.
        fragments: Those that are read and stay; None for all.

    Raises:
        IndexFormatError: All fragments are read, and their rows are not as they were written.
    """
    checksum = INTEGRITY_COLUMNS[1]
    if fragments is None:
        check_stored_deletions(location, dataset)
    numbers, offsets = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    every, removed = RowSeal(), RowSeal()
    for batch in read_batches(lambda: _scan(dataset, ["document_id", checksum], fragments), location.name):
        found = pc.is_in(batch["document_id"], value_set=documents)
        addresses = batch["_rowaddr"].filter(found).to_numpy(zero_copy_only=False).astype(np.uint64)
        numbers.append((addresses >> np.uint64(32)).astype(np.int64))
        offsets.append((addresses & np.uint64(0xFFFFFFFF)).astype(np.int64))
        every += RowSeal.of_rows(batch[checksum])
        removed += RowSeal.of_rows(batch[checksum].filter(found))
    if fragments is None:
        check_rows_sealed(stored_seal(dataset, location.name), every, location.name)
    change = _delete_rows(dataset, np.concatenate(numbers), np.concatenate(offsets), location)
    if fragments is not None:
        kept = {fragment.fragment_id for fragment in fragments}
        dropped = [fragment.fragment_id for fragment in dataset.get_fragments() if fragment.fragment_id not in kept]
        change = TableChange((), change.changed, [*change.removed, *dropped])
    return Removal(change, removed, every - removed)


def _scan(
    dataset: "LanceDataset", columns: list[str], fragments: Sequence["LanceFragment"] | None
) -> Iterable[pa.RecordBatch]:
    if fragments is not None and not fragments:
        return []
    chosen = None if fragments is None else list(fragments)
    scanner = dataset.scanner(columns=columns, with_row_address=True, batch_size=_BATCH_ROWS, fragments=chosen)
    batches: Iterable[pa.RecordBatch] = scanner.to_batches()
    return batches


def _delete_rows(dataset: "LanceDataset", numbers: LongArray, offsets: LongArray, location: Location) -> TableChange:
    """Write which rows of fragments are deleted: `numbers` (n,) of the fragments, `offsets` (n,) of rows in them."""
    changed, emptied = [], []
    for number in np.unique(numbers).tolist():
        with map_errors(location.name, "removing documents from"):
            fragment = dataset.get_fragment(number)
            assert fragment is not None, number
            rest = fragment.delete_rows(offsets[numbers == number].tolist())
        if rest is None:
            emptied.append(number)
        else:
            changed.append(rest)
    return TableChange((), changed, emptied)


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
        flush_files((Path(location.table) / "data" / file.path for f in fragments for file in f.files), location.name)


def _check_data_file(path: str, size: int | None, rows: int, location: Location) -> None:
    from lance.file import LanceFileReader

    if not location.remote and size and (found := _size(path)) != size:
        raise unwritten_error(path.rsplit("/", 1)[-1], f"{found} bytes of {size}", location)
    try:
        stored = LanceFileReader(path, dict(location.storage_options) or None).metadata().num_rows
    except (OSError, ValueError, RuntimeError) as error:
        raise unwritten_error(path.rsplit("/", 1)[-1], str(error).split(", /")[0][:200], location) from error
    if stored != rows:
        raise unwritten_error(path.rsplit("/", 1)[-1], f"{stored} rows of {rows}", location)


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return 0
