"""`clew index`."""

from typing import Annotated

import typer

from clew.commands.options import DeviceOption, EncoderOption, IndexOption, LLMOptions
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import print_estimate, print_report
from clew.errors import InputError


def index(
    index: IndexOption,
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files and folders to read; - reads standard input.")
    ] = None,
    extractor: Annotated[str | None, typer.Option(help="rules, llm:MODEL or published:FILE.")] = None,
    encoder: EncoderOption = None,
    device: DeviceOption = None,
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
    from clew.commands.opening import AUTO, load_settings, make_llm_factory, open_or_create
    from clew.indexing.cost_estimate import estimate_indexing
    from clew.indexing.sources.reader import read_documents

    if not paths and not retry_failed:
        raise InputError("no paths to read: give files or folders, or - for standard input (see clew index --help)")
    documents = read_documents(paths) if paths else iter(())  # refuses a missing path before an index is created
    llm_factory = make_llm_factory(llm)
    if estimate:
        settings = load_settings()
        print_estimate(
            estimate_indexing(index, documents, extractor, llm_factory, retry_failed=retry_failed, defaults=settings)
        )
        return
    with progress_on_stderr() as progress:
        opened = open_or_create(index, extractor, encoder, progress, llm_factory, device, create=bool(paths))
        report = opened.add(documents, extractor, retry_failed=retry_failed)
        rows = opened.table.count_rows()
        if rows and report.passages == rows:  # a new index; for another one the first search builds what is missing
            opened.retriever(AUTO, paths=0)
    print_report(report, rows, opened.llm_factory.budget.spent)
    if report.stop_error is not None:
        raise report.stop_error
