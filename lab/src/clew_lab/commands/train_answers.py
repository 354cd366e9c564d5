"""`clew train answers`."""

from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import DeviceOption
from clew.commands.progress import progress_on_stderr
from clew.text.display import format_count
from clew_lab.training.fitting.span_ranker import AnswerRecipe
from clew_lab.training.recipes.answers import RETRIEVER, train_answers


def answers(
    data: Annotated[list[Path], typer.Option(help="Folders with corpus.jsonl and train.jsonl, with answers.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights and the indexes.")],
    validate: Annotated[
        list[Path] | None, typer.Option(help="Folders with corpus.jsonl and dev.jsonl, which are measured.")
    ] = None,
    retriever: Annotated[str, typer.Option(help="Retriever whose passages are read; settings after a colon.")] = (
        RETRIEVER
    ),
    *,
    recipe: AnswerRecipe,
    device: DeviceOption = None,
) -> None:
    """Train the ranking of candidate answers of clew ask without a language model."""
    with progress_on_stderr() as progress:
        result = train_answers(data, validate or (), out, recipe, progress, retriever, device)
    for name, value in result.figures.items():
        print(f"{name}: {value:.3f}")
    print(f"weights in {out}, learned from {format_count(result.questions, 'question')} in {result.seconds:.0f} s")
