"""`clew index`."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands import seconds_since_start
from clew.commands.options import (
    IndexOption,
    JsonFlag,
    LLMOptions,
    MakingOptions,
    check_folder,
    fill_extractor,
    parse_merge_memory,
)
from clew.commands.output import print_json, print_line, print_warning
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import describe_estimate, describe_report, print_estimate, print_report
from clew.errors import IndexLockedError, InputError
from clew.types import AUTO_RETRIEVER, Document, Failure, Progress, Usage

if TYPE_CHECKING:
    from clew.index import Index
    from clew.indexing.report import IndexingReport
    from clew.indexing.sources.records import RecordColumns
    from clew.models.llm.access import LLMClientFactory

_CREATION_TRIES, _CREATION_PAUSE = 50, 0.1  # seconds
_EXCLUSIVE = {
    "--watch": ("--shard", "--estimate", "--prune", "--retry-failed", "--json", "--workers", "columns"),
    "--shard": ("--prune", "--retry-failed", "--workers", "columns"),
    "--estimate": ("--prune",),
}
"""Options, each with those that have no use beside it."""


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """The columns of tables, or keys of JSON, that are the text, the title and the id of a record."""

    text_column: Annotated[
        str | None, typer.Option(help="Column or key of a record's text, or several, such as subject,body.")
    ] = None
    title_column: Annotated[str | None, typer.Option(help="Column or key of a record's title.")] = None
    id_column: Annotated[str | None, typer.Option(help="Column or key of a record's id.")] = None
    delimiter: Annotated[
        str | None,
        typer.Option(help="Character between the columns of a table, or tab; else as its header."),
    ] = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The kind of an indexing run, its processes, machines and memory."""

    columns: ColumnOptions = ColumnOptions()

    json_: JsonFlag = False
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Print the cost of a language model and of a paid encoder, without calling them."
        ),
    ] = False
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Extract again the passages whose extraction failed.")
    ] = False
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents of the given folders that are no longer in them.")
    ] = False
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, max=1024, help="Processes of this machine; as many as cores from about 2,000 passages on, else 1."
        ),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory of all processes together, such as 4GB; refused where batches or the merge need more."
        ),
    ] = None
    shard: Annotated[
        str | None,
        typer.Option(help="Write one part of the documents, such as 1/4; --commit adds all parts to the index."),
    ] = None
    staging: Annotated[
        str | None,
        typer.Option(help="Where --shard puts parts: a folder, or s3://bucket/prefix, that all machines see."),
    ] = None
    commit: Annotated[
        str | None,
        typer.Option(help="Make one version of the parts that runs with --shard left here; none may be missing."),
    ] = None
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow one folder until Ctrl-C; files that are gone are removed.")
    ] = False
    poll: Annotated[
        float | None,
        typer.Option(
            min=0.1, max=86_400, help="With --watch: seconds between two looks; else the system reports changes."
        ),
    ] = None


def index(
    index: IndexOption,
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files and folders to read; - reads standard input.")
    ] = None,
    *,
    made: MakingOptions,
    run: RunOptions,
    llm: LLMOptions,
) -> None:
    """Add documents to an index, creating it if there is none; unchanged documents cost nothing.

    The exit code is 1 where something that was given could not be read, or not be extracted; the rest is in the index.
    """
    from clew.commands.opening import make_llm_factory
    from clew.indexing.sources.reader import check_paths
    from clew.indexing.sources.record_files import check_columns
    from clew.indexing.writer_settings import check_run_memory, parse_memory

    made = replace(made, extractor=fill_extractor(made.extractor, llm.model))
    if run.commit is not None:
        if paths:
            raise InputError(f"--commit reads the parts in {run.commit}: leave {paths[0]} out")
        _commit(run.commit, index, parse_merge_memory(run.memory), as_json=run.json_)
        return
    if not paths and not run.retry_failed:
        raise InputError("no paths to read: give files or folders, or - for standard input (see clew index --help)")
    sources = paths or []
    if sources:
        check_paths(sources)  # refuses a missing path before an index is created
    _check_run(run, sources)
    columns = _parse_columns(run.columns)
    check_columns(sources, columns)
    memory = 0 if run.memory is None else parse_memory(run.memory)
    check_run_memory(memory, run.workers or 1, merges=run.shard is None)  # before an index is created
    work = _Work(index, sources, made, columns, memory, run, make_llm_factory(llm))
    if run.watch:
        _watch(work)
    elif run.estimate:
        _print_estimate(work)
    elif (items := _read_ahead(work)) is not None:
        _index(work, items)


@dataclass(frozen=True, slots=True)
class _Work:
    """One run of `clew index`, checked."""

    index: str
    sources: list[str]
    made: MakingOptions
    columns: "RecordColumns"
    memory: int  # bytes; 0 for no bound
    run: RunOptions
    llm_factory: "LLMClientFactory"


def _index(work: _Work, items: Sequence[str] | Iterator[Document | Failure]) -> None:
    """Add documents, or write them as one part, and print what was done."""
    run = work.run
    with progress_on_stderr() as progress:
        opened = _open_index(work, progress)
        if run.shard and run.staging:
            staged = opened.stage_part(work.sources, run.shard, run.staging, work.made.extractor, work.memory)
            _print(staged, opened.table.count_rows(), opened.llm_factory.budget.spent, as_json=run.json_)
            if not run.json_:
                end = f"run clew index --commit {run.staging} --index {work.index}"
                print_line(f"part {run.shard} is written; when all are, {end}")
            return
        report = opened.add(
            items,
            work.made.extractor,
            retry_failed=run.retry_failed,
            workers=run.workers,
            memory=work.memory,
            prune=run.prune,
            columns=work.columns,
        )
        rows = opened.table.count_rows()
        # A new index; for another one, and within a budget, the first search builds what is missing.
        if rows and report.passages == rows and not work.memory:
            opened.retriever(AUTO_RETRIEVER, paths=0)
            report.notes += filter(None, [opened.encoder_note()])
    report.seconds = seconds_since_start()
    if work.sources and not (_count_documents(report) or report.failures):
        report.notes.append(f"{', '.join(work.sources)}: no file is there to be read, but for hidden ones and indexes")
    _finish(report, rows, opened.llm_factory.budget.spent, as_json=run.json_)


def _print_estimate(work: _Work) -> None:
    """Print what the run would cost, without a call of a model."""
    from clew.commands.opening import apply_options
    from clew.indexing.cost_estimate import estimate_indexing
    from clew.indexing.sources.reader import read_documents

    documents = read_documents(work.sources, columns=work.columns) if work.sources else iter(())
    estimate = estimate_indexing(
        work.index,
        documents,
        work.made.extractor,
        work.llm_factory,
        retry_failed=work.run.retry_failed,
        defaults=apply_options(replace(work.made, extractor=None, device=None)),
    )
    if work.run.json_:
        print_json(describe_estimate(estimate))
    else:
        print_estimate(estimate)


def _read_ahead(work: _Work) -> Sequence[str] | Iterator[Document | Failure] | None:
    """Return what there is to add: for a new index documents, read up to the first one; None where there is none.

    No index is made where every file failed: the failures are then printed.
    """
    from clew.commands.opening import check_creation, index_exists
    from clew.indexing.report import IndexingReport
    from clew.indexing.sources.stream import read_ahead

    if not work.sources or work.run.shard is not None or index_exists(work.index):
        return work.sources
    ahead = read_ahead(work.sources, work.columns)
    if not ahead.failures or ahead.has_document:
        return ahead.items
    check_creation(work.index, work.made, work.llm_factory)
    report = IndexingReport(failures=ahead.failures, reading=ahead.reading, seconds=seconds_since_start())
    _finish(report, 0, Usage(), as_json=work.run.json_)
    return None


def _open_index(work: _Work, progress: Progress) -> "Index":
    """Return the index; one that a process creates which writes another part is waited for."""
    from clew.commands.opening import index_exists, open_or_create

    tries = 0
    while True:
        try:
            return open_or_create(work.index, work.made, progress, work.llm_factory, create=bool(work.sources))
        except (IndexLockedError, InputError):
            tries += 1
            if tries > _CREATION_TRIES or work.run.shard is None or not index_exists(work.index):
                raise
        time.sleep(_CREATION_PAUSE)


def _commit(staging: str, index: str, memory: int, *, as_json: bool) -> None:
    """Make one version of the parts that runs with --shard have written; none may be missing."""
    from clew.commands.opening import open_index

    with progress_on_stderr() as progress:
        opened = open_index(index, progress)
        report = opened.commit_parts(staging, memory)
    report.seconds = seconds_since_start()
    _print(report, opened.table.count_rows(), Usage(), as_json=as_json)


def _watch(work: "_Work") -> None:
    from clew.commands.watching import check_watched, watch

    folder = check_watched(work.sources, work.run.poll)
    with progress_on_stderr() as progress:
        opened = _open_index(work, progress)
    watch(folder, opened, work.run.poll, work.memory)


def _print(report: "IndexingReport", passages: int, spent: Usage, *, as_json: bool) -> None:
    if as_json:
        print_json(describe_report(report, passages, spent))
    else:
        print_report(report, passages, spent)


def _finish(report: "IndexingReport", passages: int, spent: Usage, *, as_json: bool) -> None:
    """Print a report, and end the command with exit code 1 where something failed, saying so in the last line."""
    _print(report, passages, spent, as_json=as_json)
    if report.stop_error is not None:
        raise report.stop_error
    if report.failures:
        rest = "the rest is in the index" if _count_documents(report) else "nothing was added"
        print_warning(f"exit code 1: {len(report.failures)} failed, {rest}")
        raise typer.Exit(1)


def _count_documents(report: "IndexingReport") -> int:
    return report.added + report.updated + report.unchanged + report.removed + report.retried


def _parse_columns(options: ColumnOptions) -> "RecordColumns":
    from clew.indexing.sources.records import RecordColumns

    delimiter = "\t" if options.delimiter in ("tab", "\\t") else options.delimiter or ""
    if len(delimiter) > 1 or (delimiter and (delimiter.isalnum() or delimiter in '"\r\n')):
        raise InputError(f"--delimiter is {options.delimiter!r}: give one character, such as ; or the word tab")
    text = tuple(name.strip() for name in (options.text_column or "").split(",") if name.strip())
    return RecordColumns(text, options.title_column or "", options.id_column or "", delimiter)


def _check_run(run: RunOptions, sources: list[str]) -> None:
    """Refuse options that do not go together, or have another form."""
    from clew.indexing.parts import parse_part

    if run.shard is not None:
        parse_part(run.shard)
    if run.staging and "://" not in run.staging:
        check_folder("--staging", Path(run.staging))
    if (run.shard is None) != (run.staging is None):
        given, missing = ("--shard", "--staging DIR") if run.staging is None else ("--staging", "--shard I/N")
        raise InputError(f"{given} is given without {missing}: parts are written with both")
    if run.shard and "-" in sources:
        raise InputError("--shard cannot read standard input, which is not on every machine: give files or folders")
    if run.poll is not None and not run.watch:
        raise InputError("--poll is given without --watch: give both")
    values = {
        "--shard": run.shard,
        "--estimate": run.estimate,
        "--prune": run.prune,
        "--retry-failed": run.retry_failed,
        "--json": run.json_,
        "--workers": run.workers,
        "columns": run.columns != ColumnOptions(),
    }
    for name, is_given in (("--watch", run.watch), ("--shard", run.shard), ("--estimate", run.estimate)):
        if is_given and (other := next((other for other in _EXCLUSIVE[name] if values[other]), "")):
            raise InputError(f"{other} is not for {name}: leave one out")
    if run.prune and not any(source != "-" and Path(source).is_dir() for source in sources):
        raise InputError("--prune is given without a folder: name the folder whose documents are removed when gone")
