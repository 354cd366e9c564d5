"""Parts of a corpus written by a Ray cluster: Ray Data hands their numbers to actors, which keep their models open.

Each actor reads the files itself, so they and the index have to lie where all machines see them, under the same names.
The coordinator, which holds the writer lock, commits each part when it is done. A part whose actor is killed is done
again; what it had written belongs to no version.
"""

import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from clew import errors
from clew.errors import ClewError, ProviderError
from clew.indexing.part_record import WrittenPart
from clew.indexing.parts import commit_parts, write_part
from clew.indexing.pipeline import IndexWriter
from clew.indexing.report import IndexingReport
from clew.indexing.selection import Part
from clew.indexing.sources.reader import read_documents, source_bytes
from clew.indexing.writer_settings import WriterSettings, WriterTools, make_writer, refuse_model
from clew.plugins.extras import import_extra
from clew.plugins.ray_cluster import TRIES, connect_cluster, describe_ray_error
from clew.store.atomic import atomic_file
from clew.store.passage_table import PassageTable
from clew.store.segment_files import segments_folder
from clew.types import Progress, ignore_progress

_PART_BYTES = 1 << 26  # of the files: what is done again where an actor is killed
_PARTS_PER_ACTOR = 2


@dataclass(frozen=True, slots=True)
class ClusterRun:
    """An indexing run on a cluster.

    Attributes:
        address: Of the cluster, or `local` for one of this machine that ends with the run.
        actors: Number of actors, each with the models of the index.
        memory: Bytes that an actor may use, 0 for what is usual.
        progress: Called with the number of parts done.
    """

    address: str
    actors: int
    memory: int
    progress: Progress

    def index(self, table: PassageTable, settings: WriterSettings, paths: Sequence[str | Path]) -> IndexingReport:
        """Add what is new or changed in files and folders to a table under the writer lock.

        Raises:
            InputError: The address has another form.
            MissingPackageError: Ray is not installed.
            ProviderError: The cluster cannot be reached, or a part was given up.
        """
        count = max(_PARTS_PER_ACTOR * self.actors, source_bytes(paths) // _PART_BYTES)
        report = IndexingReport()
        segments = segments_folder(table.location.derived)
        mark = segments / f".{secrets.token_hex(8)}"  # an actor that sees it writes segments to this folder itself
        segments.mkdir(parents=True, exist_ok=True)
        mark.touch()
        try:
            with connect_cluster(self.address, self.actors) as ray:
                data = import_extra("ray.data", "ray", "--ray")
                _be_quiet(data)
                work = PartWork(settings, tuple(str(path) for path in paths), str(mark), self.memory)
                items = [{"number": number, "count": count} for number in range(1, count + 1)]
                written = data.from_items(items, override_num_blocks=count).map_batches(
                    PartActor,
                    fn_constructor_args=(work,),
                    batch_size=1,
                    batch_format="numpy",
                    compute=data.ActorPoolStrategy(size=self.actors),
                    num_cpus=1,
                    max_restarts=-1,
                    max_task_retries=TRIES - 1,
                )
                for done, row in enumerate(_rows(ray, written), 1):
                    report.add(_commit(table, row))
                    self.progress("parts", done, count)
        finally:
            mark.unlink(missing_ok=True)
        return report


@dataclass(frozen=True, slots=True)
class PartWork:
    """The files and settings with which an actor writes any part."""

    settings: WriterSettings
    paths: tuple[str, ...]
    mark: str  # a file in the coordinator's folder of segments
    memory: int


class PartActor:
    """Writes parts, one after the other, on a machine of a cluster; its models are opened once."""

    def __init__(self, work: PartWork) -> None:
        self._work = work

    @cached_property
    def _writer(self) -> IndexWriter:
        settings = self._work.settings
        batches = settings.open()
        tools = WriterTools(settings.extractor, refuse_model, settings.device, ignore_progress)
        return make_writer(batches.table, batches.encoder, tools, 1, self._work.memory)

    def __call__(self, batch: Mapping[str, Any]) -> pa.Table:
        """Write the parts of a batch; return for each its record, and its segments where nobody else sees them."""
        rows = [self._write(Part(int(n), int(c))) for n, c in zip(batch["number"], batch["count"], strict=True)]
        return pa.Table.from_pylist(rows, schema=_ROW)

    def _write(self, part: Part) -> dict[str, Any]:
        try:
            documents = read_documents(self._work.paths, is_wanted=part.has)
            written = write_part(self._writer, documents, part)
        except ClewError as error:
            return {"part": "", "error": type(error).__name__, "reason": str(error), "names": [], "segments": []}
        folder = segments_folder(self._writer.table.location.derived)
        names = [] if Path(self._work.mark).exists() else written.segments
        segments = [(folder / name).read_bytes() for name in names]
        return {"part": written.to_json(), "error": "", "reason": "", "names": names, "segments": segments}


_ROW = pa.schema(
    [
        ("part", pa.string()),
        ("error", pa.string()),  # the name of its class
        ("reason", pa.string()),
        ("names", pa.list_(pa.string())),
        ("segments", pa.list_(pa.large_binary())),
    ]
)


def _be_quiet(data: Any) -> None:
    """Let Ray Data show no bars of its own beside ours."""
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)


def _rows(ray: Any, written: Any) -> Iterator[dict[str, Any]]:
    try:
        yield from written.iter_rows()
    except ray.exceptions.RayError as error:
        raise ProviderError(
            f"the cluster gave a part up after {TRIES} tries ({describe_ray_error(error)}): run the same "
            "command again, it goes on from what was committed"
        ) from error


def _commit(table: PassageTable, row: Mapping[str, Any]) -> IndexingReport:
    if row["error"]:
        kind = getattr(errors, row["error"], ProviderError)  # an error keeps its class, and so the exit code of a run
        raise kind(f"an actor of the cluster failed: {row['reason']}")
    part = WrittenPart.from_json(row["part"], "the reply of an actor")
    folder = segments_folder(table.location.derived)
    for name, content in zip(row["names"], row["segments"], strict=True):
        with atomic_file(folder / Path(name).name) as temporary:
            temporary.write_bytes(content)
    return commit_parts(table, [part])
