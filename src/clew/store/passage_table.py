"""The passages table: the one truth of an index, changed by one atomic commit at a time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from clew.errors import IndexLockedError, InputError
from clew.store.dataset import no_index_error, open_dataset
from clew.store.error_mapping import map_errors
from clew.store.integrity import (
    INTEGRITY_COLUMNS,
    add_integrity_columns,
    check_rows,
    settings_from_schema,
    stored_schema,
)
from clew.store.kg_shards import SHARD_EXTRACTOR
from clew.store.location import Location, locate
from clew.store.reader_pins import pin, pinned_versions

if TYPE_CHECKING:
    from lance import LanceDataset

_ROWS_PER_FILE = 1 << 16  # a damaged file costs at most this many passages
_PASSAGE_FILTER, _SHARD_FILTER = f"extractor != '{SHARD_EXTRACTOR}'", f"extractor = '{SHARD_EXTRACTOR}'"
_SHARD_BATCH_ROWS, _COMPACTION_BATCH_ROWS = 16, 256  # rows; a part is of a few MB


class PassageTable:
    """One version of the passages of an index; a commit moves this object, and no other, to the version it made.

    Attributes:
        location: Where the index lies.
        version: The version held, counted from 1.
        files_hash: Names the files the version is made of; another table's version of the same number has another one.
        settings: What the index was created with.
        dimension: Width of the vectors, 0 when there are none.
    """

    def __init__(self, location: Location, dataset: "LanceDataset") -> None:
        self.location = location
        self.settings = settings_from_schema(dataset.schema, location.name)
        has_vectors = "vector" in dataset.schema.names
        self.dimension = int(dataset.schema.field("vector").type.list_size) if has_vectors else 0
        self._dataset = dataset
        self.version = int(dataset.version)
        self.files_hash = _files_hash(dataset)
        pin(location.derived, self.version, self)

    @classmethod
    def create(cls, location: str | Path | Location, settings: Mapping[str, Any], dimension: int) -> "PassageTable":
        """Make an empty table.

        Args:
            location: A folder or an object-store URI; what else is in the folder stays.
            settings: What opening the index must know without being told: JSON values by name.
            dimension: Width of the vectors, 0 for none.

        Raises:
            InputError: There is an index already, or `settings` cannot be written as JSON.
            IndexLockedError: Another process made one at the same moment.
            ProviderError: The folder cannot be written.
        """
        import lance

        place = locate(location)
        schema = stored_schema(settings, dimension)
        if open_dataset(place) is not None:
            raise InputError(f"{place.name} holds an index already: add to it, or choose another folder")
        with map_errors(place.name, "making"):
            made = lance.write_dataset(
                schema.empty_table(),
                place.table,
                schema=schema,
                mode="create",
                storage_options=dict(place.storage_options) or None,
            )
        if made.version != 1:  # Lance lets two creations at once both succeed, one over the other
            raise IndexLockedError(
                f"another process is making an index at {place.name} too: wait for it, then add to it"
            )
        return cls(place, made)

    @classmethod
    def open(cls, location: str | Path | Location) -> "PassageTable":
        """Open the newest version.

        Raises:
            IndexFormatError: There is no index, or one this version of Clew cannot read.
        """
        place = locate(location)
        dataset = open_dataset(place)
        if dataset is None:
            raise no_index_error(place)
        return cls(place, dataset)

    def open_latest(self) -> "PassageTable":
        """Return a new object on the newest version; this one stays where it is."""
        return PassageTable.open(self.location)

    def count_rows(self) -> int:
        """Return the number of passages; parts of graphs are none."""
        with map_errors(self.location.name, "counting the passages of"):
            return int(self._dataset.count_rows(filter=_PASSAGE_FILTER))

    def document_hashes(self) -> dict[str, str]:
        """Return document id -> document hash, sorted by id, of the documents all of whose passages are there.

        Parts of graphs are among them (see `graph_parts.is_part`).
        """
        with map_errors(self.location.name, "reading"):
            columns = self._dataset.to_table(columns=["document_id", "document_hash", "document_rows"])
        groups = columns.group_by(columns.column_names).aggregate([([], "count_all")]).to_pylist()
        states: dict[str, list[str]] = {}
        for group in groups:
            complete = group["count_all"] == group["document_rows"]
            states.setdefault(group["document_id"], []).append(group["document_hash"] if complete else "")
        return {id_: hashes[0] for id_, hashes in sorted(states.items()) if len(hashes) == 1 and hashes[0]}

    def replace(self, rows: pa.Table, document_ids: Sequence[str]) -> None:
        """Put `rows` in the place of all passages of the documents, in one commit; documents may be new.

        Args:
            rows: Columns of `passages_schema(dimension)`: every passage that each of the documents shall have.
            document_ids: The documents; one without rows is removed.

        Raises:
            InputError: A row belongs to none of the documents, an id occurs twice or belongs to another document.
            IndexLockedError: The table has changed since it was opened.
            ProviderError: The disk or the object store refused; nothing was changed.
        """
        import lance

        ids = sorted(set(document_ids))
        new = add_integrity_columns(rows, self.dimension, ids)
        existing = _count_existing(self._dataset, self.location.name, ids, new["id"].to_pylist())
        if new.num_rows == 0:
            self.delete(ids)
            return
        with map_errors(self.location.name, "writing"):
            if existing == 0 and not self.location.remote:
                self._dataset = lance.write_dataset(new, self._dataset, mode="append")
            else:
                # Two machines that insert the same ids at once conflict here; two appends would both be taken.
                merge = self._dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
                merge = merge.when_not_matched_by_source_delete(_in_predicate("document_id", ids))
                merge.conflict_retries(0).execute(new)
        _move_to_version(self, self._dataset)

    def delete(self, document_ids: Sequence[str]) -> int:
        """Remove documents in one commit; returns the number of passages removed, 0 without a commit.

        Raises:
            IndexLockedError: The table has changed since it was opened.
            ProviderError: The disk or the object store refused; nothing was changed.
        """
        ids = sorted(set(document_ids))
        if (existing := _count_existing(self._dataset, self.location.name, ids, [])) == 0:
            return 0
        with map_errors(self.location.name, "removing documents from"):
            self._dataset.delete(_in_predicate("document_id", ids), conflict_retries=0)
        _move_to_version(self, self._dataset)
        return existing

    def read(self, columns: Sequence[str] | None = None, version: int | None = None) -> pa.Table:
        """Return passages sorted by (document_id, ordinal), ids by their UTF-8 bytes; parts of graphs are left out.

        Args:
            columns: Names, in the order wanted; None reads all and checks every row's checksum.
            version: An older version that has not been compacted away; None reads the version held.

        Raises:
            InputError: There is no such column.
            IndexFormatError: There is no such version, or its data are damaged.
        """
        names = [name for name in self._dataset.schema.names if name not in INTEGRITY_COLUMNS]
        wanted = names if columns is None else list(columns)
        if unknown := sorted(set(wanted) - set(names)):
            raise InputError(f"no column {unknown[0]!r} in the passages table: choose from {', '.join(names)}")
        scanned = (
            names + list(INTEGRITY_COLUMNS)
            if columns is None
            else list(dict.fromkeys([*wanted, "document_id", "ordinal"]))
        )
        with map_errors(self.location.name, "reading"):
            dataset = self._dataset if version is None else self._dataset.checkout_version(version)
            rows = dataset.to_table(columns=scanned, filter=_PASSAGE_FILTER)
        if columns is None:
            check_rows(rows, self.location.name)
        order = pc.sort_indices(rows, sort_keys=[("document_id", "ascending"), ("ordinal", "ascending")])
        return rows.select(wanted).take(order).replace_schema_metadata(None)

    def iter_shards(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the parts of graphs, a few at a time, in no order.

        Args:
            columns: Names; None reads all and checks every row's checksum.

        Raises:
            IndexFormatError: The data are damaged.
        """
        with map_errors(self.location.name, "reading"):
            scanner = self._dataset.scanner(
                columns=None if columns is None else list(columns), filter=_SHARD_FILTER, batch_size=_SHARD_BATCH_ROWS
            )
            batches = iter(scanner.to_batches())
        while True:
            with map_errors(self.location.name, "reading"):
                batch = next(batches, None)
            if batch is None:
                return
            rows = pa.Table.from_batches([batch])
            if columns is None:
                check_rows(rows, self.location.name)
            yield rows.drop_columns([name for name in INTEGRITY_COLUMNS if name in rows.column_names])

    def compact(self) -> int:
        """Rewrite small files as larger ones and drop older versions; returns how many were dropped.

        Versions read on this machine stay; in an object store, readers on other machines have to open it again. Call it
        with the writer's lock held. In an object store, files that a killed writer left stay for a week, since a writer
        on another machine may still be at work on them.

        Raises:
            IndexLockedError: The table has changed since it was opened.
        """
        _count_existing(self._dataset, self.location.name, [], [])
        with map_errors(self.location.name, "compacting"):
            self._dataset.optimize.compact_files(
                target_rows_per_fragment=_ROWS_PER_FILE,
                materialize_deletions_threshold=0.0,
                batch_size=_COMPACTION_BATCH_ROWS,
            )
        _move_to_version(self, self._dataset)
        with map_errors(self.location.name, "removing old versions of"):
            kept = pinned_versions(self.location.derived) | {self.version}
            old = [int(v["version"]) for v in self._dataset.versions() if v["version"] not in kept]
            if old:
                self._dataset.cleanup_old_versions(versions=old, delete_unverified=not self.location.remote)
        return len(old)


def restore_version(location: Location, version: int) -> PassageTable:
    """Make an older version of a table the newest again, in one commit, and return it; under the writer's lock.

    Args:
        location: Of the index.
        version: One that has not been compacted away.

    Raises:
        IndexFormatError: There is no index or no such version.
        ProviderError: The disk or the object store refused; nothing was changed.
    """
    dataset = open_dataset(location)
    if dataset is None:
        raise no_index_error(location)
    with map_errors(location.name, "restoring a version of"):
        older = dataset.checkout_version(version)
        older.restore()  # type: ignore[no-untyped-call]
    return PassageTable.open(location)


def _count_existing(dataset: "LanceDataset", name: str, document_ids: Sequence[str], ids: Sequence[str]) -> int:
    """Count the passages of the documents, before a commit; raises when the commit would go wrong."""
    with map_errors(name, "reading"):
        newest = dataset.latest_version
        if newest != dataset.version:
            message = f"{name} is at version {newest}, but was opened at version {dataset.version}"
            raise IndexLockedError(f"{message}: another writer changed it; open it again and repeat the step")
        clauses = [_in_predicate(column, some) for column, some in (("document_id", document_ids), ("id", ids)) if some]
        if not clauses:
            return 0
        found = dataset.to_table(columns=["id", "document_id"], filter=" OR ".join(clauses))
    known = set(document_ids)
    for id_, document_id in zip(found["id"].to_pylist(), found["document_id"].to_pylist(), strict=True):
        if document_id not in known:
            message = f"passage id {id_!r} belongs to document {document_id!r} already"
            raise InputError(f"{message}: give the new passage another id, or replace that document too")
    return int(found.num_rows)


def _in_predicate(column: str, values: Sequence[str]) -> str:
    """Return an SQL predicate; a quote inside a value is doubled, and nothing else has a meaning in an SQL string."""
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"{column} IN ({quoted})"


def _files_hash(dataset: "LanceDataset") -> str:
    files: list[object] = []
    for fragment in dataset.get_fragments():
        deleted = fragment.metadata.deletion_file
        files.append([file.path for file in fragment.data_files()])
        files.append(deleted and [deleted.read_version, deleted.id])
    return blake2b(json.dumps(files).encode(), digest_size=16).hexdigest()


def _move_to_version(table: PassageTable, dataset: "LanceDataset") -> None:
    table.version = int(dataset.version)
    table.files_hash = _files_hash(dataset)
    pin(table.location.derived, table.version, table)
