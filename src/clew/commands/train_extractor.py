"""`clew train extractor`."""

from pathlib import Path
from typing import Annotated

import typer

from clew.commands.progress import progress_on_stderr
from clew.text.counts import format_count
from clew.training.fitting.span_tagger import ExtractorRecipe
from clew.training.recipes.extractor import train_extractor


def extractor(
    data: Annotated[list[Path], typer.Option(help="Folders with corpus.jsonl and openie.jsonl, its annotations.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights.")],
    cased: Annotated[
        list[Path] | None, typer.Option(help="Folders with corpus.jsonl, whose capitals teach as well.")
    ] = None,
    *,
    recipe: ExtractorRecipe,
) -> None:
    """Train the names that learned finds; use it by clew index --extractor learned:FOLDER."""
    with progress_on_stderr() as progress:
        result = train_extractor(data, cased or (), out, recipe, progress)
    print(
        f"names of {format_count(result.held_out, 'passage')} held out:",
        *(f"{k} {v:.3f}" for k, v in result.figures.items()),
    )
    print(f"weights in {out}, learned from {format_count(result.questions, 'passage')} in {result.seconds:.0f} s")
