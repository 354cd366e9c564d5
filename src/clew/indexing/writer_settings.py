"""Writers of an index, made from its settings, in this process or in another one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clew.errors import InputError
from clew.indexing.batches import BatchRunner, BatchWriter
from clew.indexing.chunking import Chunker
from clew.indexing.extraction.llm import LanguageModelExtractor
from clew.indexing.extraction.registry import asks_model, open_extractor
from clew.indexing.pipeline import EXTRACTION_CALLS, IndexWriter
from clew.indexing.processes import MIN_ENCODED_PASSAGES, MIN_PASSAGES, GrowingRunner, ProcessRunner
from clew.indexing.run_memory import affordable_workers, batch_limits
from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.null import NoEncoder
from clew.models.encoders.registry import OPENAI_EMBEDDINGS, open_index_encoder
from clew.models.threads import worker_count
from clew.plugins.arguments import FROM_PYTHON
from clew.protocols import Encoder, Extractor, LanguageModel
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.types import Progress, count_progress

_PROCESSOR_ENCODERS = (NoEncoder, HashingEncoder, Int8MiniLM)  # small, and of one thread a text


@dataclass(frozen=True, slots=True)
class WriterTools:
    """The extractor and the models of a run, and its progress."""

    extractor: str | Extractor  # by name, or an object
    open_model: Callable[[str], LanguageModel]
    device: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """The settings with which another process opens what it needs to write batches of an index."""

    location: str
    storage_options: Mapping[str, str]
    extractor: str
    device: str

    def open(self) -> BatchWriter:
        """Open the table, the extractor and the encoder.

        Raises:
            InputError: The encoder installed here is not the one that the index was made with.
        """
        table = PassageTable.open(locate(self.location, self.storage_options))
        encoder = open_index_encoder(table.settings, table.dimension, self.device, self.location)
        return BatchWriter(table, _index_chunker(table.settings), open_extractor(self.extractor), encoder)


def make_writer(
    table: PassageTable, encoder: Encoder, tools: WriterTools, workers: int | None, memory: int
) -> IndexWriter:
    """Return the writer of a run.

    Args:
        table: The table to write to.
        encoder: The encoder of the index.
        tools: Those of the run.
        workers: Number of processes, None for as many as are worth it.
        memory: Bytes that the run may use, 0 for what is usual.

    Raises:
        InputError: Several processes would ask a language model, whose budget is that of one.
    """
    calls = int(table.settings.get(EXTRACTION_CALLS, 2))  # an index made before models could extract has none
    count = count_progress(tools.progress, "asking the model, passages")
    given = tools.extractor
    extractor = open_extractor(given, tools.open_model, calls, count) if isinstance(given, str) else given
    slow = isinstance(extractor, LanguageModelExtractor)
    if workers is None:
        is_parallel = not slow and isinstance(encoder, _PROCESSOR_ENCODERS)
        workers = affordable_workers(memory, worker_count()) if is_parallel else 1
    if workers < 1:
        raise InputError(f"workers is {workers}: give at least 1")
    chunker, limits = _index_chunker(table.settings), batch_limits(memory, workers)
    if workers == 1:
        return IndexWriter(table, chunker, extractor, encoder, tools.progress, slow, limits)
    threads = max(1, worker_count() // workers)
    settings = writer_settings(table, tools)

    def open_parallel(local: BatchRunner) -> BatchRunner:
        least = MIN_ENCODED_PASSAGES if encoder.dimension else MIN_PASSAGES
        return GrowingRunner(local, ProcessRunner(settings.open, threads, workers), least, chunker.max_tokens)

    return IndexWriter(table, chunker, extractor, encoder, tools.progress, slow, limits, open_parallel)


def writer_settings(table: PassageTable, tools: WriterTools) -> WriterSettings:
    """Return the settings of another process that writes to a table.

    Raises:
        InputError: A language model extracts, the encoder costs money, or it or the extractor was given as an object.
    """
    if not isinstance(tools.extractor, str) or str(table.settings["encoder"]).startswith(FROM_PYTHON):
        raise InputError(
            "an encoder or extractor that was given as an object is of this process alone: leave workers out, or add "
            "it by an entry point"
        )
    if str(table.settings["encoder"]).partition(":")[0] == OPENAI_EMBEDDINGS:
        refuse_model(str(table.settings["encoder"]))
    if asks_model(tools.extractor):
        refuse_model(tools.extractor)
    return WriterSettings(table.location.absolute_name, table.location.storage_options, tools.extractor, tools.device)


def refuse_model(name: str) -> LanguageModel:
    """Refuse to open a language model: its budget and its cached replies are those of one process."""
    raise InputError(
        f"{name} is asked from one process: leave --workers out, and set calls_at_once for more calls at the same time"
    )


def _index_chunker(settings: Mapping[str, Any]) -> Chunker:
    return Chunker(int(settings["passage_tokens"]), int(settings["passage_overlap"]))
