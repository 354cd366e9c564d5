"""The commands that bring documents into an index, and what was found in them out of it again."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from clew.commands.options import (
    BaseUrlOption,
    CacheFlag,
    CostOption,
    EncoderOption,
    IndexOption,
    TokensOption,
    make_client_factory,
    open_or_create,
)
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.indexing.extraction.export import ExtractedPassage
    from clew.store.passage_table import PassageTable


def index(
    index: IndexOption,
    paths: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(help="Files and folders to read; - reads standard input."),
    ] = None,
    extractor: Annotated[Optional[str], typer.Option(help="rules, llm:MODEL or published:FILE.")] = None,  # noqa: UP045
    encoder: EncoderOption = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print what a language model would cost, and call none.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Extract passages once more that the extractor failed at.")
    ] = False,
    base_url: BaseUrlOption = None,
    max_cost: CostOption = None,
    max_tokens: TokensOption = None,
    cache: CacheFlag = True,
) -> None:
    """Add documents to an index, making it where there is none; what has not changed costs nothing."""
    from clew.commands.output import print_estimate, print_report, progress_on_stderr
    from clew.index import AUTO
    from clew.indexing.sources.reader import read_documents

    if not paths and not retry_failed:
        raise InputError("no paths to read: give files or folders, or - for standard input (see clew index --help)")
    documents = (
        read_documents(list(paths)) if paths else iter(())
    )  # a path that does not exist fails here, before an index is made
    asking = make_client_factory(base_url, max_cost, max_tokens, cache)
    if estimate:
        from clew.indexing.cost_estimate import estimate_indexing
        from clew.settings import load_settings

        print_estimate(
            estimate_indexing(index, documents, extractor, asking, retry_failed=retry_failed, defaults=load_settings())
        )
        return
    with progress_on_stderr() as progress:
        opened = open_or_create(index, extractor, encoder, progress, asking, create=bool(paths))
        report = opened.add(documents, extractor, retry_failed=retry_failed)
        rows = opened.table.count_rows()
        if rows and report.passages == rows:  # a new index; else the first search makes what is missing, in a second
            opened.retriever(AUTO, paths=0)
    print_report(report, rows, opened.llm_factory.budget.spent)
    if report.stop_error is not None:
        raise report.stop_error


def export(
    file: Annotated[Path, typer.Argument(help="Where to write; a file that is there is replaced whole.")],
    index: IndexOption,
    layout: Annotated[str, typer.Option(help="lines, or hipporag for its result files.")] = "lines",
) -> None:
    """Write what extractors found, to be read again by `clew index --extractor published:FILE`."""
    from clew.indexing.extraction.export import LAYOUTS, format_extractions
    from clew.store.atomic import atomic_file
    from clew.store.passage_table import PassageTable

    if layout not in LAYOUTS:
        raise InputError(f"no layout is called {layout!r}; choose {' or '.join(LAYOUTS)}")
    if file.is_dir():
        raise InputError(f"{str(file)!r} is a folder: name a file in it")
    if any(part.is_file() for part in file.parents):
        raise InputError(f"{str(file)!r} lies below a file: choose another place")
    table = PassageTable.open(index)
    with atomic_file(file) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(format_extractions(layout, _read_extracted(table)))
    failed = table.read(["failure"])["failure"]
    left_out = len(failed) - failed.null_count
    without = f", without {left_out} that the extractor failed at" if left_out else ""
    print(f"wrote what was found in {failed.null_count} passages{without}")


def _read_extracted(table: "PassageTable") -> "Iterator[ExtractedPassage]":
    """Yield the passages that were extracted, sorted by document and place."""
    from clew.indexing.extraction.export import ExtractedPassage
    from clew.indexing.snapshot_builder import read_extractions

    rows = table.read()
    columns = (rows[name].to_pylist() for name in ("id", "title", "text", "failure"))
    for id_, title, text, failure, found in zip(*columns, read_extractions(rows), strict=True):
        if failure is None:
            yield ExtractedPassage(id_, title, text, found)
