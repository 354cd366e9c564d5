"""Writers of an index, made from its settings, in this process or in another one.

The budget of memory of an indexing run.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from clew.errors import InputError
from clew.indexing.batches import BatchWriter
from clew.indexing.chunking import Chunker
from clew.indexing.extraction.llm import LanguageModelExtractor
from clew.indexing.extraction.registry import asks_model, open_extractor
from clew.indexing.merging.workspace import MERGE_PROCESS_BYTES
from clew.indexing.pipeline import EXTRACTION_CALLS, BatchLimits, IndexWriter
from clew.indexing.processes import MIN_ENCODED_PASSAGES, MIN_PASSAGES, ProcessRunner
from clew.models.encoders.hashing import HashingEncoder, NoEncoder
from clew.models.encoders.int4_e5 import Int4E5
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.registry import OPENAI_EMBEDDINGS, open_index_encoder
from clew.models.threads import worker_count
from clew.plugins.arguments import FROM_PYTHON
from clew.protocols import Encoder, Extractor, LanguageModel
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.store.schema import has_aliases
from clew.types import Progress, count_progress

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
PROCESS_BYTES = 300_000_000
"""Memory of a process with its libraries and the default encoder, measured: 240 to 290 MB."""
PASSAGE_BYTES = 40_000
"""Memory of a passage of a batch: its text, what was extracted from it as objects, and its row; 15 to 40 kB."""
CHARACTER_BYTES = 12  # of a text, in all its forms together
_BATCHES_PER_WORKER = 2  # one is being written, and one waits or is on its way
_LEAST_PASSAGES = 64
_MARGIN = 1.2  # of the least budget over the processes alone, for the smallest batches


def parse_memory(text: str) -> int:
    """Return the bytes of a text such as `4GB` or `512MiB`; another form is an InputError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if match is None or match[2].upper() not in _UNITS or not float(match[1]):
        raise InputError(f"--memory is {text!r}: give a size such as 4GB or 512MB")
    return round(float(match[1]) * _UNITS[match[2].upper()])


def batch_limits(memory: int, workers: int) -> BatchLimits:
    """Return the batches that fit a budget of bytes, which all processes of a run share; 0 for what is usual.

    Raises:
        InputError: The processes alone take more than the budget.
    """
    if not memory:
        return BatchLimits()
    processes, needed = _processes(workers), _least_bytes(workers)
    if memory < needed:
        size = f"{memory / 10**6:.0f}MB" if memory >= 10**6 else f"{memory} bytes"
        running = "a process takes" if processes == 1 else f"{processes} processes take"
        advice = "give more" if processes == 1 else "give more, or fewer --workers"
        raise InputError(f"--memory is {size}, and {running} {needed / 10**6:.0f}MB: {advice}")
    share = (memory - processes * PROCESS_BYTES) // (2 * _BATCHES_PER_WORKER * workers)
    usual = BatchLimits()
    passages = max(_LEAST_PASSAGES, share // PASSAGE_BYTES)
    return BatchLimits(passages, max(1, min(usual.characters, share // CHARACTER_BYTES)))


def check_run_memory(memory: int, workers: int, *, merges: bool) -> None:
    """Refuse a budget of bytes, 0 for none, that no run keeps; `merges` is whether it merges the graph at its end.

    Raises:
        InputError: The processes, or a merge of the smallest index, take more.
    """
    batch_limits(memory, workers)
    if merges and 0 < memory < MERGE_PROCESS_BYTES:
        raise InputError(
            f"--memory is {memory / 10**6:.0f}MB, and the merge at the end takes at least "
            f"{MERGE_PROCESS_BYTES / 10**6:.0f}MB: give that, or write a part with --shard"
        )


def affordable_workers(memory: int, workers: int) -> int:
    """Return the number of workers, at most `workers` and at least 1, that fit a budget of bytes; 0 is none."""
    while memory and workers > 1 and memory < _least_bytes(workers):
        workers -= 1
    return workers


def _processes(workers: int) -> int:
    return workers + (workers > 1)


def _least_bytes(workers: int) -> int:
    return round(_MARGIN * _processes(workers) * PROCESS_BYTES)


_PROCESSOR_ENCODERS = (NoEncoder, HashingEncoder, Int8MiniLM, Int4E5)  # small, and of one thread a text


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
        return BatchWriter(table, Chunker.from_settings(table.settings), open_extractor(self.extractor), encoder)


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
        InputError: Several processes would ask a language model, whose budget is that of one; or the index was made
            with names resolved in their documents, which no version of Clew does any more.
    """
    if has_aliases(table.settings):
        raise InputError(
            f"{table.location.name} was made with --aliases document, which is gone: it can be searched, and nothing "
            "can be added; make a new index"
        )
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
    chunker, limits = Chunker.from_settings(table.settings), batch_limits(memory, workers)
    if workers == 1:
        return IndexWriter(table, chunker, extractor, encoder, tools.progress, slow, limits)
    threads = max(1, worker_count() // workers)
    settings = writer_settings(table, tools)
    least = MIN_ENCODED_PASSAGES if encoder.dimension else MIN_PASSAGES
    open_processes = partial(ProcessRunner, settings.open, threads, workers)
    return IndexWriter(table, chunker, extractor, encoder, tools.progress, slow, limits, open_processes, least)


def writer_settings(table: PassageTable, tools: WriterTools) -> WriterSettings:
    """Return the settings of another process that writes to a table.

    Raises:
        InputError: A language model extracts, the encoder costs money, or it or the extractor was given as an object.
    """
    encoder = str(table.settings["encoder"])
    if not isinstance(tools.extractor, str) or encoder.startswith(FROM_PYTHON):
        raise InputError(
            "an encoder or extractor that was given as an object is of this process alone: leave workers out, or add "
            "it by an entry point"
        )
    is_remote = encoder.partition(":")[0] == OPENAI_EMBEDDINGS
    if is_remote or asks_model(tools.extractor):  # whose budget and cached replies are those of one process
        raise InputError(
            f"{encoder if is_remote else tools.extractor} is asked from one process: leave --workers out, and set "
            "calls_at_once for more calls at the same time"
        )
    return WriterSettings(table.location.absolute_name, table.location.storage_options, tools.extractor, tools.device)
