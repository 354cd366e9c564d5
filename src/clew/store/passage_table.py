"""The passages table: the primary data of an index, changed by one atomic commit at a time."""

import json
import logging
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clew.errors import IndexFormatError, IndexLockedError, InputError
from clew.store.atomic import remove_leftovers
from clew.store.commits import (
    Removal,
    TableChange,
    check_data_files,
    commit_change,
    commit_restore,
    commit_rewrite,
    create_table,
    known_seal,
    remove_documents,
)
from clew.store.dataset import manifest_path, newest_version, open_dataset, open_existing
from clew.store.deletion_files import deletion_path
from clew.store.error_mapping import map_errors
from clew.store.inspection import inspect
from clew.store.integrity import INTEGRITY_COLUMNS, add_integrity_columns, stored_schema
from clew.store.location import Location, locate
from clew.store.passage_version import PassageVersion, in_predicate
from clew.store.row_seal import RowSeal
from clew.store.writer_lock import pinned_versions

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata

_logger = logging.getLogger(__name__)
_OPEN_ATTEMPTS = 10  # a compacting writer would have to win the race this many times
_ROWS_PER_FILE = 1 << 16  # a damaged file costs at most this many passages
_COMPACTION_BATCH_ROWS = 256  # a shard has a few MB
_NAMED_VERSIONS = 6  # in a message


@dataclass(frozen=True, slots=True)
class WrittenFragments:
    """Data files that no version has yet."""

    records: list[str]  # metadata of the fragments as JSON, for `commit_fragments`, on this machine or another one
    rows: pa.Table  # what they hold, with `document_rows`


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version of a passages table."""

    version: int
    time: datetime  # of its commit, in the time zone of this machine
    rows: int  # passages and shards of graphs


class PassageTable(PassageVersion):
    """The version of a passages table that is open; a commit moves only this object to the new version."""

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
        self._set_version(committed)
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

    def delete(self, document_ids: Sequence[str]) -> int:
        """Remove documents in one commit (errors: see `replace`); return the number of passages; 0 commits nothing."""
        ids = sorted(set(document_ids))
        self.check_rows()
        if _count_existing(self._readable(), self.location.name, ids, []) == 0:
            return 0
        return self._commit([], pa.array(ids, type=pa.string()), RowSeal())

    def compact(self) -> int:
        """Merge small files and drop older versions under the writer lock; return the number of versions dropped.

        Versions that are read on this machine stay; readers of an object store on other machines have to reopen it.
        There the files of killed writers stay for a week, since a writer on another machine may still be using them.
        """
        _count_existing(self._dataset, self.location.name, [], [])
        self.check_rows()
        if groups := self._merge_fragments():
            self._set_version(commit_rewrite(self._dataset, groups, self.location))
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
        if self.location.remote:
            return []
        table = Path(self.location.table)
        named: set[Path] = set()
        with map_errors(self.location.name, "reading the versions of"):
            for record in self._dataset.versions():
                for fragment in self._dataset.checkout_version(record["version"]).get_fragments():
                    named.update(table / "data" / file.path for file in fragment.data_files())
                    if fragment.metadata.deletion_file is not None:
                        named.add(deletion_path(table, fragment.metadata))
        with map_errors(self.location.name, "removing files that no version names of"):
            present = {path for folder in ("data", "_deletions") for path in (table / folder).glob("*")}
            unnamed = sorted(present - named)
            for path in unnamed:
                path.unlink()
        return [path.name for path in unnamed]

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

    def versions(self) -> list[StoredVersion]:
        """Return the versions that are there, the newest first; one that cannot be read is an IndexFormatError."""
        found = []
        with map_errors(self.location.name, "reading the versions of"):
            for record in self._dataset.versions():
                time: Any = record["timestamp"]
                rows = int(record["metadata"]["total_rows"])
                found.append(StoredVersion(record["version"], time.astimezone(), rows))
        return sorted(found, key=lambda one: -one.version)

    def restore(self, version: int) -> "PassageTable":
        """Make an older version the newest one in one commit, and return the table at it; all of its rows are read.

        Raises:
            InputError: There is no such version, or it is the newest.
            IndexFormatError: It is damaged; nothing was changed.
        """
        location, there = self.location, [one.version for one in self.versions()]
        if version not in there or version == there[0]:
            fault = "is the newest one already" if version in there else "is not there"
            named = ", ".join(map(str, there[:_NAMED_VERSIONS])) + (", ..." if len(there) > _NAMED_VERSIONS else "")
            raise InputError(f"version {version} of {location.name} {fault}: the versions are {named} (see --list)")
        older = open_dataset(location, version)
        assert older is not None, version
        if problems := inspect(older, location):
            raise IndexFormatError(
                f"version {version} of {location.name} is damaged ({problems[0].text}): choose another one"
            )
        return PassageTable(location, commit_restore(location, version))


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
        clauses = [in_predicate(column, values) for column, values in wanted if values]
        if not clauses:
            return 0
        rows = dataset.to_table(columns=["id", "document_id"], filter=" OR ".join(clauses))
    own_documents = set(document_ids)
    for id_, document_id in zip(rows["id"].to_pylist(), rows["document_id"].to_pylist(), strict=True):
        if document_id not in own_documents:
            message = f"passage id {id_!r} belongs to document {document_id!r} already"
            raise InputError(f"{message}: give the new passage another id, or replace that document too")
    return int(rows.num_rows)
