"""Changes of an index: documents and graphs that are added and removed, other vectors, other versions."""

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import IndexLockedError, InputError, ProviderError
from clew.index.version import EncoderOpener, IndexVersion
from clew.models.encoders.registry import accept_encoder, open_encoder
from clew.models.threads import check_device
from clew.plugins.arguments import check_count, check_string, check_strings, check_switch, describe_value
from clew.protocols import Encoder, Extractor
from clew.store.kg_shards import shards_by_graph
from clew.store.location import source_register_path, watched_state_path
from clew.store.passage_table import StoredVersion
from clew.store.schema import WITH_VECTORS, WITHOUT_VECTORS
from clew.store.writer_lock import writer_lock
from clew.types import Document, Failure

if TYPE_CHECKING:
    from clew.indexing.entry import (
        DocumentSource,
        GraphFile,
        GraphReport,
        IndexingReport,
        RecordColumns,
        ReencodingReport,
        WriterTools,
    )


class ChangeableIndex(IndexVersion):
    """An index that can be changed; a change moves the object to the version that it made."""

    def add(
        self,
        documents: Iterable[Document | Failure] | Sequence[str | Path],
        extractor: str | Extractor | None = None,
        *,
        retry_failed: bool = False,
        workers: int | None = 1,
        memory: int = 0,
        prune: bool = False,
        columns: "RecordColumns | None" = None,
    ) -> "IndexingReport":
        """Add documents, replace those that have changed, and leave the others alone.

        Args:
            documents: Documents, or paths of files and folders ("-" for standard input); an iterator is never held as
                a whole.
            extractor: `published:FILE` when the published triples have moved, `llm:MODEL` for another model, or the
                object that the index was made with; else what the index was made or opened with.
            retry_failed: Whether passages that the extractor failed at before are extracted again after that.
            workers: Processes of this machine that extract and encode; None for as many as are worth it. They are
                started again, so that a script that asks for several has to guard its own start by `__main__`.
            memory: Bytes that the run may use; 0 for what is usual.
            prune: Whether documents that were read from a given folder before, and are not there any more, are removed;
                else the report notes how many there are.
            columns: The columns of tables, or keys of JSON, that are text, title and id; None for those of these names.

        Raises:
            InputError: A path does not exist, an item is neither a document nor a path, or the extractor is of another
                kind than the index's. Nothing was added, unless the documents are an iterator, which is not looked
                ahead. Or `memory` is too little to merge what the index holds, with the new documents or before: they
                are added then, and a run with more finishes the merge.
            IndexLockedError: Another process is writing.
        """
        from clew.indexing import entry

        if not isinstance(documents, str | Path | Iterable) or isinstance(documents, bytes | Mapping | Document):
            given = describe_value(documents)
            raise InputError(f"documents is {given}; give a list of documents or paths, or an iterator of documents")
        check_count(workers, "workers", optional=True)
        check_count(memory, "memory")
        check_switch(retry_failed, "retry_failed")
        check_switch(prune, "prune")
        items = [documents] if isinstance(documents, str | Path) else documents
        if prune and isinstance(items, Sequence) and not any(_is_folder(item) for item in items):
            raise InputError("nothing can be pruned: give the folder whose documents are removed when they are gone")
        if not isinstance(columns, entry.RecordColumns | None):
            raise InputError(f"columns is {describe_value(columns)}; give a clew.RecordColumns")
        register = source_register_path(self.table.location)
        source = entry.open_source(items, register=register, columns=columns or entry.RecordColumns())
        tools = self._writer_tools(extractor, source)
        started = time.perf_counter()
        with self._writing(memory), closing(source.register):
            writer = entry.make_writer(self.table, self._encoder, tools, workers, memory)
            report = writer.update(source.documents, retry_failed=retry_failed)
            entry.settle_sources(source.register, self.table, report, prune=prune)
        report.reading = source.report
        report.seconds = time.perf_counter() - started
        return report

    def stage_part(
        self, paths: Sequence[str | Path], part: str, staging: str, extractor: str | None = None, memory: int = 0
    ) -> "IndexingReport":
        """Extract and encode one part of the documents of files and folders, to be committed by `commit_parts`.

        Args:
            paths: The same for all parts, as every machine sees them.
            part: Its number and that of all parts, such as "3/8". Documents belong to parts by their ids.
            staging: A folder or an object-store URI that all machines see.
            extractor: As in `add`.
            memory: As in `add`.

        Raises:
            InputError: A path does not exist, or a file has the id of one that was indexed before.
        """
        from clew.indexing import entry

        check_strings(paths, "paths", paths=True)
        check_string(part, "part")
        check_string(staging, "staging")
        check_string(extractor, "extractor", optional=True)
        check_count(memory, "memory")
        wanted = entry.parse_part(part)
        entry.check_ids(paths, source_register_path(self.table.location))
        source = entry.open_source(paths, wanted.has)
        writer = entry.make_writer(self.table, self._encoder, self._writer_tools(extractor, source), 1, memory)
        folder = entry.StagingFolder(staging, self.table.location.storage_options)
        folder.names()  # a bucket that is not there is refused before anything is extracted
        return entry.stage_part(writer, source.documents, wanted, entry.hash_sources(paths), folder)

    def commit_parts(self, staging: str, memory: int = 0) -> "IndexingReport":
        """Make one version of all parts in a folder.

        Args:
            staging: The folder, or an object-store URI.
            memory: As in `add`.

        Raises:
            InputError: A part is missing, or one of its documents has changed in the index since the part was written;
                nothing was changed.
            IndexLockedError: Another process is writing.
        """
        from clew.indexing import entry

        check_string(staging, "staging")
        started = time.perf_counter()
        with self._writing(memory):
            folder = entry.StagingFolder(staging, self.table.location.storage_options)
            report = entry.commit_staged(self.table, folder)
        report.seconds = time.perf_counter() - started
        return report

    def sync_folder(self, folder: Path, memory: int = 0) -> "IndexingReport | None":
        """Add what is new or changed in a folder since this was last called for it, and remove what is gone from it.

        Documents of the folder that the index has lost or changed since, by another command, are put back.

        Args:
            folder: The folder.
            memory: As in `add`.

        Returns:
            A report, or None where nothing has changed.

        Raises:
            InputError: The folder does not exist, or vanished while it was read; nothing was removed.
            IndexLockedError: Another process is writing.
        """
        from clew.indexing import entry

        if not isinstance(folder, Path):
            raise InputError(f"{str(folder)!r} is not a folder: name one to watch")
        if not self.table.is_newest:
            self._move_to_version(self.table.open_latest())
        location = self.table.location
        state, register = watched_state_path(location, folder), source_register_path(location)
        reader = entry.FolderReader(folder, state, self.table, register)
        if reader.is_unchanged:
            reader.store_version()
            return None
        report = self.add(reader.documents(), memory=memory)
        report.reading = reader.reading
        entry.note_renamed(reader.register, report)
        written, stored = self.table, self.table.stored_documents()
        if gone := [id_ for id_ in reader.removed_ids() if id_ in stored]:
            report.removed = self.remove(gone, memory).removed
        reader.store(written, stored)
        return report

    def reencode(self, encoder: str | Encoder, sentences: str | None = None, memory: int = 0) -> "ReencodingReport":
        """Give all passages the vectors of another encoder, in one new version; nothing is extracted again.

        Readers keep the version before until they open the index again; a run that was stopped goes on.

        Args:
            encoder: As for a new index: a name, or an object, which has to be given again to open the index.
            sentences: "vectors" for vectors of sentences, too, "none" for none; None for what the index was made with.
            memory: Bytes that the merge may use; 0 for what is usual.

        Raises:
            InputError: There is no such encoder, `sentences` is another word, or `memory` is too little for the merge.
            IndexLockedError: Another process is writing.
        """
        from clew.indexing import entry

        started = time.perf_counter()
        if sentences not in (None, WITH_VECTORS, WITHOUT_VECTORS):
            raise InputError(f"sentences is {sentences!r}: give {WITH_VECTORS} or {WITHOUT_VECTORS}")
        opened = open_encoder(encoder, device=self.device) if isinstance(encoder, str) else accept_encoder(encoder)
        with self._writing(memory):
            width = self.table.dimension
            self.table, report = entry.reencode(self.table, opened, self._progress, sentences)
            if width != self.table.dimension:
                shutil.rmtree(self.table.location.derived / "vectors.lance", ignore_errors=True)
            self._encoder_opener = EncoderOpener(self.table, self.device, self.llm_factory, opened)
        report.seconds = time.perf_counter() - started
        return report

    def import_graph(
        self, source: "str | Path | GraphFile", name: str | None = None, *, strict: bool = False, memory: int = 0
    ) -> "GraphReport":
        """Import a graph, in the place of what was imported by the same name.

        Args:
            source: A file of triples: TSV, CSV, JSON lines, N-Triples or Turtle, each also as `.gz`; or what
                `graph_file` makes of a file and options.
            name: Of the graph in this index; the file's name if None.
            strict: Whether a file that has a fault is refused, and nothing changed; else faults are counted.
            memory: Bytes that the merge may use; 0 for what is usual.

        Raises:
            InputError: The file cannot be used, states nothing or breaks off, or a document has the name; nothing was
                changed.
            IndexLockedError: Another process is writing.
        """
        from clew.indexing import entry

        if not isinstance(source, str | Path | entry.GraphFile):
            raise InputError(f"the graph is {type(source).__name__} {source!r:.80}; give a file")
        check_string(name, "name", optional=True)
        check_switch(strict, "strict")
        file = source if isinstance(source, entry.GraphFile) else entry.graph_file(source)
        called = entry.clean_graph_name(file.path.name if name is None else name)
        started = time.perf_counter()
        with self._writing(memory), closing(file.statements(strict=strict)) as statements:
            report = entry.GraphImporter(self.table, self._progress).import_graph(called, statements)
        if report.mentions:
            unmatched = entry.match_mentions(self.table, self.snapshot)[2]
            report.unmatched_mentions, report.unmatched_by_kind = sum(unmatched.values()), unmatched
        report.seconds = time.perf_counter() - started
        return report

    def remove(self, ids: Sequence[str], memory: int = 0, *, shred: bool = False) -> "IndexingReport":
        """Remove documents, and imported graphs by name; an absent id is an InputError, and nothing was removed.

        `memory` is that of the merge, in bytes; 0 for what is usual. With `shred` their text goes from the disk, too:
        the index is compacted, and what else may hold the text is removed (see `docs/durability.md`). An
        IndexLockedError says that another process is reading an older version.
        """
        from clew.indexing import entry

        check_strings(ids, "ids")
        check_switch(shred, "shred")
        with self._writing(memory):
            stored = self.table.stored_documents()
            documents = {id_ for id_ in ids if id_ in stored}
            graphs = shards_by_graph(stored.shards)
            if absent := [id_ for id_ in ids if id_ not in documents and id_ not in graphs]:
                given = f"{absent[0]!r} ({len(absent)} of {len(ids)} given are absent)"
                raise InputError(f"no document has the id, and no graph the name, {given}")
            named = graphs.keys() & set(ids)
            parts = [part for graph in named for part in graphs[graph]]
            self.table.delete([*documents, *parts])
            entry.free_ids(self.table, documents)
            if shred:
                self.table.compact()
        if shred:
            self._shred()
        return entry.IndexingReport(removed=len(documents), removed_graphs=len(named))

    def compact(self, memory: int = 0, *, shred: bool = False) -> int:
        """Rewrite many small files as few and drop older versions, under the writer lock; return the number dropped.

        Vectors of names that the index has no longer are dropped, too. `memory` is as of `remove`; `shred`, too, for
        all that was removed before.
        """
        from clew.indexing import entry

        check_switch(shred, "shred")
        with self._writing(memory):
            dropped = self.table.compact()
        if shred:
            self._shred()
        elif self.table.dimension:
            with writer_lock(self.table.location):
                entry.drop_unused_vectors(self.table.location.derived, self.snapshot, self._encoder.fingerprint)
        return dropped

    def versions(self) -> list[StoredVersion]:
        """Return the versions that can be gone back to, the newest first; `compact` drops the older ones."""
        return self.table.versions()

    def restore(self, version: int, memory: int = 0) -> None:
        """Make an older version the newest one; that of before stays until `compact`.

        `memory` is that of the merge, in bytes; 0 for what is usual.

        Raises:
            InputError: There is no such version, or `memory` is too little for the merge.
            IndexFormatError: The version is damaged; nothing was changed.
            IndexLockedError: Another process is writing.
        """
        check_count(version, "version")
        with self._writing(memory):
            self.table = self.table.restore(version)

    def _writer_tools(self, extractor: str | Extractor | None, source: "DocumentSource") -> "WriterTools":
        from clew.indexing import entry

        self._check_whole()
        given, stored = self._extractor if extractor is None else extractor, str(self.table.settings["extractor"])
        chosen: str | Extractor
        if given is None or isinstance(given, str):
            chosen = entry.choose_extractor(given, stored)
        else:
            chosen = entry.accept_extractor(given)
            entry.check_index_extractor(chosen, stored)
        return entry.WriterTools(chosen, self.open_model, self.device, source.count_bytes(self._progress))

    @contextmanager
    def _writing(self, memory: int = 0) -> Iterator[None]:
        """Hold the writer lock at the newest version; then build the snapshot of the version that was written.

        A budget of bytes that is too little to merge what the index holds already is refused before anything is done.
        """
        from clew.indexing import entry

        self._check_whole()
        check_device(self.device)
        with writer_lock(self.table.location):
            self._move_to_version(self.table.open_latest())
            before = self.table.version
            if memory:
                entry.check_merge_memory(self.table, memory, self._progress)
            try:
                yield
            finally:
                self._move_to_version(self.table)
                entry.discard_selections(self.table.location.derived)
            try:
                self._build_snapshot(memory)
            except ProviderError as error:
                if self.table.version == before:
                    raise
                raise ProviderError(
                    f"{error}; the change itself is committed as version {self.table.version}, and what is derived "
                    "from it is made by the next command"
                ) from error

    def _shred(self) -> None:
        from clew.indexing import entry

        with writer_lock(self.table.location):
            if not self.table.is_newest:
                raise IndexLockedError(
                    f"another process has changed {self.table.location.name}, and not everything that was removed is "
                    "shredded: run `clew compact --shred`"
                )
            entry.shred(self.table, self.snapshot, self._encoder, self._progress)


def _is_folder(item: object) -> bool:
    return isinstance(item, str | Path) and item not in ("", "-") and Path(item).is_dir()
