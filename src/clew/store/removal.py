"""Removal of rows from a version of the passages table, as files of deleted rows that no version has yet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import LongArray
from clew.store.commits import TableChange
from clew.store.error_mapping import map_errors
from clew.store.integrity import INTEGRITY_COLUMNS
from clew.store.location import Location
from clew.store.read_back import check_stored_deletions
from clew.store.row_seal import RowSeal, check_rows_sealed, stored_seal

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import LanceFragment

_BATCH_ROWS = 1 << 16


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
    with map_errors(location.name, "reading"):
        batches = iter(_scan(dataset, ["document_id", checksum], fragments))
    while True:
        with map_errors(location.name, "reading"):
            batch = next(batches, None)
        if batch is None:
            break
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
