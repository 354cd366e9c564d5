"""`clew index`."""

from typing import Annotated

import typer

from clew.commands.options import EncoderOption, IndexOption, LLMOptions
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
    from clew.commands.adding import Addition

    if not paths and not retry_failed:
        raise InputError("no paths to read: give files or folders, or - for standard input (see clew index --help)")
    request = Addition.read(index, paths or (), extractor, llm, retry_failed=retry_failed)
    if estimate:
        print_estimate(request.estimate())
        return
    with progress_on_stderr() as progress:
        report, rows, spent = request.add(encoder, progress)
    print_report(report, rows, spent)
    if report.stop_error is not None:
        raise report.stop_error
