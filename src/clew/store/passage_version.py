"""One version of the passages of an index, and what is read of it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from clew.errors import InputError
from clew.store.dataset import manifest_path
from clew.store.deletion_files import check_stored_deletions
from clew.store.document_ids import StoredDocuments, collect_documents
from clew.store.error_mapping import map_errors, read_batches
from clew.store.integrity import INTEGRITY_COLUMNS, check_rows, settings_from_schema, vector_dimension
from clew.store.kg_shards import SHARD_EXTRACTOR, is_shard
from clew.store.location import Location
from clew.store.row_seal import check_rows_sealed, compute_seal, stored_seal
from clew.store.schema import has_sentence_vectors
from clew.store.segment_files import FragmentState
from clew.store.writer_lock import pin

if TYPE_CHECKING:
    from lance import LanceDataset

_PASSAGE_FILTER, _SHARD_FILTER = f"extractor != '{SHARD_EXTRACTOR}'", f"extractor = '{SHARD_EXTRACTOR}'"
_ID_BATCH_ROWS, _SHARD_BATCH_ROWS = 1 << 16, 16  # a shard has a few MB


class PassageVersion:
    """One version of the passages of an index, which is marked as being read as long as this object is there.

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
        self._checked_version = self._parsed_version = 0
        self._set_version(dataset)

    def _set_version(self, dataset: "LanceDataset") -> None:
        """Take a dataset as the version to read from now on, and mark it as being read."""
        self._dataset = dataset
        self.version = int(dataset.version)
        self.files_hash = _files_hash(dataset)
        self.manifest_identity = _identify_manifest(self.location, self.version)
        pin(self.location.derived, self.version, self)

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

    @property
    def is_newest(self) -> bool:
        """Whether no newer version has been committed, and no other table put in the place of this one."""
        with map_errors(self.location.name, "reading"):
            newest = bool(self._dataset.latest_version == self.version)
        return newest and _identify_manifest(self.location, self.version) == self.manifest_identity

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

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return passages sorted by (document_id, ordinal), ids by their UTF-8 bytes, without shards of graphs.

        Columns are in the order wanted, None for all and each row's checksum verified. An unknown column is an
        InputError, damaged data an IndexFormatError.
        """
        self.check_rows()
        return self._read(columns, _PASSAGE_FILTER)

    def read_documents(self, document_ids: Sequence[str]) -> pa.Table:
        """Return all columns of the passages of documents, as of `read`."""
        return self._read(None, in_predicate("document_id", document_ids) if document_ids else "false")

    def read_failed(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of the passages whose extraction failed, as of `read`."""
        return self._read(columns, f"failure IS NOT NULL AND {_PASSAGE_FILTER}")

    def numbered_passages(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that passages have which are parts of a document of another id."""
        rows = self._read(["id"], f"{in_predicate('id', ids)} AND id != document_id" if ids else "false")
        return set(rows["id"].to_pylist())

    def _read(self, columns: Sequence[str] | None, condition: str) -> pa.Table:
        names = [name for name in self._dataset.schema.names if name not in INTEGRITY_COLUMNS]
        wanted = names if columns is None else list(columns)
        if unknown := sorted(set(wanted) - set(names)):
            raise InputError(f"no column {unknown[0]!r} in the passages table: choose from {', '.join(names)}")
        extra = INTEGRITY_COLUMNS if columns is None else ("document_id", "ordinal")
        scanned = list(dict.fromkeys([*wanted, *extra]))
        with map_errors(self.location.name, "reading"):
            rows = self._readable().to_table(columns=scanned, filter=condition)
        if columns is None:
            check_rows(rows, self.location.name)
        order = pc.sort_indices(rows, sort_keys=[("document_id", "ascending"), ("ordinal", "ascending")])
        return rows.select(wanted).take(order).replace_schema_metadata(None)

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
        wanted = None if columns is None else list(columns)
        with map_errors(self.location.name, "reading"):
            # A scan in small batches costs much for all the passages that it passes over; most indexes have no graph.
            if not self._readable().count_rows(filter=_SHARD_FILTER):
                return

        def scan() -> Iterable[pa.RecordBatch]:
            scanner = self._readable().scanner(columns=wanted, filter=_SHARD_FILTER, batch_size=_SHARD_BATCH_ROWS)
            batches: Iterable[pa.RecordBatch] = scanner.to_batches()
            return batches

        for batch in read_batches(scan, self.location.name):
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


def in_predicate(column: str, values: Sequence[str]) -> str:
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
