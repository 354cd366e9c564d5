"""An index: documents in, evidence and answers out; the Python API of everything the command line does."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from clew.errors import IndexFormatError, IndexLockedError, InputError, ProviderError
from clew.graph.snapshot.snapshot import Snapshot
from clew.models.devices import check_device
from clew.models.encoders.registry import open_encoder, open_index_encoder
from clew.models.llm.access import LLMClientFactory
from clew.models.threads import worker_count
from clew.plugins.arguments import check_count, check_string, check_strings, check_switch
from clew.plugins.records import SettingsRecord, record_label
from clew.protocols import Answerer, Encoder, LanguageModel, Retriever, TopicRetriever
from clew.query.alias_notes import describe_aliases, note_aliases
from clew.query.context import IndexContext
from clew.query.entity_linker import LinkerSettings
from clew.query.evidence_gate import check_evidence
from clew.retrievers.registry import (
    RETRIEVERS,
    default_retriever,
    describe_default,
    finds_nothing,
    is_path_retriever,
    open_retriever,
)
from clew.settings import Settings, load_settings
from clew.store.atomic import remove_leftovers
from clew.store.error_mapping import map_errors
from clew.store.kg_shards import shards_by_graph
from clew.store.location import locate, reply_cache_path, source_register_path, watched_state_path
from clew.store.passage_table import PassageTable
from clew.store.schema import WITH_VECTORS, WITHOUT_VECTORS
from clew.store.snapshot_files import check_snapshot, folder_state, missing_segments, snapshot_folder
from clew.store.versions import StoredVersion
from clew.store.writer_lock import unpin, writer_lock
from clew.types import Answer, Document, Evidence, Failure, Filter, Progress, Triple, count_progress, ignore_progress

if TYPE_CHECKING:
    from clew.answering.graph_readers.protocols import GraphReader
    from clew.answering.selected_subgraph import SubgraphSource
    from clew.indexing.entry import (
        DocumentSource,
        GraphFile,
        GraphReport,
        IndexingReport,
        IndexStats,
        ReencodingReport,
        WriterTools,
    )

# A search loads nothing of `clew.indexing`: what adds documents is imported by the methods that do.

AUTO = "auto"
_MAX_RETRIEVERS = 32  # that an index holds; each may hold megabytes

# A retriever as users give it: a name, a settings record, or an object that retrieves.
RetrieverSpec = str | SettingsRecord | Retriever


class Index:
    """One version of an index, from `clew.open` or `clew.create`; adding and removing moves the object to a newer one.

    Attributes:
        table: The passages on disk.
        llm_factory: How language models are asked, and what was spent on them.
        device: Where models run: "auto", "cpu", "cuda" or "mps"; it is checked where one does.
        similar_names: Whether names in questions that the index does not know are taken for those most like them.
        linking: How names in questions are found and linked else.
    """

    def __init__(
        self,
        table: PassageTable,
        llm_factory: LLMClientFactory,
        progress: Progress = ignore_progress,
        device: str = "auto",
        *,
        similar_names: bool = True,
        linking: LinkerSettings | None = None,
    ) -> None:
        self.table = table
        self.llm_factory = llm_factory
        self.device = device
        self.similar_names = similar_names
        self.linking = LinkerSettings() if linking is None else linking
        self._progress = progress
        self._encoder_opener = _EncoderOpener(table, device)
        self._retrievers: dict[tuple[str | SettingsRecord, int], Retriever] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files, the memory and the version of this index; it is opened again where it is used again.

        Retrievers that were taken from it go on working, and hold what they need.
        """
        vars(self).pop("context", None)
        self._retrievers = {}
        unpin(self.table)

    @property
    def _encoder(self) -> Encoder:
        return self._encoder_opener.open()

    @cached_property
    def context(self) -> IndexContext:
        """The resources of this version that retrievers use."""
        folder = snapshot_folder(self.table)
        while True:
            state = folder_state(folder)
            try:
                if not folder.is_dir() or missing_segments(folder):
                    self._build_snapshot()
                else:
                    remove_leftovers(folder.parent)  # of a writer that was killed after completing its snapshot
                state = folder_state(folder)
                check_snapshot(folder)
                return self._open_context(folder)
            except IndexFormatError:
                # Where another process has dropped or made it meanwhile it is no damage, and the version is pinned.
                if folder_state(folder) == state:
                    raise

    def _open_context(self, folder: Path) -> IndexContext:
        with map_errors(self.table.location.name, "opening"):
            return IndexContext(
                folder,
                self.table.location.derived / "vectors.lance",
                self._encoder_opener.open,
                self.open_model,
                count_progress(self._progress, "encoding short texts"),
                self.device,
                similar_names=self.similar_names,
                linking=self.linking,
            )

    @property
    def snapshot(self) -> Snapshot:
        """The passages, entities and triples of this version, as arrays."""
        return self.context.scope.snapshot

    def add(
        self,
        documents: Iterable[Document | Failure] | Sequence[str | Path],
        extractor: str | None = None,
        *,
        retry_failed: bool = False,
        workers: int | None = 1,
        memory: int = 0,
        prune: bool = False,
    ) -> "IndexingReport":
        """Add documents, replace those that have changed, and leave the others alone.

        Args:
            documents: Documents, or paths of files and folders ("-" for standard input); an iterator is never held as
                a whole.
            extractor: `published:FILE` when the published triples have moved, or `llm:MODEL` for another model; else
                what the index was made with.
            retry_failed: Whether passages that the extractor failed at before are extracted again after that.
            workers: Processes of this machine that extract and encode; None for as many as are worth it. They are
                started anew, so that a script that asks for several has to guard its own start by `__main__`.
            memory: Bytes that the run may use; 0 for what is usual.
            prune: Whether documents that were read from a given folder before, and are not there any more, are removed;
                else the report notes how many there are.

        Raises:
            InputError: A path does not exist, an item is neither a document nor a path, or the extractor is of another
                kind than the index's. Nothing was added, unless the documents are an iterator, which is not looked
                ahead. Or `memory` is too little to merge what the index holds, with the new documents or before: they
                are added then, and a run with more finishes the merge.
            IndexLockedError: Another process is writing.
        """
        from clew.indexing import entry

        if not isinstance(documents, str | Path | Iterable) or isinstance(documents, bytes | Mapping | Document):
            kind = type(documents).__name__
            raise InputError(f"documents is a {kind}; give a list of documents or paths, or an iterator of documents")
        check_string(extractor, "extractor", optional=True)
        check_count(workers, "workers", optional=True)
        check_count(memory, "memory")
        check_switch(retry_failed, "retry_failed")
        check_switch(prune, "prune")
        items = [documents] if isinstance(documents, str | Path) else documents
        if prune and isinstance(items, Sequence) and not any(_is_folder(item) for item in items):
            raise InputError("nothing can be pruned: give the folder whose documents are removed when they are gone")
        source = entry.open_source(items, register=source_register_path(self.table.location))
        tools = self._writer_tools(extractor, source)
        started = time.perf_counter()
        with self._writing(memory), closing(source.register):
            writer = entry.make_writer(self.table, self._encoder, tools, workers, memory)
            report = writer.update(source.documents, retry_failed=retry_failed)
            entry.settle_sources(source.register, self.table, report, prune=prune)
        report.seconds = time.perf_counter() - started
        return report

    def add_by_ray(
        self,
        paths: Sequence[str | Path],
        address: str = "local",
        extractor: str | None = None,
        actors: int | None = None,
        memory: int = 0,
    ) -> "IndexingReport":
        """Add the documents of files and folders by a Ray cluster, committing its parts as they are done.

        Args:
            paths: As every machine of the cluster sees them; so for the index.
            address: Of the cluster, "auto" for the one that this machine belongs to, or "local" for one of its own.
            extractor: As in `add`.
            actors: Number of actors that keep the models open; one for each core of this machine if None.
            memory: Bytes that an actor may use, and this process for the merge at the end.

        Raises:
            InputError: A path does not exist, or the extractor asks a language model.
            MissingPackageError: Ray is not installed.
            ProviderError: The cluster cannot be reached, or a part failed.
        """
        from clew.indexing import entry

        check_strings(paths, "paths", paths=True)
        check_string(address, "address")
        check_string(extractor, "extractor", optional=True)
        check_count(actors, "actors", optional=True)
        check_count(memory, "memory")
        tools = self._writer_tools(extractor, entry.open_source(paths))
        settings = entry.writer_settings(self.table, tools)
        started = time.perf_counter()
        with self._writing(memory):
            run = entry.ClusterRun(address, worker_count() if actors is None else actors, memory, self._progress)
            report = run.index(self.table, settings, [Path(path).absolute() for path in paths])
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
        """
        from clew.indexing import entry

        check_strings(paths, "paths", paths=True)
        check_string(part, "part")
        check_string(staging, "staging")
        check_string(extractor, "extractor", optional=True)
        check_count(memory, "memory")
        wanted = entry.parse_part(part)
        source = entry.open_source(paths, wanted.has)
        writer = entry.make_writer(self.table, self._encoder, self._writer_tools(extractor, source), 1, memory)
        folder = entry.StagingFolder(staging, self.table.location.storage_options)
        return entry.stage_part(writer, source.documents, wanted, entry.hash_sources(paths), folder)

    def commit_parts(self, staging: str) -> "IndexingReport":
        """Make one version of all parts in a folder; a missing part is an InputError, and nothing was changed."""
        from clew.indexing import entry

        check_string(staging, "staging")
        started = time.perf_counter()
        with self._writing():
            folder = entry.StagingFolder(staging, self.table.location.storage_options)
            report = entry.commit_staged(self.table, folder)
        report.seconds = time.perf_counter() - started
        return report

    def _writer_tools(self, extractor: str | None, source: "DocumentSource") -> "WriterTools":
        from clew.indexing import entry

        chosen = entry.choose_extractor(extractor, str(self.table.settings["extractor"]))
        return entry.WriterTools(chosen, self.open_model, self.device, source.count_bytes(self._progress))

    def sync_folder(self, folder: Path) -> "IndexingReport | None":
        """Add what is new or changed in a folder since this was last called for it, and remove what is gone.

        Returns:
            A report, or None where nothing has changed.

        Raises:
            InputError: The folder does not exist.
            IndexLockedError: Another process is writing.
        """
        from clew.indexing import entry

        if not isinstance(folder, Path) or not folder.is_dir():
            raise InputError(f"{str(folder)!r} is not a folder: name one to watch")
        reader = entry.FolderReader(folder, watched_state_path(self.table.location, folder))
        if reader.is_unchanged:
            return None
        report = self.add(reader.documents())
        stored = self.table.stored_documents()
        if gone := [id_ for id_ in reader.removed_ids() if id_ in stored]:
            report.removed = self.remove(gone).removed
        reader.store()
        return report

    def reencode(self, encoder: str, sentences: str | None = None) -> "ReencodingReport":
        """Give all passages the vectors of another encoder, in one new version; nothing is extracted again.

        Readers keep the version before until they open the index again; a run that was stopped goes on.

        Args:
            encoder: As for a new index.
            sentences: "vectors" for vectors of sentences, too, "none" for none; None for what the index was made with.

        Raises:
            InputError: There is no such encoder, or `sentences` is another word.
            IndexLockedError: Another process is writing.
        """
        from clew.indexing import entry

        check_string(encoder, "encoder")
        started = time.perf_counter()
        if sentences not in (None, WITH_VECTORS, WITHOUT_VECTORS):
            raise InputError(f"sentences is {sentences!r}: give {WITH_VECTORS} or {WITHOUT_VECTORS}")
        opened = open_encoder(encoder, device=self.device)
        with self._writing():
            self.table, report = entry.reencode(self.table, opened, self._progress, sentences)
            self._encoder_opener = _EncoderOpener(self.table, self.device, opened)
        report.seconds = time.perf_counter() - started
        return report

    def import_graph(
        self, source: "str | Path | GraphFile", name: str | None = None, *, strict: bool = False
    ) -> "GraphReport":
        """Import a graph, in the place of what was imported by the same name.

        Args:
            source: A file of triples: TSV, CSV, JSON lines, N-Triples, Turtle or GraphML, each also as `.gz`; or what
                `graph_file` makes of a file and options.
            name: Of the graph in this index; the file's name if None.
            strict: Whether a file that has a fault is refused, before anything is written; else faults are counted.

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
        if strict:
            file.check()
        started = time.perf_counter()
        with self._writing(), closing(file.statements()) as statements:
            report = entry.GraphImporter(self.table, self._progress).import_graph(called, statements)
        if report.mentions:
            report.unmatched_mentions = entry.match_mentions(self.table, self.snapshot)[2]
        report.seconds = time.perf_counter() - started
        return report

    def remove(self, ids: Sequence[str], *, shred: bool = False) -> "IndexingReport":
        """Remove documents, and imported graphs by name; an absent id is an InputError, and nothing was removed.

        With `shred` their text goes from the disk, too: the index is compacted, and what else may hold the text is
        removed (see `docs/durability.md`). An IndexLockedError says that another process is reading an older version.
        """
        from clew.indexing import entry

        check_strings(ids, "ids")
        check_switch(shred, "shred")
        with self._writing():
            stored = self.table.stored_documents()
            documents = {id_ for id_ in ids if id_ in stored}
            graphs = shards_by_graph(stored.shards)
            if absent := [id_ for id_ in ids if id_ not in documents and id_ not in graphs]:
                given = f"{absent[0]!r} ({len(absent)} of {len(ids)} given are absent)"
                raise InputError(f"no document has the id, and no graph the name, {given}")
            named = graphs.keys() & set(ids)
            parts = [part for graph in named for part in graphs[graph]]
            self.table.delete([*documents, *parts])
            if shred:
                self.table.compact()
        if shred:
            self._shred()
        return entry.IndexingReport(removed=len(documents), removed_graphs=len(named))

    @contextmanager
    def _writing(self, memory: int = 0) -> Iterator[None]:
        """Hold the writer lock at the newest version; then build the snapshot of the version that was written.

        A budget of bytes that is too little to merge what the index holds already is refused before anything is done.
        """
        from clew.indexing import entry

        check_device(self.device)  # the snapshot's names are encoded
        with writer_lock(self.table.location):
            self._move_to_version(self.table.open_latest())
            before = self.table.version
            if memory:
                entry.check_merge_memory(self.table, self._encoder.dimension, memory, self._progress)
            try:
                yield
            finally:
                self._move_to_version(self.table)
            try:
                self._build_snapshot(memory)
            except ProviderError as error:
                if self.table.version == before:
                    raise
                raise ProviderError(
                    f"{error}; the change itself is committed as version {self.table.version}, and what is derived "
                    "from it is made by the next command"
                ) from error

    def _build_snapshot(self, memory: int = 0) -> None:
        from clew.indexing import entry

        entry.ensure_snapshot(self.table, self._encoder, self._progress, memory)

    def _move_to_version(self, table: PassageTable) -> None:
        if table is not self.table:
            unpin(self.table)
        self.table = table
        self._retrievers = {}
        vars(self).pop("context", None)

    def retriever(self, spec: RetrieverSpec = AUTO, paths: int = 1) -> Retriever:
        """Return a retriever over this version.

        Args:
            spec: A name (see `clew.RETRIEVERS`), "auto" for the one that serves this index best; a settings record such
                as `GFM(nodes="all")`; or any object that is a `Retriever`, which is returned as it is.
            paths: Number of paths that explain each passage, for a retriever that computes them (`gfm`).

        Raises:
            InputError: No retriever has that name, or it needs vectors that the index lacks.
        """
        if isinstance(spec, type) or not (isinstance(spec, str | SettingsRecord) or hasattr(spec, "retrieve")):
            raise InputError(f"the retriever is {spec!r}; give a name, a settings record such as GFM(), or a retriever")
        if not isinstance(spec, str | SettingsRecord):
            return spec
        check_device(self.device)
        named = self.resolve_retriever(spec)
        found = self._retrievers.pop((named, paths), None)
        if found is None:
            found = open_retriever(named, self.context.with_paths_per_passage(paths))
        self._retrievers[named, paths] = found  # the latest one stands last
        while len(self._retrievers) > _MAX_RETRIEVERS:
            del self._retrievers[next(iter(self._retrievers))]
        return found

    def resolve_retriever(self, spec: str | SettingsRecord = AUTO) -> str | SettingsRecord:
        """Return the name that "auto" stands for here, and any other name or record as it is."""
        if spec != AUTO:
            return spec
        return default_retriever(self.context, str(self.table.settings["encoder_fingerprint"]))

    def search(
        self,
        question: str,
        k: int = 5,
        retriever: RetrieverSpec = AUTO,
        where: Filter | None = None,
        paths: int = 1,
        topics: Sequence[str] = (),
    ) -> Evidence:
        """Return the evidence for one question.

        Args:
            question: Any string.
            k: Passages, at most.
            retriever: As in `retriever`.
            where: Which passages may be found.
            paths: As in `retriever`.
            topics: Entities that it is about, else they are linked; an InputError where the retriever finds no paths.
        """
        check_string(question, "question")
        check_string(where, "where", optional=True)
        check_count(paths, "paths")
        check_strings(topics, "topics")
        if isinstance(retriever, str) and retriever == AUTO:
            evidence = self.search(question, k, chosen := self.resolve_retriever(), where, paths, topics)
            return replace(evidence, notes=(*evidence.notes, *describe_default(str(chosen))))
        opened = self.retriever(retriever, paths)
        if not topics:
            return self.finish(opened.retrieve([question], k, where)[0], where)
        if not isinstance(opened, TopicRetriever):
            able = ", ".join(name for name in RETRIEVERS if is_path_retriever(name) and not finds_nothing(name))
            raise InputError(f"topics are for the retrievers {able}, not {_describe_retriever(retriever)}")
        return self.finish(opened.retrieve_about([question], [topics], k, where)[0], where)

    def finish(self, evidence: Evidence, where: Filter | None) -> Evidence:
        """Return what a retriever found with notes on aliases; `search` does this by itself.

        Raises RuntimeError where it shows what the filter hides, which is a fault of the retriever.
        """
        if where is not None:
            check_evidence(evidence, self.context.scope, where)
        return note_aliases(self.table, evidence)

    def describe_aliases(self, triples: Sequence[Triple]) -> tuple[str, ...]:
        """Return notes, ten at most, on ends of triples that a passage which states them writes as an alias."""
        return describe_aliases(self.table, triples)

    def ask(
        self,
        question: str,
        k: int = 5,
        retriever: RetrieverSpec = AUTO,
        where: Filter | None = None,
        paths: int = 1,
        model: str = "",
        topics: Sequence[str] = (),
    ) -> Answer:
        """Return an answer quoted from the evidence, or written by a language model with quotes that were checked."""
        check_string(model, "model")
        evidence = self.search(question, k, retriever, where, paths, topics)
        return self.answerer(model, retriever).answer([question], [evidence])[0]

    def subgraph_source(self, retriever: RetrieverSpec) -> "SubgraphSource":
        """Return a retriever that selects subgraphs; raises InputError for one that does not."""
        from clew.answering.selected_subgraph import SubgraphSource

        if isinstance(opened := self.retriever(retriever), SubgraphSource):
            return opened
        raise InputError(
            "a reader of subgraphs answers from what gcn-subgraph or steiner selects, not "
            f"{_describe_retriever(retriever)}: give --retriever gcn-subgraph or steiner"
        )

    def ask_subgraph(
        self,
        question: str,
        reader: "GraphReader",
        retriever: RetrieverSpec = "gcn-subgraph",
        k: int = 5,
        where: Filter | None = None,
        topics: Sequence[str] = (),
        trained_with: str = "",
    ) -> Answer:
        """Return the answer that a graph reader gives from the subgraph that a retriever selects.

        `reader` is for example a `SoftPromptReader`; `k`, `where` and `topics` are those of `search`. `trained_with` is
        the fingerprint of the selection that the reader was trained with, if it is known; another one is noted in the
        answer. Raises InputError where the retriever selects no subgraph.
        """
        from clew.answering.selected_subgraph import OTHER_SELECTION_NOTE, answer_from_subgraph

        opened = self.subgraph_source(retriever)
        ((evidence, text, context),) = opened.retrieve_subgraphs([question], [topics], k, where)
        answer = answer_from_subgraph(reader, text, self.finish(evidence, where), context)
        if trained_with in ("", opened.selector_fingerprint):
            return answer
        return replace(answer, notes=(*answer.notes, OTHER_SELECTION_NOTE))

    def answerer(self, model: str = "", retriever: RetrieverSpec = AUTO, prompts: str = "json") -> Answerer:
        """Return the answerer for evidence of a retriever; paths of a path retriever are answered by their ends.

        A model is `provider:model`, or "" for sentences quoted without a language model; an unknown provider, a missing
        package or key is an InputError. `prompts` is "json", or "text" for replies in plain text, from paths alone and
        for the retriever `none`, which has to have a model.
        """
        from clew.answering.selection import NOTHING, PASSAGES, PATHS, select_answerer

        check_string(model, "model")
        if isinstance(retriever, str | SettingsRecord):
            spec = self.resolve_retriever(retriever)
            evidence = NOTHING if finds_nothing(spec) else PATHS if is_path_retriever(spec) else PASSAGES
        else:
            evidence = PATHS if isinstance(retriever, TopicRetriever) else PASSAGES
        has_vectors = bool(self.table.dimension)
        return select_answerer(
            model, self.open_model, lambda: self._encoder if has_vectors else None, evidence, prompts
        )

    @property
    def open_model(self) -> Callable[[str], LanguageModel]:
        """Function that opens the language model of a name (`provider:model`); replies are cached beside the index."""
        kept, factory = reply_cache_path(self.table.location), self.llm_factory
        return lambda name: factory.open(name, kept)

    def compact(self, *, shred: bool = False) -> int:
        """Rewrite many small files as few and drop older versions, under the writer lock; return the number dropped.

        Vectors of names that the index has no longer are dropped, too. `shred` is as of `remove`, for all that was
        removed before.
        """
        from clew.indexing import entry

        check_switch(shred, "shred")
        with self._writing():
            dropped = self.table.compact()
        if shred:
            self._shred()
        elif self.table.dimension:
            with writer_lock(self.table.location):
                entry.drop_unused_vectors(self.table.location.derived, self.snapshot, self._encoder.fingerprint)
        return dropped

    def _shred(self) -> None:
        from clew.indexing import entry

        with writer_lock(self.table.location):
            if not self.table.is_newest:
                raise IndexLockedError(
                    f"another process has changed {self.table.location.name}, and not everything that was removed is "
                    "shredded: run `clew compact --shred`"
                )
            entry.shred(self.table, self.snapshot, self._encoder, self._progress)

    def versions(self) -> list[StoredVersion]:
        """Return the versions that can be gone back to, the newest first; `compact` drops the older ones."""
        return self.table.versions()

    def restore(self, version: int) -> None:
        """Make an older version the newest one; that of before stays until `compact`.

        Raises:
            InputError: There is no such version.
            IndexFormatError: The version is damaged; nothing was changed.
            IndexLockedError: Another process is writing.
        """
        check_count(version, "version")
        with self._writing():
            self.table = self.table.restore(version)

    def stats(self) -> "IndexStats":
        """Return counts, settings and the manifest of this version."""
        from clew.indexing import entry

        return entry.collect_stats(self.table, self.snapshot)


class _EncoderOpener:
    """Opens the encoder of an index at its first use; it refers to no index, so that an index is freed at once."""

    def __init__(self, table: PassageTable, device: str, encoder: Encoder | None = None) -> None:
        self._settings, self._dimension, self._name = table.settings, table.dimension, table.location.name
        self._device = device
        self._encoder = encoder

    def open(self) -> Encoder:
        """Return the encoder; InputError: this machine lacks the device."""
        if self._encoder is None:
            check_device(self._device)
            self._encoder = open_index_encoder(self._settings, self._dimension, self._device, self._name)
        return self._encoder


def open(  # noqa: A001
    location: str | Path,
    progress: Progress = ignore_progress,
    llm_factory: LLMClientFactory | None = None,
    device: str | None = None,
) -> Index:
    """Open the newest version of an index.

    Args:
        location: A folder, or an object-store URI such as `s3://bucket/prefix`.
        progress: Called with `(stage, done, total)` where something takes long.
        llm_factory: How language models are asked, where one is; else as the settings say.
        device: Where models run: "auto", "cpu", "cuda" or "mps"; else as the settings say.

    Raises:
        IndexFormatError: There is no index, or one this version of Clew cannot read.
        InputError: This machine has no such device.
    """
    _check_location(location)
    settings = load_settings()
    factory = settings.make_llm_factory() if llm_factory is None else llm_factory
    if device is not None:
        check_device(device)
    where = settings.device if device is None else device
    return Index(
        PassageTable.open(location),
        factory,
        progress,
        where,
        similar_names=settings.unknown_names == "similar",
        linking=_linker_settings(settings),
    )


def create(
    location: str | Path,
    settings: Settings | None = None,
    progress: Progress = ignore_progress,
    llm_factory: LLMClientFactory | None = None,
    device: str | None = None,
) -> Index:
    """Make an empty index; its settings are stored in it and need not be given again.

    `device` is where models run, "auto", "cpu", "cuda" or "mps"; else as the settings say.

    Raises:
        InputError: There is an index already, or the encoder, extractor or its language model cannot be used.
        MissingPackageError: The encoder needs a package that is not installed; nothing was created.
        ProviderError: Its weights cannot be opened; nothing was created.
    """
    from clew.indexing import entry

    _check_location(location)
    if not isinstance(settings, Settings | None):
        raise InputError(f"the settings are {type(settings).__name__} {settings!r:.80}; give a Settings, or None")
    chosen, encoder = entry.choose_settings(load_settings() if settings is None else settings, device)
    asked = llm_factory or LLMClientFactory()
    place = locate(location)
    entry.open_extractor(
        chosen.new_extractor, lambda name: asked.open(name, reply_cache_path(place)), chosen.extraction_calls
    )
    stored = entry.stored_settings(chosen, encoder)
    entry.Chunker(chosen.passage_tokens, chosen.passage_overlap)
    if encoder.dimension:
        encoder.encode_queries(["a"])  # what it lacks is refused now, and leaves no empty index that is tied to it
    with writer_lock(place):
        table = PassageTable.create(place, stored, encoder.dimension)
        similar, linking = chosen.unknown_names == "similar", _linker_settings(chosen)
        index = Index(table, asked, progress, chosen.device, similar_names=similar, linking=linking)
    vars(index)["_encoder_opener"] = _EncoderOpener(table, chosen.device, encoder)  # is loaded
    return index


def hash_new_index_settings(settings: Settings | None = None, device: str | None = None) -> str:
    """Return a hash of all that decides what an index made now holds beside its documents: encoder, extractor, sizes.

    A file of published triples counts by its content. Raises InputError as `create`.
    """
    from clew.indexing import entry

    return entry.hash_new_index_settings(load_settings() if settings is None else settings, device)


def _check_location(location: object) -> None:
    if not isinstance(location, str | Path):
        raise InputError(f"the index is {type(location).__name__} {location!r:.80}; give a folder or a URI")


def _linker_settings(settings: Settings) -> LinkerSettings:
    chosen = "linker" in settings.model_fields_set
    return LinkerSettings(settings.linker, settings.linker_floor, settings.question_names, is_chosen=chosen)


def _is_folder(item: object) -> bool:
    return isinstance(item, str | Path) and item not in ("", "-") and Path(item).is_dir()


def _describe_retriever(spec: RetrieverSpec) -> str:
    if isinstance(spec, str):
        return spec
    return record_label(type(spec)) if isinstance(spec, SettingsRecord) else type(spec).__name__
