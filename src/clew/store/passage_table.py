"""The passages table: the primary data of an index, changed by one atomic commit at a time."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from clew.errors import IndexFormatError, IndexLockedError, InputError
from clew.store.atomic import remove_leftovers
from clew.store.commits import TableChange, commit_change, commit_restore, commit_rewrite, create_table, known_seal
from clew.store.dataset import open_dataset, open_existing
from clew.store.document_ids import StoredDocuments, collect_documents
from clew.store.error_mapping import map_errors
from clew.store.integrity import (
    INTEGRITY_COLUMNS,
    add_integrity_columns,
    check_rows,
    settings_from_schema,
    stored_schema,
    vector_dimension,
)
from clew.store.kg_shards import SHARD_EXTRACTOR, is_shard
from clew.store.location import Location, locate
from clew.store.read_back import check_data_files, check_stored_deletions, manifest_path, newest_version
from clew.store.removal import Removal, remove_documents
from clew.store.row_seal import RowSeal, check_rows_sealed, compute_seal, stored_seal
from clew.store.schema import has_aliases, has_sentence_vectors, read_extractions
from clew.store.segment_files import FragmentState
from clew.store.versions import StoredVersion, list_versions, remove_unnamed_files, restore_to
from clew.store.writer_lock import pin, pinned_versions

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata

_logger = logging.getLogger(__name__)
_OPEN_ATTEMPTS = 10  # a compacting writer would have to win the race this many times
_ROWS_PER_FILE = 1 << 16  # a damaged file costs at most this many passages
_PASSAGE_FILTER, _SHARD_FILTER = f"extractor != '{SHARD_EXTRACTOR}'", f"extractor = '{SHARD_EXTRACTOR}'"
_ID_BATCH_ROWS = 1 << 16
_SHARD_BATCH_ROWS, _COMPACTION_BATCH_ROWS = 16, 256  # a shard has a few MB


@dataclass(frozen=True, slots=True)
class WrittenFragments:
    """Data files that no version has yet."""

    records: list[str]  # metadata of the fragments as JSON, for `commit_fragments`, on this machine or another one
    rows: pa.Table  # what they hold, with `document_rows`


class PassageTable:
    """One version of the passages of an index; a commit moves only this object to the new version.

    Attributes:
        version: The version read, counted from 1.
        files_hash: Hash of the version's file names, since different tables have versions of one number.
        manifest_identity: Inode and time of the version's file, which tells a replaced table from this one.
        settings: Settings the index was created with.
        dimension: Width of the vectors, 0 when there are none.
        has_sentence_vectors: Whether vectors of sentences are stored too.
    """

    def __init__(self, location: Location, dataset: "LanceDataset") -> None:
        self.location = location
        self.settings = settings_from_schema(dataset.schema, location.name)
        self.dimension = vector_dimension(dataset.schema)
        self.has_sentence_vectors = has_sentence_vectors(self.settings, self.dimension)
        self._dataset = dataset
        self.version = int(dataset.version)
        self.files_hash = _files_hash(dataset)
        self.manifest_identity = _identify_manifest(location, self.version)
        self._checked_version = self._parsed_version = 0
        pin(location.derived, self.version, self)

    @classmethod
    def create(cls, location: str | Path | Location, settings: Mapping[str, Any], dimension: int) -> "PassageTable":
        """Create an empty table with settings (JSON values) and the width of vectors, 0 for none; other files stay.

        An index that is there, or settings without JSON form, are an InputError, a creation at the same moment an
        IndexLockedError, a folder that cannot be written a ProviderError.
        """
        location = locate(location)
        schema = stored_schema(settings, dimension)
        if open_dataset(location) is not None:
            raise InputError(f"{location.name} holds an index already: add to it, or choose another folder")
        if not location.remote:
            remove_leftovers(Path(location.table).parent)  # of creations that were killed
        dataset = create_table(location, schema)
        if dataset.version != 1:  # Lance lets two creations at once both succeed, one over the other
            message = f"another process is making an index at {location.name} too"
            raise IndexLockedError(f"{message}: wait for it, then add to it")
        return cls(location, dataset)

    @classmethod
    def open(cls, location: str | Path | Location) -> "PassageTable":
        """Open the newest version; no index, or one this version of Clew cannot read, is an IndexFormatError.

        A version that a writer drops before it is marked as being read is no error: the one after it is opened.
        """
        location = locate(location)
        for _ in range(_OPEN_ATTEMPTS):
            newest = newest_version(location)
            try:
                table = cls(location, open_existing(location))
            except IndexFormatError:
                if newest_version(location) == newest:
                    raise
                continue
            _logger.info("opened version %d of %s", table.version, location.name)
            if newest == 0 or manifest_path(location, table.version).exists():
                return table
        return cls(location, open_existing(location))

    def derived_elsewhere(self) -> "PassageTable":
        """Return this version with another place for data that are derived from it: in the user's cache folder.

        It is for readers, where the index itself may not be written. The version stays marked as read by this object.
        """
        table = copy(self)
        table.location = self.location.derived_in_cache()
        return table

    def open_latest(self) -> "PassageTable":
        """Return a new object for the newest version; this one keeps its version."""
        return PassageTable.open(self.location)

    def has_state(self, version: int, files_hash: str) -> bool:
        """Return whether a version with this hash of its files is among those that led to this one.

        Of a version that was dropped since, as by a compaction, only its number is known.
        """
        if version >= self.version:
            return version == self.version and files_hash == self.files_hash
        with map_errors(self.location.name, "reading the versions of"):
            if version not in {int(known["version"]) for known in self._dataset.versions()}:
                return True
            return _files_hash(self._dataset.checkout_version(version)) == files_hash

    def count_rows(self) -> int:
        """Return the number of passages, without shards of graphs."""
        with map_errors(self.location.name, "counting the passages of"):
            return int(self._readable().count_rows(filter=_PASSAGE_FILTER))

    def document_hashes(self) -> dict[str, str]:
        """Return id -> hash, sorted by id, of complete documents and shards of graphs (see `kg_shards.is_shard`)."""
        self.check_rows()
        with map_errors(self.location.name, "reading"):
            columns = self._readable().to_table(columns=["document_id", "document_hash", "document_rows"])
        groups = columns.group_by(columns.column_names).aggregate([([], "count_all")]).to_pylist()
        states: dict[str, list[str]] = {}
        for group in groups:
            complete = group["count_all"] == group["document_rows"]
            states.setdefault(group["document_id"], []).append(group["document_hash"] if complete else "")
        return {id_: hashes[0] for id_, hashes in sorted(states.items()) if len(hashes) == 1 and hashes[0]}

    def stored_documents(self) -> StoredDocuments:
        """Return the complete documents as arrays of hashes; memory for the rest is that of one batch of rows."""
        columns = ["document_id", "document_hash", "document_rows"]
        self.check_rows()
        with map_errors(self.location.name, "reading"):
            scanner = self._readable().scanner(columns=columns, batch_size=_ID_BATCH_ROWS)
            return collect_documents(scanner.to_batches(), is_shard)

    def replace(self, rows: pa.Table, document_ids: Sequence[str]) -> None:
        """Replace all passages of the documents by `rows` in one commit; a document may be new, or have no row left.

        A row of another document, a repeated id or one of another document is an InputError, a table that has changed
        since it was opened an IndexLockedError, a failing disk or object store a ProviderError; nothing was changed.
        """
        ids = sorted(set(document_ids))
        new = add_integrity_columns(rows, self.dimension, ids, sentences=self.has_sentence_vectors)
        existing = _count_existing(self._readable(), self.location.name, ids, new["id"].to_pylist())
        fragments = self._write(new) if new.num_rows else []
        if fragments or existing:
            replaced = pa.array(ids if existing else [], type=pa.string())
            self._commit(fragments, replaced, RowSeal.of_rows(new[INTEGRITY_COLUMNS[1]]))

    def write_fragments(self, rows: pa.Table, document_ids: Sequence[str]) -> WrittenFragments:
        """Write all passages of documents as data files that no version has yet (errors: see `replace`)."""
        new = add_integrity_columns(
            rows, self.dimension, sorted(set(document_ids)), sentences=self.has_sentence_vectors
        )
        records = [json.dumps(fragment.to_json()) for fragment in self._write(new)]
        return WrittenFragments(records, new.drop_columns([INTEGRITY_COLUMNS[1]]))

    def _write(self, rows: pa.Table) -> list["FragmentMetadata"]:
        from lance.fragment import write_fragments

        with map_errors(self.location.name, "writing"):
            written = list(write_fragments(rows, self._dataset, schema=self._dataset.schema))
        check_data_files(self.location, written)
        return written

    def commit_fragments(self, fragments: Sequence[str], replaced: pa.Array) -> None:
        """Add fragments in one commit, which removes all older passages of the `replaced` documents.

        Args:
            fragments: From `write_fragments`. Their documents have to be among the replaced ones, or be new.
            replaced: (n,) ids of documents, strings.

        Raises:
            IndexLockedError: The table has changed since it was opened; nothing was changed.
            ProviderError: The disk or object store fails.
        """
        from lance.fragment import FragmentMetadata

        _check_newest(self._dataset, self.location.name)
        checksums = self.read_fragments(fragments, [INTEGRITY_COLUMNS[1]])[INTEGRITY_COLUMNS[1]]
        with map_errors(self.location.name, "writing"):
            new = [FragmentMetadata.from_json(fragment) for fragment in fragments]
        self._commit(new, replaced, RowSeal.of_rows(checksums))

    def _commit(self, new: Sequence["FragmentMetadata"], replaced: pa.Array, added: RowSeal) -> int:
        """Commit new fragments, whose rows have a seal, without the older rows of documents; return how many go."""
        location = self.location
        if len(replaced):
            removal = remove_documents(self._dataset, replaced, location)
        else:
            removal = Removal(TableChange(), RowSeal(), known_seal(self._dataset, location))
        change = TableChange(new, removal.change.changed, removal.change.removed)
        committed = commit_change(self._dataset, change, removal.rest + added, location)
        if committed.version != self.version + 1:
            # Lance lets two machines commit new fragments at once, though they may hold the same documents.
            commit_restore(location, int(committed.version) - 1)
            message = f"another machine changed {location.name} at the same moment, and this step was undone"
            raise IndexLockedError(f"{message}: run the same command again when it has finished")
        self._dataset = committed
        _move_to_version(self, self._dataset)
        _logger.info("committed version %d of %s", self.version, location.name)
        return removal.removed.rows

    def read_fragments(self, fragments: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """Return columns of fragments that no version has yet; files that are gone are an IndexFormatError."""
        from lance.file import LanceFileReader

        options = dict(self.location.storage_options) or None
        parts = [self._dataset.schema.empty_table().select(columns)]
        with map_errors(self.location.name, "reading"):
            for file in (file for fragment in fragments for file in json.loads(fragment)["files"]):
                path = f"{self.location.table}/data/{file['path']}"
                parts.append(LanceFileReader(path, options, list(columns)).read_all().to_table().select(columns))
        return pa.concat_tables(part.replace_schema_metadata(None) for part in parts)

    def find_conflicts(self, ids: pa.Array, document_ids: pa.Array) -> list[str]:
        """Return those of the passage ids (n,) that passages of documents have which are not among those given (m,)."""
        conflicts: list[str] = []
        with map_errors(self.location.name, "reading"):
            scanner = self._readable().scanner(columns=["id", "document_id"], batch_size=_ID_BATCH_ROWS)
            for batch in scanner.to_batches():
                taken = pc.is_in(batch["id"], value_set=ids)
                own = pc.is_in(batch["document_id"], value_set=document_ids)
                conflicts += batch["id"].filter(pc.and_not(taken, own)).to_pylist()
        return conflicts

    def data_files(self) -> set[str]:
        """Return the names of the data files of this version."""
        return {file.path for fragment in self._dataset.get_fragments() for file in fragment.data_files()}

    def delete(self, document_ids: Sequence[str]) -> int:
        """Remove documents in one commit (errors: see `replace`); return the number of passages; 0 commits nothing."""
        ids = sorted(set(document_ids))
        self.check_rows()
        if _count_existing(self._readable(), self.location.name, ids, []) == 0:
            return 0
        return self._commit([], pa.array(ids, type=pa.string()), RowSeal())

    def read(self, columns: Sequence[str] | None = None, version: int | None = None) -> pa.Table:
        """Return passages sorted by (document_id, ordinal), ids by their UTF-8 bytes, without shards of graphs.

        Columns are in the order wanted, None for all and each row's checksum verified; `version` is an older one that
        has not been compacted away. An unknown column is an InputError, an absent version or damaged data an
        IndexFormatError.
        """
        if version is None:
            self.check_rows()
        return self._read(columns, _PASSAGE_FILTER, version)

    def read_documents(self, document_ids: Sequence[str]) -> pa.Table:
        """Return all columns of the passages of documents, as of `read`."""
        return self._read(None, _in_predicate("document_id", document_ids) if document_ids else "false")

    def read_failed(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of the passages whose extraction failed, as of `read`."""
        return self._read(columns, f"failure IS NOT NULL AND {_PASSAGE_FILTER}")

    def numbered_passages(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that passages have which are parts of a document of another id."""
        rows = self._read(["id"], f"{_in_predicate('id', ids)} AND id != document_id" if ids else "false")
        return set(rows["id"].to_pylist())

    def read_aliases(self, ids: Sequence[str]) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return for those of the passages that have aliases each name as it writes it, with the full name."""
        if not ids or not has_aliases(self.settings):
            return {}
        rows = self._read(["id", "mentions", "triples"], _in_predicate("id", ids))
        return {
            id_: extraction.aliases
            for id_, extraction in zip(rows["id"].to_pylist(), read_extractions(rows), strict=True)
            if extraction.aliases
        }

    def _read(self, columns: Sequence[str] | None, condition: str, version: int | None = None) -> pa.Table:
        names = [name for name in self._dataset.schema.names if name not in INTEGRITY_COLUMNS]
        wanted = names if columns is None else list(columns)
        if unknown := sorted(set(wanted) - set(names)):
            raise InputError(f"no column {unknown[0]!r} in the passages table: choose from {', '.join(names)}")
        extra = INTEGRITY_COLUMNS if columns is None else ("document_id", "ordinal")
        scanned = list(dict.fromkeys([*wanted, *extra]))
        with map_errors(self.location.name, "reading"):
            dataset = self._readable() if version is None else self._dataset.checkout_version(version)
            if version is not None:
                check_stored_deletions(self.location, dataset)
            rows = dataset.to_table(columns=scanned, filter=condition)
        if columns is None:
            check_rows(rows, self.location.name)
        order = pc.sort_indices(rows, sort_keys=[("document_id", "ascending"), ("ordinal", "ascending")])
        return rows.select(wanted).take(order).replace_schema_metadata(None)

    @property
    def is_newest(self) -> bool:
        """Whether no newer version has been committed, and no other table put in the place of this one."""
        with map_errors(self.location.name, "reading"):
            newest = bool(self._dataset.latest_version == self.version)
        return newest and _identify_manifest(self.location, self.version) == self.manifest_identity

    def fragments(self) -> list[FragmentState]:
        """Return the fragments of this version, of passages and of shards of graphs."""
        return [FragmentState.read(fragment.metadata) for fragment in self._dataset.get_fragments()]

    def read_fragment(self, fragment: FragmentState, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the passages of one fragment, in no order, without shards of graphs.

        Without `columns` these are all, with `document_rows`, and each row's checksum is verified; damaged data are an
        IndexFormatError.
        """
        with map_errors(self.location.name, "reading"):
            stored = self._readable().get_fragment(fragment.number)
            assert stored is not None, fragment
            rows = stored.to_table(columns=None if columns is None else list(columns), filter=_PASSAGE_FILTER)
        if columns is None:
            check_rows(rows, self.location.name)
            rows = rows.drop_columns([INTEGRITY_COLUMNS[1]])
        return rows.replace_schema_metadata(None)

    def iter_shards(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the shards of graphs in batches, in no order; without `columns` each row's checksum is verified."""
        with map_errors(self.location.name, "reading"):
            scanner = self._readable().scanner(
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

    def read_graph(self, name: str) -> pa.Table:
        """Return the shards of one graph, by their ids; each row's checksum is verified."""
        prefix = name.replace("'", "''")
        with map_errors(self.location.name, "reading"):
            rows = self._readable().to_table(filter=f"{_SHARD_FILTER} AND starts_with(id, '{prefix}#')")
        check_rows(rows, self.location.name)
        return rows.drop_columns(list(INTEGRITY_COLUMNS)).sort_by("id")

    def versions(self) -> list[StoredVersion]:
        """Return the versions that are there, the newest first."""
        return list_versions(self._dataset, self.location)

    def compact(self) -> int:
        """Merge small files and drop older versions under the writer lock; return the number of versions dropped.

        Versions that are read on this machine stay; readers of an object store on other machines have to reopen it.
        There the files of killed writers stay for a week, since a writer on another machine may still be using them.
        """
        _count_existing(self._dataset, self.location.name, [], [])
        self.check_rows()
        if groups := self._merge_fragments():
            self._dataset = commit_rewrite(self._dataset, groups, self.location)
            _move_to_version(self, self._dataset)
        with map_errors(self.location.name, "removing old versions of"):
            in_use = pinned_versions(self.location.derived) | {self.version}
            old = [int(v["version"]) for v in self._dataset.versions() if v["version"] not in in_use]
            if old:
                self._dataset.cleanup_old_versions(versions=old, delete_unverified=not self.location.remote)
        return len(old)

    def remove_unnamed_files(self) -> list[str]:
        """Remove the data and deletion files that no version names, under the writer lock; return their sorted names.

        Killed writers and failed commits leave them, and parts of a shared run that were never committed. In an object
        store nothing is done.
        """
        return [] if self.location.remote else remove_unnamed_files(self._dataset, self.location)

    def _merge_fragments(self) -> list[tuple[list["FragmentMetadata"], list["FragmentMetadata"]]]:
        """Write what small fragments and those with deleted rows hold as new ones; return them in pairs (old, new)."""
        from lance.optimize import Compaction, CompactionOptions

        options = CompactionOptions(
            target_rows_per_fragment=_ROWS_PER_FILE,
            materialize_deletions_threshold=0.0,
            batch_size=_COMPACTION_BATCH_ROWS,
        )
        with map_errors(self.location.name, "compacting"):
            tasks = Compaction.plan(self._readable(), options).tasks
            return [(task.fragments, task.execute(self._dataset).new_fragments) for task in tasks]

    def check_rows(self) -> None:
        """Raise an IndexFormatError where the rows of this version are not those that were written, as a whole.

        It reads the checksum of each row, once for each version.
        """
        if self._checked_version != self.version:
            seal = stored_seal(self._dataset, self.location.name)
            if seal is not None:
                check_rows_sealed(seal, compute_seal(self._readable(), self.location.name), self.location.name)
            self._checked_version = self.version

    def _readable(self) -> "LanceDataset":
        """Return the dataset, whose files of deleted rows were parsed once for each version, before Lance reads them.

        A damaged one is an IndexFormatError.
        """
        if self._parsed_version != self.version:
            check_stored_deletions(self.location, self._dataset)
            self._parsed_version = self.version
        return self._dataset

    def restore(self, version: int) -> "PassageTable":
        """Make an older version the newest one, and return the table at it (errors: see `restore_to`)."""
        return PassageTable(self.location, restore_to(self.location, self._dataset, version))


def _check_newest(dataset: "LanceDataset", name: str) -> None:
    """Raise an IndexLockedError where a table has a newer version."""
    with map_errors(name, "reading"):
        newest = dataset.latest_version
    if newest != dataset.version:
        message = f"{name} is at version {newest}, but was opened at version {dataset.version}"
        raise IndexLockedError(f"{message}: another writer changed it; open it again and repeat the step")


def _count_existing(dataset: "LanceDataset", name: str, document_ids: Sequence[str], ids: Sequence[str]) -> int:
    """Count the stored passages of the documents before a commit; raise when the commit would conflict."""
    _check_newest(dataset, name)
    with map_errors(name, "reading"):
        wanted = (("document_id", document_ids), ("id", ids))
        clauses = [_in_predicate(column, values) for column, values in wanted if values]
        if not clauses:
            return 0
        rows = dataset.to_table(columns=["id", "document_id"], filter=" OR ".join(clauses))
    own_documents = set(document_ids)
    for id_, document_id in zip(rows["id"].to_pylist(), rows["document_id"].to_pylist(), strict=True):
        if document_id not in own_documents:
            message = f"passage id {id_!r} belongs to document {document_id!r} already"
            raise InputError(f"{message}: give the new passage another id, or replace that document too")
    return int(rows.num_rows)


def _in_predicate(column: str, values: Sequence[str]) -> str:
    """Return an SQL predicate; quotes inside values are doubled, and nothing else needs escaping in an SQL string."""
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"{column} IN ({quoted})"


def _files_hash(dataset: "LanceDataset") -> str:
    states = [FragmentState.read(fragment.metadata) for fragment in dataset.get_fragments()]
    files = [part for state in states for part in (state.files, state.deletions or None)]
    return blake2b(json.dumps(files).encode(), digest_size=16).hexdigest()


def _identify_manifest(location: Location, version: int) -> tuple[int, int]:
    """Return the inode and the time of a version's file, in which two tables at one place differ; else zeroes.

    An object store has neither: there a table that takes the place of another is not recognised by its version alone.
    """
    if location.remote:
        return 0, 0
    try:
        status = manifest_path(location, version).stat()
    except OSError:  # of a version that has been dropped since, or of another naming of versions
        return 0, 0
    return status.st_ino, status.st_mtime_ns


def _move_to_version(table: PassageTable, dataset: "LanceDataset") -> None:
    table.version = int(dataset.version)
    table.files_hash = _files_hash(dataset)
    table.manifest_identity = _identify_manifest(table.location, table.version)
    pin(table.location.derived, table.version, table)
