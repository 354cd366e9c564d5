"""`clew index`, and `clew export`, which writes what extractors found."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands.options import EncoderOption, IndexOption, LLMOptions, check_file, open_or_create
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import print_estimate, print_report
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.indexing.extraction.export import ExtractedPassage
    from clew.store.passage_table import PassageTable


def index(
    index: IndexOption,
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files and folders to read; - reads standard input.")
    ] = None,
    extractor: Annotated[str | None, typer.Option(help="rules, llm:MODEL or published:FILE.")] = None,
    encoder: EncoderOption = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print the cost of a language model, without calling it.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Extract the passages again at which the extractor failed.")
    ] = False,
    *,
    llm: LLMOptions,
) -> None:
    """Add documents to an index, creating it if there is none; unchanged documents cost nothing."""
    from clew.index import AUTO
    from clew.indexing.cost_estimate import estimate_indexing
    from clew.indexing.sources.reader import read_documents
    from clew.settings import load_settings

    if not paths and not retry_failed:
        raise InputError("no paths to read: give files or folders, or - for standard input (see clew index --help)")
    documents = read_documents(paths) if paths else iter(())  # refuses a missing path before an index is created
    llm_factory = llm.factory()
    if estimate:
        print_estimate(
            estimate_indexing(
                index, documents, extractor, llm_factory, retry_failed=retry_failed, defaults=load_settings()
            )
        )
        return
    with progress_on_stderr() as progress:
        opened = open_or_create(index, extractor, encoder, progress, llm_factory, create=bool(paths))
        report = opened.add(documents, extractor, retry_failed=retry_failed)
        rows = opened.table.count_rows()
        if rows and report.passages == rows:  # a new index; for another one the first search builds what is missing
            opened.retriever(AUTO, paths=0)
    print_report(report, rows, opened.llm_factory.budget.spent)
    if report.stop_error is not None:
        raise report.stop_error


def export(
    file: Annotated[Path, typer.Argument(help="File to write; an existing one is replaced whole.")],
    index: IndexOption,
    layout: Annotated[str, typer.Option(help="lines, or hipporag for its result files.")] = "lines",
) -> None:
    """Write what extractors found, to be read again by `clew index --extractor published:FILE`."""
    from clew.indexing.extraction.export import LAYOUTS, format_extractions
    from clew.store.atomic import atomic_file
    from clew.store.passage_table import PassageTable

    if layout not in LAYOUTS:
        raise InputError(f"no layout is called {layout!r}; choose {' or '.join(LAYOUTS)}")
    check_file("the file", file)
    table = PassageTable.open(index)
    with atomic_file(file) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(format_extractions(layout, _read_extracted(table)))
    failed = table.read(["failure"])["failure"]
    left_out = len(failed) - failed.null_count
    without = f", without {left_out} at which the extractor failed" if left_out else ""
    print(f"wrote what was found in {failed.null_count} passages{without}")


def _read_extracted(table: "PassageTable") -> "Iterator[ExtractedPassage]":
    """Yield the passages whose extraction succeeded, sorted by document and position."""
    from clew.indexing.extraction.export import ExtractedPassage
    from clew.indexing.snapshot_builder import read_extractions

    rows = table.read()
    columns = (rows[name].to_pylist() for name in ("id", "title", "text", "failure"))
    for id_, title, text, failure, extraction in zip(*columns, read_extractions(rows), strict=True):
        if failure is None:
            yield ExtractedPassage(id_, title, text, extraction)
