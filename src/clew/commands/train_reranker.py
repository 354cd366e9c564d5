"""`clew train reranker`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import DeviceOption, check_folder
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.plugins.spec import split_list
from clew.settings import load_settings
from clew.training.recipes.records import DEFAULT_BASES, RerankRecipe


def reranker(
    data: Annotated[list[Path], typer.Option(help="Folders with corpus.jsonl and train.jsonl.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights.")],
    validate: Annotated[
        list[Path] | None, typer.Option(help="Folders with corpus.jsonl and dev.jsonl; they choose the epoch.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Folder for indexes and pools, which several trainings may share; by default in --out."),
    ] = None,
    base: Annotated[str, typer.Option(help="Retrievers whose pools are learned from, separated by commas.")] = ",".join(
        DEFAULT_BASES
    ),
    also: Annotated[
        list[str] | None,
        typer.Option(help="FOLDER=RETRIEVER: one more for a single folder of data, which was not trained on it."),
    ] = None,
    *,
    recipe: RerankRecipe,
    device: DeviceOption = None,
) -> None:
    """Train the reranker g-rag, for --rerank g-rag:FOLDER."""
    from clew.training.distributed import join_process_group
    from clew.training.recipes.reranker import train_reranker

    check_folder("--out", out)
    check_folder("--run", out if run is None else run)
    chosen = load_settings().device if device is None else device
    with progress_on_stderr() as progress, join_process_group(chosen) as group:
        result = train_reranker(
            data, validate or (), out, split_list(base), recipe, progress, run, _parse_also(also or ()), group
        )
    for name, value in result.figures.items():
        before = result.initial_figures.get(name)
        print(f"{name}: {value:.3f}" if before is None else f"{name}: {value:.3f}, {before:.3f} before reranking")
    print(f"{result.parameters:,} parameters, learned from {result.questions} pools")
    if result.figures and result.figures["mean"] < result.initial_figures["mean"]:
        print("they find less than the rankings as they were found: train longer, or give more questions")
    best = f"best epoch {result.best_epoch + 1}" if result.best_epoch >= 0 else "no epoch was better than the start"
    print(f"weights in {out}, {best}, {result.seconds:.0f} s of training; use them by --rerank g-rag:{out}")


def _parse_also(also: Sequence[str]) -> dict[Path, list[str]]:
    """Return the retrievers of single folders."""
    retrievers: dict[Path, list[str]] = {}
    for text in also:
        folder, equals, retriever = text.partition("=")
        if not (folder and equals and retriever):
            raise InputError(f"--also is {text!r}; wanted FOLDER=RETRIEVER")
        retrievers.setdefault(Path(folder), []).append(retriever)
    return retrievers
