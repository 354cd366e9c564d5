"""One opened version of an index: its table, the arrays that are derived from it, and the models that it asks."""

import logging
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from clew.errors import IndexFormatError, InputError, ProviderError
from clew.graph.snapshot.snapshot import GivenNames, Snapshot
from clew.index.async_calls import AsyncCalls
from clew.models.encoders.registry import open_index_encoder
from clew.models.llm.access import LLMClientFactory
from clew.models.llm.budget import PaidEncoder
from clew.models.threads import check_device
from clew.protocols import Encoder, Extractor, LanguageModel
from clew.query.context import IndexContext
from clew.query.entity_linker import LinkerSettings
from clew.store.atomic import remove_leftovers
from clew.store.entity_decisions import given_names
from clew.store.error_mapping import is_unwritable, map_errors
from clew.store.location import reply_cache_path
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import check_snapshot, folder_state, missing_segments, snapshot_folder
from clew.store.writer_lock import unpin
from clew.types import Filter, Progress, count_progress, ignore_progress

if TYPE_CHECKING:
    from clew.graph.graph_view import GraphView
    from clew.indexing.entry import IndexStats, PassageSelection

_logger = logging.getLogger(__name__)

# A search loads nothing of `clew.indexing`: what adds documents is imported by the methods that do.


class IndexVersion:
    """One version of an index, whose parts are opened when they are first needed."""

    def __init__(
        self,
        table: PassageTable,
        llm_factory: LLMClientFactory,
        progress: Progress = ignore_progress,
        device: str = "auto",
        *,
        similar_names: bool = True,
        linking: LinkerSettings | None = None,
        selection: "PassageSelection | None" = None,
    ) -> None:
        self.table = table
        self.llm_factory = llm_factory
        self.device = device
        self.similar_names = similar_names
        self.linking = LinkerSettings() if linking is None else linking
        self._progress = progress
        self.selection = selection
        self._encoder_opener = EncoderOpener(table, device, llm_factory)
        self._extractor: Extractor | None = None  # that was given as an object
        self._elsewhere: PassageTable | None = None  # the same version, with derived data in the cache folder

    @cached_property
    def _calls(self) -> AsyncCalls:
        return AsyncCalls()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files, the memory and the version of this index; it is opened again where it is used again.

        Retrievers that were taken from it go on working, and hold what they need.
        """
        self._let_go()
        if self.selection is None:
            unpin(self.table)

    def _let_go(self) -> None:
        vars(self).pop("context", None)

    @property
    def _encoder(self) -> Encoder:
        return self._encoder_opener.open()

    @cached_property
    def context(self) -> IndexContext:
        """The resources of this version that retrievers use."""
        while True:
            folder = self.snapshot_folder
            state = folder_state(folder)
            try:
                if not folder.is_dir() or missing_segments(folder):
                    self._build_snapshot()
                else:
                    remove_leftovers(folder.parent)  # of a writer that was killed after completing its snapshot
                state = folder_state(folder)
                check_snapshot(folder)
                opened = self._open_context(folder)
                self._discard_outdated()
                return opened
            except IndexFormatError:
                # Where another process has dropped or made it meanwhile it is no damage, and the version is pinned.
                if folder_state(folder) == state:
                    raise
            except ProviderError as error:
                if self._elsewhere is not None or not is_unwritable(error):
                    raise
                self._elsewhere = self.table.derived_elsewhere()
                place = self.table.location.derived
                _logger.warning("%s cannot be written (%s): %s is used", place, error.__cause__, self._derived_folder)

    @property
    def _reading(self) -> PassageTable:
        return self.table if self._elsewhere is None else self._elsewhere

    @property
    def _derived_folder(self) -> Path:
        return self._reading.location.derived

    def _discard_outdated(self) -> None:
        """Discard the files of a selection of an older version, which may hold what was removed since."""
        if self.selection is None or self.table.is_newest:
            return
        from clew.indexing import entry

        entry.discard_selections(self._derived_folder)

    def _open_context(self, folder: Path) -> IndexContext:
        with map_errors(self.table.location.name, "opening"):
            return IndexContext(
                folder,
                self._derived_folder / "vectors.lance",
                self._encoder_opener.open,
                self.open_model,
                count_progress(self._progress, "encoding short texts"),
                self.device,
                similar_names=self.similar_names,
                linking=self.linking,
                given=GivenNames(partial(given_names, self._reading)),
            )

    @property
    def snapshot_folder(self) -> Path:
        """The folder of the snapshot of this version, which need not be there before `context` is used."""
        if self.selection is None:
            return snapshot_folder(self._reading)
        from clew.indexing import entry

        return entry.selected_snapshot_folder(self._reading, self.selection)

    @property
    def snapshot(self) -> Snapshot:
        """The passages, entities and triples of this version, as arrays."""
        return self.context.scope.snapshot

    @property
    def open_model(self) -> Callable[[str], LanguageModel]:
        """Function that opens the language model of a name (`provider:model`); replies are cached beside the index."""
        kept, factory = reply_cache_path(self.table.location), self.llm_factory
        return lambda name: factory.open(name, kept)

    def graph_view(self, where: Filter | None = None) -> "GraphView":
        """Return the entities and triples that a filter lets be seen, as exports write them."""
        from clew.query.contents import view_graph

        return view_graph(self.context.scope, where)

    def to_networkx(self, where: Filter | None = None) -> Any:
        """Return the graph as a `networkx.MultiDiGraph` of entities by name, with `relation` and `passages` of edges.

        Raises MissingPackageError without networkx.
        """
        from clew.graph.graph_view import make_networkx

        return make_networkx(self.graph_view(where))

    def to_pyg(self, where: Filter | None = None, *, features: bool = True) -> Any:
        """Return the graph as a `torch_geometric.data.Data`, with the vectors of entities' names as its `x`.

        Without `features`, or in an index without vectors, there is no `x`. Raises MissingPackageError without the
        extra `train`.
        """
        from clew.graph.graph_view import make_pyg

        view = self.graph_view(where)
        has_rows = features and bool(self.table.dimension)
        return make_pyg(view, self.context.encode_texts(list(view.labels())) if has_rows else None)

    def stats(self) -> "IndexStats":
        """Return counts, settings and the manifest of this version."""
        from clew.indexing import entry

        self._check_whole()
        return entry.collect_stats(self.table, self.snapshot)

    def _check_whole(self) -> None:
        if self.selection is not None:
            raise InputError("this index has the passages alone that a filter allows: open the index that it is of")

    def _build_snapshot(self, memory: int = 0) -> None:
        from clew.indexing import entry

        if self.selection is None:
            entry.ensure_snapshot(self._reading, self._encoder, self._progress, memory)
        else:
            entry.ensure_selected_snapshot(self._reading, self.selection, self._progress)

    def _move_to_version(self, table: PassageTable) -> None:
        if table is not self.table:
            unpin(self.table)
        self.table, self._elsewhere = table, None
        self._let_go()


class EncoderOpener:
    """Opens the encoder of an index at its first use; it refers to no index, so that an index is freed at once."""

    def __init__(
        self, table: PassageTable, device: str, llm_factory: LLMClientFactory, encoder: Encoder | None = None
    ) -> None:
        self._settings, self._dimension, self._name = table.settings, table.dimension, table.location.name
        self._device = device
        self._llm_factory = llm_factory
        self._encoder = encoder if encoder is None else spend_together(encoder, llm_factory)

    def open(self) -> Encoder:
        """Return the encoder; InputError: this machine lacks the device."""
        if self._encoder is None:
            check_device(self._device)
            opened = open_index_encoder(self._settings, self._dimension, self._device, self._name)
            self._encoder = spend_together(opened, self._llm_factory)
        return self._encoder


def spend_together(encoder: Encoder, llm_factory: LLMClientFactory) -> Encoder:
    """Return an encoder; one that costs money shares the budget of the language models from now on."""
    if isinstance(encoder, PaidEncoder):
        encoder.spend_from(llm_factory.budget, llm_factory.prices)
    return encoder
